// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/face_quadrature.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/kernels/geometry.h>

#include <algorithm>
#include <cmath>

namespace PatchFEM
{
  namespace
  {
    /** Points, normals and weights of face @p f, from its first point @p first on; false if it has no area. */
    template <int dim>
    bool write_face(const ElementTables &tables, const int f, const std::size_t first, FaceQuadrature &result)
    {
      const FaceEntry        &face        = tables.faces[f];
      const CellTable        &batch       = tables.batches[face.batch];
      const ReferenceElement &reference   = batch.reference;
      const int               n_geometry  = reference.n_geometry;
      const int              *geometry    = batch.points_of(face.cell);
      const double           *face_normal = &reference.face_normals[face.face * dim];
      bool                    has_area    = true;
      for (int q = 0; q < reference.n_face_quadrature; ++q)
      {
        const std::size_t row      = std::size_t(face.face) * reference.n_face_quadrature + q;
        const double     *values   = &reference.face_geometry_values[row * n_geometry];
        const double     *tangents = &reference.face_tangents[row * dim * (dim - 1)];
        double           *x        = &result.points[(first + q) * dim];
        double           *normal   = &result.normals[(first + q) * dim];
        for (int d = 0; d < dim; ++d)
          x[d] = coordinate(tables.points.data(), dim, d, geometry, n_geometry, values);

        // det J J^-T n is outward for right-handed cells, and as long as an area of 1 becomes; a cell with det(J) < 0
        // is tangled, and refused elsewhere. As n has length 1, det (n, T) is the area that the tangents T span.
        const auto                    C = adjugate(jacobian<dim, double>(tables.points.data(), geometry, n_geometry,
                                                      &reference.face_geometry_gradients[row * n_geometry * dim]));
        SmallMatrix<dim, dim, double> span;
        double                        square = 0.;
        for (int d = 0; d < dim; ++d)
        {
          for (int e = 0; e < dim; ++e)
            normal[d] += C(e, d) * face_normal[e];
          square += normal[d] * normal[d];
          span(d, 0) = face_normal[d];
          for (int k = 0; k < dim - 1; ++k)
            span(d, k + 1) = tangents[d * (dim - 1) + k];
        }
        const double length = std::sqrt(square);
        has_area            = has_area && length > 0.;
        for (int d = 0; d < dim; ++d)
          normal[d] /= length;
        result.weights[first + q] = reference.face_weights[q] * length * std::abs(determinant(span));
      }
      return has_area;
    }
  } // namespace

  void cell_quadrature_points(const ElementTables &tables, const CellTable &batch, const int cell, double *points)
  {
    const ReferenceElement &reference = batch.reference;
    const int               dim       = tables.dim;
    const int              *geometry  = batch.points_of(cell);
    for (int i = 0; i < reference.n_quadrature * dim; ++i)
      points[i] = coordinate(tables.points.data(), dim, i % dim, geometry, reference.n_geometry,
                             &reference.geometry_values[std::size_t(i / dim) * reference.n_geometry]);
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
      if (!(dim == 2 ? write_face<2>(tables, f, result.offsets[f], result)
                     : write_face<3>(tables, f, result.offsets[f], result)))
        flat_face = std::min(flat_face, f);
    if (flat_face < n_faces)
    {
      const FaceEntry &face = tables.faces[flat_face];
      throw Error("Face ", face.face, " of cell ", tables.batches[face.batch].active_index[face.cell],
                  " with boundary id ", face.boundary_id, " has no area: repair this cell of the mesh.");
    }
    return result;
  }
} // namespace PatchFEM
