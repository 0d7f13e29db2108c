// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "tuning.cuh"

#include <patchfem/kernels/dense_spd.h>

namespace PatchFEM
{
  namespace kernels
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
    } // namespace

    template <typename Number>
    void dense_symmetric_vmult(Cuda where, const int n, const Number *M, const Number *x, Number *y)
    {
      if (n == 0)
        return;
      const auto n_blocks = static_cast<unsigned int>((std::int64_t(n) * 32 + block_size - 1) / block_size);
      dense_symmetric_kernel<<<n_blocks, block_size, 0, stream_of(where)>>>(n, M, x, y);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

    template void dense_symmetric_vmult(Cuda, int, const float *, const float *, float *);
    template void dense_symmetric_vmult(Cuda, int, const double *, const double *, double *);

    template void parallel_for(Cuda, std::int64_t, const dense::FactorTileBody &);
    template void parallel_for(Cuda, std::int64_t, const dense::PanelBody &);
    template void parallel_for(Cuda, std::int64_t, const dense::TrailingBody<1, 1> &);
    template void parallel_for(Cuda, std::int64_t, const dense::EliminateBody<1, 1> &);
    template void parallel_for(Cuda, std::int64_t, const dense::SolveTileBody<1> &);
    template void parallel_for(Cuda, std::int64_t, const dense::InverseBody<1, 1, float> &);
    template void parallel_for(Cuda, std::int64_t, const dense::InverseBody<1, 1, double> &);
  } // namespace kernels
} // namespace PatchFEM
