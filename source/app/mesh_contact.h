// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/mesh_lists.h>

namespace PatchFEM
{
  /**
   * Counts the parts of @p mesh, whose cells share vertices, and boundary faces that lie on others, up to a thousandth of
   * their size, with vertices of their own: `n_parts`, `n_coinciding` and `n_touching` of its facts. Every boundary face
   * is to be listed, as complete_boundary_faces() does it.
   */
  void find_contact(MeshLists &mesh);

  /** For each vertex the first one within @p distance that is its own first, mostly itself. */
  std::vector<std::uint32_t> first_vertices_within(double distance, const MeshLists &mesh);
} // namespace PatchFEM
