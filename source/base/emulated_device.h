// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_base_emulated_device_h
#define patchfem_source_base_emulated_device_h

#include <cstddef>

namespace PatchFEM
{
  namespace emulated_device
  {
    /** Memory of the emulated device: a range of addresses that only a KernelScope makes accessible. */
    void *allocate(std::size_t bytes);
    void  deallocate(void *pointer, std::size_t bytes) noexcept;
  } // namespace emulated_device
} // namespace PatchFEM

#endif
