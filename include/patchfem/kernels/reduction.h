// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

#include <cstdint>

/**
 * @file
 * How sums over vectors are cut: into at most max_parts contiguous parts whose bounds depend on the length alone.
 * Each part is summed in a fixed order and the parts are added in their order, so a sum has the same bits for any
 * number of threads. Sums are in double for both number types.
 */
namespace PatchFEM::kernels::reduction
{
  constexpr int max_parts = 1024;

  /** Elements of a part; a multiple of 512, so that parts start on 16-byte boundaries. */
  PATCHFEM_INLINE std::int64_t part_size(const std::int64_t n)
  {
    const std::int64_t even = (n + max_parts - 1) / max_parts;
    const std::int64_t size = (even + 511) / 512 * 512;
    return size < 4096 ? 4096 : size;
  }

  PATCHFEM_INLINE int n_parts(const std::int64_t n)
  {
    return static_cast<int>((n + part_size(n) - 1) / part_size(n));
  }
} // namespace PatchFEM::kernels::reduction
