// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/small_tensor.h>

#include <type_traits>

/** @file Algebra of small tensors for laws; plain and dual numbers mix. */
namespace PatchFEM
{
  /** The matrix with the entries @p entry(i, j). */
  template <int m, int n, typename Entry>
  PATCHFEM_INLINE auto matrix_of(const Entry &entry)
  {
    SmallMatrix<m, n, std::decay_t<decltype(entry(0, 0))>> result;
    PATCHFEM_UNROLL
    for (int i = 0; i < m; ++i)
      PATCHFEM_UNROLL
    for (int j = 0; j < n; ++j)
      result(i, j) = entry(i, j);
    return result;
  }

  /** The symmetric matrix with the entries @p entry(i, j), i <= j. */
  template <int n, typename Entry>
  PATCHFEM_INLINE auto symmetric_matrix_of(const Entry &entry)
  {
    SmallMatrix<n, n, std::decay_t<decltype(entry(0, 0))>> result;
    PATCHFEM_UNROLL
    for (int i = 0; i < n; ++i)
      PATCHFEM_UNROLL
    for (int j = 0; j < n; ++j)
      result(i, j) = i <= j ? entry(i, j) : result(j, i);
    return result;
  }

  /** The vector with the entries @p entry(i). */
  template <int n, typename Entry>
  PATCHFEM_INLINE auto vector_of(const Entry &entry)
  {
    SmallVector<n, std::decay_t<decltype(entry(0))>> result;
    PATCHFEM_UNROLL
    for (int i = 0; i < n; ++i)
      result[i] = entry(i);
    return result;
  }

  template <int n, typename Number = double>
  PATCHFEM_INLINE SmallMatrix<n, n, Number> identity()
  {
    return matrix_of<n, n>([](const int i, const int j) { return Number(i == j ? 1. : 0.); });
  }

  /** @p a + @p s I. */
  template <int n, typename A, typename S = double>
  PATCHFEM_INLINE auto plus_identity(const SmallMatrix<n, n, A> &a, const S &s = 1.)
  {
    SmallMatrix<n, n, std::common_type_t<A, S>> result;
    PATCHFEM_UNROLL
    for (int i = 0; i < n; ++i)
      PATCHFEM_UNROLL
    for (int j = 0; j < n; ++j)
      if (i == j)
        result(i, j) = a(i, j) + s;
      else
        result(i, j) = a(i, j);
    return result;
  }

  template <int m, int n, typename A, typename B>
  PATCHFEM_INLINE auto operator+(const SmallMatrix<m, n, A> &a, const SmallMatrix<m, n, B> &b)
  {
    return matrix_of<m, n>([&](const int i, const int j) { return a(i, j) + b(i, j); });
  }
  template <int m, int n, typename A, typename B>
  PATCHFEM_INLINE auto operator-(const SmallMatrix<m, n, A> &a, const SmallMatrix<m, n, B> &b)
  {
    return matrix_of<m, n>([&](const int i, const int j) { return a(i, j) - b(i, j); });
  }
  /** @p s times @p a; s is a number that may stand beside a's. */
  template <int m, int n, typename A, typename S, typename = std::common_type_t<A, S>>
  PATCHFEM_INLINE auto operator*(const S &s, const SmallMatrix<m, n, A> &a)
  {
    return matrix_of<m, n>([&](const int i, const int j) { return s * a(i, j); });
  }
  /** Entry (i, j) of a b. */
  template <int m, int l, int n, typename A, typename B>
  PATCHFEM_INLINE auto
  product_entry(const SmallMatrix<m, l, A> &a, const SmallMatrix<l, n, B> &b, const int i, const int j)
  {
    auto sum = a(i, 0) * b(0, j);
    PATCHFEM_UNROLL
    for (int k = 1; k < l; ++k)
      sum += a(i, k) * b(k, j);
    return sum;
  }
  template <int m, int l, int n, typename A, typename B>
  PATCHFEM_INLINE auto operator*(const SmallMatrix<m, l, A> &a, const SmallMatrix<l, n, B> &b)
  {
    return matrix_of<m, n>([&](const int i, const int j) { return product_entry(a, b, i, j); });
  }
  /** a b where it is symmetric, at some half of the work. */
  template <int n, int l, typename A, typename B>
  PATCHFEM_INLINE auto symmetric_product(const SmallMatrix<n, l, A> &a, const SmallMatrix<l, n, B> &b)
  {
    return symmetric_matrix_of<n>([&](const int i, const int j) { return product_entry(a, b, i, j); });
  }

  template <int n, typename A, typename B>
  PATCHFEM_INLINE auto operator+(const SmallVector<n, A> &a, const SmallVector<n, B> &b)
  {
    return vector_of<n>([&](const int i) { return a[i] + b[i]; });
  }
  template <int n, typename A, typename B>
  PATCHFEM_INLINE auto operator-(const SmallVector<n, A> &a, const SmallVector<n, B> &b)
  {
    return vector_of<n>([&](const int i) { return a[i] - b[i]; });
  }
  template <int n, typename A, typename S, typename = std::common_type_t<A, S>>
  PATCHFEM_INLINE auto operator*(const S &s, const SmallVector<n, A> &a)
  {
    return vector_of<n>([&](const int i) { return s * a[i]; });
  }

  /** a . b. */
  template <int n, typename A, typename B>
  PATCHFEM_INLINE auto operator*(const SmallVector<n, A> &a, const SmallVector<n, B> &b)
  {
    auto sum = a[0] * b[0];
    PATCHFEM_UNROLL
    for (int i = 1; i < n; ++i)
      sum += a[i] * b[i];
    return sum;
  }

  template <int n, typename A>
  PATCHFEM_INLINE A trace(const SmallMatrix<n, n, A> &a)
  {
    A sum = a(0, 0);
    PATCHFEM_UNROLL
    for (int i = 1; i < n; ++i)
      sum += a(i, i);
    return sum;
  }

  /** (a + a^T) / 2. */
  template <int n, typename A>
  PATCHFEM_INLINE SmallMatrix<n, n, A> symmetric_part(const SmallMatrix<n, n, A> &a)
  {
    return matrix_of<n, n>([&](const int i, const int j) { return i == j ? a(i, j) : 0.5 * (a(i, j) + a(j, i)); });
  }

  /** a_ij b_ij. */
  template <int m, int n, typename A, typename B>
  PATCHFEM_INLINE auto double_contraction(const SmallMatrix<m, n, A> &a, const SmallMatrix<m, n, B> &b)
  {
    auto sum = a(0, 0) * b(0, 0);
    PATCHFEM_UNROLL
    for (int e = 1; e < m * n; ++e)
      sum += a(e / n, e % n) * b(e / n, e % n);
    return sum;
  }
} // namespace PatchFEM
