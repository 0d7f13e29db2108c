// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <array>
#include <istream>
#include <string>
#include <vector>

namespace PatchFEM
{
  /** Labels of cubes in a box. */
  struct VoxelImage
  {
    std::array<int, 3>         n{{0, 0, 0}};         ///< cells in each direction
    std::array<double, 3>      origin{{0., 0., 0.}}; ///< lower corner of the box
    double                     h = 1.;               ///< edge of a cell
    std::vector<unsigned char> labels;               ///< [(z * n[1] + y) * n[0] + x]: 0 solid, 1 fluid, 2 air
  };

  /**
   * Reads from @p in, which can be searched, a VTK legacy file with a DATASET STRUCTURED_POINTS of equal spacing, ASCII
   * or BINARY, whose one array of scalars has the labels. CELL_DATA belongs to the cells between the points of
   * DIMENSIONS, POINT_DATA to cells around them. Throws Error that names the file, @p name, and what is wrong.
   */
  VoxelImage read_voxel_image(std::istream &in, const std::string &name);
} // namespace PatchFEM
