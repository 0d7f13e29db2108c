// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "team.cuh"

#include <patchfem/kernels/patch_bodies.h>

namespace PatchFEM::kernels
{
  using WholeWarp = internal::WarpTeam<32>;

  /** A barrier of some whole warps, @p n_threads threads together, apart from __syncthreads() of all. */
  __device__ __forceinline__ void barrier_of(const int n_threads)
  {
    asm volatile("barrier.cta.sync 1, %0;" ::"r"(n_threads) : "memory");
  }

  /**
   * A barrier in fast memory that some threads arrive at and others wait for. It completes one phase after the other,
   * each when @p expected arrivals have come; what a thread wrote before it arrived is seen by those that waited.
   */
  class PhaseBarrier
  {
  public:
    __device__ void init(const int expected)
    {
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(expected) : "memory");
    }

    __device__ void arrive(const int count)
    {
#if __CUDA_ARCH__ >= 900
      asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0], %1; }" ::"r"(address()), "r"(count)
                   : "memory");
#else
      for (int k = 0; k < count; ++k)
        asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(address()) : "memory");
#endif
    }

    /** The same for arrivals after which others of the phase are still to come. */
    __device__ void arrive_early(const int count)
    {
      asm volatile("{ .reg .b64 state; mbarrier.arrive.noComplete.shared.b64 state, [%0], %1; }" ::"r"(address()),
                   "r"(count)
                   : "memory");
    }

    /** Until phase number @p phase is complete; the phase before it must be. */
    __device__ void wait(const int phase)
    {
      asm volatile("{ .reg .pred done;\n"
#if __CUDA_ARCH__ >= 900
                   "WAIT_%=: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
#else
                   "WAIT_%=: mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
#endif
                   "@!done bra WAIT_%=; }" ::"r"(address()),
                   "r"(phase & 1)
                   : "memory");
    }

  private:
    __device__ std::uint32_t address()
    {
      return static_cast<std::uint32_t>(__cvta_generic_to_shared(&state));
    }

    std::uint64_t state;
  };

  /**
   * The levels of a patch's computed cells, where warps take turns: cells come in groups of consecutive ones, and all
   * call commit() for each group; it adds each cell once all cells of earlier levels are added. All meet between
   * levels alone, so that they compute the cells of the next group while others still add.
   */
  class PatchLevels
  {
  public:
    /** @p ends in fast memory; @p n_threads of the block, whole warps, take part. */
    __device__ PatchLevels(const int n_cells, const int *ends, const int n_threads)
        : ends(ends), n_threads(n_threads), n_cells(n_cells), end(n_cells > 0 ? *ends : 0)
    {}

    /** Calls @p add() in its turn if cell @p mine of the patch is one of the group that ends before @p stop. */
    template <typename Function>
    __device__ void commit(const int mine, const int stop, const Function &add)
    {
      for (;;)
      {
        if (mine >= begin && mine < min(end, stop))
          add();
        if (end > stop || end == n_cells)
          return;
        barrier_of(n_threads);
        begin = end;
        end   = *++ends;
        if (begin == stop)
          return;
      }
    }

  private:
    const int *ends;
    int        n_threads, n_cells, begin = 0, end;
  };

  /**
   * The levels of the cells of some patches, one patch after the other: a cell is added once all cells of the level
   * before it are. Warps wait for levels that they have a cell of, and for no other. Each level, over all patches, is
   * a phase of one of some barriers in turn, which one of the level's cells tells how many arrivals it lacks. Who adds
   * a cell has waited for the level before its own, and its own does not end without it; so no barrier gets two
   * phases ahead. Nor is one two phases behind if the warps take at most n_barriers consecutive cells at once.
   */
  class LevelPhases
  {
  public:
    static constexpr int n_barriers = 16;
    static constexpr int expected   = (1 << 20) - 1; ///< arrivals at a barrier in each phase, the most there can be

    __device__ explicit LevelPhases(PhaseBarrier *barriers) : barriers(barriers) {}

    /** The next patch, with @p n_levels levels that end before the cells @p level_ends, in fast memory. */
    __device__ void begin_patch(const int n_levels, const int *level_ends)
    {
      level = end_level;
      end_level += n_levels;
      begin = 0;
      ends  = level_ends;
      end   = n_levels > 0 ? *ends : 0;
    }

    /** A warp calls @p add() when it is the turn of the patch's cell @p cell, which must be behind its last one. */
    template <typename Function>
    __device__ void add(const int cell, const Function &add)
    {
      while (cell >= end)
      {
        begin = end;
        end   = *++ends;
        ++level;
      }
      if (level > 0)
        barriers[(level - 1) % n_barriers].wait((level - 1) / n_barriers);
      add();
      __syncwarp();
      if (threadIdx.x % 32 == 0)
      {
        PhaseBarrier &barrier = barriers[level % n_barriers];
        if (cell == begin)
          barrier.arrive_early(expected - (end - begin));
        barrier.arrive(1);
      }
    }

  private:
    PhaseBarrier *barriers;
    const int    *ends      = nullptr;
    unsigned int  level     = 0; ///< that of the cells from begin to end, over all patches
    unsigned int  end_level = 0; ///< of the patch
    int           begin = 0, end = 0;
  };
} // namespace PatchFEM::kernels
