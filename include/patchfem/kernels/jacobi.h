// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/base/host_device.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace PatchFEM
{
  /**
   * A symmetric block diagonal operator. Block i acts on the unknowns i * block_size + a; of its symmetric blocks the
   * lower halves are kept, entry (a, c), c <= a, of block i at (a * (a + 1) / 2 + c) * stride + i.
   */
  template <typename Number>
  struct BlockDiagonalView
  {
    int           n_blocks;
    int           block_size;
    std::int64_t  stride;
    const Number *values;
  };

  namespace kernels
  {
    constexpr int max_block_size = 12;

    /**
     * Inverse of the symmetric positive definite @p block ([a * n + c], lower half read) by Cholesky, scaled by
     * @p factor, into the packed lower half @p inverse[(a * (a + 1) / 2 + c) * stride]. Returns -1, or the row of the
     * first pivot that is not positive (then @p inverse is untouched).
     */
    template <int static_size, typename Number>
    PATCHFEM_INLINE int invert_spd_block(
        const int runtime_size, const double *block, const double factor, Number *inverse, const std::int64_t stride)
    {
      constexpr int storage = static_size > 0 ? static_size : max_block_size;
      const int     n       = static_size > 0 ? static_size : runtime_size;

      // L L^T = block, then W = L^-1 (lower), inverse = W^T W.
      double L[storage * storage];
      for (int a = 0; a < n; ++a)
        for (int c = 0; c <= a; ++c)
        {
          double sum = block[a * n + c];
          for (int k = 0; k < c; ++k)
            sum -= L[a * n + k] * L[c * n + k];
          if (a == c)
          {
            if (!(sum > 0.) || !(sum < HUGE_VAL))
              return a;
            L[a * n + a] = std::sqrt(sum);
          }
          else
            L[a * n + c] = sum / L[c * n + c];
        }
      for (int c = 0; c < n; ++c)
      {
        L[c * n + c] = 1. / L[c * n + c];
        for (int a = c + 1; a < n; ++a)
        {
          double sum = 0.;
          for (int k = c; k < a; ++k)
            sum += L[a * n + k] * L[k * n + c];
          L[a * n + c] = -sum / L[a * n + a];
        }
      }
      for (int a = 0; a < n; ++a)
        for (int c = 0; c <= a; ++c)
        {
          double sum = 0.;
          for (int k = a; k < n; ++k)
            sum += L[k * n + a] * L[k * n + c];
          inverse[(a * (a + 1) / 2 + c) * stride] = static_cast<Number>(factor * sum);
        }
      return -1;
    }

    /** out = D_i in for block @p i, both of block_size entries. */
    template <int static_size, typename Value, typename Number>
    PATCHFEM_INLINE void
    apply_block(const BlockDiagonalView<Value> &D, const std::int64_t i, const Number *in, Number *out)
    {
      const int n = static_size > 0 ? static_size : D.block_size;
      PATCHFEM_UNROLL
      for (int a = 0; a < n; ++a)
        out[a] = Number(0);
      PATCHFEM_UNROLL
      for (int a = 0; a < n; ++a)
        PATCHFEM_UNROLL
      for (int c = 0; c <= a; ++c)
      {
        const Number value = static_cast<Number>(D.values[(a * (a + 1) / 2 + c) * D.stride + i]);
        out[a] += value * in[c];
        if (c != a)
          out[c] += value * in[a];
      }
    }

    /** Calls @p run with a block's size as constants if 16 * rows + columns is among @p sizes; whether it is. */
    template <int... sizes, typename Run>
    bool with_block_size(const int rows, const int columns, const Run &run)
    {
      using std::integral_constant;
      const auto matches = [&](auto size) {
        if (size != 16 * rows + columns)
          return false;
        run(integral_constant<int, size / 16>(), integral_constant<int, size % 16>());
        return true;
      };
      return (matches(integral_constant<int, sizes>()) || ...);
    }

    /** The same for square blocks: run(integral_constant of the size), 0 where there is no variant of its own. */
    template <typename Run>
    void with_block_size(const int block_size, const Run &run)
    {
      if (!with_block_size<0x11, 0x22, 0x33, 0x66>(block_size, block_size, [&](auto size, auto) { run(size); }))
        run(std::integral_constant<int, 0>());
    }

    /** Result of invert_block_diagonal() when every block is positive definite. */
    constexpr int no_failure = 2147483647;

    /**
     * Inverts @p n_blocks blocks (layout of extract_block_diagonal(): entry (a, c) at (a * block_size + c) * n_blocks + i)
     * into the packed layout of BlockDiagonalView, scaled by @p factor. failure[0] becomes the smallest unknown whose pivot
     * is not positive and finite, or no_failure.
     */
    template <typename Number, typename Where>
    void invert_block_diagonal(
        Where, int n_blocks, int block_size, const Number *blocks, double factor, Number *inverse, int *failure);

    /** dst = D src; src and dst may be the same. */
    template <typename Value, typename Number, typename Where>
    void vmult(Where, const BlockDiagonalView<Value> &D, const Number *src, Number *dst);

    /**
     * The step of a polynomial smoother d = c_0 d + c_1 D r and x = x + d, block by block. @p c, [2], is memory of the
     * back end: what is recorded in a Graph stays right when a new matrix changes it. @p first_d, @p first_x: d, x count
     * as 0 and are not read. @p d is nullptr for smoothers with c_0 = 0; where @p scale is given, it has scale_i d_i. Per
     * unknown r, x, d and scale in, x, d out, and (b + 1) / 2 entries of D.
     */
    template <typename Number, typename Where>
    void smoother_step(Where,
                       const BlockDiagonalView<Number> &D,
                       const double                    *c,
                       const Number                    *r,
                       Number                          *d,
                       Number                          *x,
                       bool                             first_d,
                       bool                             first_x,
                       const Number                    *scale = nullptr);
  } // namespace kernels
} // namespace PatchFEM
