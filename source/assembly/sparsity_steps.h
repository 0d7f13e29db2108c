// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/structure_bodies.h"
#include <patchfem/assembly/sparsity.h>

/** @file Where the host counts and the device sorts, which cuda/sparsity_steps.cu does. */
namespace PatchFEM
{
  /// Where rows' columns are sorted: they are taken in chunks whose candidates (for hexahedra of degree 1: 64 for 27
  /// columns) fit this many entries.
  constexpr std::int64_t most_candidates = std::int64_t(1) << 27;

  /** The pairs of each row, in the order of the cells. */
  template <typename Where>
  void group_pairs(Where,
                   const Backend           &place,
                   const kernels::CellRows &rows,
                   int                      n_rows,
                   Array<std::int64_t>     &offsets,
                   Array<std::int64_t>     &pairs);

  /** Offsets and columns of the rows. @p lengths is room for a number for each row. */
  template <typename Where>
  void find_columns(
      Where, const RowCells &row_cells, Array<int> &lengths, Array<std::int64_t> &offsets, Array<int> &columns);
} // namespace PatchFEM
