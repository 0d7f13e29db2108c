// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/kernels/lanczos_scalars.h>
#include <patchfem/kernels/matrix_views.h>

/**
 * @file
 * One step of a polynomial in D^-1 A, D the diagonal, applied to D^-1 b (P0, section 2.3): with y_0 = 0 and
 *
 *   y_{k+1} = y_k + c_0 (y_k - y_{k-1}) + c_1 D^-1 (b - A y_k)
 *
 * y_{m+1} = p_m(D^-1 A) D^-1 b for the coefficients of every family of polynomials whose residuals 1 - s p_k(s) satisfy
 * a three-term recurrence. In this form a step needs nothing of other rows beside the product, so
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

    /** The step once A y is there. */
    template <typename Number, typename Where>
    void polynomial_step(Where, std::int64_t n, const PolynomialStep<Number> &step, const Number *Ay);

    /**
     * Coefficients of @p n_steps steps d = c_0 d + c_1 D^-1 (b - A x), x = x + d from d = 0, whose residual is the
     * Chebyshev polynomial on [@p a, @p b], 0 < a < b (Saad, Iterative methods, algorithm 12.1); @p c is [step][2].
     */
    PATCHFEM_INLINE void chebyshev_coefficients(const double a, const double b, const int n_steps, double *c)
    {
      const double theta = 0.5 * (b + a), delta = 0.5 * (b - a), sigma = theta / delta;
      double       rho = 1. / sigma;
      c[0]             = 0.;
      c[1]             = 1. / theta;
      for (int k = 1; k < n_steps; ++k)
      {
        const double rho_next = 1. / (2. * sigma - rho);
        c[2 * k]              = rho_next * rho;
        c[2 * k + 1]          = 2. * rho_next / delta;
        rho                   = rho_next;
      }
    }

    /**
     * The polynomial of an @p order for the spectrum that Lanczos' iteration found, by one thread and all of it on the back end: c_0 and c_1 of steps 0 to
     * order, [step][2], and behind them its interval [a, b].
     *
     * b is the bound of Lanczos' iteration times 1 + 0.2 / steps unless the iteration found an invariant space: where a last
     * eigenvalue stands alone and the start vector holds little of its vector, the bound with its safeguard alone was up to
     * 0.2 % low after 20 steps.
     *
     * a is b / ratio, or without a ratio (0) the smallest eigenvalue of the tridiagonal matrix. That one lies above the
     * smallest of the matrix; the few eigenvalues below are damped less and left to conjugate gradients, while the many
     * above are damped better. It is kept within [1e-4 b, b / 2], so that neither a singular matrix nor a multiple of
     * the identity gives an interval that is empty or reaches 0.
     *
     * The residuals R_k(s) = 1 - s p_{k-1}(s) on [a, b]:
     *
     * - Neumann: R_k = (1 - omega s)^k with omega = 2 / (a + b), 1 / b for a = 0.
     * - Chebyshev: R_k = T_k((b + a - 2 s) / (b - a)) / T_k((b + a) / (b - a)), the smallest in the maximum norm
     *   (Saad, Iterative methods, algorithm 12.1); a > 0.
     * - Least squares: the smallest in the norm with weight 1 / sqrt((s - a)(b - s)) among those that are 1 at 0 (Saad,
     *   section 12.3.3). These are orthogonal for s times the weight, hence the residual polynomials of conjugate
     *   gradients on the diagonal matrix of nodes of Gauss' quadrature for the weight. Its n nodes, s_j = (a + b) / 2 -
     *   (b - a) / 2 cos((j + 1/2) pi / n), have equal weights and integrate polynomials up to degree 2 n - 1 exactly;
     *   the inner products of step k have degree 2 k + 2.
     */
    template <typename Where>
    void polynomial_coefficients(
        Where, const LanczosScalars *scalars, int n_steps, double ratio, PolynomialKind kind, int order, double *c);
  } // namespace kernels
} // namespace PatchFEM
