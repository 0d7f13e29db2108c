// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/graph.h>
#include <patchfem/kernels/runtime.h>

namespace PatchFEM
{
  Graph::Graph(const Backend &backend, std::function<void()> function_)
      : backend(backend), function(std::move(function_))
  {
#ifdef PATCHFEM_WITH_CUDA
    if (backend.kind() == BackendKind::cuda)
      executable = cuda_runtime::record(backend.stream(), function);
#endif
  }

  Graph::~Graph()
  {
#ifdef PATCHFEM_WITH_CUDA
    if (executable != nullptr)
      cuda_runtime::destroy_graph(executable);
#endif
  }

  void Graph::launch()
  {
#ifdef PATCHFEM_WITH_CUDA
    if (executable != nullptr)
      return cuda_runtime::launch_graph(executable, backend.stream());
#endif
    function();
  }
} // namespace PatchFEM
