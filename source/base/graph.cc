// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/graph.h>
#include <patchfem/kernels/runtime.h>

namespace PatchFEM
{
  struct Graph::Implementation
  {
    Backend               backend;
    std::function<void()> function;
    void                 *executable = nullptr;
  };

  Graph::Graph(const Backend &backend, std::function<void()> function)
      : implementation(new Implementation{backend, std::move(function)})
  {
#ifdef PATCHFEM_WITH_CUDA
    if (backend.kind() == BackendKind::cuda)
    {
      cuda_runtime::begin_capture(backend.stream());
      try
      {
        implementation->function();
      }
      catch (...)
      {
        cuda_runtime::abandon_capture(backend.stream());
        throw;
      }
      implementation->executable = cuda_runtime::end_capture(backend.stream());
    }
#endif
  }

  Graph::~Graph()
  {
#ifdef PATCHFEM_WITH_CUDA
    if (implementation->executable != nullptr)
      cuda_runtime::destroy_graph(implementation->executable);
#endif
  }

  void Graph::launch()
  {
#ifdef PATCHFEM_WITH_CUDA
    if (implementation->executable != nullptr)
    {
      cuda_runtime::launch_graph(implementation->executable, implementation->backend.stream());
      return;
    }
#endif
    implementation->function();
  }
} // namespace PatchFEM
