// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "check.cuh"
#include "workspace.cuh"

#include <patchfem/kernels/team.h>

#include <algorithm>

namespace PatchFEM::kernels
{
  namespace internal
  {
    constexpr int team_for_threads = 128;

    template <int n>
    struct WarpTeam
    {
      static constexpr int size = n;
      static_assert(n >= 1 && n <= 32 && (n & (n - 1)) == 0, "a team is a power of two of a warp's threads");

      __device__ static unsigned int mask()
      {
        return n == 32 ? 0xffffffffu : ((1u << (n % 32)) - 1u) << (threadIdx.x % 32 / n * n);
      }
      __device__ int  rank() const { return threadIdx.x % n; }
      __device__ void sync() const { __syncwarp(mask()); }

      /** Both partners of an exchange add the same two numbers, so all members end with the same bits. */
      template <typename T>
      __device__ T sum(T value) const
      {
#pragma unroll
        for (int distance = n / 2; distance > 0; distance /= 2)
          value += __shfl_xor_sync(mask(), value, distance, n);
        return value;
      }
    };

    template <typename Body>
    __global__ void __launch_bounds__(team_for_threads)
        team_for_kernel(const std::int64_t n, const __grid_constant__ Body body)
    {
      constexpr int                     n_teams = team_for_threads / Body::team_size;
      __shared__ typename Body::Scratch scratch[n_teams];

      const int          team = threadIdx.x / Body::team_size;
      const std::int64_t i    = std::int64_t(blockIdx.x) * n_teams + team;
      if (i < n)
        body(WarpTeam<Body::team_size>(), i, scratch[team]);
    }
  } // namespace internal

  template <typename Body>
  void team_for(Cuda where, const std::int64_t n, const Body &body)
  {
    if (n == 0)
      return;
    constexpr int n_teams  = internal::team_for_threads / Body::team_size;
    const auto    n_blocks = static_cast<unsigned int>((n + n_teams - 1) / n_teams);
    internal::team_for_kernel<<<n_blocks, internal::team_for_threads, 0, stream_of(where)>>>(n, body);
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }

  namespace internal
  {
    struct BlockTeam
    {
      __device__ int  size() const { return static_cast<int>(blockDim.x); }
      __device__ int  rank() const { return static_cast<int>(threadIdx.x); }
      __device__ void sync() const { __syncthreads(); }
    };

    /** @param memory Of all blocks, if it is not to be shared memory. */
    template <typename Body>
    __global__ void block_for_kernel(const std::int64_t           n,
                                     const std::int64_t           n_numbers,
                                     double *const                memory,
                                     const __grid_constant__ Body body)
    {
      extern __shared__ double shared_numbers[];
      double *const            own = memory != nullptr ? memory + blockIdx.x * n_numbers : shared_numbers;
      for (std::int64_t i = blockIdx.x; i < n; i += gridDim.x)
      {
        body(BlockTeam(), i, own);
        __syncthreads();
      }
    }
  } // namespace internal

  template <typename Body>
  void block_for(Cuda where, const std::int64_t n, const std::int64_t n_numbers, const int n_threads, const Body &body)
  {
    if (n == 0)
      return;
    const auto        kernel = internal::block_for_kernel<Body>;
    const std::size_t bytes  = static_cast<std::size_t>(n_numbers) * sizeof(double);
    if (bytes <= cuda_runtime::shared_memory_per_block())
    {
      if (bytes > 48 * 1024)
        PATCHFEM_CUDA_CHECK(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
      const auto n_blocks = static_cast<unsigned int>(std::min<std::int64_t>(n, 1 << 16));
      kernel<<<n_blocks, n_threads, bytes, stream_of(where)>>>(n, n_numbers, nullptr, body);
      PATCHFEM_CUDA_CHECK_LAUNCH();
      return;
    }
    constexpr std::int64_t most_blocks = 512; // some four for each multiprocessor
    const std::int64_t     n_blocks    = std::min(n, most_blocks);
    const Scratch<double>  memory(where, static_cast<std::size_t>(n_blocks * n_numbers));
    kernel<<<static_cast<unsigned int>(n_blocks), n_threads, 0, stream_of(where)>>>(n, n_numbers, memory.get(), body);
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }
} // namespace PatchFEM::kernels
