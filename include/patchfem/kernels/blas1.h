// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/base/host_device.h>
#include <patchfem/kernels/reduction.h>

#include <cstdint>
#include <cstring>

/** @file Operations on whole vectors. Bytes moved per element are 8 (fp64) times the vectors read and written. */
namespace PatchFEM::kernels
{
  /** x_i = value */
  template <typename Number, typename Where>
  void set(Where, std::int64_t n, Number value, Number *x);

  /** Values in [-1, 1] without a pattern, the same on every back end; x_i is that of number first + i. */
  template <typename Number, typename Where>
  void set_scattered(Where, std::int64_t n, Number *x, std::int64_t first = 0);

  /** y = a x */
  template <typename Number, typename Where>
  void equ(Where, std::int64_t n, Number a, const Number *x, Number *y);

  /** y = s y + a x */
  template <typename Number, typename Where>
  void sadd(Where, std::int64_t n, Number s, Number a, const Number *x, Number *y);

  /** z += a x + b y */
  template <typename Number, typename Where>
  void add(Where, std::int64_t n, Number a, const Number *x, Number b, const Number *y, Number *z);

  /** y_i = d_i y_i */
  template <typename Number, typename Where>
  void scale(Where, std::int64_t n, const Number *d, Number *y);

  /** y_i = x_i in the other number type. */
  template <typename From, typename To, typename Where>
  void convert(Where, std::int64_t n, const From *x, To *y);

  /** result[0] = sum_i x_i y_i; @p partials has reduction::max_parts entries. Both are memory of the back end. */
  template <typename Number, typename Where>
  void dot(Where, std::int64_t n, const Number *x, const Number *y, double *partials, double *result);

  /** z += a x, and of the new z as dot() does, result[0] = sum_i z_i y_i; y may be z. Four vectors move, not five. */
  template <typename Number, typename Where>
  void add_and_dot(
      Where, std::int64_t n, Number a, const Number *x, const Number *y, Number *z, double *partials, double *result);

  /**
   * The bits of |x|. Read as integers those of finite numbers are ordered as the numbers are, and not a number is above
   * them all, so that a largest value found among them is exact in any order and tells of it.
   */
  PATCHFEM_INLINE std::uint64_t magnitude_bits(const double x)
  {
    std::uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits & ~(std::uint64_t(1) << 63);
  }

  /** to[list_i] = i */
  template <typename Where>
  void invert(Where, std::int64_t n, const int *list, int *to);

  /** result[0], in memory of the back end, = min(itself, all i whose x_i > 0 is no normal number of fp32). */
  template <typename Where>
  void find_outside_of_single(Where, std::int64_t n, const double *x, int *result);

  /** result[0], in memory of the back end, = max_i |x_i|, or not a number. */
  template <typename Number, typename Where>
  void linfty_norm(Where, std::int64_t n, const Number *x, double *result);
} // namespace PatchFEM::kernels
