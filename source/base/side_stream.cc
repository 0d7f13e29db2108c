// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/side_stream.h>
#include <patchfem/kernels/runtime.h>

namespace PatchFEM
{
  SideStream::SideStream(const Backend &backend) : place(backend)
  {
#ifdef PATCHFEM_WITH_CUDA
    if (backend.kind() == BackendKind::cuda)
    {
      event  = cuda_runtime::create_event();
      stream = cuda_runtime::create_stream();
    }
#endif
  }

  SideStream::~SideStream()
  {
#ifdef PATCHFEM_WITH_CUDA
    if (stream != nullptr)
    {
      cuda_runtime::destroy_stream(stream);
      cuda_runtime::destroy_event(event);
    }
#endif
  }

  void SideStream::fork() const
  {
#ifdef PATCHFEM_WITH_CUDA
    if (stream != nullptr)
      cuda_runtime::wait(stream, place.stream(), event);
#endif
  }

  void SideStream::join() const
  {
#ifdef PATCHFEM_WITH_CUDA
    if (stream != nullptr)
      cuda_runtime::wait(place.stream(), stream, event);
#endif
  }
} // namespace PatchFEM
