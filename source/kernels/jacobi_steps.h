// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/launch.h"
#include <patchfem/kernels/jacobi.h>
#include <patchfem/kernels/parallel_for.h>

/** @file Block diagonals, a block for each index (see parallel_for.h): the host's compiler makes one side, nvcc the other. */
namespace PatchFEM::kernels
{
  namespace
  {
    /** body(i, size) with size as in with_block_size(). */
    template <int size, typename Body>
    struct SizedBody
    {
      Body body;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { body(i, std::integral_constant<int, size>()); }
    };

    template <typename Body>
    void for_blocks(Here where, const int n_blocks, const int block_size, const Body &body)
    {
      with_block_size(block_size,
                      [&](auto size) { parallel_for(where, n_blocks, SizedBody<decltype(size)::value, Body>{body}); });
    }

    /** Entries that arrays of a block's rows have room for. */
    template <int static_size>
    constexpr int room = static_size > 0 ? static_size : max_block_size;
  } // namespace

  template <typename Number, typename Where>
  void invert_block_diagonal(Where         where,
                             const int     n_blocks,
                             const int     block_size,
                             const Number *blocks,
                             const double  factor,
                             Number       *inverse,
                             int          *failure)
  {
    parallel_for(where, 1, [=] PATCHFEM_DEVICE(std::int64_t) { *failure = no_failure; });
    for_blocks(where, n_blocks, block_size, [=] PATCHFEM_DEVICE(const std::int64_t i, auto static_size) {
      constexpr int n = decltype(static_size)::value;
      const int     b = n > 0 ? n : block_size;
      double        block[room<n> * room<n>];
      for (int e = 0; e < b * b; ++e)
        block[e] = static_cast<double>(blocks[std::int64_t(e) * n_blocks + i]);
      const int a = invert_spd_block<n>(b, block, factor, inverse + i, n_blocks);
      if (a >= 0)
        atomic_min(failure, static_cast<int>(i * b + a));
    });
  }

  template <typename Value, typename Number, typename Where>
  void vmult(Where where, const BlockDiagonalView<Value> &D, const Number *src, Number *dst)
  {
    for_blocks(where, D.n_blocks, D.block_size, [=] PATCHFEM_DEVICE(const std::int64_t i, auto static_size) {
      constexpr int n = decltype(static_size)::value;
      const int     b = n > 0 ? n : D.block_size;
      Number        in[room<n>], out[room<n>];
      PATCHFEM_UNROLL
      for (int a = 0; a < b; ++a)
        in[a] = src[i * b + a];
      apply_block<n>(D, i, in, out);
      PATCHFEM_UNROLL
      for (int a = 0; a < b; ++a)
        dst[i * b + a] = out[a];
    });
  }

  template <typename Number, typename Where>
  void smoother_step(Where                            where,
                     const BlockDiagonalView<Number> &D,
                     const double                    *c,
                     const Number                    *r,
                     Number                          *d,
                     Number                          *x,
                     const bool                       first_d,
                     const bool                       first_x,
                     const Number                    *scale)
  {
    for_blocks(where, D.n_blocks, D.block_size, [=] PATCHFEM_DEVICE(const std::int64_t i, auto static_size) {
      constexpr int n   = decltype(static_size)::value;
      const int     b   = n > 0 ? n : D.block_size;
      const Number  c_0 = static_cast<Number>(c[0]), c_1 = static_cast<Number>(c[1]);
      Number        in[room<n>], out[room<n>];
      for (int a = 0; a < b; ++a)
        in[a] = r[i * b + a];
      apply_block<n>(D, i, in, out);
      for (int a = 0; a < b; ++a)
      {
        Number step = c_1 * out[a];
        if (d != nullptr)
        {
          const Number s = scale != nullptr ? scale[i * b + a] : Number(1);
          step += first_d ? Number(0) : c_0 * (d[i * b + a] / s);
          d[i * b + a] = s * step;
        }
        x[i * b + a] = first_x ? step : x[i * b + a] + step;
      }
    });
  }

  template void invert_block_diagonal(Here, int, int, const float *, double, float *, int *);
  template void invert_block_diagonal(Here, int, int, const double *, double, double *, int *);
  template void vmult(Here, const BlockDiagonalView<float> &, const float *, float *);
  template void vmult(Here, const BlockDiagonalView<float> &, const double *, double *);
  template void vmult(Here, const BlockDiagonalView<double> &, const double *, double *);
#define INSTANTIATE_STEP(Number)                                                                                 \
  template void smoother_step(Here, const BlockDiagonalView<Number> &, const double *, const Number *, Number *, \
                              Number *, bool, bool, const Number *)
  INSTANTIATE_STEP(float);
  INSTANTIATE_STEP(double);
} // namespace PatchFEM::kernels
