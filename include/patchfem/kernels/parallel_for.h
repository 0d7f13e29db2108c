// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/base/host_device.h>

#include <cstdint>

/**
 * @file
 * Structure (orderings, plans, patterns) is built by bodies: functors of pointers and extents whose
 * operator()(i) is written once for both sides and independent for different i. For the device a body is
 * instantiated in one line of the source of its topic in cuda, which includes parallel_for.cuh.
 */
namespace PatchFEM::kernels
{
  /** Calls body(i) for 0 <= i < n, in any order and concurrently. */
  template <typename Body>
  void parallel_for(Host, const std::int64_t n, const Body &body)
  {
#ifdef _OPENMP
#pragma omp parallel for schedule(static) if (n > 1)
#endif
    for (std::int64_t i = 0; i < n; ++i)
      body(i);
  }

  template <typename Body>
  void parallel_for(Cuda where, std::int64_t n, const Body &body);

  /** The smallest value seen and the number of calls are the same in every order; sums of integers are as well. */
  PATCHFEM_INLINE void atomic_min(int *address, const int value)
  {
#if defined(__CUDA_ARCH__)
    atomicMin(address, value);
#else
    int seen = __atomic_load_n(address, __ATOMIC_RELAXED);
    while (value < seen &&
           !__atomic_compare_exchange_n(address, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      ;
#endif
  }

  PATCHFEM_INLINE void atomic_increment(int *address)
  {
#if defined(__CUDA_ARCH__)
    atomicAdd(address, 1);
#else
    __atomic_fetch_add(address, 1, __ATOMIC_RELAXED);
#endif
  }

  PATCHFEM_INLINE void atomic_add(int *address, const int value)
  {
#if defined(__CUDA_ARCH__)
    atomicAdd(address, value);
#else
    __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
#endif
  }

  PATCHFEM_INLINE void atomic_add(std::int64_t *address, const std::int64_t value)
  {
#if defined(__CUDA_ARCH__)
    atomicAdd(reinterpret_cast<unsigned long long *>(address), static_cast<unsigned long long>(value));
#else
    __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
#endif
  }

  PATCHFEM_INLINE void atomic_max(std::uint64_t *address, const std::uint64_t value)
  {
#if defined(__CUDA_ARCH__)
    atomicMax(reinterpret_cast<unsigned long long *>(address), static_cast<unsigned long long>(value));
#else
    std::uint64_t seen = __atomic_load_n(address, __ATOMIC_RELAXED);
    while (value > seen &&
           !__atomic_compare_exchange_n(address, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      ;
#endif
  }
} // namespace PatchFEM::kernels
