// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/multigrid/factorized_inverse.h>
#include <patchfem/lac/multigrid/near_null_space.h>

/** @file Parts of a factorized inverse, for both back ends (see launch.h) in factorized_inverse_steps.h. */
namespace PatchFEM::multigrid
{
  /**
   * Of each row of @p A itself and those neighbours, not ghosts, whose numbers have smaller hashes: @p most of them, those
   * with the largest |A_ij|^2 / |A_jj|.
   */
  template <typename Number, typename Where>
  CompressedPattern preceding_neighbours(Where, const SlicedEllpackMatrix<Number> &A, int most);

  /**
   * Of each row of @p A itself and the nodes j before it, not ghosts, with c_ij >= 0.15, of these the 8 largest, ties by the
   * lower number: c_ij = |D_i^-1/2 A_ij D_j^-1/2| / sqrt(n_c) in Frobenius norms, D^-1 in @p D. 1 is where i and j can only
   * move together. The order is that of the norms of diagonal blocks, in steps of sqrt(2), and of numbers: where pieces of
   * stiff material give way together, the row of the stiffest node sees them.
   */
  template <typename Number, typename Where>
  CompressedPattern
  preceding_couplings(Where, const SlicedEllpackMatrix<Number> &A, const BlockDiagonalView<Number> &D);

  /**
   * How many nodes of a sample, one in 16, or 2048, give way if those of preceding_couplings() do: with S the Schur
   * complement of A_JJ, tr(A_ii S^-1) > 4 n_c. A polynomial of low degree in D^-1 A does not smooth such motions.
   */
  template <typename Number, typename Where>
  std::int64_t count_soft_nodes(Where,
                                const SlicedEllpackMatrix<Number> &A,
                                const BlockDiagonalView<Number>   &D,
                                std::int64_t                      &n_looked_at);

  /** The values of the factor @p lower of @p A, @p width the blocks of its longest row, and of its transpose @p upper. */
  template <typename Number, typename Where>
  void factorize_inverse(Where,
                         const SlicedEllpackMatrix<Number> &A,
                         int                                width,
                         SlicedEllpackMatrix<Number>       &lower,
                         SlicedEllpackMatrix<Number>       &upper);

  /** d = c[0] d + c[1] z and x = x + d; @p first_d, @p first_x: d, x count as 0 and are not read. */
  template <typename Number, typename Where>
  void direction_step(Where,
                      const double         *c,
                      const Vector<Number> &z,
                      bool                  first_d,
                      bool                  first_x,
                      Vector<Number>       &d,
                      Vector<Number>       &x);
} // namespace PatchFEM::multigrid
