// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/launch.h"

#include <patchfem/lac/matrix/compressed_pattern.h>

namespace PatchFEM
{
  namespace
  {
    /** The pattern whose rows @p rows.for_each() lists. */
    template <typename Rows>
    CompressedPattern pattern_of(const Backend &place, const int n_rows, const int n_columns, const Rows &rows)
    {
      Array<int>        lengths(place, n_rows);
      CompressedPattern result;
      launch(place, n_rows, [=, lengths = lengths.data()] PATCHFEM_DEVICE(const std::int64_t row) {
        int count = 0;
        rows.for_each(static_cast<int>(row), [&](int) { ++count; });
        lengths[row] = count;
      });
      launch(place, [&](const Here here) { result = CompressedPattern(here, n_columns, lengths); });
      launch(place, n_rows,
             [=, offsets = result.offsets.data(),
              columns = result.columns.data()] PATCHFEM_DEVICE(const std::int64_t row) {
               std::int64_t to = offsets[row];
               rows.for_each(static_cast<int>(row), [&](const int j) { columns[to++] = j; });
             });
      place.synchronize();
      return result;
    }
  } // namespace
} // namespace PatchFEM
