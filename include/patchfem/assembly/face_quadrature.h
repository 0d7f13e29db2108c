// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/element_tables.h>

#include <cstddef>
#include <vector>

/** @file Where quadrature points lie, in cells and on boundary faces, from plain tables on the host. */
namespace PatchFEM
{
  /** The points x_q = sum_g geometry_values(q, g) X_g of one cell, written to @p points, [q][dim]. */
  void cell_quadrature_points(const ElementTables &tables, const CellTable &batch, const int cell, double *points);

  /** Quadrature on the faces of ElementTables::faces, in their order. */
  struct FaceQuadrature
  {
    std::vector<std::size_t> offsets; ///< [n_faces + 1]: first point of each face
    std::vector<double>      points;  ///< [point][dim]
    std::vector<double>      normals; ///< [point][dim], outward, of unit length
    std::vector<double>      weights; ///< [point]: of the rule, times the surface element

    std::size_t n_points() const { return weights.size(); }
  };

  /**
   * With the Jacobian J = dx/dxi at a point of the face, tangents are J dxi/dt_k. The surface element is the length of
   * t_1 in 2D and of t_1 x t_2 in 3D; the normal is J^-T n / |J^-T n|, n being the one of the reference cell.
   * Throws Error where a face has no area, which names its cell.
   */
  FaceQuadrature compute_face_quadrature(const ElementTables &tables);
} // namespace PatchFEM
