// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include <patchfem/kernels/voxels.h>

namespace PatchFEM
{
  namespace kernels
  {
    namespace
    {
      constexpr int words_threads = 256;

      /** A warp per word reads 32 bytes side by side. */
      __global__ void __launch_bounds__(words_threads) words_kernel(const VoxelView grid,
                                                                    const unsigned char *__restrict__ labels,
                                                                    std::uint32_t *__restrict__ fluid,
                                                                    std::uint32_t *__restrict__ open,
                                                                    int *__restrict__ counts)
      {
        const std::int64_t thread = std::int64_t(blockIdx.x) * words_threads + threadIdx.x;
        const int          i      = static_cast<int>(thread >> 5);
        if (i >= grid.all_words())
          return; // a whole warp
        const VoxelWord at(grid, i);
        const int       x     = 32 * at.w + threadIdx.x % 32;
        VoxelLabel      label = VoxelLabel::solid;
        if (x < grid.n[0])
          label = static_cast<VoxelLabel>(labels[(std::int64_t(at.z) * grid.n[1] + at.y) * grid.n[0] + x]);
        const std::uint32_t is_fluid = __ballot_sync(0xffffffffu, label == VoxelLabel::fluid);
        const std::uint32_t is_open  = __ballot_sync(0xffffffffu, label != VoxelLabel::solid);
        if (threadIdx.x % 32 == 0)
        {
          fluid[i]  = is_fluid;
          open[i]   = is_open;
          counts[i] = __popc(is_fluid);
        }
      }
    } // namespace

    void voxel_words(Cuda                       where,
                     const VoxelView           &grid,
                     const unsigned char *const labels,
                     std::uint32_t *const       fluid,
                     std::uint32_t *const       open,
                     int *const                 counts)
    {
      const std::int64_t n_threads = 32 * std::int64_t(grid.all_words());
      const auto         n_blocks  = static_cast<unsigned int>((n_threads + words_threads - 1) / words_threads);
      words_kernel<<<n_blocks, words_threads, 0, stream_of(where)>>>(grid, labels, fluid, open, counts);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

#define INSTANTIATE(...) template void parallel_for(Cuda, std::int64_t, const __VA_ARGS__ &)

    INSTANTIATE(VoxelWidthsBody);
    INSTANTIATE(VoxelFillBody<float>);
    INSTANTIATE(VoxelFillBody<double>);
    INSTANTIATE(VoxelFlowBody<float>);
    INSTANTIATE(VoxelFlowBody<double>);
    INSTANTIATE(VoxelProjectBody<float>);
    INSTANTIATE(VoxelProjectBody<double>);
    INSTANTIATE(VoxelScatterBody<float>);
    INSTANTIATE(VoxelScatterBody<double>);
    INSTANTIATE(VoxelGatherBody<float>);
    INSTANTIATE(VoxelGatherBody<double>);
    INSTANTIATE(VoxelRunsBody);
    INSTANTIATE(VoxelJoinBody);
    INSTANTIATE(VoxelRootBody);
    INSTANTIATE(VoxelSurfaceBody);
    INSTANTIATE(VoxelClosedBody);
    INSTANTIATE(VoxelClosedFlagBody);
    INSTANTIATE(VoxelPartBody);
  } // namespace kernels
} // namespace PatchFEM
