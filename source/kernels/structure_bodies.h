// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/batch_views.h>
#include <patchfem/kernels/parallel_for.h>

/** @file Searches in rows, and what cells offer them. */
namespace PatchFEM::kernels
{
  /** std::lower_bound() with the same steps for all lists of one length: no wrong predictions, searches overlap. */
  template <typename T>
  PATCHFEM_INLINE const T *lower_bound(const T *begin, const T *end, const T value)
  {
    std::int64_t n = end - begin;
    while (n > 1)
    {
      const std::int64_t half = n / 2;
      begin += half * (begin[half - 1] < value); // a product: compilers make branches of choices
      n -= half;
    }
    return begin + (n == 1 && *begin < value);
  }

  /** The lists (see unique_rows.h) of the columns that the cells of rows offer, each as often as they do. */
  struct CandidateLists
  {
    RowCellsView rows;

    template <typename Emit>
    PATCHFEM_INLINE void visit(const int row, int, int, const Emit &emit) const
    {
      rows.visit(row, [&](const int cell, const int r) {
        const int  n_free = rows.cells.n_free(cell);
        const int *nodes  = rows.cells.nodes(cell);
        if (r < n_free)
          for (int s = 0; s < n_free; ++s)
            emit(nodes[s]);
        else
          emit(row);
      });
    }
  };
} // namespace PatchFEM::kernels
