// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

#include <cstdint>
#include <functional>
#include <type_traits>

/** @file Atomics, but for one of integers. None orders other memory; minima, maxima, sums and counts do not depend on the order. */
namespace PatchFEM::kernels
{
  /** Of the two integer types of 64 bits the one that CUDA's functions take; others as they are. */
  template <typename T>
  using AtomicInteger = std::conditional_t<sizeof(T) == 8, unsigned long long, T>;

  /** Adds @p value and returns what was there. */
  template <typename T>
  PATCHFEM_INLINE T atomic_add(T *address, const std::common_type_t<T> value)
  {
#if defined(__CUDA_ARCH__)
    return atomicAdd(reinterpret_cast<AtomicInteger<T> *>(address), static_cast<AtomicInteger<T>>(value));
#else
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
#endif
  }

  /** Adds a number: what comes first decides the last bits of the sum. */
  template <typename Number>
  PATCHFEM_INLINE void atomic_add_number(Number *address, const Number value)
  {
#if defined(__CUDA_ARCH__)
    atomicAdd(address, value);
#else
    Number seen, sum;
    __atomic_load(address, &seen, __ATOMIC_RELAXED);
    do
      sum = seen + value;
    while (!__atomic_compare_exchange(address, &seen, &sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
#endif
  }

  /** Adds 1 and returns what was there. */
  PATCHFEM_INLINE int atomic_increment(int *address)
  {
    return atomic_add(address, 1);
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

  /** Replaces what is there by @p value as long as @p replaces(value, what is there); of the host. */
  template <typename T, typename Replaces>
  inline void atomic_replace(T *address, const T value, const Replaces &replaces)
  {
    T seen = __atomic_load_n(address, __ATOMIC_RELAXED);
    while (replaces(value, seen) &&
           !__atomic_compare_exchange_n(address, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      ;
  }

  template <typename T>
  PATCHFEM_INLINE void atomic_min(T *address, const std::common_type_t<T> value)
  {
#if defined(__CUDA_ARCH__)
    atomicMin(reinterpret_cast<AtomicInteger<T> *>(address), static_cast<AtomicInteger<T>>(value));
#else
    atomic_replace(address, value, std::less<T>());
#endif
  }

  template <typename T>
  PATCHFEM_INLINE void atomic_max(T *address, const std::common_type_t<T> value)
  {
#if defined(__CUDA_ARCH__)
    atomicMax(reinterpret_cast<AtomicInteger<T> *>(address), static_cast<AtomicInteger<T>>(value));
#else
    atomic_replace(address, value, std::greater<T>());
#endif
  }
} // namespace PatchFEM::kernels
