// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/parallel_for.h>

/** @file What bodies need beyond parallel_for.h to change integers together. None orders other memory. */
namespace PatchFEM::kernels
{
  PATCHFEM_INLINE void atomic_max(int *address, const int value)
  {
#if defined(__CUDA_ARCH__)
    atomicMax(address, value);
#else
    int seen = __atomic_load_n(address, __ATOMIC_RELAXED);
    while (value > seen &&
           !__atomic_compare_exchange_n(address, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      ;
#endif
  }

  /** What is there while others may write it. */
  PATCHFEM_INLINE int atomic_load(const int *address)
  {
#if defined(__CUDA_ARCH__)
    return *static_cast<const volatile int *>(address);
#else
    return __atomic_load_n(address, __ATOMIC_RELAXED);
#endif
  }

  /** Becomes @p value while others may read or write it. */
  PATCHFEM_INLINE void atomic_store(int *address, const int value)
  {
#if defined(__CUDA_ARCH__)
    *static_cast<volatile int *>(address) = value;
#else
    __atomic_store_n(address, value, __ATOMIC_RELAXED);
#endif
  }

  /** Adds 1 and returns what was there. */
  PATCHFEM_INLINE int atomic_next(int *address)
  {
#if defined(__CUDA_ARCH__)
    return atomicAdd(address, 1);
#else
    return __atomic_fetch_add(address, 1, __ATOMIC_RELAXED);
#endif
  }

  /** Replaces @p expected by @p value, and returns what was there. */
  PATCHFEM_INLINE int atomic_compare_exchange(int *address, int expected, const int value)
  {
#if defined(__CUDA_ARCH__)
    return atomicCAS(address, expected, value);
#else
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
#endif
  }
} // namespace PatchFEM::kernels
