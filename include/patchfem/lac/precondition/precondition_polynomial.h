// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/polynomial.h>
#include <patchfem/lac/matrix/format_model.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>

#include <memory>
#include <utility>

namespace PatchFEM
{
  /** How a PreconditionPolynomial is made. */
  struct PolynomialData
  {
    PolynomialKind kind = PolynomialKind::least_squares;
    /// Degree of the polynomial, from 1 to 12: products with the matrix per application.
    unsigned int order = 6;
    /// Steps of Lanczos' iteration that find the spectrum, from 2 to 64; each costs a product.
    unsigned int lanczos_steps = 20;
    /// Upper over lower end of the interval of the polynomial, above 1: with 0 the lower end is the smallest Ritz
    /// value; with infinity it is 0, which Chebyshev's does not allow.
    double eigenvalue_ratio = 0.;
  };

  /**
   * M^-1 = D^-1/2 p(D^-1/2 A D^-1/2) D^-1/2, p a polynomial of fixed degree that approximates 1 / s on the spectrum of
   * the symmetrically scaled matrix (P0, sections 2.3 and 5.3), D the diagonal. As M^-1 = p(D^-1 A) D^-1, neither the
   * scaled matrix nor a root is formed, and conjugate gradients run on the unscaled system.
   *
   * M^-1 is positive definite where 1 - s p(s) < 1 on the spectrum, which the upper bound of Lanczos' iteration
   * ensures. An application costs as many products as the order, each fused with its step (kernels/polynomial.h), and
   * no inner product. In exact arithmetic an order of m saves at most the factor m + 1 of Jacobi's iterations;
   * Chebyshev comes closest, and least squares do without a lower bound.
   *
   * Where @p Value is Number the matrix must outlive the preconditioner, which multiplies with it; else there is a copy
   * of the values, which shares the pattern. New values of the matrix need initialize() in either case: diagonal and
   * interval are those of the old ones, outside of which the polynomial may be indefinite.
   */
  template <typename Number, typename Value = Number>
  class PreconditionPolynomial : public PreconditionBase<Number>
  {
    static_assert(are_precisions<Number, Value>, "values are of the type of vectors, or float under double");

  public:
    PreconditionPolynomial()                                          = default;
    PreconditionPolynomial(const PreconditionPolynomial &)            = delete;
    PreconditionPolynomial &operator=(const PreconditionPolynomial &) = delete;

    using AdditionalData = PolynomialData;

    /**
     * Of a matrix or, with Value = Number, of any operator that knows its diagonal. Refuses a diagonal entry that is
     * not positive, and a matrix whose largest eigenvalue is not positive and finite.
     */
    void initialize(const Operator<Number> &matrix, const AdditionalData &additional_data = AdditionalData());

    void        vmult(Vector<Number> &dst, const Vector<Number> &src) const override;
    bool        can_be_recorded() const override { return matrix == nullptr || matrix->can_be_recorded(); }
    std::string name() const override;
    std::size_t memory_consumption() const override
    {
      return memory_consumption_of(D_inverse, coefficients, work, product) + (copy != nullptr ? bytes_of_copy : 0);
    }

    /** The most that initialize() takes, of a matrix in @p format: values in fp32, and vectors to work with. */
    static double peak_bytes(const PatternStatistics &pattern, const MatrixFormat &format)
    {
      return (sizeof(Value) < sizeof(Number)) * FormatCase{format, pattern, sizeof(Value)}.value_bytes() +
             6. * sizeof(Number) * double(pattern.scalar_rows());
    }

    /** The interval of the polynomial; its upper end bounds the spectrum of D^-1 A. Fetched from the back end. */
    std::pair<double, double> interval() const;

  private:
    std::unique_ptr<const MatrixBase<Number>> copy; ///< in mixed precision
    std::size_t                               bytes_of_copy = 0;
    const Operator<Number>                   *matrix        = nullptr;

    AdditionalData             data;
    PreconditionJacobi<Number> D_inverse;
    Array<double>              coefficients;  ///< [order + 1][2], and the interval behind them
    mutable Vector<Number>     work, product; ///< the latter for operators that do not fuse their steps
  };
} // namespace PatchFEM
