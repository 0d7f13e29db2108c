// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/multigrid/factorized_inverse.h>
#include <patchfem/lac/multigrid/near_null_space.h>

/** @file Parts of a factorized inverse, for both back ends (see run.h) in factorized_inverse_steps.h. */
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

  /**
   * Gives @p parameters the smoother that automatic is for A, whose nodes @p near_null knows; of several ranks collective.
   * Returns whether the solid is nearly incompressible, so that coarse levels should have isochoric modes, too.
   */
  template <typename Number>
  bool choose_smoother(const SlicedEllpackMatrix<Number> &A, const NearNullSpace &near_null, AMGParameters &parameters);

  /**
   * Behind the rigid-body modes @p modes, [node][component][mode], of @p dim dimensions, displacements that are linear and
   * keep the volume: (y, x, 0), (z, 0, x), (0, z, y), (x, -y, 0) and (0, y, -z) in 3D. Coordinates are those of the
   * rotations.
   */
  template <typename Where>
  void add_isochoric_modes(Where, int dim, Array<double> &modes);

  /**
   * The same if the @p n_modes modes are those, and a next level of @p n_aggregates nodes, whose rows have 3^dim blocks and fewer,
   * takes less than three quarters of the entries of the finest, @p n_nonzeros: on hexahedra, but not on tetrahedra of degree 1.
   * Returns how many modes there are then. There may be no rows here.
   */
  int add_isochoric_modes(
      int dim, int n_modes, std::int64_t n_aggregates, std::int64_t n_nonzeros, Array<double> &modes);

  /**
   * How many rows of elasticity are of nearly incompressible material: of lambda > 6 mu, that is nu > 0.43. Of a row
   * inside of the body the second moments, with y the differences of @p points, [node][dim],
   *
   *     -1/2 sum_j tr(A_ij) |y_j|^2 = (d lambda + d (d + 1) mu) V,
   *     -1/2 sum_j y_j^T A_ij y_j = (d (d + 1) lambda + d (d + 3) mu) V / 2,
   *
   * are what A makes of quadratic displacements, V the integral of its shape function. They tell lambda / mu in any
   * direction of axes, to the error of interpolation. Rows whose sums and first moments do not vanish, as they do inside
   * of a body, do not count, and those with neighbours at @p n_known or behind, which have no positions.
   */
  template <typename Number, typename Where>
  std::int64_t
  count_nearly_incompressible(Where, const SlicedEllpackMatrix<Number> &A, const Array<double> &points, int n_known);
} // namespace PatchFEM::multigrid
