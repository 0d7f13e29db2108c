// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/structure_bodies.h"
#include "kernels/unique_rows.h"
#include <patchfem/kernels/matrix_views.h>

#include <utility>

/**
 * @file
 * Lists (see unique_rows.h) for the patterns of smoothed aggregation, P, A P and R A P with R = P^T, by nodes, that is
 * by blocks. A row of the coarse level is an aggregate of the fine one.
 */
namespace PatchFEM::kernels
{
  struct ProlongatorRows
  {
    static constexpr int team_size = 8, table_size = 64, n_kept = 12;

    SlicedPatternView A;
    const int        *aggregate_of_node; ///< [node], -1 where none

    /** Row i of P: the aggregates of the neighbours of node i (node i is among them). */
    template <typename Emit>
    PATCHFEM_INLINE void visit(const int i, const int rank, const int size, const Emit &emit) const
    {
      for (int k = rank; k < A.row_lengths[i]; k += size)
        emit(aggregate_of_node[A.column(i, k)]);
    }
  };

  struct ShortProlongatorRows
  {
    static constexpr int team_size = 8, table_size = 64, n_kept = 12;

    AdjacencyView graph, across;     ///< the second to ghosts, without offsets if there are none
    const int    *aggregate_of_node; ///< [node], -1 where none

    /** The same from the edges of two graphs: those of node i itself and of its neighbours there. */
    template <typename Emit>
    PATCHFEM_INLINE void visit(const int i, const int rank, const int size, const Emit &emit) const
    {
      if (rank == 0)
        emit(aggregate_of_node[i]);
      for (std::int64_t e = graph.offsets[i] + rank; e < graph.offsets[i + 1]; e += size)
        emit(aggregate_of_node[graph.neighbours[e]]);
      if (across.offsets != nullptr)
        for (std::int64_t e = across.offsets[i] + rank; e < across.offsets[i + 1]; e += size)
          emit(aggregate_of_node[across.neighbours[e]]);
    }
  };

  /** Row i of the product of two patterns: the columns of B in the rows that are columns of A's row i. */
  template <int width> ///< members that walk along a row of B together
  struct ProductOfPatterns
  {
    SlicedPatternView A;
    SparsityView      B;

    template <typename Emit>
    PATCHFEM_INLINE void visit(const int i, const int rank, const int size, const Emit &emit) const
    {
      const RowShare share(rank, size, width);
      for (int k = share.row; k < A.row_lengths[i]; k += share.n_rows)
      {
        const int          j   = A.column(i, k);
        const std::int64_t end = B.row_offsets[j + 1];
        for (std::int64_t e = B.row_offsets[j] + share.entry; e < end; e += share.width)
          emit(B.columns[e]);
      }
    }
  };

  /** A P: 27 rows of four blocks for trilinear elements, of which ten are distinct. */
  struct ProductRows : ProductOfPatterns<1>
  {
    static constexpr int team_size = 16, table_size = 128, n_kept = 32;

    int first; ///< rows before it stay empty

    template <typename Emit>
    PATCHFEM_INLINE void visit(const int i, const int rank, const int size, const Emit &emit) const
    {
      if (i >= first)
        ProductOfPatterns<1>::visit(i, rank, size, emit);
    }
  };

  /** R (A P), whose rows have more of both. */
  struct CoarseRows : ProductOfPatterns<8>
  {
    static constexpr int team_size = 32, table_size = 512, n_kept = 64;
  };

  /**
   * On the host: half of R A P of scalars, row by row, each as (R A) P. Of rows from @p first on, of which the last are
   * those of other ranks' nodes, those of A P are there. The nodes before have columns of own coarse nodes alone in P, and
   * A couples them symmetrically: of this part A is taken up to half the diagonal, and what is missing is the transpose of
   * the result. The other part, which is whole, has columns P.n_columns + j for j. See CoarseSumRows.
   */
  template <typename Number>
  struct CoarseScalarRows
  {
    SlicedEllpackView<Number> A, R;
    SparsityView              P, AP;
    const Number             *P_values, *AP_values;
    int                       first;

    /** The row of R A: the sum of a fine node, and the last row that has it, from 1. */
    struct Node
    {
      double sum;
      int    row;
    };
    Workspace<Node>   nodes   = {}; ///< [fine node]
    Workspace<int>    reached = {}; ///< those that the row has
    Workspace<double> sums    = {}; ///< [column]; 0 outside of visit() and take()

    template <typename Emit>
    void visit(const int i, int, int, const Emit &emit) const
    {
      Node *const   node = nodes(A.n_columns);
      int *const    list = reached(std::size_t(A.n_columns) + 1);
      double *const sum  = sums(2 * std::size_t(P.n_columns));
      int           n    = 0;
      const auto    add  = [&](const double left, const SparsityView &rows, const int row, const Number *values) {
        const int shift = row < first ? 0 : P.n_columns;
        for (std::int64_t e = rows.row_offsets[row]; e < rows.row_offsets[row + 1]; ++e, ++values)
        {
          sum[rows.columns[e] + shift] += left * static_cast<double>(*values);
          emit(rows.columns[e] + shift);
        }
      };
      const auto reach = [&](const int k, const double value) { // without a branch, as in unique_rows()
        list[n] = k;
        n += node[k].row != i + 1;
        node[k].row = i + 1;
        node[k].sum += value;
      };
      R.for_each_block(i, [&](const std::int64_t at, const int j) {
        const double left = static_cast<double>(R.values[at]);
        if (j >= first)
          return add(left, AP, j, AP_values + AP.row_offsets[j] - AP.row_offsets[first]);
        const std::int64_t begin = A.block_index(j, 0), end = begin + std::int64_t(A.row_lengths[j]) * A.slice_height;
        std::int64_t       e = begin;
        for (; e < end && A.columns[e] < j; e += A.slice_height)
          reach(A.columns[e], left * static_cast<double>(A.values[e]));
        if (e < end && A.columns[e] == j)
          reach(j, 0.5 * left * static_cast<double>(A.values[e]));
        for (e = end - A.slice_height; e >= begin && A.columns[e] >= first; e -= A.slice_height)
          reach(A.columns[e], left * static_cast<double>(A.values[e]));
      });
      for (int p = 0; p < n; ++p)
        add(std::exchange(node[list[p]].sum, 0.), P, list[p], P_values + P.row_offsets[list[p]]);
    }

    /** The value in @p column of the row that was visited last. */
    double take(const int column) const { return std::exchange(sums(2 * std::size_t(P.n_columns))[column], 0.); }
  };

  /** The rows of R A P from that half, with their values. */
  template <typename Number>
  struct CoarseSumRows
  {
    SparsityView      half, transposed;
    const double     *values; ///< of the half
    int               n_columns;
    Workspace<double> sums = {}; ///< [column]; 0 outside of visit() and take()

    template <typename Emit>
    void visit(const int i, int, int, const Emit &emit) const
    {
      double *const sum = sums(n_columns);
      const auto    add = [&](const int column, const std::int64_t e) {
        sum[column] += values[e];
        emit(column);
      };
      for (std::int64_t e = half.row_offsets[i]; e < half.row_offsets[i + 1]; ++e)
        add(half.columns[e] % n_columns, e);
      for (std::int64_t t = transposed.row_offsets[i]; t < transposed.row_offsets[i + 1]; ++t)
      {
        const int  j     = transposed.columns[t];
        const int *begin = half.columns + half.row_offsets[j], *end = half.columns + half.row_offsets[j + 1];
        add(j, lower_bound(begin, end, i) - half.columns);
      }
    }

    Number take(const int column) const { return static_cast<Number>(std::exchange(sums(n_columns)[column], 0.)); }
  };

  /** The block columns of the scalar rows of a block row: how a scalar matrix is cut into blocks. */
  struct BlockedRows
  {
    static constexpr int team_size = 32, table_size = 128, n_kept = 32;

    const std::int64_t *row_offsets; ///< [scalar row + 1]
    const int          *columns;
    int                 block_rows, block_columns;

    template <typename Emit>
    PATCHFEM_INLINE void visit(const int i, const int rank, const int size, const Emit &emit) const
    {
      const std::int64_t first = std::int64_t(i) * block_rows;
      for (std::int64_t e = row_offsets[first] + rank; e < row_offsets[first + block_rows]; e += size)
        emit(columns[e] / block_columns);
    }
  };
} // namespace PatchFEM::kernels
