// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

#include <cstdint>

namespace PatchFEM::kernels
{
  /**
   * Position along the Hilbert curve of the point with coordinates @p x of @p bits bits (Skilling, Programming the
   * Hilbert curve, AIP Conf. Proc. 707, 2004): Gray-code and rotate in place, then interleave the bits.
   */
  template <int dim>
  PATCHFEM_INLINE std::uint64_t hilbert_index(std::uint32_t (&x)[dim], const int bits)
  {
    for (std::uint32_t q = std::uint32_t(1) << (bits - 1); q > 1; q >>= 1)
    {
      const std::uint32_t p = q - 1;
      for (int i = 0; i < dim; ++i)
        if (x[i] & q)
          x[0] ^= p;
        else
        {
          const std::uint32_t t = (x[0] ^ x[i]) & p;
          x[0] ^= t;
          x[i] ^= t;
        }
    }
    for (int i = 1; i < dim; ++i)
      x[i] ^= x[i - 1];
    std::uint32_t t = 0;
    for (std::uint32_t q = std::uint32_t(1) << (bits - 1); q > 1; q >>= 1)
      if (x[dim - 1] & q)
        t ^= q - 1;
    for (int i = 0; i < dim; ++i)
      x[i] ^= t;

    std::uint64_t index = 0;
    for (int b = bits - 1; b >= 0; --b)
      for (int i = 0; i < dim; ++i)
        index = (index << 1) | ((x[i] >> b) & 1u);
    return index;
  }

  /** Bits of a coordinate on the curve, so that an index fits 60 bits. */
  template <int dim>
  constexpr int hilbert_bits()
  {
    return dim == 3 ? 20 : 30;
  }
} // namespace PatchFEM::kernels
