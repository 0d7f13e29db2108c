// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "lac/multigrid/multigrid_pattern.h"

#include <patchfem/lac/precondition/triangular_factors.h>

/** @file Parts of preconditioners of triangular factors, for both back ends (see launch.h) in triangular_steps.h. */
namespace PatchFEM::triangular
{
  /** Every row a phase of its own, at its own position. */
  template <typename Where>
  void find_natural(Where, const Backend &place, int n_rows, PhaseOrder &order);

  /** Few colours of the graph of @p A (Jones, Plassmann 1993), the same on all back ends and threads, rows in order. */
  template <typename Where>
  void find_colours(Where, const Backend &place, const SlicedPatternView &A, PhaseOrder &order);

  /** Phases are the levels of the lower triangle of @p A: sweeps by phases are those in the order of rows. */
  template <typename Where>
  void find_levels(Where, const Backend &place, const SlicedPatternView &A, PhaseOrder &order);

  /**
   * Entries of each row whose columns come in an earlier phase (@p later: in a later one), at their positions and in
   * the order of their columns. Returns the smallest row with an entry that has no transpose, or kernels::no_failure.
   */
  template <typename Where>
  int find_triangle(
      Where, const SlicedPatternView &A, const PhaseOrder &order, bool later, CompressedPattern &triangle);

  /** Block i of @p to is block source[i] of @p from, or 0 where that is negative. */
  template <typename Number, typename Where>
  void permute(Where, const Array<int> &source, int block_size, const Vector<Number> &from, Vector<Number> &to);

  /** Fills the triangles and the diagonal of SSOR. */
  template <typename Number, typename Value, typename Where>
  void fill_ssor(Where,
                 const SlicedEllpackMatrix<Number> &A,
                 const BlockDiagonalView<Number>   &D_inverse,
                 double                             omega,
                 Triangles<Number, Value>          &result);

  /** An incomplete Cholesky factorisation in the making, all in double. */
  struct IncompleteCholesky
  {
    CompressedPattern pattern; ///< the strict lower triangle, in the order of rows
    Array<double>     A, R;    ///< entries of the matrix and of the factor there
    Array<double>     diagonal, pivots;
  };

  /** Sets pattern, A and diagonal. The smallest row whose diagonal is not positive and finite, or no_failure. */
  template <typename Number, typename Where>
  int load(Where, const SlicedEllpackMatrix<Number> &A, const PhaseOrder &natural, IncompleteCholesky &factors);

  /**
   * The incomplete factorisation A + shift diag(A) = (I + R) D (I + R)^T on the pattern of A:
   *
   *   r_ij = (a_ij - sum_k r_ik d_k r_jk) / d_j,  d_i = (1 + shift) a_ii - sum_k r_ik^2 d_k
   *
   * with sums over the columns k that rows i and j share. Rows of one level are independent. A pivot d_i that is not
   * above 1e-8 a_ii is a breakdown; returns the smallest row that has one, or no_failure.
   */
  template <typename Where>
  int factorise(Where, const PhaseOrder &levels, double shift, IncompleteCholesky &factors);

  /** Fills R, its transpose and D^-1. */
  template <typename Number, typename Value, typename Where>
  void fill_factors(Where, const IncompleteCholesky &factors, Triangles<Number, Value> &result);
} // namespace PatchFEM::triangular
