// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "check.cuh"

#include <patchfem/kernels/parallel_for.h>

namespace PatchFEM::kernels
{
  namespace internal
  {
    constexpr int parallel_for_threads = 256;

    template <typename Body>
    __global__ void __launch_bounds__(parallel_for_threads)
        parallel_for_kernel(const std::int64_t n, const __grid_constant__ Body body)
    {
      const std::int64_t i = std::int64_t(blockIdx.x) * parallel_for_threads + threadIdx.x;
      if (i < n)
        body(i);
    }
  } // namespace internal

  template <typename Body>
  void parallel_for(Cuda where, const std::int64_t n, const Body &body)
  {
    if (n == 0)
      return;
    const auto n_blocks =
        static_cast<unsigned int>((n + internal::parallel_for_threads - 1) / internal::parallel_for_threads);
    internal::parallel_for_kernel<<<n_blocks, internal::parallel_for_threads, 0, stream_of(where)>>>(n, body);
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }
} // namespace PatchFEM::kernels
