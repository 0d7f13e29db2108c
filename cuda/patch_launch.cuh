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
namespace PatchFEM::kernels::internal
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

  constexpr const char *too_many_rows = "The rows of a patch leave no room for its cells; choose fewer rows per patch.";

  /** Bytes for the workers of @p body: its plan has kept room, unless somebody asked for more rows than fit with them. */
  template <typename Body>
  std::size_t room_of_workers(const Body &body)
  {
    require(body.a.fast_memory >= body.row_bytes(), too_many_rows);
    return body.a.fast_memory - body.row_bytes();
  }

  // Kernels in a row of which each begins while the one before ends: what a block does before wait_for_previous() hides
  // the launch and the time in which the last blocks run out. Devices before compute capability 9.0 run them one by one.

  /** Lets the next kernel begin once all blocks of this one have. */
  __device__ __forceinline__ void let_next_begin()
  {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  }

  /** Returns when the kernels before have ended and what they wrote can be read, and what they read be written. */
  __device__ __forceinline__ void wait_for_previous()
  {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  }

  /** @p bytes are fast memory a block. If it @p overlaps the one before, all its threads call wait_for_previous(). */
  template <bool overlaps = false, typename... Arguments>
  void launch(Cuda where,
              void (*kernel)(Arguments...),
              const int         n_blocks,
              const int         n_threads,
              const std::size_t bytes,
              const Arguments &...arguments)
  {
    PATCHFEM_CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
    cudaLaunchAttribute attribute                        = {};
    attribute.id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config                            = {};
    config.gridDim                                       = dim3(n_blocks);
    config.blockDim                                      = dim3(n_threads);
    config.dynamicSmemBytes                              = bytes;
    config.stream                                        = stream_of(where);
    config.attrs                                         = &attribute;
    config.numAttrs                                      = overlaps ? 1 : 0;
    PATCHFEM_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, arguments...));
  }

  /**
   * A block for each patch: prepare, clear | run | add buffered cells | write, with a barrier at each bar. Two of these
   * are of Cells{body, scratch, patch} and called by all threads. It has
   *
   *   Body                    a PatchBody, or one with more
   *   n_threads, residency    the most threads of a block, and the fewest blocks on a multiprocessor (0: any number)
   *   overlaps                whether the kernel begins while the one before ends, whose results run() alone reads
   *   prepare()               loads what is needed besides sums
   *   run()                   adds the patch's cells to the sums
   */
  template <typename Cells>
  __global__ void __launch_bounds__(Cells::n_threads, Cells::residency)
      patch_kernel(const __grid_constant__ typename Cells::Body body)
  {
    extern __shared__ __align__(16) unsigned char memory[];
    const PatchesView                            &p       = body.a.patches;
    const auto                                    scratch = body.scratch(memory);
    const int patch = body.a.first_patch + blockIdx.x, rank = threadIdx.x, size = blockDim.x;
    Cells     cells{body, scratch, patch};
    if (Cells::overlaps)
      let_next_begin();
    if (body.idle(patch))
    {
      if (Cells::overlaps)
        wait_for_previous();
      return body.pass_over(patch, rank, size);
    }
    cells.prepare();
    body.clear(patch, rank, size, scratch);
    if (Cells::overlaps)
      wait_for_previous();
    __syncthreads();
    cells.run();
    __syncthreads();
    if (p.fed_offsets != nullptr)
    {
      for (std::int64_t fed = p.fed_offsets[patch] + rank / 32; fed < p.fed_offsets[patch + 1]; fed += size / 32)
        body.add_buffered(patch, fed, WholeWarp(), scratch);
      __syncthreads();
    }
    body.write(patch, rank, size, scratch, body.a.add);
  }

  template <typename Cells>
  void launch_patches(Cuda where, const typename Cells::Body &body, const int n_threads, const std::size_t worker_bytes)
  {
    launch<Cells::overlaps>(where, patch_kernel<Cells>, body.a.end_patch - body.a.first_patch, n_threads,
                            body.row_bytes() + worker_bytes, body);
  }
} // namespace PatchFEM::kernels::internal
