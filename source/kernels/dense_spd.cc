// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/dense_spd.h>

namespace PatchFEM
{
  namespace kernels
  {
    template <typename Number>
    void dense_symmetric_vmult(Host, const int n, const Number *M, const Number *x, Number *y)
    {
#pragma omp      parallel for schedule(static) if (n > 128)
      for (int i = 0; i < n; ++i)
      {
             Number sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int j = 0; j < n; ++j)
          sum += M[std::int64_t(i) * n + j] * x[j];
        y[i] = sum;
           }
         }

         template void dense_symmetric_vmult(Host, int, const float *, const float *, float *);
         template void dense_symmetric_vmult(Host, int, const double *, const double *, double *);
       } // namespace kernels
} // namespace PatchFEM
