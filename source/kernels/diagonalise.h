// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

#include <cmath>

namespace PatchFEM::kernels
{
  /** Eigenvalues of the symmetric matrix @p K and eigenvectors, the columns of @p V, by Jacobi's rotations. */
  PATCHFEM_INLINE void diagonalise(const int n, double (&K)[3][3], double (&V)[3][3])
  {
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b)
        V[a][b] = a == b;
    for (int sweep = 0; sweep < 8; ++sweep)
      for (int p = 0; p < n; ++p)
        for (int q = p + 1; q < n; ++q)
          if (K[p][q] != 0.)
          {
            const double theta = 0.5 * (K[q][q] - K[p][p]) / K[p][q];
            const double t     = (theta < 0. ? -1. : 1.) / (std::fabs(theta) + std::sqrt(theta * theta + 1.)),
                         c = 1. / std::sqrt(t * t + 1.), s = t * c;
            for (int a = 0; a < n; ++a)
            {
              const double x = K[a][p], y = K[a][q];
              K[a][p] = c * x - s * y;
              K[a][q] = s * x + c * y;
            }
            for (int a = 0; a < n; ++a)
            {
              const double x = K[p][a], y = K[q][a];
              K[p][a]        = c * x - s * y;
              K[q][a]        = s * x + c * y;
              const double v = V[a][p], w = V[a][q];
              V[a][p] = c * v - s * w;
              V[a][q] = s * v + c * w;
            }
          }
  }
} // namespace PatchFEM::kernels
