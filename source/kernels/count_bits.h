// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

#include <cstdint>

namespace PatchFEM::kernels
{
  PATCHFEM_INLINE int count_bits(const std::uint32_t bits)
  {
#if defined(__CUDA_ARCH__)
    return __popc(bits);
#else
    return __builtin_popcount(bits);
#endif
  }

  PATCHFEM_INLINE int count_bits(const std::uint64_t bits)
  {
#if defined(__CUDA_ARCH__)
    return __popcll(bits);
#else
    return __builtin_popcountll(bits);
#endif
  }
} // namespace PatchFEM::kernels
