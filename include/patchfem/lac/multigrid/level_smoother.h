// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/byte_matrix.h>
#include <patchfem/lac/multigrid/amg_parameters.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/solver/largest_eigenvalue.h>

#include <memory>

namespace PatchFEM
{
  class AggregateLists;

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

    /** For reports: name, steps or degree, and range of eigenvalues, of @p level. */
    virtual void describe(AMGLevelStatistics &level) const = 0;
  };

  /** n_steps steps x -> x + p_k(r), r = b - A x, before the coarse correction and as many after it. */
  template <typename Number>
  class SteppedSmoother : public LevelSmoother<Number>
  {
  public:
    void pre_smooth(Vector<Number> &x, Vector<Number> &r, const Vector<Number> &b) const override;
    void post_smooth(Vector<Number> &x, Vector<Number> &r, const Vector<Number> &b) const override;
    void describe(AMGLevelStatistics &level) const final;

  protected:
    /** For reports. */
    virtual std::string name() const = 0;
    virtual bool        is_polynomial() const { return true; }

    /** @throws if there is no step, or no interval [lambda_max / ratio, lambda_max] */
    SteppedSmoother(int n_steps, double eigenvalue_ratio);

    /** The step k of n_steps, from x = 0 if @p first_x. */
    virtual void step(int k, bool first_x, const Vector<Number> &r, Vector<Number> &x) const = 0;

    /** r for the step behind one that was given @p before: b - A x. */
    virtual void next_residual(Vector<Number>                        &r,
                               [[maybe_unused]] const Vector<Number> &before,
                               const Vector<Number>                  &x,
                               const Vector<Number>                  &b) const
    {
      matrix->residual(r, x, b);
    }

    const int                          n_steps;
    const double                       eigenvalue_ratio;
    const SlicedEllpackMatrix<Number> *matrix = nullptr; ///< set by initialize()
  };

  /**
   * What a level is smoothed with and by: @p Number is that of its matrix and of its vectors. Prolongators need the diagonal
   * and the bound, too.
   */
  template <typename Number>
  struct LevelSmoothing
  {
    PreconditionBlockJacobi<Number>        diagonal;
    LargestEigenvalue<Number>              lambda;
    std::shared_ptr<ByteMatrix>            bytes;    ///< of the matrix, if it is smoothed with these
    std::unique_ptr<LevelSmoother<Number>> smoother; ///< none where the matrix is inverted
    mutable Vector<Number>                 r;

    /// A factorised inverse smooths soft nodes: decided with the smoother, and kept for new values.
    bool soft_nodes = false;

    /**
     * Of @p A on a level of @p parameters, see make_smoother(): the diagonal and the bound of the spectrum, with products of
     * bytes where there shall be any, of which it then is the bound, and the smoother, which still
     * has to be initialized. Again for new values, or without @p new_values, where the former are known. Of several ranks
     * collective.
     */
    void prepare(const SlicedEllpackMatrix<Number> &A,
                 const AMGParameters               &parameters,
                 const AggregateLists              &aggregates,
                 bool                               below_finest,
                 bool                               stretched,
                 int                                degree,
                 bool                               new_values = true);

    /** What is known of a matrix of the same values, for prepare() without new ones. */
    void take_over(LevelSmoothing &other)
    {
      diagonal   = std::move(other.diagonal);
      lambda     = std::move(other.lambda);
      bytes      = std::move(other.bytes);
      soft_nodes = other.soft_nodes;
    }

    std::size_t memory_consumption() const
    {
      return memory_consumption_of(diagonal, r) + (bytes != nullptr ? bytes->memory_consumption() : 0) +
             (smoother != nullptr ? smoother->memory_consumption() : 0);
    }
  };

  /**
   * A polynomial in D^-1 A applied to D^-1, which is symmetric, hence its own adjoint: damped block Jacobi with
   * 4/3 / lambda_max, l1-Jacobi (D and the sums of the row outside of the block, no estimate needed) or Chebyshev on
   * [lambda_max / ratio, lambda_max]. A degree of m costs m products with A before and m after the coarse correction, or
   * with its @p bytes, which Chebyshev in fp32 may have, one with A and m - 1 with these: from step to step r = r - A d,
   * where d, unlike x after a coarse correction, has no smooth part that rounding would make rough.
   */
  template <typename Number>
  class PolynomialSmoother : public SteppedSmoother<Number>
  {
  public:
    PolynomialSmoother(AMGSmoother                       kind,
                       int                               degree,
                       double                            eigenvalue_ratio,
                       std::shared_ptr<const ByteMatrix> bytes = nullptr);

    void        initialize(const SlicedEllpackMatrix<Number>     &A,
                           const PreconditionBlockJacobi<Number> &D_inverse,
                           const LargestEigenvalue<Number>       &lambda) override;
    std::size_t memory_consumption() const override { return memory_consumption_of(coefficients, l1_inverse, d); }

  private:
    using SteppedSmoother<Number>::n_steps;
    using SteppedSmoother<Number>::eigenvalue_ratio;
    using SteppedSmoother<Number>::matrix;

    AMGSmoother                       kind;
    std::shared_ptr<const ByteMatrix> bytes;
    Array<double>                     coefficients; ///< [degree][2]
    Array<Number>                     l1_inverse;
    BlockDiagonalView<Number>         inverse{0, 1, 0, nullptr};
    mutable Vector<Number>            d; ///< of Chebyshev's recurrence, times the scale of bytes if there are any

    std::string name() const override;
    bool        is_polynomial() const override { return kind == AMGSmoother::chebyshev; }
    void        find_coefficients(const LargestEigenvalue<Number> &lambda);
    void        step(int k, bool first_x, const Vector<Number> &r, Vector<Number> &x) const override;
    void        next_residual(Vector<Number>       &r,
                              const Vector<Number> &before,
                              const Vector<Number> &x,
                              const Vector<Number> &b) const override;
  };
} // namespace PatchFEM
