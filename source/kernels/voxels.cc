// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/voxels.h>

#include <algorithm>

namespace PatchFEM
{
  namespace kernels
  {
    void voxel_words(Host,
                     const VoxelView           &grid,
                     const unsigned char *const labels,
                     std::uint32_t *const       fluid,
                     std::uint32_t *const       open,
                     int *const                 counts)
    {
      const int n_words = grid.all_words();
#pragma omp parallel for schedule(static)
      for (int i = 0; i < n_words; ++i)
      {
        const VoxelWord      at(grid, i);
        const int            begin = 32 * at.w, n = std::min(32, grid.n[0] - begin);
        const unsigned char *row      = labels + (std::int64_t(at.z) * grid.n[1] + at.y) * grid.n[0] + begin;
        std::uint32_t        is_fluid = 0, is_open = 0;
        for (int bit = 0; bit < n; ++bit)
        {
          const auto label = static_cast<VoxelLabel>(row[bit]);
          is_fluid |= std::uint32_t(label == VoxelLabel::fluid) << bit;
          is_open |= std::uint32_t(label != VoxelLabel::solid) << bit;
        }
        fluid[i]  = is_fluid;
        open[i]   = is_open;
        counts[i] = count_bits(is_fluid);
      }
    }
  } // namespace kernels
} // namespace PatchFEM
