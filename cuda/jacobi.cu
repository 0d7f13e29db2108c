// SPDX-License-Identifier: LGPL-2.1-or-later
#include "check.cuh"
#include "tuning.cuh"

#include <patchfem/kernels/jacobi.h>

namespace PatchFEM
{
  namespace kernels
  {
    namespace
    {
      constexpr int block_size = tuning::block_size;

      unsigned int grid(const std::int64_t n)
      {
        return static_cast<unsigned int>((n + block_size - 1) / block_size);
      }

      __global__ void no_failure_kernel(int *const failure)
      {
        *failure = no_failure;
      }

      /** One thread per block. */
      template <int static_size, typename Number>
      __global__ void invert_kernel(const int           n_blocks,
                                    const int           runtime_size,
                                    const std::int64_t  stride,
                                    const Number *const blocks,
                                    const double        factor,
                                    Number *const       inverse,
                                    int *const          failure)
      {
        const int          size = static_size > 0 ? static_size : runtime_size;
        const std::int64_t i    = std::int64_t(blockIdx.x) * block_size + threadIdx.x;
        if (i >= n_blocks)
          return;
        constexpr int storage = static_size > 0 ? static_size : max_block_size;
        double        block[storage * storage];
        for (int e = 0; e < size * size; ++e)
          block[e] = static_cast<double>(blocks[e * stride + i]);
        const int a = invert_spd_block<static_size>(size, block, factor, inverse + i, stride);
        if (a >= 0)
          atomicMin(failure, static_cast<int>(i * size + a)); // of integers: the smallest, in whatever order
      }

      /** One thread per block. */
      template <int static_size, typename Value, typename Number>
      __global__ void vmult_kernel(const BlockDiagonalView<Value> D, const Number *const src, Number *const dst)
      {
        const std::int64_t i = std::int64_t(blockIdx.x) * block_size + threadIdx.x;
        if (i >= D.n_blocks)
          return;
        constexpr int storage = static_size > 0 ? static_size : max_block_size;
        const int     b       = static_size > 0 ? static_size : D.block_size;
        Number        in[storage], out[storage];
#pragma unroll
        for (int a = 0; a < b; ++a)
          in[a] = src[i * b + a];
        apply_block<static_size>(D, i, in, out);
#pragma unroll
        for (int a = 0; a < b; ++a)
          dst[i * b + a] = out[a];
      }
    } // namespace

    template <typename Number>
    void invert_block_diagonal(Cuda               where,
                               const int          n_blocks,
                               const int          size_of_blocks,
                               const std::int64_t stride,
                               const Number      *blocks,
                               const double       factor,
                               Number            *inverse,
                               int               *failure)
    {
      no_failure_kernel<<<1, 1, 0, stream_of(where)>>>(failure);
      PATCHFEM_CUDA_CHECK_LAUNCH();
      if (n_blocks == 0)
        return;
      with_block_size(size_of_blocks, [&](auto size) {
        invert_kernel<decltype(size)::value><<<grid(n_blocks), block_size, 0, stream_of(where)>>>(
            n_blocks, size_of_blocks, stride, blocks, factor, inverse, failure);
      });
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

    template <typename Value, typename Number>
    void vmult(Cuda where, const BlockDiagonalView<Value> &D, const Number *src, Number *dst)
    {
      if (D.n_blocks == 0)
        return;
      with_block_size(D.block_size, [&](auto size) {
        vmult_kernel<decltype(size)::value><<<grid(D.n_blocks), block_size, 0, stream_of(where)>>>(D, src, dst);
      });
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

#define INSTANTIATE(Number)                                                                                           \
  template void invert_block_diagonal<Number>(Cuda, int, int, std::int64_t, const Number *, double, Number *, int *); \
  template void vmult<Number, Number>(Cuda, const BlockDiagonalView<Number> &, const Number *, Number *);
    INSTANTIATE(float)
    INSTANTIATE(double)
#undef INSTANTIATE
    template void vmult<float, double>(Cuda, const BlockDiagonalView<float> &, const double *, double *);
  } // namespace kernels
} // namespace PatchFEM
