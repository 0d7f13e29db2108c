// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/blas1.h>

#include "reduce_host.h"

namespace PatchFEM
{
  namespace kernels
  {
    template <typename Number>
    void set(Host, const std::int64_t n, const Number value, Number *x)
    {
#pragma omp parallel for simd schedule(static)
      for (std::int64_t i = 0; i < n; ++i)
        x[i] = value;
    }

    template <typename Number>
    void equ(Host, const std::int64_t n, const Number a, const Number *x, Number *y)
    {
#pragma omp parallel for simd schedule(static)
      for (std::int64_t i = 0; i < n; ++i)
        y[i] = a * x[i];
    }

    template <typename Number>
    void sadd(Host, const std::int64_t n, const Number s, const Number a, const Number *x, Number *y)
    {
#pragma omp parallel for simd schedule(static)
      for (std::int64_t i = 0; i < n; ++i)
        y[i] = s * y[i] + a * x[i];
    }

    template <typename Number>
    void add(Host, const std::int64_t n, const Number a, const Number *x, const Number b, const Number *y, Number *z)
    {
#pragma omp parallel for simd schedule(static)
      for (std::int64_t i = 0; i < n; ++i)
        z[i] += a * x[i] + b * y[i];
    }

    template <typename Number>
    void scale(Host, const std::int64_t n, const Number *d, Number *y)
    {
#pragma omp parallel for simd schedule(static)
      for (std::int64_t i = 0; i < n; ++i)
        y[i] *= d[i];
    }

    template <typename From, typename To>
    void convert(Host, const std::int64_t n, const From *x, To *y)
    {
#pragma omp parallel for simd schedule(static)
      for (std::int64_t i = 0; i < n; ++i)
        y[i] = static_cast<To>(x[i]);
    }

    template <typename Number>
    void dot(Host, const std::int64_t n, const Number *x, const Number *y, double *partials, double *result)
    {
      sum_parts<1>(n, partials, result, [=](const std::int64_t begin, const std::int64_t end, double *sums) {
        sums[0] = dot_of_range(x, y, begin, end);
      });
    }

    template <typename Number>
    void add_and_dot(Host,
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

    template <typename Number>
    void linfty_norm(Host, const std::int64_t n, const Number *x, double *result)
    {
      std::uint64_t largest = 0;
#pragma omp parallel for simd schedule(static) reduction(max : largest)
      for (std::int64_t i = 0; i < n; ++i)
        largest = std::max(largest, magnitude_bits(static_cast<double>(x[i])));
      std::memcpy(result, &largest, sizeof(largest));
    }

#define INSTANTIATE(Number)                                                                                         \
  template void set<Number>(Host, std::int64_t, Number, Number *);                                                  \
  template void equ<Number>(Host, std::int64_t, Number, const Number *, Number *);                                  \
  template void sadd<Number>(Host, std::int64_t, Number, Number, const Number *, Number *);                         \
  template void scale<Number>(Host, std::int64_t, const Number *, Number *);                                        \
  template void add<Number>(Host, std::int64_t, Number, const Number *, Number, const Number *, Number *);          \
  template void dot<Number>(Host, std::int64_t, const Number *, const Number *, double *, double *);                \
  template void add_and_dot<Number>(Host, std::int64_t, Number, const Number *, const Number *, Number *, double *, \
                                    double *);                                                                      \
  template void linfty_norm<Number>(Host, std::int64_t, const Number *, double *);
    INSTANTIATE(float)
    INSTANTIATE(double)
#undef INSTANTIATE
    template void convert<float, float>(Host, std::int64_t, const float *, float *);
    template void convert<double, double>(Host, std::int64_t, const double *, double *);
    template void convert<float, double>(Host, std::int64_t, const float *, double *);
    template void convert<double, float>(Host, std::int64_t, const double *, float *);
  } // namespace kernels
} // namespace PatchFEM
