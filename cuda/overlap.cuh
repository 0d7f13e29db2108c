// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "check.cuh"

/**
 * @file
 * Kernels in a row of which each begins while the one before ends: what a block does before wait_for_previous() hides the
 * launch and the time in which the last blocks run out. Devices before compute capability 9.0 run them one by one.
 */
namespace PatchFEM::kernels
{
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

  /** Launches @p kernel, every thread of which calls wait_for_previous(). */
  template <typename... Arguments>
  void launch_overlapping(void (*kernel)(Arguments...),
                          const int         n_blocks,
                          const int         n_threads,
                          const std::size_t bytes,
                          cudaStream_t      stream,
                          const Arguments &...arguments)
  {
    cudaLaunchAttribute attribute                        = {};
    attribute.id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config                            = {};
    config.gridDim                                       = dim3(n_blocks);
    config.blockDim                                      = dim3(n_threads);
    config.dynamicSmemBytes                              = bytes;
    config.stream                                        = stream;
    config.attrs                                         = &attribute;
    config.numAttrs                                      = 1;
    PATCHFEM_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, arguments...));
  }
} // namespace PatchFEM::kernels
