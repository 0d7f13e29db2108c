// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/side_stream.h>
#include <patchfem/kernels/runtime.h>

namespace PatchFEM
{
  SideStream::SideStream(const Backend &backend, [[maybe_unused]] const bool first) : place(backend)
  {
#ifdef PATCHFEM_WITH_CUDA
    if (backend.stream() != nullptr)
    {
      event  = cuda_runtime::create_event();
      stream = cuda_runtime::create_stream(first);
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

  SideStream::Branch::Branch(const SideStream &side) : side(side)
  {
#ifdef PATCHFEM_WITH_CUDA
    if (side.stream != nullptr)
      cuda_runtime::wait(side.stream, side.place.stream(), side.event);
#endif
  }

  void SideStream::Branch::join()
  {
#ifdef PATCHFEM_WITH_CUDA
    if (side.stream != nullptr)
      cuda_runtime::wait(side.place.stream(), side.stream, side.event);
#endif
    joined = true;
  }

  SideStream::Branch::~Branch()
  {
    try
    {
      if (!joined)
        join();
    }
    catch (...)
    {} // the device has failed, which the next call that it is given says
  }
} // namespace PatchFEM
