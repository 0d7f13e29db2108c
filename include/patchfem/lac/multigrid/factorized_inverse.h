// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/multigrid/level_smoother.h>

namespace PatchFEM
{
  /** What the rows of a FactorizedInverse have. */
  enum class FactorizedInverseRows
  {
    neighbours, ///< those that come before it in the order of a hash, the strongest
    couplings   ///< those no stiffer, with |D_i^-1/2 A_ij D_j^-1/2| >= 0.15 sqrt(n_c), the 8 largest
  };

  /**
   * The factorized sparse approximate inverse G^T G of A (Kolotilina, Yeremin 1993): of all block lower triangular G with
   * a pattern the one that with the right diagonal makes |I - G L| least in the Frobenius norm, A = L L^T. The pattern has
   * at most 20 columns of a row beside its own, see FactorizedInverseRows. No entry of L is needed: with J the
   * columns of a row, the row's own node last, and A_JJ = C C^T, the blocks of the row are the last row of C^-1. So each
   * is a dense problem on the node and those neighbours that come before it, which sees how unknowns of several nodes
   * together give way where those of one cannot, and the product of both factors is symmetric and positive definite
   * whatever the rows are. Both factors are stored. Of several ranks each has that of its own rows.
   */
  template <typename Number>
  class FactorizedInverse : public PreconditionBase<Number>
  {
  public:
    /** Pattern and values of both factors. */
    void initialize(const SlicedEllpackMatrix<Number>     &A,
                    FactorizedInverseRows                  rows      = FactorizedInverseRows::neighbours,
                    const PreconditionBlockJacobi<Number> *D_inverse = nullptr);

    /** New values on the pattern of A. */
    void update(const SlicedEllpackMatrix<Number> &A, const PreconditionBlockJacobi<Number> *D_inverse = nullptr);

    /** dst = G^T G src */
    void        vmult(Vector<Number> &dst, const Vector<Number> &src) const override;
    std::string name() const override { return "factorized inverse"; }
    std::size_t memory_consumption() const override { return memory_consumption_of(lower, upper, w); }

    const SlicedEllpackMatrix<Number> &factor() const { return lower; }

  private:
    SlicedEllpackMatrix<Number> lower, upper; ///< G and G^T
    FactorizedInverseRows       rows  = FactorizedInverseRows::neighbours;
    int                         width = 0; ///< blocks of the longest row of G
    mutable Vector<Number>      w;
  };

  /**
   * Chebyshev's polynomial in G^T G A on [lambda_max / ratio, lambda_max]. A step costs a product with A and, by both
   * factors, about as much again.
   *
   * It is for levels with soft nodes (multigrid::count_soft_nodes()) and, if it is asked for, nearly incompressible solids.
   * Of these D^-1 A has the eigenvalues of vortices of a few nodes, whose volume hardly changes, a factor of mu / lambda below
   * those of other functions that vary as fast, and no polynomial of low degree damps both.
   */
  template <typename Number>
  class FactorizedInverseSmoother : public SteppedSmoother<Number>
  {
  public:
    FactorizedInverseSmoother(int                   n_steps,
                              double                eigenvalue_ratio,
                              int                   eigenvalue_steps,
                              FactorizedInverseRows rows         = FactorizedInverseRows::neighbours,
                              bool                  second_start = false);

    void        initialize(const SlicedEllpackMatrix<Number>     &A,
                           const PreconditionBlockJacobi<Number> &D_inverse,
                           const LargestEigenvalue<Number>       &lambda) override;
    std::size_t memory_consumption() const override { return memory_consumption_of(inverse, coefficients, d, z); }
    double      relative_cost() const override { return 2.; }

    const FactorizedInverse<Number> &approximate_inverse() const { return inverse; }

    /** Bound of the spectrum of G^T G A. */
    double largest_eigenvalue() const { return lambda.value(); }

  private:
    using SteppedSmoother<Number>::n_steps;
    using SteppedSmoother<Number>::eigenvalue_ratio;
    using SteppedSmoother<Number>::matrix;

    int                       eigenvalue_steps;
    FactorizedInverseRows     rows;
    bool                      second_start; ///< of Lanczos' iteration, see LargestEigenvalue
    FactorizedInverse<Number> inverse;
    LargestEigenvalue<Number> lambda;
    Array<double>             coefficients; ///< [step][2]
    mutable Vector<Number>    d, z;         ///< of the recurrence

    std::string name() const override;
    void        step(int k, bool first_x, const Vector<Number> &r, Vector<Number> &x) const override;
  };
} // namespace PatchFEM
