// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "tuning.cuh"

#include "kernels/dense_spd.h"
#include "kernels/instantiate.h"

namespace PatchFEM::kernels
{
  namespace
  {
    constexpr int block_size = tuning::block_size;

    /** One warp per row, so that some hundred rows still fill the device. */
    template <typename Number>
    __global__ void __launch_bounds__(block_size)
        dense_symmetric_kernel(const int n, const Number *__restrict__ M, const Number *__restrict__ x, Number *y)
    {
      const int row  = (blockIdx.x * block_size + threadIdx.x) / 32;
      const int lane = threadIdx.x % 32;
      if (row >= n)
        return;
      const Number *values = M + std::int64_t(row) * n;
      Number        sum    = 0;
#pragma unroll 4
      for (int j = lane; j < n; j += 32)
        sum += values[j] * x[j];
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
      if (lane == 0)
        y[row] = sum;
    }

    /** One thread per entry; two buffers, so that a step waits once. */
    __global__ void __launch_bounds__(dense::tile *dense::tile)
        invert_tile_kernel(const int n, const int begin, const double *__restrict__ A, double *factor, int *failure)
    {
      __shared__ double buffers[2][dense::tile];
      const int         i = threadIdx.y, j = threadIdx.x, size = min(n - begin, dense::tile);
      const bool        lower = j <= i && i < size;
      double            a     = lower ? A[std::int64_t(begin + i) * n + begin + j] : 0.;
      for (int p = 0; p < size; ++p)
      {
        double *pivot = buffers[p % 2];
        if (lower && (i == p || j == p))
          pivot[i == p ? j : i] = a;
        __syncthreads();
        if (i == p && j == p && !(a > 0. && a < HUGE_VAL))
          atomic_min(failure, begin + p);
        if (lower)
          a = dense::factor_step(a, i, j, p, pivot);
      }
      factor[i * dense::tile + j] = a;
    }
  } // namespace

  template <typename Number, typename Where>
  void dense_symmetric_vmult(Where where, const int n, const Number *M, const Number *x, Number *y)
  {
    if (n == 0)
      return;
    const auto n_blocks = static_cast<unsigned int>((std::int64_t(n) * 32 + block_size - 1) / block_size);
    dense_symmetric_kernel<<<n_blocks, block_size, 0, stream_of(where)>>>(n, M, x, y);
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }

  PATCHFEM_INSTANTIATE_DENSE_VMULT(Cuda)

  template <>
  void dense::invert_tile(Cuda where, const int n, const int begin, const double *A, double *factor, int *failure)
  {
    invert_tile_kernel<<<1, dim3(tile, tile), 0, stream_of(where)>>>(n, begin, A, factor, failure);
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }
} // namespace PatchFEM::kernels
