// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/array.h>
#include <patchfem/kernels/matrix_views.h>

namespace PatchFEM
{
  /** A pattern in compressed rows that lives on a back end. */
  struct CompressedPattern
  {
    int                 n_rows = 0, n_columns = 0;
    int                 width = 0; ///< longest row
    Array<std::int64_t> offsets;
    Array<int>          columns;

    SparsityView view() const { return {n_rows, n_columns, offsets.data(), columns.data()}; }
    std::size_t  memory_consumption() const { return offsets.memory_consumption() + columns.memory_consumption(); }
  };
} // namespace PatchFEM
