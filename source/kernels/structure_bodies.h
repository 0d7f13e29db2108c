// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/batch_views.h>
#include <patchfem/kernels/parallel_for.h>

/** @file Bodies (see parallel_for.h) that find which cells feed a row, the sparsity, and the patches. */
namespace PatchFEM::kernels
{
  /**
   * The first position in the ascending list [begin, end) whose value is not below @p value. All lists of one length
   * take the same steps, so that nothing is predicted wrongly and several searches overlap.
   */
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

  /** values[indices[i]] = value. */
  struct MarkBody
  {
    const int     *indices;
    unsigned char *values;
    unsigned char  value;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const { values[indices[i]] = value; }
  };

  struct CountCellRowsBody
  {
    CellRows rows;
    int     *counts; ///< [cell]

    PATCHFEM_INLINE void operator()(const std::int64_t i) const { counts[i] = rows.n_rows(static_cast<int>(i)); }
  };

  /** Every (row, pair), cell by cell. */
  struct EmitPairsBody
  {
    CellRows            rows;
    const std::int64_t *offsets; ///< [cell]
    int                *keys;
    std::int64_t       *pairs;
    int                *counts; ///< [row], starts at 0

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      const int  cell = static_cast<int>(i), n = rows.n_rows(cell);
      const int *nodes = rows.nodes(cell);
      for (int r = 0; r < n; ++r)
      {
        keys[offsets[i] + r]  = nodes[r];
        pairs[offsets[i] + r] = Pair::make(cell, r);
        atomic_increment(counts + nodes[r]);
      }
    }
  };

  /**
   * Columns that a row's cells offer, each as often as cells offer it: n_free for a pair that couples, 1 for a
   * diagonal. So many places the plan of the patches notes for the row.
   */
  struct CountCandidatesBody
  {
    CellRows            rows;
    const std::int64_t *pair_offsets; ///< [row]
    const std::int64_t *pairs;
    int                *counts; ///< [row]

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      int n = 0;
      for (std::int64_t p = pair_offsets[row]; p < pair_offsets[row + 1]; ++p)
      {
        const int n_free = rows.n_free(Pair::cell(pairs[p]));
        n += Pair::row(pairs[p]) < n_free ? n_free : 1;
      }
      counts[row] = n;
    }
  };

  /** The lists (see unique_rows.h) of the columns that the cells of rows offer, as counted by CountCandidatesBody. */
  struct CandidateLists
  {
    CellRows            rows;
    const std::int64_t *pair_offsets;
    const std::int64_t *pairs;

    template <typename Emit>
    PATCHFEM_INLINE void visit(const int row, const int rank, const int size, const Emit &emit) const
    {
      for (std::int64_t p = pair_offsets[row] + rank; p < pair_offsets[row + 1]; p += size)
      {
        const int cell = Pair::cell(pairs[p]), n_free = rows.n_free(cell);
        if (Pair::row(pairs[p]) < n_free)
        {
          const int *nodes = rows.nodes(cell);
          for (int s = 0; s < n_free; ++s)
            emit(nodes[s]);
        }
        else
          emit(row);
      }
    }
  };

  struct EmitCandidatesBody
  {
    CandidateLists      candidates;
    int                 first_row;
    const std::int64_t *offsets; ///< [row - first_row]
    int                *columns;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      int *out = columns + offsets[i];
      candidates.visit(first_row + static_cast<int>(i), 0, 1, [&](const int column) { *out++ = column; });
    }
  };

  /** How many different values each sorted segment has. */
  struct CountUniqueBody
  {
    const std::int64_t *offsets; ///< [segment]
    const int          *values;
    int                *counts; ///< [segment]

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      int n = 0, previous = -1;
      for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k)
      {
        n += values[k] != previous;
        previous = values[k];
      }
      counts[i] = n;
    }
  };

  struct WriteUniqueBody
  {
    const std::int64_t *offsets; ///< [segment]
    const int          *values;
    const std::int64_t *unique_offsets; ///< [segment]
    int                *unique;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      int *out = unique + unique_offsets[i], previous = -1;
      for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k)
        if (values[k] != previous)
          *out++ = previous = values[k];
    }
  };
} // namespace PatchFEM::kernels
