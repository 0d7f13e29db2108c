// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

#include <cstdint>

namespace PatchFEM::kernels
{
  /** A permutation of the 64-bit integers without visible order: the finalizer of SplitMix64 (Steele et al. 2014). */
  PATCHFEM_INLINE std::uint64_t hash(std::uint64_t x)
  {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
} // namespace PatchFEM::kernels
