// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_multigrid_pattern_bodies_h
#define patchfem_kernels_multigrid_pattern_bodies_h

#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/parallel_for.h>

#include <climits>

/**
 * @file
 * Bodies (see parallel_for.h) that find the patterns of smoothed aggregation: of the prolongator P, its transpose R,
 * the product A P and the coarse matrix R A P. Indices are those of nodes, that is of blocks. A row of the coarse level
 * is an aggregate of the fine one.
 */
namespace PatchFEM
{
  namespace kernels
  {
    /** The pattern of a sliced matrix without its values. */
    struct SlicedPattern
    {
      int                 n_rows;
      int                 slice_height;
      const std::int64_t *slice_offsets; ///< [n_slices + 1]
      const int          *columns;
      const int          *lengths; ///< [n_rows], blocks of each row

      PATCHFEM_INLINE int length(const int row) const { return lengths[row]; }

      PATCHFEM_INLINE int column(const int row, const int k) const
      {
        return columns[slice_offsets[row / slice_height] + std::int64_t(k) * slice_height + row % slice_height];
      }
    };

    /**
     * Holds the smallest distinct values above @p bound that it is offered, in ascending order. What does not fit is
     * left for the next sweep over the same values, which starts from a higher bound.
     */
    template <int capacity>
    struct AscendingWindow
    {
      int  values[capacity];
      int  size;
      int  bound;
      bool complete; ///< nothing was left out

      PATCHFEM_INLINE void start(const int above)
      {
        size     = 0;
        bound    = above;
        complete = true;
      }

      PATCHFEM_INLINE void offer(const int value)
      {
        if (value <= bound)
          return;
        if (size == capacity && value >= values[capacity - 1])
        {
          complete = complete && value == values[capacity - 1];
          return;
        }
        int first = 0, last = size;
        while (first < last)
        {
          const int middle = (first + last) / 2;
          if (values[middle] < value)
            first = middle + 1;
          else
            last = middle;
        }
        if (first < size && values[first] == value)
          return;
        if (size == capacity)
          complete = false;
        else
          ++size;
        for (int k = size - 1; k > first; --k)
          values[k] = values[k - 1];
        values[first] = value;
      }
    };

    /**
     * Calls @p emit for each distinct non-negative value of a list, ascending. @p visit(sink) calls sink.offer() for
     * every entry of the list; it is swept once for every @p capacity distinct values, and nothing but the window is
     * stored.
     */
    template <int capacity, typename Visit, typename Emit>
    PATCHFEM_INLINE void for_each_distinct(const Visit &visit, const Emit &emit)
    {
      AscendingWindow<capacity> window;
      int                       bound = -1;
      do
      {
        window.start(bound);
        visit(window);
        for (int k = 0; k < window.size; ++k)
          emit(window.values[k]);
        if (window.size > 0)
          bound = window.values[window.size - 1];
      } while (!window.complete);
    }

    /** Row i of P: the aggregates of the neighbours of node i (node i is among them). */
    struct ProlongatorRows
    {
      SlicedPattern A;
      const int    *aggregate_of_node; ///< [node], -1 where none

      template <typename Emit>
      PATCHFEM_INLINE void row(const int i, const Emit &emit) const
      {
        const auto &self = *this;
        for_each_distinct<32>(
            [&](auto &window) {
              for (int k = 0; k < self.A.length(i); ++k)
                window.offer(self.aggregate_of_node[self.A.column(i, k)]);
            },
            emit);
      }
    };

    /** Row i of the product of two patterns: the columns of B in the rows that are columns of A's row i. */
    struct ProductRows
    {
      SlicedPattern A, B;

      template <typename Emit>
      PATCHFEM_INLINE void row(const int i, const Emit &emit) const
      {
        const auto &self = *this;
        for_each_distinct<64>(
            [&](auto &window) {
              for (int k = 0; k < self.A.length(i); ++k)
              {
                const int j = self.A.column(i, k);
                for (int l = 0; l < self.B.length(j); ++l)
                  window.offer(self.B.column(j, l));
              }
            },
            emit);
      }
    };

    /** The same with B in compressed rows. */
    struct CoarseRows
    {
      SlicedPattern R;
      SparsityView  AP;

      template <typename Emit>
      PATCHFEM_INLINE void row(const int i, const Emit &emit) const
      {
        const auto &self = *this;
        for_each_distinct<64>(
            [&](auto &window) {
              for (int k = 0; k < self.R.length(i); ++k)
              {
                const int j = self.R.column(i, k);
                for (std::int64_t e = self.AP.row_offsets[j]; e < self.AP.row_offsets[j + 1]; ++e)
                  window.offer(self.AP.columns[e]);
              }
            },
            emit);
      }
    };

    /** The block columns of b scalar rows of compressed columns: how a scalar matrix is cut into blocks. */
    struct BlockedRows
    {
      const std::int64_t *row_offsets; ///< [scalar row + 1]
      const int          *columns;
      int                 block_size;

      template <typename Emit>
      PATCHFEM_INLINE void row(const int i, const Emit &emit) const
      {
        const auto &self = *this;
        for_each_distinct<64>(
            [&](auto &window) {
              const std::int64_t first = std::int64_t(i) * self.block_size;
              for (std::int64_t e = self.row_offsets[first]; e < self.row_offsets[first + self.block_size]; ++e)
                window.offer(self.columns[e] / self.block_size);
            },
            emit);
      }
    };

    /** counts[i] = length of row i. */
    template <typename Rows>
    struct CountRowBody
    {
      Rows rows;
      int *counts;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        int n = 0;
        rows.row(static_cast<int>(i), [&](int) { ++n; });
        counts[i] = n;
      }
    };

    template <typename Rows>
    struct WriteRowBody
    {
      Rows                rows;
      const std::int64_t *offsets;
      int                *columns;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        int *out = columns + offsets[i];
        rows.row(static_cast<int>(i), [&](const int column) { *out++ = column; });
      }
    };

    /** For the transpose: every (column, row) of a compressed pattern, row by row, and the length of each column. */
    struct EmitTransposedBody
    {
      const std::int64_t *offsets;
      const int          *columns;
      std::uint64_t      *keys;   ///< column of each entry
      int                *rows;   ///< row of each entry
      int                *counts; ///< [column], starts at 0

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
        {
          keys[e] = static_cast<std::uint64_t>(columns[e]);
          rows[e] = static_cast<int>(i);
          atomic_increment(counts + columns[e]);
        }
      }
    };

    /** The first row that lacks the transpose of one of its entries, or its diagonal. */
    struct SymmetryBody
    {
      SparsityView pattern;
      int         *first_row; ///< starts at INT_MAX

      PATCHFEM_INLINE bool has(const int row, const int column) const
      {
        std::int64_t first = pattern.row_offsets[row], last = pattern.row_offsets[row + 1];
        while (first < last)
        {
          const std::int64_t middle = (first + last) / 2;
          if (pattern.columns[middle] < column)
            first = middle + 1;
          else
            last = middle;
        }
        return first < pattern.row_offsets[row + 1] && pattern.columns[first] == column;
      }

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int row  = static_cast<int>(i);
        bool      good = has(row, row);
        for (std::int64_t e = pattern.row_offsets[i]; e < pattern.row_offsets[i + 1]; ++e)
          good = good && has(pattern.columns[e], row);
        if (!good)
          atomic_min(first_row, row);
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
