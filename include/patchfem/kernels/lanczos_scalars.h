// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

#include <cmath>

namespace PatchFEM::kernels
{
  /** What Lanczos' iteration keeps: the tridiagonal matrix and the last inner product. */
  struct LanczosScalars
  {
    static constexpr int max_steps = 64;

    double alpha[max_steps];
    double beta[max_steps + 1]; ///< beta[k] couples steps k - 1 and k; beta[0] is the length of the start vector
    double product;             ///< of the reduction that ran last
    double largest;             ///< upper bound of the spectrum, once find_largest() ran

    /** Of @p n_steps steps those before an invariant space, where beta vanishes beside alpha: the rest is rounding. */
    PATCHFEM_INLINE int n_independent(const int n_steps) const
    {
      int    n     = 1;
      double scale = alpha[0] > 0. ? alpha[0] : 0.;
      while (n < n_steps && beta[n] > 1e-7 * scale)
      {
        scale = alpha[n] > scale ? alpha[n] : scale;
        ++n;
      }
      return n;
    }

    /** How many eigenvalues of the leading n x n matrix are above @p x. */
    PATCHFEM_INLINE int n_above(const int n, const double x) const
    {
      int    count = 0;
      double pivot = 1.;
      for (int k = 0; k < n; ++k)
      {
        pivot = alpha[k] - x - (k > 0 ? beta[k] * beta[k] / pivot : 0.);
        if (pivot == 0.)
          pivot = -1e-300;
        count += pivot > 0.;
      }
      return count;
    }

    /** Bisection for eigenvalue @p k of the leading n x n matrix, counted from the largest, which is 1. */
    PATCHFEM_INLINE void bisect(const int n, const int k, double &low, double &high) const
    {
      for (int i = 0; i < 60 && high - low > 1e-14 * high; ++i)
      {
        const double middle = 0.5 * (low + high);
        if (n_above(n, middle) >= k)
          low = middle;
        else
          high = middle;
      }
    }

    /**
     * Upper bound of the spectrum of D^-1 A from the tridiagonal matrix of @p n_steps steps: its largest eigenvalue, by
     * bisection on Sturm sequences, and beyond it the length of the residual of its vector, |beta_k e_k^T y| (Zhou,
     * Saad, Tiago, Chelikowsky 2006). Fewer than 10 steps give more beyond that unless they found an invariant space: the
     * bound was up to 45 % low after 1 step, 28 % after 2, 22 % after 3, 6 % after 5 (finite elements of all degrees and
     * hp, elasticity among them), where polynomials on the interval are no longer positive definite.
     */
    PATCHFEM_INLINE void find_largest(const int n_steps)
    {
      const int n   = n_independent(n_steps);
      double    low = 0., high = 0.;
      for (int k = 0; k < n; ++k)
      {
        const double beside = (k > 0 ? beta[k] : 0.) + (k + 1 < n ? beta[k + 1] : 0.);
        high                = alpha[k] + beside > high ? alpha[k] + beside : high;
        low                 = alpha[k] > low ? alpha[k] : low;
      }
      bisect(n, 1, low, high);

      // y by the recurrence from the last component upwards, which is stable for the largest eigenvalue.
      double sum = 1., y = 1., y_after = 0.;
      for (int k = n - 1; k > 0; --k)
      {
        const double beta_after = k + 1 < n ? beta[k + 1] : 0.;
        const double y_before   = ((high - alpha[k]) * y - beta_after * y_after) / beta[k];
        y_after                 = y;
        y                       = y_before;
        sum += y * y;
      }
      largest = high + beta[n] / std::sqrt(sum);
      if (n == n_steps && n < 10 && beta[n] > 1e-7 * largest)
        largest *= 1. + 1.2 * (1. / n - 0.1);
    }
  };
} // namespace PatchFEM::kernels
