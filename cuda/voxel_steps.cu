// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include "assembly/voxel_steps.h"

namespace PatchFEM
{
  namespace
  {
    constexpr int words_threads = 256, words_per_warp = 8;

    /** A warp reads eight words of 32 labels; one lane finds where a word lies, and no load waits for another. */
    __global__ void __launch_bounds__(words_threads) words_kernel(const VoxelView    grid,
                                                                  const unsigned int open_sides,
                                                                  const unsigned char *__restrict__ labels,
                                                                  VoxelBits *__restrict__ bits,
                                                                  int *__restrict__ counts)
    {
      constexpr unsigned int all  = 0xffffffffu;
      const int              lane = threadIdx.x % 32;
      const int              begin =
          static_cast<int>((blockIdx.x * std::int64_t(words_threads) + threadIdx.x) / 32) * words_per_warp;
      const int    mine = begin + lane;
      int          n    = 0;
      VoxelBits    result{0, 0};
      std::int64_t first = 0;
      if (lane < words_per_warp && mine < grid.all_words())
      {
        const VoxelWord at(grid, mine);
        n           = at.n_cells(grid);
        first       = n > 0 ? at.first_cell(grid) : 0;
        result.open = air_outside(grid, at, open_sides);
      }
      VoxelLabel label[words_per_warp];
#pragma unroll
      for (int j = 0; j < words_per_warp; ++j)
      {
        const std::int64_t cell = __shfl_sync(all, first, j) + lane;
        label[j]                = VoxelLabel::solid;
        if (lane < __shfl_sync(all, n, j))
          label[j] = static_cast<VoxelLabel>(__ldg(labels + cell));
      }
#pragma unroll
      for (int j = 0; j < words_per_warp; ++j)
      {
        const std::uint32_t fluid = __ballot_sync(all, label[j] == VoxelLabel::fluid);
        const std::uint32_t open  = __ballot_sync(all, label[j] != VoxelLabel::solid);
        if (lane == j)
        {
          result.fluid = fluid;
          result.open |= open;
        }
      }
      if (lane < words_per_warp && mine < grid.all_words())
      {
        bits[mine]   = result;
        counts[mine] = __popc(result.fluid);
      }
    }
  } // namespace

  template <>
  void FluidCells::mark(Cuda where, const Array<unsigned char> &labels, const unsigned int sides)
  {
    constexpr int words_per_block = words_threads / 32 * words_per_warp;
    const auto    n_blocks =
        static_cast<unsigned int>((std::int64_t(view().all_words()) + words_per_block - 1) / words_per_block);
    words_kernel<<<n_blocks, words_threads, 0, stream_of(where)>>>(view(), sides, labels.data(), bits.data(),
                                                                   counts.data());
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }
} // namespace PatchFEM
