// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_kernels_triangular_bodies_h
#define patchfem_source_kernels_triangular_bodies_h

#include "kernels/hash.h"
#include "kernels/multigrid_pattern_bodies.h"
#include <patchfem/kernels/atomics.h>
#include <patchfem/kernels/jacobi.h>

/**
 * @file
 * Bodies (see parallel_for.h) for preconditioners made of triangular factors: phases of rows that do not depend on each
 * other, the two triangles of a matrix in the order of phases, and the incomplete Cholesky factorisation.
 */
namespace PatchFEM
{
  namespace kernels
  {
    /**
     * One round of colouring: a row without a colour (-1) whose hash is larger than those of all its neighbours without
     * one takes the smallest colour that no neighbour has (Jones and Plassmann 1993). Rounds lead to the colours that
     * a greedy walk through the rows by descending hash gives, whatever runs at the same time.
     */
    struct ColouringBody
    {
      SlicedPattern A;
      const int    *before; ///< [row]
      int          *after;  ///< [row]
      int          *n_left;

      PATCHFEM_INLINE bool comes_first(const int i, const int j) const
      {
        const std::uint64_t a = hash(static_cast<std::uint64_t>(i)), b = hash(static_cast<std::uint64_t>(j));
        return a > b || (a == b && i > j);
      }

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        const int i = static_cast<int>(row);
        int       c = before[i];
        if (c < 0)
        {
          bool ready = true;
          for (int k = 0; k < A.length(i) && ready; ++k)
          {
            const int j = A.column(i, k);
            ready       = j == i || before[j] >= 0 || comes_first(i, j);
          }
          if (ready)
            c = smallest_free(i);
          else
            atomic_increment(n_left);
        }
        after[i] = c;
      }

    private:
      PATCHFEM_INLINE int smallest_free(const int i) const
      {
        for (int base = 0;; base += 64)
        {
          std::uint64_t used = 0;
          for (int k = 0; k < A.length(i); ++k)
          {
            const int j = A.column(i, k);
            const int c = j == i ? -1 : before[j] - base;
            if (c >= 0 && c < 64)
              used |= std::uint64_t(1) << c;
          }
          for (int c = 0; c < 64; ++c)
            if ((used >> c & 1) == 0)
              return base + c;
        }
      }
    };

    /**
     * level[i] = 1 + the largest of the rows j < i that row i couples with, 0 without any. Repeated from 0 until nothing
     * changes, with whatever values other rows have at the moment: levels only grow, towards the one solution.
     */
    struct LevelOfRowBody
    {
      SlicedPattern A;
      int          *level; ///< [row], starts at 0
      int          *changed;

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        const int i = static_cast<int>(row);
        int       l = 0;
        for (int k = 0; k < A.length(i); ++k)
        {
          const int j     = A.column(i, k);
          const int below = j < i ? atomic_load(level + j) + 1 : 0;
          l               = below > l ? below : l;
        }
        if (l != level[i])
        {
          atomic_store(level + i, l);
          atomic_store(changed, 1);
        }
      }
    };

    /** Sort key, value and histogram of phases. */
    struct PhaseKeyBody
    {
      const int     *phase; ///< [row]
      std::uint64_t *keys;
      int           *rows;
      int           *counts; ///< [phase], starts at 0

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        keys[i] = static_cast<std::uint64_t>(phase[i]);
        rows[i] = static_cast<int>(i);
        atomic_increment(counts + phase[i]);
      }
    };

    /** Where each row goes: phases one after the other from their first positions, which leave gaps between them. */
    struct PositionBody
    {
      const int *phase;           ///< [row]
      const int *sorted;          ///< rows by phase
      const int *begin;           ///< [phase], first place in sorted
      const int *first;           ///< [phase], first position
      int       *position;        ///< [row]
      int       *row_of_position; ///< [position], starts at -1

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int row = sorted[i], p = phase[row];
        const int place        = first[p] + static_cast<int>(i) - begin[p];
        position[row]          = place;
        row_of_position[place] = row;
      }
    };

    /**
     * Entries of each row whose columns come in an earlier phase (@p later: in a later one), at their positions and in
     * the order of their columns. While they are counted, entries without a transpose are noted.
     */
    struct TriangleBody
    {
      SlicedPattern       A;
      const int          *phase, *position; ///< [row]
      bool                later;
      int                *counts;  ///< [position], or nullptr: columns are written
      const std::int64_t *offsets; ///< [position]
      int                *columns;
      int                *conflict; ///< smallest row with an entry that has no transpose

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        const int i = static_cast<int>(row), p = phase[i];
        int       n = 0;
        for (int k = 0; k < A.length(i); ++k)
        {
          const int j = A.column(i, k);
          if (j == i)
            continue;
          if (counts != nullptr && !has(j, i))
            atomic_min(conflict, i);
          if (later ? phase[j] > p : phase[j] < p)
          {
            if (counts == nullptr)
              columns[offsets[position[i]] + n] = position[j];
            ++n;
          }
        }
        if (counts != nullptr)
          counts[position[i]] = n;
      }

    private:
      PATCHFEM_INLINE bool has(const int row, const int column) const
      {
        int first = 0, last = A.length(row);
        while (first < last)
        {
          const int middle = (first + last) / 2;
          if (A.column(row, middle) < column)
            first = middle + 1;
          else
            last = middle;
        }
        return first < A.length(row) && A.column(row, first) == column;
      }
    };

    /** Entry (a, c) of block i of a packed symmetric block diagonal. */
    template <typename Number>
    PATCHFEM_INLINE double block_entry(const BlockDiagonalView<Number> &D, const int i, const int a, const int c)
    {
      const int high = a > c ? a : c, low = a > c ? c : a;
      return static_cast<double>(D.values[(high * (high + 1) / 2 + low) * D.stride + i]);
    }

    /** R' = omega L D^-1 below and its transpose omega D^-1 U above, block by block. */
    template <typename Value, typename Number>
    struct SSORValuesBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths;   ///< [row]
      BlockDiagonalView<Number> D_inverse; ///< without a factor
      double                    omega;
      const int                *phase, *position; ///< [row]
      SlicedEllpackView<Value>  lower, upper;
      const int                *lower_lengths, *upper_lengths; ///< [position]

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        const int i = static_cast<int>(row), b = A.block_rows;
        for (int k = 0; k < lengths[i]; ++k)
        {
          const int j = A.columns[A.block_index(i, k)];
          if (j == i)
            continue;
          const bool                      below = phase[j] < phase[i];
          const SlicedEllpackView<Value> &T     = below ? lower : upper;
          const int at = find_block(T, (below ? lower_lengths : upper_lengths)[position[i]], position[i], position[j]);
          for (int a = 0; a < b; ++a)
            for (int c = 0; c < b; ++c)
            {
              double sum = 0.;
              for (int d = 0; d < b; ++d)
                sum += below
                           ? static_cast<double>(A.values[A.value_index(i, k, a, d)]) * block_entry(D_inverse, j, d, c)
                           : block_entry(D_inverse, i, a, d) * static_cast<double>(A.values[A.value_index(i, k, d, c)]);
              T.values[T.value_index(position[i], at, a, c)] = static_cast<Value>(omega * sum);
            }
        }
      }
    };

    /** D at positions; 0 where there is no row. */
    template <typename Number>
    struct PermuteDiagonalBody
    {
      BlockDiagonalView<Number> D;
      double                    factor;
      const int                *row_of_position;
      std::int64_t              stride;
      Number                   *values;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int row = row_of_position[i];
        for (int e = 0; e < D.block_size * (D.block_size + 1) / 2; ++e)
          values[e * stride + i] =
              row < 0 ? Number(0) : static_cast<Number>(factor * static_cast<double>(D.values[e * D.stride + row]));
      }
    };

    /** A vector into the order of positions, 0 where there is no row. */
    template <typename Number>
    struct ToPositionsBody
    {
      const int    *row_of_position;
      int           block_size;
      const Number *from;
      Number       *to;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int row = row_of_position[i / block_size];
        to[i]         = row < 0 ? Number(0) : from[std::int64_t(row) * block_size + i % block_size];
      }
    };

    /** And back. */
    template <typename Number>
    struct FromPositionsBody
    {
      const int    *position;
      int           block_size;
      const Number *from;
      Number       *to;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        to[i] = from[std::int64_t(position[i / block_size]) * block_size + i % block_size];
      }
    };

    /** The block columns of a sliced matrix in compressed rows. */
    struct CompressColumnsBody
    {
      SlicedPattern       A;
      const std::int64_t *offsets; ///< [row]
      int                *columns;

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        for (int k = 0; k < A.length(static_cast<int>(row)); ++k)
          columns[offsets[row] + k] = A.column(static_cast<int>(row), k);
      }
    };

    /** The values of a sliced matrix in scalar rows, in the places of expand_pattern(). */
    template <typename Number>
    struct CompressValuesBody
    {
      SlicedEllpackView<Number> A;
      CSRView<Number>           scalar;

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        const int    i = static_cast<int>(row / A.block_rows), a = static_cast<int>(row % A.block_rows);
        std::int64_t e = scalar.row_offsets[row];
        for (int k = 0; e < scalar.row_offsets[row + 1]; ++k)
          for (int c = 0; c < A.block_columns; ++c, ++e)
            scalar.values[e] = A.values[A.value_index(i, k, a, c)];
      }
    };

    /** The strict lower triangle of a scalar matrix and its diagonal, in double. */
    template <typename Number>
    struct LoadLowerBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths; ///< [row]
      const std::int64_t       *offsets; ///< [row]
      double                   *values, *diagonal;

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        const int    i = static_cast<int>(row);
        std::int64_t e = offsets[i];
        double       d = 0.;
        for (int k = 0; k < lengths[i]; ++k)
        {
          const int    j     = A.columns[A.block_index(i, k)];
          const double value = static_cast<double>(A.values[A.value_index(i, k, 0, 0)]);
          if (j < i)
            values[e++] = value;
          else if (j == i)
            d = value;
        }
        diagonal[i] = d;
      }
    };

    /** The smallest row whose diagonal is not positive and finite. */
    struct PositiveDiagonalBody
    {
      const double *diagonal;
      int          *failure; ///< starts at no_failure

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        if (!(diagonal[i] > 0.) || !(diagonal[i] < HUGE_VAL))
          atomic_min(failure, static_cast<int>(i));
      }
    };

    /** The smallest place of a positive number that fp32 has neither exactly nor rounded to all of its digits. */
    struct SingleRangeBody
    {
      const double *values;
      int          *failure; ///< starts at no_failure

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        if (values[i] > 0. && !(values[i] >= 1.18e-38 && values[i] <= 3.4e38))
          atomic_min(failure, static_cast<int>(i));
      }
    };

    /**
     * Row i of the incomplete factorisation A + shift diag(A) = (I + R) D (I + R)^T on the pattern of A:
     *
     *   r_ij = (a_ij - sum_k r_ik d_k r_jk) / d_j,  d_i = (1 + shift) a_ii - sum_k r_ik^2 d_k
     *
     * with sums over the columns k that rows i and j share. Rows of one level are independent. A pivot d_i that is not
     * above 1e-8 a_ii is a breakdown, noted by its row.
     */
    struct IncompleteCholeskyBody
    {
      SparsityView  lower;    ///< strict
      const int    *rows;     ///< of this level
      const double *diagonal; ///< [row] of A
      double        shift;
      double       *values; ///< of A in, of R out
      double       *pivots; ///< d
      int          *failure;

      PATCHFEM_INLINE void operator()(const std::int64_t index) const
      {
        const int          i     = rows[index];
        const std::int64_t begin = lower.row_offsets[i], end = lower.row_offsets[i + 1];
        double             d = (1. + shift) * diagonal[i];
        for (std::int64_t e = begin; e < end; ++e)
        {
          const int          j     = lower.columns[e];
          const std::int64_t end_j = lower.row_offsets[j + 1];
          double             sum   = values[e];
          for (std::int64_t p = begin, q = lower.row_offsets[j]; p < e && q < end_j;)
          {
            const int k = lower.columns[p], l = lower.columns[q];
            if (k == l)
              sum -= values[p] * pivots[k] * values[q];
            p += k <= l;
            q += l <= k;
          }
          const double r = sum / pivots[j];
          values[e]      = r;
          d -= r * r * pivots[j];
        }
        if (!(d > 1e-8 * diagonal[i]) || !(d < HUGE_VAL))
        {
          atomic_min(failure, i);
          d = diagonal[i];
        }
        pivots[i] = d;
      }
    };

    /** R into the lower triangle and its transpose into the upper one, both at positions. */
    template <typename Number>
    struct FactorValuesBody
    {
      SparsityView              lower_pattern; ///< of R, in the order of rows
      const double             *R;
      const int                *position; ///< [row]
      SlicedEllpackView<Number> lower, upper;
      const int                *lower_lengths, *upper_lengths; ///< [position]

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        const int i = position[row];
        for (std::int64_t e = lower_pattern.row_offsets[row]; e < lower_pattern.row_offsets[row + 1]; ++e)
        {
          const int    j     = position[lower_pattern.columns[e]];
          const Number value = static_cast<Number>(R[e]);
          lower.values[lower.block_index(i, find_block(lower, lower_lengths[i], i, j))] = value;
          upper.values[upper.block_index(j, find_block(upper, upper_lengths[j], j, i))] = value;
        }
      }
    };

    /** 1 / d at positions; 0 where there is no row. */
    template <typename Number>
    struct InversePivotBody
    {
      const double *pivots;
      const int    *row_of_position;
      Number       *inverse;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        inverse[i] = row_of_position[i] < 0 ? Number(0) : static_cast<Number>(1. / pivots[row_of_position[i]]);
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
