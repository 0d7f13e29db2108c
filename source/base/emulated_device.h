// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>

namespace PatchFEM::emulated_device
{
  /** Memory of the emulated device: a range of addresses that only a KernelScope makes accessible. */
  void *allocate(std::size_t bytes);
  void  deallocate(void *pointer, std::size_t bytes) noexcept;
} // namespace PatchFEM::emulated_device
