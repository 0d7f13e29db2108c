// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/face_quadrature.h>
#include <patchfem/base/exceptions.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace PatchFEM
{
  namespace
  {
    /** Cofactors of @p J, [d][e]: det(J) J^-T, so that the outward normal needs no division by det(J). */
    void cofactors(const int dim, const double J[3][3], double C[3][3])
    {
      if (dim == 2)
      {
        C[0][0] = J[1][1];
        C[0][1] = -J[1][0];
        C[1][0] = -J[0][1];
        C[1][1] = J[0][0];
        return;
      }
      for (int d = 0; d < 3; ++d)
        for (int e = 0; e < 3; ++e)
        {
          const int d1 = (d + 1) % 3, d2 = (d + 2) % 3, e1 = (e + 1) % 3, e2 = (e + 2) % 3;
          C[d][e] = J[d1][e1] * J[d2][e2] - J[d1][e2] * J[d2][e1];
        }
    }

    double norm(const int dim, const double *v)
    {
      double sum = 0;
      for (int d = 0; d < dim; ++d)
        sum += v[d] * v[d];
      return std::sqrt(sum);
    }

    /** Length of the tangent in 2D, of the cross product of the tangents in 3D. @p T is [d][k]. */
    double surface_element(const int dim, const double T[3][2])
    {
      if (dim == 2)
        return std::hypot(T[0][0], T[1][0]);
      double cross[3];
      for (int d = 0; d < 3; ++d)
        cross[d] = T[(d + 1) % 3][0] * T[(d + 2) % 3][1] - T[(d + 2) % 3][0] * T[(d + 1) % 3][1];
      return norm(3, cross);
    }
  } // namespace

  void cell_quadrature_points(const ElementTables &tables, const CellTable &batch, const int cell, double *points)
  {
    const ReferenceElement &reference = batch.reference;
    const int               dim       = tables.dim;
    const int              *geometry  = batch.points_of(cell);
    for (int q = 0; q < reference.n_quadrature; ++q)
    {
      const double *values = &reference.geometry_values[std::size_t(q) * reference.n_geometry];
      for (int d = 0; d < dim; ++d)
        points[q * dim + d] = 0;
      for (int g = 0; g < reference.n_geometry; ++g)
        for (int d = 0; d < dim; ++d)
          points[q * dim + d] += values[g] * tables.points[std::size_t(geometry[g]) * dim + d];
    }
  }

  std::vector<double> quadrature_points(const ElementTables &tables, const CellTable &batch)
  {
    const std::size_t   stride = std::size_t(batch.reference.n_quadrature) * tables.dim;
    std::vector<double> points(batch.n_cells * stride);
#pragma omp parallel for schedule(static)
    for (int cell = 0; cell < batch.n_cells; ++cell)
      cell_quadrature_points(tables, batch, cell, points.data() + cell * stride);
    return points;
  }

  FaceQuadrature compute_face_quadrature(const ElementTables &tables)
  {
    const int      dim     = tables.dim;
    const int      n_faces = static_cast<int>(tables.faces.size());
    FaceQuadrature result;
    result.offsets.assign(n_faces + 1, 0);
    for (int f = 0; f < n_faces; ++f)
      result.offsets[f + 1] = result.offsets[f] + tables.batches[tables.faces[f].batch].reference.n_face_quadrature;
    const std::size_t n_points = result.offsets[n_faces];
    result.points.resize(n_points * dim);
    result.normals.resize(n_points * dim);
    result.weights.resize(n_points);

    int flat_face = n_faces;
#pragma omp parallel for schedule(static) reduction(min : flat_face)
    for (int f = 0; f < n_faces; ++f)
    {
      const FaceEntry        &face        = tables.faces[f];
      const CellTable        &batch       = tables.batches[face.batch];
      const ReferenceElement &reference   = batch.reference;
      const int               n_geometry  = reference.n_geometry;
      const int              *geometry    = batch.points_of(face.cell);
      const double           *face_normal = &reference.face_normals[face.face * dim];
      for (int q = 0; q < reference.n_face_quadrature; ++q)
      {
        const std::size_t point     = result.offsets[f] + q;
        const std::size_t row       = std::size_t(face.face) * reference.n_face_quadrature + q;
        const double     *values    = &reference.face_geometry_values[row * n_geometry];
        const double     *gradients = &reference.face_geometry_gradients[row * n_geometry * dim];
        const double     *tangents  = &reference.face_tangents[row * dim * (dim - 1)];

        double x[3] = {}, J[3][3] = {}, C[3][3], T[3][2] = {};
        for (int g = 0; g < n_geometry; ++g)
          for (int d = 0; d < dim; ++d)
          {
            const double X = tables.points[std::size_t(geometry[g]) * dim + d];
            x[d] += values[g] * X;
            for (int e = 0; e < dim; ++e)
              J[d][e] += X * gradients[g * dim + e];
          }
        for (int d = 0; d < dim; ++d)
          for (int k = 0; k < dim - 1; ++k)
            for (int e = 0; e < dim; ++e)
              T[d][k] += J[d][e] * tangents[e * (dim - 1) + k];

        // Outward for right-handed cells; a cell with det(J) < 0 is tangled, and refused elsewhere.
        cofactors(dim, J, C);
        double normal[3] = {};
        for (int d = 0; d < dim; ++d)
          for (int e = 0; e < dim; ++e)
            normal[d] += C[d][e] * face_normal[e];
        const double length  = norm(dim, normal);
        const double element = surface_element(dim, T);
        if (!(length > 0) || !(element > 0))
          flat_face = std::min(flat_face, f);

        for (int d = 0; d < dim; ++d)
        {
          result.points[point * dim + d]  = x[d];
          result.normals[point * dim + d] = normal[d] / length;
        }
        result.weights[point] = reference.face_weights[q] * element;
      }
    }
    if (flat_face < n_faces)
    {
      const FaceEntry &face = tables.faces[flat_face];
      throw Error("Face " + std::to_string(face.face) + " of cell " +
                  std::to_string(tables.batches[face.batch].active_index[face.cell]) + " with boundary id " +
                  std::to_string(face.boundary_id) + " has no area: repair this cell of the mesh.");
    }
    return result;
  }
} // namespace PatchFEM
