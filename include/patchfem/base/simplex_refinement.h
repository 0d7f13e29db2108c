// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/mesh_lists.h>

/**
 * @file
 * Cutting and refining simplex meshes on plain lists, before a triangulation is created from them. Each function
 * takes O(n) time, keeps material and boundary ids, and its result does not depend on the number of threads.
 */
namespace PatchFEM
{
  /**
   * One level of regular ("red") refinement of triangles (into 4) or tetrahedra (into 8): child i of cell c is cell
   * 4 c + i or 8 c + i, the old vertices keep their numbers, and the midpoints of edges follow.
   *
   * Of a tetrahedron (x0, x1, x2, x3) the octahedron inside is cut along the diagonal between the midpoints of x0 x2
   * and x1 x3, and the children's vertices are ordered as J. Bey does (Tetrahedral grid refinement, Computing 55,
   * 1995): however often this is repeated, the descendants of a tetrahedron have at most three shapes. Two of the
   * children, inverted in that order, have their first and third vertex exchanged, which leaves the pairs (0, 2) and
   * (1, 3), and with them all later diagonals, as they are; so children of positive cells are positive.
   *
   * Every boundary face that is to have an id afterwards must be listed. Lines of cells in a file are forgotten.
   */
  void red_refine(MeshLists &mesh);

  /**
   * Orders the vertices of positive tetrahedra so that red_refine() cuts along the shortest diagonal, for the best
   * shaped children; a tie keeps the order. Once, before the first refinement. Triangles have nothing to choose.
   */
  void choose_shortest_diagonals(MeshLists &mesh);

  /** How the vertices of those tetrahedra are ordered whose path along a cut hexahedron would make them inverted. */
  enum class MirroredPaths
  {
    exchange_first_and_third, ///< as red_refine() wants it
    exchange_last             ///< what is usual; other ways of refinement make other children of it
  };

  /**
   * Cuts quadrilaterals into 2 triangles, hexahedra into the 6 tetrahedra around one of their diagonals (Kuhn), ordered
   * along paths from one end of the diagonal to the other, so that red_refine() of the cut cube is the cut of the
   * refined cube. Cell c becomes the cells 2 c, 2 c + 1 or 6 c ... 6 c + 5; no vertices are added.
   *
   * Hexahedra agree on the diagonals of the faces they share because every edge is given a direction such that parallel
   * edges of a hexahedron point the same way. Throws Error for meshes where that is impossible (somewhere the mesh
   * closes like a Moebius strip), for hexahedra so deformed that a tetrahedron would be flat or inverted, and for
   * quadrilaterals that neither diagonal cuts into two triangles.
   */
  void cut_into_simplices(MeshLists &mesh, MirroredPaths mirrored = MirroredPaths::exchange_first_and_third);
} // namespace PatchFEM
