// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/kernels/matrix_views.h>

/**
 * @file
 * One step of a polynomial in D^-1 A, D the diagonal, applied to D^-1 b (P0, section 2.3): with y_0 = 0 and
 *
 *   y_{k+1} = y_k + c_0 (y_k - y_{k-1}) + c_1 D^-1 (b - A y_k)
 *
 * y_{m+1} = p_m(D^-1 A) D^-1 b for the coefficients of every family of polynomials whose residuals 1 - s p_k(s) satisfy
 * a three-term recurrence (polynomial_bodies.h). In this form a step needs nothing of other rows beside the product, so
 * it is one kernel: beside the matrix and the source y_k of the product it moves y_{k-1}, b and D^-1 in and y_{k+1}
 * out, 40 bytes an unknown in all, where a product and a kernel of vectors would move 72.
 */
namespace PatchFEM
{
  /** The families of P0, section 2.3. */
  enum class PolynomialKind
  {
    neumann,
    least_squares,
    chebyshev
  };

  namespace kernels
  {
    /** The orders that are supported: degrees of p, products with A per application. */
    constexpr int max_polynomial_order = 12;

    /** What a step does with the row sums of A y: a target of products (product.h). y_{k+1} takes the place of y_{k-1}. */
    template <typename Number>
    struct PolynomialStep
    {
      using Sum = Number;
      const double *c;         ///< [2]
      const Number *D_inverse; ///< [row]
      const Number *b;         ///< [row]
      const Number *y;         ///< y_k
      Number       *y_old;     ///< y_{k-1} in, y_{k+1} out
      bool          first;     ///< y_{k-1} is 0 and is not read

      PATCHFEM_INLINE double use(const std::int64_t row, const Number Ay) const
      {
        const Number c_0 = static_cast<Number>(c[0]), c_1 = static_cast<Number>(c[1]);
        const Number y_k = y[row], before = first ? Number(0) : y_old[row];
        y_old[row] = y_k + c_0 * (y_k - before) + c_1 * (D_inverse[row] * (b[row] - Ay));
        return 0.;
      }
    };
  } // namespace kernels
} // namespace PatchFEM
