// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

/**
 * @file
 * Loads that say how often their data is used. Values and columns of a matrix pass once: they are read through neither
 * the first-level cache nor, as far as hints allow, at the cost of the source vector in the second.
 */
namespace PatchFEM
{
  /** @p n consecutive elements that are loaded with one instruction. */
  template <typename T, int n>
  struct alignas(sizeof(T) * n) Pack
  {
    T data[n];

    __device__ T       &operator[](const int i) { return data[i]; }
    __device__ const T &operator[](const int i) const { return data[i]; }
  };

  namespace loads
  {
    /** The elements from @p p on, with one instruction: it moves 1 to 16 bytes, whatever they mean. */
    template <typename T, int n>
    __device__ void stream(Pack<T, n> &v, const T *p)
    {
      constexpr int bytes = sizeof(v);
      static_assert(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16,
                    "no instruction loads so much");
      if constexpr (bytes == 1)
      {
        unsigned short word;
        asm volatile("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=h"(word) : "l"(p));
        const auto byte = static_cast<unsigned char>(word);
        memcpy(&v, &byte, bytes);
      }
      else if constexpr (bytes == 2)
      {
        unsigned short word;
        asm volatile("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(word) : "l"(p));
        memcpy(&v, &word, bytes);
      }
      else if constexpr (bytes == 4)
      {
        unsigned int word;
        asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(word) : "l"(p));
        memcpy(&v, &word, bytes);
      }
      else if constexpr (bytes == 8)
      {
        std::uint64_t word;
        asm volatile("ld.global.nc.L1::no_allocate.u64 %0, [%1];" : "=l"(word) : "l"(p));
        memcpy(&v, &word, bytes);
      }
      else
      {
        std::uint64_t words[2];
        asm volatile("ld.global.nc.L1::no_allocate.v2.u64 {%0, %1}, [%2];" : "=l"(words[0]), "=l"(words[1]) : "l"(p));
        memcpy(&v, words, bytes);
      }
    }

    template <typename T>
    __device__ T stream(const T *p)
    {
      Pack<T, 1> v;
      stream(v, p);
      return v[0];
    }

    /** Asks for @p n_bytes from @p p on, both multiples of 16, to be brought into the second-level cache. */
    __device__ inline void prefetch(const void *p, const unsigned int n_bytes)
    {
#if __CUDA_ARCH__ >= 900
      asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(n_bytes));
#endif
    }
  } // namespace loads
} // namespace PatchFEM
