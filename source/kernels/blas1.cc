// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/instantiate.h"
#include <patchfem/kernels/blas1.h>

#include "reduce_host.h"

namespace PatchFEM::kernels
{
  template <typename Number, typename Where>
  void set(Where, const std::int64_t n, const Number value, Number *x)
  {
#pragma omp parallel for simd schedule(static)
    for (std::int64_t i = 0; i < n; ++i)
      x[i] = value;
  }

  template <typename Number, typename Where>
  void equ(Where, const std::int64_t n, const Number a, const Number *x, Number *y)
  {
#pragma omp parallel for simd schedule(static)
    for (std::int64_t i = 0; i < n; ++i)
      y[i] = a * x[i];
  }

  template <typename Number, typename Where>
  void sadd(Where, const std::int64_t n, const Number s, const Number a, const Number *x, Number *y)
  {
#pragma omp parallel for simd schedule(static)
    for (std::int64_t i = 0; i < n; ++i)
      y[i] = s * y[i] + a * x[i];
  }

  template <typename Number, typename Where>
  void add(Where, const std::int64_t n, const Number a, const Number *x, const Number b, const Number *y, Number *z)
  {
#pragma omp parallel for simd schedule(static)
    for (std::int64_t i = 0; i < n; ++i)
      z[i] += a * x[i] + b * y[i];
  }

  template <typename Number, typename Where>
  void scale(Where, const std::int64_t n, const Number *d, Number *y)
  {
#pragma omp parallel for simd schedule(static)
    for (std::int64_t i = 0; i < n; ++i)
      y[i] *= d[i];
  }

  template <typename From, typename To, typename Where>
  void convert(Where, const std::int64_t n, const From *x, To *y)
  {
#pragma omp parallel for simd schedule(static)
    for (std::int64_t i = 0; i < n; ++i)
      y[i] = static_cast<To>(x[i]);
  }

  template <typename Number, typename Where>
  void dot(Where, const std::int64_t n, const Number *x, const Number *y, double *partials, double *result)
  {
    sum_parts<1>(n, partials, result, [=](const std::int64_t begin, const std::int64_t end, double *sums) {
      sums[0] = dot_of_range(x, y, begin, end);
    });
  }

  template <typename Number, typename Where>
  void add_and_dot(Where,
                   const std::int64_t n,
                   const Number       a,
                   const Number      *x,
                   const Number      *y,
                   Number            *z,
                   double            *partials,
                   double            *result)
  {
    sum_parts<1>(n, partials, result, [=](const std::int64_t begin, const std::int64_t end, double *sums) {
      sums[0] = y == z ? add_and_dot_of_range<true>(a, x, y, z, begin, end)
                       : add_and_dot_of_range<false>(a, x, y, z, begin, end);
    });
  }

  template <typename Number, typename Where>
  void linfty_norm(Where, const std::int64_t n, const Number *x, double *result)
  {
    std::uint64_t largest = 0;
#pragma omp parallel for simd schedule(static) reduction(max : largest)
    for (std::int64_t i = 0; i < n; ++i)
      largest = std::max(largest, magnitude_bits(static_cast<double>(x[i])));
    std::memcpy(result, &largest, sizeof(largest));
  }

  PATCHFEM_INSTANTIATE_BLAS1(Host)
} // namespace PatchFEM::kernels
