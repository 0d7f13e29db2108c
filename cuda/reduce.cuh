// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cuda_runtime.h>

/** @file Sums in fixed order without floating-point atomics: shuffles, shared memory, then the block that ends last. */
namespace PatchFEM::reduce
{
  /** The sum over the block, valid in thread 0. All threads must call it; block_size is a multiple of 32. */
  template <int block_size>
  __device__ inline double block_sum(double value)
  {
    __shared__ double warp_sums[block_size / 32];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
      value += __shfl_down_sync(0xffffffffu, value, offset);
    __syncthreads(); // the array may still be read from an earlier call
    if (threadIdx.x % 32 == 0)
      warp_sums[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32)
    {
      value = threadIdx.x < block_size / 32 ? warp_sums[threadIdx.x] : 0.;
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    return value;
  }

  /** True in all threads of the last block, which sees what all wrote before. @p ticket: 0 between kernels, left so. */
  __device__ inline bool is_last_block(unsigned int *ticket)
  {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
      last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last)
      __threadfence();
    return last;
  }

  /** The sum of partials[i * stride], i < n, by one block, valid in thread 0; past the first-level cache. */
  template <int block_size>
  __device__ inline double sum_partials(const double *partials, const int n, const int stride = 1)
  {
    double sums[4] = {0., 0., 0., 0.};
    int    i       = threadIdx.x;
    for (; i + 3 * block_size < n; i += 4 * block_size)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        sums[j] += __ldcg(partials + (i + j * block_size) * stride);
    for (; i < n; i += block_size)
      sums[0] += __ldcg(partials + i * stride);
    return block_sum<block_size>((sums[0] + sums[1]) + (sums[2] + sums[3]));
  }
} // namespace PatchFEM::reduce
