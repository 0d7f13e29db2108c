// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/parallel_for.h>

/**
 * @file
 * Bodies whose items are the work of a team: a power of two of neighbouring threads of a warp on the device, one thread
 * on the host. A body is a functor of pointers and extents with
 *   - team_size, the members of a team on the device, at most a warp,
 *   - Scratch, plain data that the members of a team share; undefined when an item starts,
 *   - operator()(team, i, scratch), which all members of a team call.
 * Of a team a body may use size and rank(), sync(), which orders what the members write to memory, and sum(value), the
 * same bits in all members; all members must call these two. What a body computes must not depend on the size of the
 * team, except for the order of sum().
 */
namespace PatchFEM::kernels
{
  struct SerialTeam
  {
    static constexpr int size = 1;

    PATCHFEM_INLINE int  rank() const { return 0; }
    PATCHFEM_INLINE void sync() const {}

    template <typename T>
    PATCHFEM_INLINE T sum(const T value) const
    {
      return value;
    }
  };

  /** Calls body(team, i, scratch) for 0 <= i < n, in any order and concurrently. */
  template <typename Body>
  void team_for(Host, const std::int64_t n, const Body &body)
  {
#ifdef _OPENMP
#pragma omp parallel
#endif
    {
      typename Body::Scratch scratch;
#ifdef _OPENMP
#pragma omp for schedule(static)
#endif
      for (std::int64_t i = 0; i < n; ++i)
        body(SerialTeam(), i, scratch);
    }
  }

  template <typename Body>
  void team_for(Cuda where, std::int64_t n, const Body &body);
} // namespace PatchFEM::kernels
