// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/launch.h"
#include <patchfem/kernels/polynomial.h>

namespace PatchFEM::kernels
{
  namespace
  {
    /** Like chebyshev_coefficients() for the residuals of least squares; 0 <= @p a. */
    PATCHFEM_INLINE void least_squares_coefficients(const double a, const double b, const int n_steps, double *c)
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
      for (int k = 0; k < n_steps; ++k)
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
  } // namespace

  template <>
  void polynomial_coefficients(Here                  where,
                               const LanczosScalars *scalars,
                               const int             n_steps,
                               const double          ratio,
                               const PolynomialKind  kind,
                               const int             order,
                               double               *c)
  {
    parallel_for(where, 1, [=] PATCHFEM_DEVICE(std::int64_t) {
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
      else if (kind == PolynomialKind::least_squares)
        least_squares_coefficients(a, b, order + 1, c);
      else
        for (int k = 0; k <= order; ++k)
        {
          c[2 * k]     = 0.;
          c[2 * k + 1] = a > 0. ? 2. / (a + b) : 1. / b;
        }
    });
  }

  template <typename Number, typename Where>
  void polynomial_step(Where where, const std::int64_t n, const PolynomialStep<Number> &step, const Number *Ay)
  {
    parallel_for(where, n, [=] PATCHFEM_DEVICE(const std::int64_t row) { step.use(row, Ay[row]); });
  }

  template void polynomial_step(Here, std::int64_t, const PolynomialStep<float> &, const float *);
  template void polynomial_step(Here, std::int64_t, const PolynomialStep<double> &, const double *);
} // namespace PatchFEM::kernels
