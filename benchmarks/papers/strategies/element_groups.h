// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <vector>

namespace PatchFEM
{
  /** What ElementGroups has, on the host, and the cells by their positions in the batch, group after group. */
  struct ElementGroupLists
  {
    int                       most_points = 0; ///< of a group
    std::vector<int>          cells, cell_offsets{0}, point_offsets{0}, points;
    std::vector<unsigned int> words;
  };

  /**
   * Cuts the graph of @p cells that share a side by METIS, so that a group has at most @p most_points different ones of
   * their points @p geometry, [cell of the batch][geometry]. Compiled by the host compiler alone.
   */
  ElementGroupLists make_element_groups(
      const std::vector<int> &cells, const std::vector<int> &geometry, int n_geometry, int dim, int most_points);
} // namespace PatchFEM
