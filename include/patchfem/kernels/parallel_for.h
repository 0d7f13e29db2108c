// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/base/host_device.h>
#include <patchfem/kernels/atomics.h>

#include <cstdint>

/**
 * @file
 * Structure (orderings, plans, patterns) is built by bodies: functors of pointers and extents whose operator()(i) is
 * written once for both sides and independent for different i. Sources in cuda instantiate them, a line for each.
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
} // namespace PatchFEM::kernels
