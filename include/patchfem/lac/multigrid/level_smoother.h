// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/multigrid/amg_parameters.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/solver/largest_eigenvalue.h>

namespace PatchFEM
{
  /**
   * What a multigrid cycle asks of the smoother of a level, x -> x + S (b - A x) with a fixed S whose iteration
   * converges in the energy norm. Pre- and post-smoother are adjoint, so that the cycle is symmetric. Both only launch
   * kernels: they may be recorded in a Graph.
   */
  template <typename Number>
  class LevelSmoother
  {
  public:
    virtual ~LevelSmoother() = default;

    /** Once per matrix, and again for new values on its pattern; of several ranks collective. Keeps references. */
    virtual void initialize(const SlicedEllpackMatrix<Number>     &A,
                            const PreconditionBlockJacobi<Number> &D_inverse,
                            const LargestEigenvalue<Number>       &lambda) = 0;

    /** x = S b, the step from x = 0, and r = b - A x. */
    virtual void pre_smooth(Vector<Number> &x, Vector<Number> &r, const Vector<Number> &b) const = 0;

    /** x = x + S^T (b - A x); r is overwritten. */
    virtual void post_smooth(Vector<Number> &x, Vector<Number> &r, const Vector<Number> &b) const = 0;

    virtual std::size_t memory_consumption() const = 0;

    /** About what a step costs over a product with A. */
    virtual double relative_cost() const { return 1.; }
  };

  /** n_steps steps x -> x + p_k(r), r = b - A x, before the coarse correction and as many after it. */
  template <typename Number>
  class SteppedSmoother : public LevelSmoother<Number>
  {
  public:
    void pre_smooth(Vector<Number> &x, Vector<Number> &r, const Vector<Number> &b) const override;
    void post_smooth(Vector<Number> &x, Vector<Number> &r, const Vector<Number> &b) const override;

  protected:
    /** @throws if there is no step, or no interval [lambda_max / ratio, lambda_max] */
    SteppedSmoother(int n_steps, double eigenvalue_ratio);

    /** The step k of n_steps, from x = 0 if @p first_x. */
    virtual void step(int k, bool first_x, const Vector<Number> &r, Vector<Number> &x) const = 0;

    const int                          n_steps;
    const double                       eigenvalue_ratio;
    const SlicedEllpackMatrix<Number> *matrix = nullptr; ///< set by initialize()
  };

  /**
   * A polynomial in D^-1 A applied to D^-1, which is symmetric, hence its own adjoint: damped block Jacobi with
   * 4/3 / lambda_max, l1-Jacobi (D and the sums of the row outside of the block, no estimate needed) or Chebyshev on
   * [lambda_max / ratio, lambda_max]. A degree of m costs m products with A before and m after the coarse correction.
   */
  template <typename Number>
  class PolynomialSmoother : public SteppedSmoother<Number>
  {
  public:
    PolynomialSmoother(AMGSmoother kind, int degree, double eigenvalue_ratio);

    void        initialize(const SlicedEllpackMatrix<Number>     &A,
                           const PreconditionBlockJacobi<Number> &D_inverse,
                           const LargestEigenvalue<Number>       &lambda) override;
    std::size_t memory_consumption() const override { return memory_consumption_of(coefficients, l1_inverse, d); }

  private:
    using SteppedSmoother<Number>::n_steps;
    using SteppedSmoother<Number>::eigenvalue_ratio;
    using SteppedSmoother<Number>::matrix;

    AMGSmoother               kind;
    Array<double>             coefficients; ///< [degree][2]
    Array<Number>             l1_inverse;
    BlockDiagonalView<Number> inverse{0, 1, 0, nullptr};
    mutable Vector<Number>    d; ///< of Chebyshev's recurrence

    void find_coefficients(const LargestEigenvalue<Number> &lambda);
    void step(int k, bool first_x, const Vector<Number> &r, Vector<Number> &x) const override;
  };
} // namespace PatchFEM
