// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/hash.h"
#include "kernels/launch.h"
#include <patchfem/kernels/blas1.h>

/**
 * @file
 * The loops of blas1.h, once for both sides (see launch.h). Who includes this has defined for_each(where, n, body), which
 * calls body(i) for all i < n, sum(where, n, term, partials, result), which sums term(i), and linfty_norm().
 */
namespace PatchFEM::kernels
{
  template <typename Number, typename Where>
  void set(Where where, const std::int64_t n, const Number value, Number *x)
  {
    for_each(where, n, [=] PATCHFEM_DEVICE(const std::int64_t i) { x[i] = value; });
  }

  template <typename Number, typename Where>
  void set_scattered(Where where, const std::int64_t n, Number *x, const std::int64_t first)
  {
    for_each(where, n, [=] PATCHFEM_DEVICE(const std::int64_t i) {
      const std::uint64_t bits = hash(static_cast<std::uint64_t>(first + i) * 0x9e3779b97f4a7c15u) >> 11;
      x[i]                     = static_cast<Number>(static_cast<double>(bits) * (1. / 4503599627370496.) - 1.);
    });
  }

  template <typename Number, typename Where>
  void equ(Where where, const std::int64_t n, const Number a, const Number *x, Number *y)
  {
    for_each(where, n, [=] PATCHFEM_DEVICE(const std::int64_t i) { y[i] = a * x[i]; });
  }

  template <typename Number, typename Where>
  void sadd(Where where, const std::int64_t n, const Number s, const Number a, const Number *x, Number *y)
  {
    for_each(where, n, [=] PATCHFEM_DEVICE(const std::int64_t i) { y[i] = s * y[i] + a * x[i]; });
  }

  template <typename Number, typename Where>
  void
  add(Where where, const std::int64_t n, const Number a, const Number *x, const Number b, const Number *y, Number *z)
  {
    for_each(where, n, [=] PATCHFEM_DEVICE(const std::int64_t i) { z[i] += a * x[i] + b * y[i]; });
  }

  template <typename Number, typename Where>
  void scale(Where where, const std::int64_t n, const Number *d, Number *y)
  {
    for_each(where, n, [=] PATCHFEM_DEVICE(const std::int64_t i) { y[i] *= d[i]; });
  }

  template <typename From, typename To, typename Where>
  void convert(Where where, const std::int64_t n, const From *x, To *y)
  {
    for_each(where, n, [=] PATCHFEM_DEVICE(const std::int64_t i) { y[i] = static_cast<To>(x[i]); });
  }

  template <>
  void invert(Here where, const std::int64_t n, const int *list, int *to)
  {
    for_each(where, n, [=] PATCHFEM_DEVICE(const std::int64_t i) { to[list[i]] = static_cast<int>(i); });
  }

  template <>
  void find_outside_of_single(Here where, const std::int64_t n, const double *x, int *result)
  {
    parallel_for(where, n, [=] PATCHFEM_DEVICE(const std::int64_t i) {
      if (x[i] > 0. && !(x[i] >= 1.18e-38 && x[i] <= 3.4e38))
        atomic_min(result, static_cast<int>(i));
    });
  }

  template <typename Number, typename Where>
  void dot(Where where, const std::int64_t n, const Number *x, const Number *y, double *partials, double *result)
  {
    const auto term = [=] PATCHFEM_DEVICE(const std::int64_t i) {
      return static_cast<double>(x[i]) * static_cast<double>(y[i]);
    };
    sum(where, n, term, partials, result);
  }

  template <typename Number, typename Where>
  void add_and_dot(Where              where,
                   const std::int64_t n,
                   const Number       a,
                   const Number      *x,
                   const Number      *y,
                   Number            *z,
                   double            *partials,
                   double            *result)
  {
    const auto moved  = [=] PATCHFEM_DEVICE(const std::int64_t i) { return z[i] += a * x[i]; };
    const auto square = [=] PATCHFEM_DEVICE(const std::int64_t i) {
      const auto z_i = static_cast<double>(moved(i));
      return z_i * z_i;
    };
    const auto product = [=] PATCHFEM_DEVICE(const std::int64_t i) {
      return static_cast<double>(moved(i)) * static_cast<double>(y[i]);
    };
    if (y == z)
      sum(where, n, square, partials, result);
    else
      sum(where, n, product, partials, result);
  }

#define INSTANTIATE(Number)                                                                                            \
  template void set(Here, std::int64_t, Number, Number *);                                                             \
  template void set_scattered(Here, std::int64_t, Number *, std::int64_t);                                             \
  template void equ(Here, std::int64_t, Number, const Number *, Number *);                                             \
  template void sadd(Here, std::int64_t, Number, Number, const Number *, Number *);                                    \
  template void scale(Here, std::int64_t, const Number *, Number *);                                                   \
  template void add(Here, std::int64_t, Number, const Number *, Number, const Number *, Number *);                     \
  template void dot(Here, std::int64_t, const Number *, const Number *, double *, double *);                           \
  template void add_and_dot(Here, std::int64_t, Number, const Number *, const Number *, Number *, double *, double *); \
  template void linfty_norm(Here, std::int64_t, const Number *, double *);                                             \
  template void convert(Here, std::int64_t, const float *, Number *);                                                  \
  template void convert(Here, std::int64_t, const double *, Number *);

  template void set(Here, std::int64_t, int, int *);
  INSTANTIATE(float)
  INSTANTIATE(double)
#undef INSTANTIATE
} // namespace PatchFEM::kernels
