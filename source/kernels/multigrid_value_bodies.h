// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/multigrid_pattern_bodies.h"
#include "kernels/structure_bodies.h"
#include <patchfem/kernels/jacobi.h>

/**
 * @file
 * Bodies (see parallel_for.h) that compute the values of smoothed aggregation (Vanek, Mandel, Brezina 1996). n_c is the
 * number of unknowns of a node, n_m that of modes, which is the number of unknowns of a node on the next level.
 */
namespace PatchFEM::kernels
{
  /**
   * The modes of unknowns that no other unknown depends on (Dirichlet values, padding of coarse nodes) become 0: the
   * coarse space must not move them. A row of the matrix whose off-diagonal entries all vanish marks such an unknown.
   */
  template <typename Number>
  struct MaskDecoupledBody
  {
    SlicedEllpackView<Number> A;
    const int                *lengths;
    int                       n_modes;
    double                   *modes; ///< [node][component][mode]

    PATCHFEM_INLINE void operator()(const std::int64_t unknown) const
    {
      const int row = static_cast<int>(unknown / A.block_rows), a = static_cast<int>(unknown % A.block_rows);
      for (int k = 0; k < lengths[row]; ++k)
      {
        const bool diagonal = A.columns[A.block_index(row, k)] == row;
        for (int b = 0; b < A.block_columns; ++b)
          if (!(diagonal && a == b) && A.values[A.value_index(row, k, a, b)] != Number(0))
            return;
      }
      for (int m = 0; m < n_modes; ++m)
        modes[unknown * n_modes + m] = 0.;
    }
  };

  /**
   * Rows of P with fewer blocks and the same modes: a block of an aggregate J that the row does not keep is replaced by
   * one of its own aggregate I, P_I += P_J R_J R_I^-1. R_I^-1 makes of unknowns of I the motion of all modes that they
   * stand for, and R_J the unknowns of J in that motion; so P R, the modes of the nodes, stay what they are. A mode
   * that I has dropped depends on the others there and has no part in the motion. Item i * n_c + a is scalar row a of
   * block row i; scalar rows are stored as in coarsening.h.
   */
  template <typename Number>
  struct FoldBlocksBody
  {
    SparsityView  all, kept; ///< rows of kept are subsets of those of all, and have their node's own aggregate
    const Number *all_values;
    const int    *aggregate_of_node; ///< [node], -1 where none
    const double *coarse_modes;      ///< R, upper triangles, [aggregate][mode][mode]
    int           n_c, n_m;
    Number       *kept_values;

    PATCHFEM_INLINE void operator()(const std::int64_t item) const
    {
      const std::int64_t i = item / n_c, begin = all.row_offsets[i], kept_begin = kept.row_offsets[i];
      const int          n = static_cast<int>(all.row_offsets[i + 1] - begin), a = static_cast<int>(item % n_c);
      const int          n_kept = static_cast<int>(kept.row_offsets[i + 1] - kept_begin), own = aggregate_of_node[i];
      const Number      *from = all_values + (begin * n_c + std::int64_t(a) * n) * n_m;
      Number            *to = kept_values + (kept_begin * n_c + std::int64_t(a) * n_kept) * n_m, *to_own = nullptr;
      double             motion[max_block_size];
      for (int m = 0; m < n_m; ++m)
        motion[m] = 0.;
      for (int q = 0, p = 0; q < n; ++q, from += n_m)
      {
        const int aggregate = all.columns[begin + q];
        if (p < n_kept && kept.columns[kept_begin + p] == aggregate)
        {
          for (int m = 0; m < n_m; ++m)
            to[p * n_m + m] = from[m];
          if (aggregate == own)
            to_own = to + p * n_m;
          ++p;
          continue;
        }
        const double *R = coarse_modes + std::int64_t(aggregate) * n_m * n_m;
        for (int l = 0; l < n_m; ++l)
          for (int m = l; m < n_m; ++m)
            motion[m] += static_cast<double>(from[l]) * R[l * n_m + m];
      }
      if (to_own == nullptr || n == n_kept)
        return;
      const double *R = coarse_modes + std::int64_t(own) * n_m * n_m;
      for (int m = 0; m < n_m; ++m)
      {
        for (int l = 0; l < m; ++l)
          motion[m] -= motion[l] * R[l * n_m + m];
        motion[m] = R[m * n_m + m] > 0. ? motion[m] / R[m * n_m + m] : 0.;
        to_own[m] = static_cast<Number>(static_cast<double>(to_own[m]) + motion[m]);
      }
    }
  };

  /** Index (slice * width + p) * slice height + r is block p of row r of a slice, so that neighbours write to neighbours. */
  struct BlockOfSlice
  {
    std::int64_t row;
    int          p;

    PATCHFEM_INLINE BlockOfSlice(const std::int64_t index, const int slice_height, const int width)
        : row(index / slice_height / width * slice_height + index % slice_height),
          p(static_cast<int>(index / slice_height % width))
    {}
  };

  /** The blocks of P from scalar rows (see coarsening.h) to sliced storage, for indices of BlockOfSlice. */
  template <typename Number>
  struct FillProlongatorBody
  {
    SparsityView              pattern;
    const Number             *values;
    SlicedEllpackView<Number> P;
    int                       width; ///< longest row

    PATCHFEM_INLINE void operator()(const std::int64_t index) const
    {
      const auto [i, p] = BlockOfSlice(index, P.slice_height, width);
      if (i >= P.n_rows || p >= pattern.row_offsets[i + 1] - pattern.row_offsets[i])
        return;
      const int          nc = P.block_rows, nm = P.block_columns;
      const std::int64_t begin = pattern.row_offsets[i];
      const int          pitch = static_cast<int>(pattern.row_offsets[i + 1] - begin) * nm;
      const Number      *block = values + begin * (nc * nm) + p * nm;
      Number            *to    = P.values + P.value_index(static_cast<int>(i), p, 0, 0);
      for (int a = 0; a < nc; ++a)
        for (int m = 0; m < nm; ++m, to += P.slice_height)
          *to = block[a * pitch + m];
    }
  };

  /** R = P^T from the same rows of P; indices as above, of R. */
  template <typename Number>
  struct FillRestrictorBody
  {
    SparsityView              pattern; ///< of P
    const Number             *values;
    SlicedEllpackView<Number> R;
    const int                *R_lengths;
    int                       width;

    PATCHFEM_INLINE void operator()(const std::int64_t index) const
    {
      const auto [i, p] = BlockOfSlice(index, R.slice_height, width);
      if (i >= R.n_rows || p >= R_lengths[i])
        return;
      const int          row = static_cast<int>(i), j = R.columns[R.block_index(row, p)];
      const std::int64_t begin = pattern.row_offsets[j];
      const int         *first = pattern.columns + begin, *end = pattern.columns + pattern.row_offsets[j + 1];
      const int          nm = R.block_rows, nc = R.block_columns, pitch = static_cast<int>(end - first) * nm;
      const Number      *block = values + begin * (nc * nm) + (lower_bound(first, end, row) - first) * nm;
      for (int m = 0; m < nm; ++m)
        for (int a = 0; a < nc; ++a)
          R.values[R.value_index(row, p, m, a)] = block[a * pitch + m];
    }
  };

  /**
   * The lower half of a coarse matrix becomes the transpose of the upper one, and the diagonal of dropped modes 1, for
   * indices of BlockOfSlice.
   */
  template <typename Number>
  struct MirrorBody
  {
    SlicedEllpackView<Number> C;
    const int                *C_lengths;
    const int                *dropped; ///< [row], bits
    int                       width;

    PATCHFEM_INLINE void operator()(const std::int64_t index) const
    {
      const auto [row, p] = BlockOfSlice(index, C.slice_height, width);
      if (row >= C.n_rows || p >= C_lengths[row])
        return;
      const int i = static_cast<int>(row), nm = C.block_rows;
      const int column = C.columns[C.block_index(i, p)];
      if (column == i)
        for (int m = 0; m < nm; ++m)
        {
          for (int c = 0; c < m; ++c)
            C.values[C.value_index(i, p, m, c)] = C.values[C.value_index(i, p, c, m)];
          if ((dropped[i] >> m) & 1)
            C.values[C.value_index(i, p, m, m)] = Number(1);
        }
      else if (column < i)
      {
        const int q = find_block(C, C_lengths[column], column, i);
        for (int m = 0; m < nm; ++m)
          for (int c = 0; c < nm; ++c)
            C.values[C.value_index(i, p, m, c)] = C.values[C.value_index(column, q, c, m)];
      }
    }
  };

  /**
   * Adds to the diagonal of each diagonal block, [(a * b + a) * n + i], the absolute values of its row outside of the
   * block: M - A is then positive semidefinite (Baker, Falgout, Kolev, Yang 2011, in blocks).
   */
  template <typename Number>
  struct AddRowSumsBody
  {
    SlicedEllpackView<Number> A;
    const int                *lengths;
    Number                   *blocks;

    PATCHFEM_INLINE void operator()(const std::int64_t unknown) const
    {
      const int row = static_cast<int>(unknown / A.block_rows), a = static_cast<int>(unknown % A.block_rows);
      double    sum = 0.;
      for (int k = 0; k < lengths[row]; ++k)
        if (A.columns[A.block_index(row, k)] != row)
          for (int b = 0; b < A.block_columns; ++b)
          {
            const double value = static_cast<double>(A.values[A.value_index(row, k, a, b)]);
            sum += value < 0. ? -value : value;
          }
      Number &entry = blocks[std::int64_t(a * A.block_rows + a) * A.n_rows + row];
      entry         = static_cast<Number>(static_cast<double>(entry) + sum);
    }
  };

  /** The entries of one scalar row into a dense matrix that starts at 0. */
  template <typename Number>
  struct ToDenseBody
  {
    SlicedEllpackView<Number> A;
    const int                *lengths;
    int                       n;     ///< scalar rows
    double                   *dense; ///< [n][n]

    PATCHFEM_INLINE void operator()(const std::int64_t unknown) const
    {
      const int row = static_cast<int>(unknown / A.block_rows), a = static_cast<int>(unknown % A.block_rows);
      double   *out = dense + unknown * n;
      for (int k = 0; k < lengths[row]; ++k)
        for (int b = 0; b < A.block_columns; ++b)
          out[A.columns[A.block_index(row, k)] * A.block_columns + b] =
              static_cast<double>(A.values[A.value_index(row, k, a, b)]);
    }
  };

  /** The rectangular blocks of prolongators that have variants of their own: run(n_c, n_m), or run(0, 0). */
  template <typename Run>
  void with_prolongator_sizes(const int n_components, const int n_modes, const Run &run)
  {
    using std::integral_constant;
    switch (n_components * 16 + n_modes)
    {
    case 0x11:
      return run(integral_constant<int, 1>(), integral_constant<int, 1>());
    case 0x22:
      return run(integral_constant<int, 2>(), integral_constant<int, 2>());
    case 0x23:
      return run(integral_constant<int, 2>(), integral_constant<int, 3>());
    case 0x33:
      return run(integral_constant<int, 3>(), integral_constant<int, 3>());
    case 0x36:
      return run(integral_constant<int, 3>(), integral_constant<int, 6>());
    case 0x66:
      return run(integral_constant<int, 6>(), integral_constant<int, 6>());
    default:
      return run(integral_constant<int, 0>(), integral_constant<int, 0>());
    }
  }
} // namespace PatchFEM::kernels
