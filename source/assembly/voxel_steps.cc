// SPDX-License-Identifier: LGPL-2.1-or-later
#include "voxel_steps.h"

namespace PatchFEM
{
  template <>
  void FluidCells::mark(Host, const Array<unsigned char> &all_labels, const unsigned int sides)
  {
    launch(backend(), view().all_words(),
           [=, grid = view(), labels = all_labels.data(), bits = bits.data(),
            counts = counts.data()](const std::int64_t i) {
             const VoxelWord at(grid, static_cast<int>(i));
             const int       n        = at.n_cells(grid);
             std::uint32_t   is_fluid = 0, is_open = air_outside(grid, at, sides);
             for (int bit = 0; bit < n; ++bit)
             {
               const auto label = static_cast<VoxelLabel>(labels[at.first_cell(grid) + bit]);
               is_fluid |= std::uint32_t(label == VoxelLabel::fluid) << bit;
               is_open |= std::uint32_t(label != VoxelLabel::solid) << bit;
             }
             bits[i]   = {is_fluid, is_open};
             counts[i] = kernels::count_bits(is_fluid);
           });
  }
} // namespace PatchFEM
