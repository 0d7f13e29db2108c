// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/parallel_for.h>

#include <vector>

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
 *
 * For block_for() a team is all threads of a block, which share memory of a size that is known when it runs: a body has
 * operator()(team, i, memory) and no more, and team.size() is no constant.
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

  struct SerialBlock
  {
    PATCHFEM_INLINE int  size() const { return 1; }
    PATCHFEM_INLINE int  rank() const { return 0; }
    PATCHFEM_INLINE void sync() const {}
  };

  /**
   * Calls body(team, i, memory) for 0 <= i < n, in any order and concurrently, with @p n_numbers of memory, undefined when an item
   * starts. On the device a team has @p n_threads, a multiple of 32, and memory is shared where the block can have so much.
   */
  template <typename Body>
  void block_for(Host, const std::int64_t n, const std::int64_t n_numbers, int /*n_threads*/, const Body &body)
  {
#ifdef _OPENMP
#pragma omp parallel
#endif
    {
      std::vector<double> memory(static_cast<std::size_t>(n_numbers));
#ifdef _OPENMP
#pragma omp for schedule(static)
#endif
      for (std::int64_t i = 0; i < n; ++i)
        body(SerialBlock(), i, memory.data());
    }
  }

  template <typename Body>
  void block_for(Cuda where, std::int64_t n, std::int64_t n_numbers, int n_threads, const Body &body);
} // namespace PatchFEM::kernels
