// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/base/exceptions.h>

#include <cuda_runtime.h>

#include <string>

namespace PatchFEM
{
  namespace cuda_runtime
  {
    /** What is known of why a kernel failed, or "". */
    std::string what_failed();
  } // namespace cuda_runtime

  /** Throws Error with CUDA's description and the place in our source unless @p status is success. */
  inline void check(const cudaError_t status, const char *file, const int line)
  {
    if (status == cudaSuccess)
      return;
    cudaGetLastError(); // whoever catches this may go on, and the next launch must not report it once more
    throw Error(std::string("CUDA failed at ") + file + ":" + std::to_string(line) + ": " + cudaGetErrorString(status) +
                cuda_runtime::what_failed());
  }

  inline cudaStream_t stream_of(const Cuda &where)
  {
    return static_cast<cudaStream_t>(where.stream);
  }
} // namespace PatchFEM

#define PATCHFEM_CUDA_CHECK(call) ::PatchFEM::check((call), __FILE_NAME__, __LINE__)

#define PATCHFEM_CUDA_CHECK_LAUNCH() PATCHFEM_CUDA_CHECK(cudaGetLastError())
