// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_cuda_patch_levels_cuh
#define patchfem_cuda_patch_levels_cuh

#include <patchfem/kernels/patch_bodies.h>

namespace PatchFEM
{
  namespace kernels
  {
    /** The lanes of a warp, working together. */
    struct WarpTeam
    {
      static constexpr int          size = 32;
      static constexpr unsigned int all  = 0xffffffffu;

      __device__ int  lane() const { return threadIdx.x % 32; }
      __device__ void sync() const { __syncwarp(); }
    };

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

      /** Until phase number @p phase is complete; the phase before it must be. */
      __device__ void wait(const int phase)
      {
#if __CUDA_ARCH__ >= 900
        asm volatile("{ .reg .pred done;\n"
                     "WAIT_%=: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
                     "@!done bra WAIT_%=; }" ::"r"(address()),
                     "r"(phase & 1)
                     : "memory");
#else
        asm volatile("{ .reg .pred done;\n"
                     "WAIT_%=: mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
                     "@!done bra WAIT_%=; }" ::"r"(address()),
                     "r"(phase & 1)
                     : "memory");
#endif
      }

    private:
      __device__ std::uint32_t address()
      {
        return static_cast<std::uint32_t>(__cvta_generic_to_shared(&state));
      }

      std::uint64_t state;
    };

    /** Between levels all workers meet. */
    struct LevelBarrier
    {
      int n_threads; ///< of the block, whole warps, that take part

      __device__ void wait() {}
      __device__ void pass() { barrier_of(n_threads); }
    };

    /**
     * A warp that has added its cells of a level says so and goes on; who adds cells of the next level waits until all
     * warps have. It says so only once the level before is complete: then none is more than one level ahead of another,
     * arrivals count for the right phase, and a phase's parity tells it from all others.
     */
    struct LevelPhases
    {
      PhaseBarrier &barrier;    ///< expects one arrival of each warp
      int           n_done = 0; ///< levels that this warp has passed, over all patches

      __device__ void wait()
      {
        if (n_done > 0)
          barrier.wait(n_done - 1);
      }
      __device__ void pass()
      {
        wait();
        __syncwarp();
        if (threadIdx.x % 32 == 0)
          barrier.arrive(1);
        ++n_done;
      }
    };

    /**
     * The levels of a patch's computed cells. Cells come in groups of consecutive ones, whose workers all call
     * commit(): it adds each cell once all cells of earlier levels are added. Workers are kept in step between levels
     * alone, by @p Between, so that they compute the cells of the next group while others still add.
     */
    template <typename Between>
    class PatchLevels
    {
    public:
      /** @p ends in fast memory. */
      __device__ PatchLevels(const int n_cells, const int *ends, Between &between)
          : between(between), ends(ends), n_cells(n_cells), end(n_cells > 0 ? *ends : 0)
      {}

      /**
       * Calls @p add(k) in its turn for each cell @p mine + k of the patch before @p stop that this worker has in the
       * group which ends there, k < @p n. All threads that take part must call it for all groups.
       */
      template <int n, typename Function>
      __device__ void commit(const int mine, const int stop, const Function &add)
      {
        for (;;)
        {
          PATCHFEM_UNROLL
          for (int k = 0; k < n; ++k)
            if (mine + k >= begin && mine + k < min(end, stop))
            {
              between.wait();
              add(k);
            }
          if (end > stop || end == n_cells)
            return;
          between.pass();
          begin = end;
          end   = *++ends;
          if (begin == stop)
            return;
        }
      }

    private:
      Between   &between;
      const int *ends;
      int        n_cells, begin = 0, end;
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
