// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/run.h"
#include <patchfem/kernels/jacobi.h>
#include <patchfem/kernels/parallel_for.h>

/** @file Block diagonals, a block for each index (see parallel_for.h): the host's compiler makes one side, nvcc the other. */
namespace PatchFEM::kernels
{
  namespace
  {
    template <int static_size, typename Number>
    struct InvertBlockBody
    {
      int           n_blocks, runtime_size;
      const Number *blocks;
      double        factor;
      Number       *inverse;
      int          *failure;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        constexpr int storage = static_size > 0 ? static_size : max_block_size;
        const int     size    = static_size > 0 ? static_size : runtime_size;
        double        block[storage * storage];
        for (int e = 0; e < size * size; ++e)
          block[e] = static_cast<double>(blocks[std::int64_t(e) * n_blocks + i]);
        const int a = invert_spd_block<static_size>(size, block, factor, inverse + i, n_blocks);
        if (a >= 0)
          atomic_min(failure, static_cast<int>(i * size + a));
      }
    };

    template <int static_size, typename Value, typename Number>
    struct ApplyBlockBody
    {
      BlockDiagonalView<Value> D;
      const Number            *src;
      Number                  *dst;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        constexpr int storage = static_size > 0 ? static_size : max_block_size;
        const int     b       = static_size > 0 ? static_size : D.block_size;
        Number        in[storage], out[storage];
        PATCHFEM_UNROLL
        for (int a = 0; a < b; ++a)
          in[a] = src[i * b + a];
        apply_block<static_size>(D, i, in, out);
        PATCHFEM_UNROLL
        for (int a = 0; a < b; ++a)
          dst[i * b + a] = out[a];
      }
    };
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
    with_block_size(block_size, [&](auto size) {
      parallel_for(
          where, n_blocks,
          InvertBlockBody<decltype(size)::value, Number>{n_blocks, block_size, blocks, factor, inverse, failure});
    });
  }

  template <typename Value, typename Number, typename Where>
  void vmult(Where where, const BlockDiagonalView<Value> &D, const Number *src, Number *dst)
  {
    with_block_size(D.block_size, [&](auto size) {
      parallel_for(where, D.n_blocks, ApplyBlockBody<decltype(size)::value, Value, Number>{D, src, dst});
    });
  }

  template void invert_block_diagonal(Here, int, int, const float *, double, float *, int *);
  template void invert_block_diagonal(Here, int, int, const double *, double, double *, int *);
  template void vmult(Here, const BlockDiagonalView<float> &, const float *, float *);
  template void vmult(Here, const BlockDiagonalView<float> &, const double *, double *);
  template void vmult(Here, const BlockDiagonalView<double> &, const double *, double *);
} // namespace PatchFEM::kernels
