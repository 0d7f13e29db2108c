// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/dense_spd.h"
#include "kernels/instantiate.h"

namespace PatchFEM::kernels
{
  template <>
  void dense::invert_tile(Host, const int n, const int begin, const double *A, double *factor, int *failure)
  {
    const int size = std::min(n - begin, tile);
    std::fill_n(factor, tile * tile, 0.);
    for (int i = 0; i < size; ++i)
      std::copy_n(A + std::int64_t(begin + i) * n + begin, i + 1, factor + i * tile);
    for (int p = 0; p < size; ++p)
    {
      double pivot[tile];
      for (int k = 0; k < size; ++k)
        pivot[k] = k <= p ? factor[p * tile + k] : factor[k * tile + p];
      if (!(pivot[p] > 0. && pivot[p] < HUGE_VAL))
        atomic_min(failure, begin + p);
      for (int i = p; i < size; ++i)
        for (int j = 0; j <= i; ++j)
          factor[i * tile + j] = factor_step(factor[i * tile + j], i, j, p, pivot);
    }
  }

  template <typename Number, typename Where>
  void dense_symmetric_vmult(Where, const int n, const Number *M, const Number *x, Number *y)
  {
#ifdef _OPENMP
#pragma omp parallel for schedule(static) if (n > 128)
#endif
    for (int i = 0; i < n; ++i)
    {
      Number sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int j = 0; j < n; ++j)
        sum += M[std::int64_t(i) * n + j] * x[j];
      y[i] = sum;
    }
  }

  PATCHFEM_INSTANTIATE_DENSE_VMULT(Host)
} // namespace PatchFEM::kernels
