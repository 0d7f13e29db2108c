// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_cuda_workspace_cuh
#define patchfem_cuda_workspace_cuh

#include "check.cuh"

namespace PatchFEM
{
  namespace kernels
  {
    /** Memory of the stream's pool for the length of a scope. */
    template <typename T>
    class Scratch
    {
    public:
      Scratch(const Cuda &where, const std::size_t n) : stream(stream_of(where))
      {
        PATCHFEM_CUDA_CHECK(cudaMallocAsync(reinterpret_cast<void **>(&pointer), n * sizeof(T) + 1, stream));
      }
      ~Scratch() { cudaFreeAsync(pointer, stream); }
      Scratch(const Scratch &)            = delete;
      Scratch &operator=(const Scratch &) = delete;
      T       *get() const { return pointer; }

    private:
      cudaStream_t stream;
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
  } // namespace kernels
} // namespace PatchFEM

#endif
