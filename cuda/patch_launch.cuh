// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "check.cuh"
#include "patch_levels.cuh"

/**
 * @file
 * What kernels of patches share: their fast memory, what follows their cells, and launches. Loops whose few steps are known
 * when compiling are unrolled without being told, so that their arrays are registers; PATCHFEM_UNROLL stands where nvcc
 * would not.
 */
namespace PatchFEM
{
  namespace kernels
  {
    namespace internal
    {
      /**
       * Bytes of a patch where @p preferred ones share a multiprocessor, if the request does not say how many: others hide
       * the barriers of one. Each takes 1 KB for the system.
       */
      inline std::size_t share_of_memory(const KernelRequest &request, const int preferred)
      {
        const int n = request.concurrent > 0 ? request.concurrent : preferred;
        return request.fast_memory / n - (n > 1 ? 1024 : 0);
      }

      inline int multiprocessor_count()
      {
        int device = 0, n = 0;
        PATCHFEM_CUDA_CHECK(cudaGetDevice(&device));
        PATCHFEM_CUDA_CHECK(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device));
        return n;
      }

      constexpr const char *too_many_rows =
          "The rows of a patch leave no room for its cells; choose fewer rows per patch.";

      /** Bytes for the workers of @p body: its plan has kept room, unless somebody asked for more rows than fit with them. */
      template <typename Body>
      std::size_t room_of_workers(const Body &body)
      {
        require(body.a.fast_memory >= body.row_bytes(), too_many_rows);
        return body.a.fast_memory - body.row_bytes();
      }

      /** Launches @p kernel(body, rest...) with @p bytes of fast memory for each of @p n_blocks blocks. */
      template <typename... Parameters, typename Body, typename... Rest>
      void launch_patches(Cuda where,
                          void (*kernel)(Parameters...),
                          const Body       &body,
                          const int         n_blocks,
                          const int         n_threads,
                          const std::size_t bytes,
                          const Rest... rest)
      {
        PATCHFEM_CUDA_CHECK(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
        kernel<<<n_blocks, n_threads, bytes, stream_of(where)>>>(body, rest...);
        PATCHFEM_CUDA_CHECK_LAUNCH();
      }

      /** What follows the cells of a patch, for all threads of the block. */
      template <typename Body>
      __device__ __forceinline__ void
      finish_patch(const Body &body, const typename Body::Scratch &scratch, const int patch)
      {
        const PatchesView &p    = body.a.patches;
        const int          rank = threadIdx.x, size = blockDim.x;
        __syncthreads();
        if (p.fed_offsets != nullptr)
        {
          for (std::int64_t fed = p.fed_offsets[patch] + rank / 32; fed < p.fed_offsets[patch + 1]; fed += size / 32)
            body.add_buffered(patch, fed, WarpTeam(), scratch);
          __syncthreads();
        }
        body.write(patch, rank, size, scratch, body.a.add);
      }
    } // namespace internal
  }   // namespace kernels
} // namespace PatchFEM
