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
   * On the host: the rows of R A P of scalars, each as (R A) P, with their values. Of rows from @p first on, of which the
   * last are those of other ranks' nodes, those of A P are there.
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
    Workspace<double> sums    = {}; ///< [coarse node], of R A P; 0 outside of visit() and take()

    template <typename Emit>
    void visit(const int i, int, int, const Emit &emit) const
    {
      Node *const   node = nodes(A.n_columns);
      int *const    list = reached(std::size_t(A.n_columns) + 1);
      double *const sum  = sums(P.n_columns);
      int           n    = 0;
      const auto    add  = [&](const double left, const SparsityView &rows, const int row, const Number *values) {
        for (std::int64_t e = rows.row_offsets[row]; e < rows.row_offsets[row + 1]; ++e, ++values)
        {
          sum[rows.columns[e]] += left * static_cast<double>(*values);
          emit(rows.columns[e]);
        }
      };
      R.for_each_block(i, [&](const std::int64_t at, const int j) {
        const double left = static_cast<double>(R.values[at]);
        if (j >= first)
          return add(left, AP, j, AP_values + AP.row_offsets[j] - AP.row_offsets[first]);
        A.for_each_block(j, [&](const std::int64_t e, const int k) { // without a branch, as in unique_rows()
          list[n] = k;
          n += node[k].row != i + 1;
          node[k].row = i + 1;
          node[k].sum += left * static_cast<double>(A.values[e]);
        });
      });
      for (int p = 0; p < n; ++p)
        add(std::exchange(node[list[p]].sum, 0.), P, list[p], P_values + P.row_offsets[list[p]]);
    }

    /** The value in @p column of the row that was visited last. */
    Number take(const int column) const { return static_cast<Number>(std::exchange(sums(P.n_columns)[column], 0.)); }
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
