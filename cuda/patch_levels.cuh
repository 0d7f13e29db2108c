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
     * The levels of a patch's computed cells. Cells come in groups of consecutive ones, whose workers all call
     * commit(): it adds each cell once all cells of earlier levels are added. A barrier stands between levels alone,
     * so that workers compute the cells of the next group while others still add.
     */
    class PatchLevels
    {
    public:
      /** @p ends in fast memory; @p n_threads of the block, whole warps, take part. */
      __device__ PatchLevels(const int n_cells, const int *ends, const int n_threads)
          : ends(ends), n_cells(n_cells), n_threads(n_threads), end(n_cells > 0 ? *ends : 0)
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
              add(k);
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
      int        n_cells, n_threads, begin = 0, end;
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
