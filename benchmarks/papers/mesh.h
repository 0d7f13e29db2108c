// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/mesh_lists.h>

#include <string>

/** Meshes of the papers' examples; only kind, vertices and cells of MeshLists are used. */
namespace papers
{
  using PatchFEM::CellKind;
  using PatchFEM::MeshLists;

  /** The cells of @p kind, triangles or tetrahedra, in a text file of Gmsh's format 2.2; Error if it is none. */
  MeshLists read_simplices(const std::string &file_name, CellKind kind);

  /** The unit square or cube of equal cells, @p n vertices along an edge, in lexicographic order. */
  MeshLists grid(CellKind kind, int n);

  /**
   * @p n copies of @p tile in each direction, scaled to the unit square or cube. Throws Error unless the vertices on
   * opposite faces of the unit square or cube that the tile fills match.
   */
  MeshLists repeat(const MeshLists &tile, int n);

  /**
   * Numbers the vertices along a Hilbert curve; within @p window of them that follow each other, if it is positive, those
   * with more cells come first, so that the rows of a slice have about the same length.
   */
  void order_along_curve(MeshLists &mesh, int window = 0);
} // namespace papers
