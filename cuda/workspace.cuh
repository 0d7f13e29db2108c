// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "check.cuh"

#include <patchfem/kernels/runtime.h>

namespace PatchFEM::kernels
{
  /** Memory of the stream's pool for the length of a scope; it counts to memory::peak(). */
  template <typename T>
  class Scratch
  {
  public:
    Scratch(const Cuda &where, const std::size_t n) : stream(stream_of(where)), bytes(n * sizeof(T) + 1)
    {
      PATCHFEM_CUDA_CHECK(cudaMallocAsync(reinterpret_cast<void **>(&pointer), bytes, stream));
      cuda_runtime::count_workspace(static_cast<std::ptrdiff_t>(bytes));
    }
    ~Scratch()
    {
      cudaFreeAsync(pointer, stream);
      cuda_runtime::count_workspace(-static_cast<std::ptrdiff_t>(bytes));
    }
    Scratch(const Scratch &)            = delete;
    Scratch &operator=(const Scratch &) = delete;
    T       *get() const { return pointer; }

  private:
    cudaStream_t stream;
    std::size_t  bytes;
    T           *pointer = nullptr;
  };

  /** CUB's protocol, call(workspace, bytes): ask for the workspace, get it, work. */
  template <typename Call>
  void with_workspace(const Cuda &where, const Call &call)
  {
    std::size_t bytes = 0;
    PATCHFEM_CUDA_CHECK(call(nullptr, bytes));
    const Scratch<char> workspace(where, bytes);
    void               *pointer = workspace.get();
    PATCHFEM_CUDA_CHECK(call(pointer, bytes));
  }
} // namespace PatchFEM::kernels
