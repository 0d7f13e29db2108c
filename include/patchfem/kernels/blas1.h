// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_blas1_h
#define patchfem_kernels_blas1_h

#include <patchfem/base/backend.h>
#include <patchfem/kernels/reduction.h>

#include <cstdint>

/**
 * @file
 * Operations on whole vectors. Bytes moved per element are 8 (fp64) times the vectors read and written.
 */
namespace PatchFEM
{
  namespace kernels
  {
    /** x_i = value */
    template <typename Number>
    void set(Host, std::int64_t n, Number value, Number *x);
    template <typename Number>
    void set(Cuda, std::int64_t n, Number value, Number *x);

    /** y = a x */
    template <typename Number>
    void equ(Host, std::int64_t n, Number a, const Number *x, Number *y);
    template <typename Number>
    void equ(Cuda, std::int64_t n, Number a, const Number *x, Number *y);

    /** y = s y + a x */
    template <typename Number>
    void sadd(Host, std::int64_t n, Number s, Number a, const Number *x, Number *y);
    template <typename Number>
    void sadd(Cuda, std::int64_t n, Number s, Number a, const Number *x, Number *y);

    /** y_i = d_i y_i */
    template <typename Number>
    void scale(Host, std::int64_t n, const Number *d, Number *y);
    template <typename Number>
    void scale(Cuda, std::int64_t n, const Number *d, Number *y);

    /** y_i = x_i in the other number type. */
    template <typename From, typename To>
    void convert(Host, std::int64_t n, const From *x, To *y);
    template <typename From, typename To>
    void convert(Cuda, std::int64_t n, const From *x, To *y);

    /** result[0] = sum_i x_i y_i; @p partials has reduction::max_parts entries. Both are memory of the back end. */
    template <typename Number>
    void dot(Host, std::int64_t n, const Number *x, const Number *y, double *partials, double *result);
    template <typename Number>
    void dot(Cuda, std::int64_t n, const Number *x, const Number *y, double *partials, double *result);
  } // namespace kernels
} // namespace PatchFEM

#endif
