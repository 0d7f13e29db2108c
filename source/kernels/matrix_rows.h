// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/structure_bodies.h"
#include <patchfem/kernels/jacobi.h>
#include <patchfem/kernels/matrix_views.h>

/**
 * @file
 * Block rows of the matrix formats as the node graph reads them. Each has n_rows(), for_each_column(row, visit), which
 * calls visit(column) for the block columns of a row in ascending order, couples(row), whether an entry outside of
 * the diagonal block may differ from 0, and squared_norm(row, column), the squared Frobenius norm of a block, 0 where
 * none is stored.
 */
namespace PatchFEM::kernels
{
  /** A pattern without values: every block counts as one that differs from 0. */
  struct PatternRows
  {
    SparsityView pattern;

    PATCHFEM_INLINE int n_rows() const { return pattern.n_rows; }

    template <typename Visitor>
    PATCHFEM_INLINE void for_each_column(const int row, const Visitor &visit) const
    {
      for (std::int64_t e = pattern.row_offsets[row]; e < pattern.row_offsets[row + 1]; ++e)
        visit(pattern.columns[e]);
    }

    PATCHFEM_INLINE bool couples(const int row) const
    {
      const std::int64_t length = pattern.row_offsets[row + 1] - pattern.row_offsets[row];
      return length > 1 || (length == 1 && pattern.columns[pattern.row_offsets[row]] != row);
    }

    PATCHFEM_INLINE double squared_norm(int, int) const { return 0.; }
  };

  template <typename Number>
  struct SlicedEllpackRows
  {
    SlicedEllpackView<Number> A;

    PATCHFEM_INLINE int n_rows() const { return A.n_rows; }

    template <typename Visitor>
    PATCHFEM_INLINE void for_each_column(const int row, const Visitor &visit) const
    {
      A.for_each_block(row, [&](std::int64_t, const int column) { visit(column); });
    }

    /** Owned columns of a row, which has its diagonal, but for that. */
    int n_others(const int row) const
    {
      return (A.n_columns > A.n_rows ? A.lower_bound(row, A.n_rows) : A.row_lengths[row]) - 1;
    }

    PATCHFEM_INLINE bool couples(const int row) const
    {
      for (int k = 0; k < A.row_lengths[row]; ++k)
        if (A.column(row, k) != row)
          for (int a = 0; a < A.block_rows; ++a)
            for (int c = 0; c < A.block_columns; ++c)
              if (A.values[A.value_index(row, k, a, c)] != Number(0))
                return true;
      return false;
    }

    PATCHFEM_INLINE double squared_norm(const int row, const int column) const
    {
      const int k   = A.find_block(row, column);
      double    sum = 0.;
      for (int a = 0; k >= 0 && a < A.block_rows; ++a)
        for (int c = 0; c < A.block_columns; ++c)
        {
          const double value = static_cast<double>(A.values[A.value_index(row, k, a, c)]);
          sum += value * value;
        }
      return sum;
    }
  };

  /** Scalar rows, @p block_size of which belong to a node; they need not have the same columns. */
  template <typename Number>
  struct CSRRows
  {
    CSRView<Number> A;
    int             block_size; ///< at most max_block_size

    PATCHFEM_INLINE int n_rows() const { return A.n_rows / block_size; }

    template <typename Visitor>
    PATCHFEM_INLINE void for_each_column(const int row, const Visitor &visit) const
    {
      // The scalar rows are merged: next[a] is the first entry of row a that no visited block contains.
      std::int64_t next[max_block_size];
      for (int a = 0; a < block_size; ++a)
        next[a] = A.row_offsets[std::int64_t(row) * block_size + a];
      while (true)
      {
        int column = -1;
        for (int a = 0; a < block_size; ++a)
          if (next[a] < A.row_offsets[std::int64_t(row) * block_size + a + 1])
          {
            const int candidate = A.columns[next[a]] / block_size;
            column              = column < 0 || candidate < column ? candidate : column;
          }
        if (column < 0)
          return;
        for (int a = 0; a < block_size; ++a)
          while (next[a] < A.row_offsets[std::int64_t(row) * block_size + a + 1] &&
                 A.columns[next[a]] / block_size == column)
            ++next[a];
        visit(column);
      }
    }

    PATCHFEM_INLINE bool couples(const int row) const
    {
      for (std::int64_t e = A.row_offsets[std::int64_t(row) * block_size];
           e < A.row_offsets[(std::int64_t(row) + 1) * block_size]; ++e)
        if (A.values[e] != Number(0) && A.columns[e] / block_size != row)
          return true;
      return false;
    }

    PATCHFEM_INLINE double squared_norm(const int row, const int column) const
    {
      double sum = 0.;
      for (int a = 0; a < block_size; ++a)
      {
        const std::int64_t i   = std::int64_t(row) * block_size + a;
        const int         *end = A.columns + A.row_offsets[i + 1];
        for (const int *c = lower_bound(A.columns + A.row_offsets[i], end, column * block_size);
             c != end && *c / block_size == column; ++c)
        {
          const double value = static_cast<double>(A.values[c - A.columns]);
          sum += value * value;
        }
      }
      return sum;
    }
  };
} // namespace PatchFEM::kernels
