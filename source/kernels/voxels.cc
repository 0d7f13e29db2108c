// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/voxels.h>

namespace PatchFEM::kernels
{
  void voxel_words(Host,
                   const VoxelView           &grid,
                   const unsigned int         open_sides,
                   const unsigned char *const labels,
                   VoxelBits *const           bits,
                   int *const                 counts)
  {
    const int n_words = grid.all_words();
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n_words; ++i)
    {
      const VoxelWord at(grid, i);
      const int       n        = at.n_cells(grid);
      std::uint32_t   is_fluid = 0, is_open = air_outside(grid, at, open_sides);
      for (int bit = 0; bit < n; ++bit)
      {
        const auto label = static_cast<VoxelLabel>(labels[at.first_cell(grid) + bit]);
        is_fluid |= std::uint32_t(label == VoxelLabel::fluid) << bit;
        is_open |= std::uint32_t(label != VoxelLabel::solid) << bit;
      }
      bits[i]   = {is_fluid, is_open};
      counts[i] = count_bits(is_fluid);
    }
  }
} // namespace PatchFEM::kernels
