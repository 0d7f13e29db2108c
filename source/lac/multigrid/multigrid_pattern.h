// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/launch.h"

#include "kernels/multigrid_pattern_bodies.h"
#include <patchfem/base/exceptions.h>
#include <patchfem/kernels/primitives.h>
#include <patchfem/lac/matrix/compressed_pattern.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

namespace PatchFEM
{
  /** The pattern whose rows @p rows lists. */
  template <typename Rows>
  CompressedPattern compress(const Backend &place, const int n_rows, const int n_columns, const Rows &rows)
  {
    CompressedPattern result;
    launch(place, [&](auto where) { result = kernels::unique_rows(where, place, n_rows, n_columns, rows); });
    return result;
  }

  /** The pattern of the blocks into which @p A is cut; Error if its rows or columns are no multiples of them. */
  template <typename Number>
  CompressedPattern
  block_pattern(const Backend &place, const CSRView<Number> &A, const int block_rows, const int block_columns)
  {
    require(block_rows >= 1 && block_columns >= 1 && A.n_rows % block_rows == 0 && A.n_columns % block_columns == 0,
            "A matrix of ", A.n_rows, " x ", A.n_columns, " cannot be cut into blocks of ", block_rows, " x ",
            block_columns, ".");
    return compress(place, A.n_rows / block_rows, A.n_columns / block_columns,
                    kernels::BlockedRows{A.row_offsets, A.columns, block_rows, block_columns});
  }
} // namespace PatchFEM
