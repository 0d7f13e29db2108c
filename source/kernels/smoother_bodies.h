// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/hash.h"
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
    return static_cast<double>(hash(i * 0x9e3779b97f4a7c15u) >> 11) * (1. / 4503599627370496.) - 1.;
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
