// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/smoother_bodies.h"
#include <patchfem/kernels/polynomial.h>

/**
 * @file
 * Bodies (see parallel_for.h) that find the coefficients of polynomial preconditioners (see polynomial.h) from the
 * spectrum. All of it stays on the back end.
 */
namespace PatchFEM::kernels
{
  /**
   * The polynomial of an @p order for the spectrum that Lanczos' iteration found, by one thread: c_0 and c_1 of steps 0 to
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
  struct PolynomialCoefficientsBody
  {
    const LanczosScalars *scalars;
    int                   n_steps; ///< of Lanczos' iteration
    double                ratio;
    PolynomialKind        kind;
    int                   order;
    double               *c;

    PATCHFEM_INLINE void operator()(std::int64_t) const
    {
      const int    n     = scalars->n_independent(n_steps);
      const bool   exact = n < n_steps || !(scalars->beta[n] > 1e-7 * scalars->largest);
      const double b     = exact ? scalars->largest : (1. + 0.2 / n_steps) * scalars->largest;
      double       a     = 0.;
      if (ratio == 0.)
      {
        double low = 0., high = b;
        scalars->bisect(n, n, low, high);
        a = low < 1e-4 * b ? 1e-4 * b : (low > 0.5 * b ? 0.5 * b : low);
      }
      else if (ratio < HUGE_VAL)
        a = b / ratio;
      c[2 * order + 2] = a;
      c[2 * order + 3] = b;
      if (kind == PolynomialKind::chebyshev)
        chebyshev_coefficients(a, b, order + 1, c);
      else if (kind == PolynomialKind::neumann)
        for (int k = 0; k <= order; ++k)
        {
          c[2 * k]     = 0.;
          c[2 * k + 1] = a > 0. ? 2. / (a + b) : 1. / b;
        }
      else
        least_squares(a, b);
    }

  private:
    PATCHFEM_INLINE void least_squares(const double a, const double b) const
    {
      constexpr int n = max_polynomial_order + 2;
      double        s[n], R[n], p[n];
      for (int j = 0; j < n; ++j)
      {
        s[j] = 0.5 * (a + b) - 0.5 * (b - a) * std::cos(3.14159265358979323846 * (j + 0.5) / n);
        R[j] = 1.;
        p[j] = 0.;
      }
      double R_dot_R_before = 1., alpha_before = 1.;
      for (int k = 0; k <= order; ++k)
      {
        double R_dot_R = 0., p_dot_p = 0.;
        for (int j = 0; j < n; ++j)
          R_dot_R += s[j] * R[j] * R[j];
        const double beta = k > 0 ? R_dot_R / R_dot_R_before : 0.;
        for (int j = 0; j < n; ++j)
        {
          p[j] = R[j] + beta * p[j];
          p_dot_p += s[j] * s[j] * p[j] * p[j];
        }
        const double alpha = R_dot_R / p_dot_p;
        for (int j = 0; j < n; ++j)
          R[j] -= alpha * s[j] * p[j];
        c[2 * k]       = alpha * beta / alpha_before;
        c[2 * k + 1]   = alpha;
        R_dot_R_before = R_dot_R;
        alpha_before   = alpha;
      }
    }
  };

  /** y_1 = c_1 D^-1 b: the step from y_0 = 0. */
  template <typename Number>
  struct PolynomialStartBody
  {
    const double *c;
    const Number *D_inverse;
    const Number *b;
    Number       *y;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      y[i] = static_cast<Number>(c[1]) * (D_inverse[i] * b[i]);
    }
  };

  /** A step once A y is there. */
  template <typename Number>
  struct PolynomialStepBody
  {
    PolynomialStep<Number> step;
    const Number          *Ay;

    PATCHFEM_INLINE void operator()(const std::int64_t row) const { step.use(row, Ay[row]); }
  };
} // namespace PatchFEM::kernels
