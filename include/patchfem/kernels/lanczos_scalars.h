// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

namespace PatchFEM::kernels
{
  /** What Lanczos' iteration keeps: the tridiagonal matrix and the last inner product. */
  struct LanczosScalars
  {
    static constexpr int max_steps = 64;

    double alpha[max_steps];
    double beta[max_steps + 1]; ///< beta[k] couples steps k - 1 and k; beta[0] is the length of the start vector
    double product;             ///< of the reduction that ran last
    double largest;             ///< upper bound of the spectrum, once LargestEigenvalueBody ran

    /**
     * Of @p n_steps steps those before an invariant space was found, where beta vanishes beside alpha: what follows
     * is rounding.
     */
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
  };
} // namespace PatchFEM::kernels
