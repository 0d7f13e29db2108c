// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/mesh_lists.h>

#include <deal.II/base/point.h>

namespace PatchFEM::internal
{
  inline dealii::Point<3> vertex(const MeshLists &mesh, const std::uint32_t v)
  {
    return {mesh.vertices[v][0], mesh.vertices[v][1], mesh.vertices[v][2]};
  }

  /** Vertex @p i of a boundary face. */
  inline dealii::Point<3> face_vertex(const MeshLists &mesh, const std::size_t face, const unsigned int i)
  {
    return vertex(mesh, mesh.faces[face * n_vertices_per_face(mesh.kind) + i]);
  }

  inline dealii::Point<3> face_centre(const MeshLists &mesh, const std::size_t face)
  {
    const unsigned int n = n_vertices_per_face(mesh.kind);
    dealii::Point<3>   sum;
    for (unsigned int i = 0; i < n; ++i)
      sum += face_vertex(mesh, face, i);
    return sum / n;
  }

  /** A normal of unit length, in either direction; of a quadrilateral normal to its diagonals. */
  inline dealii::Tensor<1, 3> face_normal(const MeshLists &mesh, const std::size_t face)
  {
    const auto edge = [&](const unsigned int i, const unsigned int j) {
      return face_vertex(mesh, face, j) - face_vertex(mesh, face, i);
    };
    const unsigned int         n      = n_vertices_per_face(mesh.kind);
    const dealii::Tensor<1, 3> normal = n == 2   ? cross_product_3d(edge(0, 1), dealii::Tensor<1, 3>({0., 0., 1.}))
                                        : n == 3 ? cross_product_3d(edge(0, 1), edge(0, 2))
                                                 : cross_product_3d(edge(0, 3), edge(1, 2));
    return normal / normal.norm();
  }
} // namespace PatchFEM::internal
