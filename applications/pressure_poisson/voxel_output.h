// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/voxel_poisson.h>

#include <deal.II/base/point.h>

#include <string>
#include <vector>

namespace PatchFEM
{
  /** Fields of all cells and faces on the host. */
  struct VoxelPicture
  {
    const std::vector<unsigned char> *labels;
    const std::vector<double>        *pressure;
    std::vector<double>               velocity[3]; ///< of faces, as in FaceVelocities
  };

  /** Writes @p file_name as VTU: one cell for each voxel with its label, pressure and the mean velocity of its faces. */
  template <int dim>
  void write_voxels(const std::string        &file_name,
                    const VoxelGrid          &grid,
                    const dealii::Point<dim> &lower_corner,
                    const VoxelPicture       &picture);
} // namespace PatchFEM
