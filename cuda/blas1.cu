// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "reduce.cuh"
#include "tuning.cuh"
#include "workspace.cuh"

#include <patchfem/kernels/blas1.h>

#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/transform_iterator.h>

namespace PatchFEM::kernels
{
  namespace
  {
    constexpr int block_size = tuning::block_size;

    /** body(i) for all i < n; four independent elements a thread, neighbours in neighbouring threads. */
    template <typename Body>
    __global__ void __launch_bounds__(block_size) for_each_kernel(const std::int64_t n, const Body body)
    {
      const std::int64_t first = std::int64_t(blockIdx.x) * (4 * block_size) + threadIdx.x;
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (first + j * block_size < n)
          body(first + j * block_size);
    }

    template <typename Body>
    void for_each(const Cuda &where, const std::int64_t n, const Body &body)
    {
      if (n == 0)
        return;
      const unsigned int n_blocks = static_cast<unsigned int>((n + 4 * block_size - 1) / (4 * block_size));
      for_each_kernel<<<n_blocks, block_size, 0, stream_of(where)>>>(n, body);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

    template <typename Term>
    __global__ void __launch_bounds__(block_size) parts_kernel(const std::int64_t n, const Term term, double *partials)
    {
      const std::int64_t size  = reduction::part_size(n);
      const std::int64_t begin = blockIdx.x * size;
      const std::int64_t end   = begin + size < n ? begin + size : n;
      double             sum   = 0.;
#pragma unroll 4
      for (std::int64_t i = begin + threadIdx.x; i < end; i += block_size)
        sum += term(i);
      sum = reduce::block_sum<block_size>(sum);
      if (threadIdx.x == 0)
        partials[blockIdx.x] = sum;
    }

    struct Magnitude
    {
      __device__ std::uint64_t operator()(const double x) const { return magnitude_bits(x); }
    };

    __global__ void __launch_bounds__(block_size) sum_kernel(const int n, const double *partials, double *result)
    {
      const double sum = reduce::sum_partials<block_size>(partials, n);
      if (threadIdx.x == 0)
        *result = sum;
    }

    template <typename Term>
    void sum(const Cuda &where, const std::int64_t n, const Term &term, double *partials, double *result)
    {
      const int n_parts = reduction::n_parts(n);
      if (n_parts > 0)
      {
        parts_kernel<<<n_parts, block_size, 0, stream_of(where)>>>(n, term, partials);
        PATCHFEM_CUDA_CHECK_LAUNCH();
      }
      sum_kernel<<<1, block_size, 0, stream_of(where)>>>(n_parts, partials, result);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }
  } // namespace

  template <typename Number, typename Where>
  void linfty_norm(Where where, const std::int64_t n, const Number *x, double *result)
  {
    const auto magnitudes = thrust::make_transform_iterator(x, Magnitude());
    with_workspace(where, [&](void *workspace, std::size_t &bytes) {
      return cub::DeviceReduce::Max(workspace, bytes, magnitudes, reinterpret_cast<std::uint64_t *>(result), n,
                                    stream_of(where));
    });
  }
} // namespace PatchFEM::kernels

#include "kernels/blas1_steps.h"
