// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/jacobi.h>
#include <patchfem/kernels/lanczos_scalars.h>
#include <patchfem/kernels/parallel_for.h>

#include <cmath>

/**
 * @file
 * Bodies (see parallel_for.h) of polynomial smoothers and of the eigenvalue estimate they rest on. Their scalars stay
 * on the back end: what is recorded in a Graph stays right when a new matrix changes them.
 */
namespace PatchFEM::kernels
{
  /** A value in [-1, 1] without a pattern, the same on every back end. */
  PATCHFEM_INLINE double scattered_value(const std::uint64_t i)
  {
    std::uint64_t h = (i + 1) * 0x9e3779b97f4a7c15ull;
    h               = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
    h               = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
    h ^= h >> 31;
    return static_cast<double>(h >> 11) * (1. / 4503599627370496.) - 1.;
  }

  template <typename Number>
  struct ScatteredBody
  {
    Number *values;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      values[i] = static_cast<Number>(scattered_value(static_cast<std::uint64_t>(i)));
    }
  };

  /** beta[step] = sqrt(product). */
  struct LanczosLengthBody
  {
    LanczosScalars *scalars;
    int             step;

    PATCHFEM_INLINE void operator()(std::int64_t) const
    {
      scalars->beta[step] = scalars->product > 0. ? std::sqrt(scalars->product) : 0.;
    }
  };

  /** r and z = D^-1 r become unit vectors in the inner product r . z; zero if beta[step] is 0. */
  template <typename Number>
  struct LanczosNormaliseBody
  {
    const LanczosScalars *scalars;
    int                   step;
    Number               *r, *z;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      const double beta = scalars->beta[step], factor = beta > 0. ? 1. / beta : 0.;
      r[i] = static_cast<Number>(factor * r[i]);
      z[i] = static_cast<Number>(factor * z[i]);
    }
  };

  /** q = A z becomes q - alpha r - beta r_previous, with alpha = z . q = product. */
  template <typename Number>
  struct LanczosUpdateBody
  {
    LanczosScalars *scalars;
    int             step;
    const Number   *r, *r_previous; ///< nullptr in the first step
    Number         *q;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      const double alpha = scalars->product;
      if (i == 0)
        scalars->alpha[step] = alpha;
      double value = static_cast<double>(q[i]) - alpha * static_cast<double>(r[i]);
      if (r_previous != nullptr)
        value -= scalars->beta[step] * static_cast<double>(r_previous[i]);
      q[i] = static_cast<Number>(value);
    }
  };

  /**
   * Upper bound of the spectrum of D^-1 A from the tridiagonal matrix of @p n_steps steps: its largest eigenvalue, by
   * bisection on Sturm sequences, and beyond it the length of the residual of its vector, |beta_k e_k^T y| (Zhou,
   * Saad, Tiago, Chelikowsky 2006). Fewer than 10 steps give more beyond that unless they found an invariant space: the
   * bound was up to 45 % low after 1 step, 28 % after 2, 22 % after 3, 6 % after 5 (finite elements of all degrees and
   * hp, elasticity among them), where polynomials on the interval are no longer positive definite.
   */
  struct LargestEigenvalueBody
  {
    LanczosScalars *scalars;
    int             n_steps;

    PATCHFEM_INLINE void operator()(std::int64_t) const
    {
      const int n   = scalars->n_independent(n_steps);
      double    low = 0., high = 0.;
      for (int k = 0; k < n; ++k)
      {
        const double beside = (k > 0 ? scalars->beta[k] : 0.) + (k + 1 < n ? scalars->beta[k + 1] : 0.);
        high                = scalars->alpha[k] + beside > high ? scalars->alpha[k] + beside : high;
        low                 = scalars->alpha[k] > low ? scalars->alpha[k] : low;
      }
      for (int i = 0; i < 60 && high - low > 1e-14 * high; ++i)
      {
        const double middle = 0.5 * (low + high);
        if (scalars->n_above(n, middle) > 0)
          low = middle;
        else
          high = middle;
      }

      // y by the recurrence from the last component upwards, which is stable for the largest eigenvalue.
      double sum = 1., y = 1., y_after = 0.;
      for (int k = n - 1; k > 0; --k)
      {
        const double beta_after = k + 1 < n ? scalars->beta[k + 1] : 0.;
        const double y_before   = ((high - scalars->alpha[k]) * y - beta_after * y_after) / scalars->beta[k];
        y_after                 = y;
        y                       = y_before;
        sum += y * y;
      }
      scalars->largest = high + scalars->beta[n] / std::sqrt(sum);
      if (n == n_steps && n < 10 && scalars->beta[n] > 1e-7 * scalars->largest)
        scalars->largest *= 1. + 1.2 * (1. / n - 0.1);
    }
  };

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
   * d = c_0 d + c_1 D^-1 r and x = x + d, block by block. @p first: d and x count as 0 and are not read. @p d is
   * nullptr for smoothers with c_0 = 0. Per unknown r, x, d in, x, d out, and (b + 1) / 2 entries of D^-1.
   */
  template <int static_size, typename Number>
  struct SmootherStepBody
  {
    BlockDiagonalView<Number> D; ///< D^-1
    const double             *c; ///< [2]
    const Number             *r;
    Number                   *d;
    Number                   *x;
    bool                      first_d, first_x;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      constexpr int storage = static_size > 0 ? static_size : max_block_size;
      const int     b       = static_size > 0 ? static_size : D.block_size;
      const Number  c_0 = static_cast<Number>(c[0]), c_1 = static_cast<Number>(c[1]);
      Number        in[storage], out[storage];
      for (int a = 0; a < b; ++a)
        in[a] = r[i * b + a];
      apply_block<static_size>(D, i, in, out);
      for (int a = 0; a < b; ++a)
      {
        Number step = c_1 * out[a];
        if (d != nullptr)
        {
          step += first_d ? Number(0) : c_0 * d[i * b + a];
          d[i * b + a] = step;
        }
        x[i * b + a] = first_x ? step : x[i * b + a] + step;
      }
    }
  };
} // namespace PatchFEM::kernels
