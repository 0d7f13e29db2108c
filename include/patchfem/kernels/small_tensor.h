// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

namespace PatchFEM
{
  /**
   * @p a / @p b to the last bit or the one before it. In double precision on devices it lacks the branch that their
   * division has: where b or its inverse is no normal number, or a or the quotient is infinite, the result is not a
   * number or 0.
   */
  template <typename Number>
  PATCHFEM_INLINE Number quotient(const Number a, const Number b)
  {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(Number) == 8)
    {
      double inverse; // to 2^-20, then, with 1 / b = inverse / (1 - error), to 2^-53
      asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(b));
      const double error = fma(-b, inverse, 1.);
      inverse            = fma(fma(error, error, error), inverse, inverse);
      const double first = a * inverse;
      return fma(fma(-b, first, a), inverse, first);
    }
    else
#endif
      return a / b;
  }

  /** A vector of @p n numbers in registers. */
  template <int n, typename Number>
  struct SmallVector
  {
    Number entries[n];

    PATCHFEM_INLINE Number       &operator[](const int i) { return entries[i]; }
    PATCHFEM_INLINE const Number &operator[](const int i) const { return entries[i]; }
  };

  /** An @p m x @p n matrix in registers; {} is zero. */
  template <int m, int n, typename Number>
  struct SmallMatrix
  {
    Number entries[m][n];

    PATCHFEM_INLINE Number       &operator()(const int i, const int j) { return entries[i][j]; }
    PATCHFEM_INLINE const Number &operator()(const int i, const int j) const { return entries[i][j]; }
  };

  template <int m, int n, typename Number>
  PATCHFEM_INLINE SmallMatrix<n, m, Number> transpose(const SmallMatrix<m, n, Number> &a)
  {
    SmallMatrix<n, m, Number> result;
    PATCHFEM_UNROLL
    for (int i = 0; i < m; ++i)
      PATCHFEM_UNROLL
    for (int j = 0; j < n; ++j)
      result(j, i) = a(i, j);
    return result;
  }

  template <int n, typename Number>
  PATCHFEM_INLINE Number dot(const SmallVector<n, Number> &a, const SmallVector<n, Number> &b)
  {
    Number sum = a[0] * b[0];
    PATCHFEM_UNROLL
    for (int i = 1; i < n; ++i)
      sum += a[i] * b[i];
    return sum;
  }

  /** Determinant of a 2 x 2 or 3 x 3 matrix. */
  template <typename Number>
  PATCHFEM_INLINE Number determinant(const SmallMatrix<2, 2, Number> &a)
  {
    return a(0, 0) * a(1, 1) - a(0, 1) * a(1, 0);
  }

  template <typename Number>
  PATCHFEM_INLINE Number determinant(const SmallMatrix<3, 3, Number> &a)
  {
    return a(0, 0) * (a(1, 1) * a(2, 2) - a(1, 2) * a(2, 1)) - a(0, 1) * (a(1, 0) * a(2, 2) - a(1, 2) * a(2, 0)) +
           a(0, 2) * (a(1, 0) * a(2, 1) - a(1, 1) * a(2, 0));
  }

  /** The inverse times the determinant. */
  template <typename Number>
  PATCHFEM_INLINE SmallMatrix<2, 2, Number> adjugate(const SmallMatrix<2, 2, Number> &a)
  {
    return {{{a(1, 1), -a(0, 1)}, {-a(1, 0), a(0, 0)}}};
  }

  template <typename Number>
  PATCHFEM_INLINE SmallMatrix<3, 3, Number> adjugate(const SmallMatrix<3, 3, Number> &a)
  {
    return {{{a(1, 1) * a(2, 2) - a(1, 2) * a(2, 1), a(0, 2) * a(2, 1) - a(0, 1) * a(2, 2),
              a(0, 1) * a(1, 2) - a(0, 2) * a(1, 1)},
             {a(1, 2) * a(2, 0) - a(1, 0) * a(2, 2), a(0, 0) * a(2, 2) - a(0, 2) * a(2, 0),
              a(0, 2) * a(1, 0) - a(0, 0) * a(1, 2)},
             {a(1, 0) * a(2, 1) - a(1, 1) * a(2, 0), a(0, 1) * a(2, 0) - a(0, 0) * a(2, 1),
              a(0, 0) * a(1, 1) - a(0, 1) * a(1, 0)}}};
  }

  /** The inverse, given the determinant @p det. */
  template <int n, typename Number>
  PATCHFEM_INLINE SmallMatrix<n, n, Number> inverse(const SmallMatrix<n, n, Number> &a, const Number det)
  {
    SmallMatrix<n, n, Number> result = adjugate(a);
    const Number              s      = Number(1) / det;
    PATCHFEM_UNROLL
    for (int i = 0; i < n; ++i)
      PATCHFEM_UNROLL
    for (int j = 0; j < n; ++j)
      result(i, j) *= s;
    return result;
  }
} // namespace PatchFEM
