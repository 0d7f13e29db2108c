// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/array.h>
#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/primitives.h>

namespace PatchFEM
{
  /** A pattern in compressed rows that lives on a back end. */
  struct CompressedPattern
  {
    int                 n_rows = 0, n_columns = 0;
    int                 width = 0; ///< longest row
    Array<std::int64_t> offsets;
    Array<int>          columns;

    CompressedPattern() = default;

    /** Rows of @p lengths, whose columns are still to be written. */
    template <typename Where>
    CompressedPattern(Where where, const int n_columns, const Array<int> &lengths)
        : n_rows(static_cast<int>(lengths.size())), n_columns(n_columns), offsets(lengths.backend(), lengths.size() + 1)
    {
      kernels::exclusive_scan(where, n_rows, lengths.data(), offsets.data());
      width = kernels::maximum(where, n_rows, lengths.data());
      columns.reinit(lengths.backend(), offsets.read(n_rows));
    }

    SparsityView view() const { return {n_rows, n_columns, offsets.data(), columns.data()}; }
    std::size_t  memory_consumption() const { return offsets.memory_consumption() + columns.memory_consumption(); }
  };
} // namespace PatchFEM
