// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/batch_views.h>
#include <patchfem/kernels/small_tensor.h>

#include <cmath>

namespace PatchFEM
{
  /**
   * J(a, b) = d x_a / d xi_b of a cell where the geometry functions have the @p gradients [geometry][dim]. Positions
   * are relative to the cell's first node, so that single precision keeps the digits of small cells.
   */
  template <int dim, typename Number>
  PATCHFEM_INLINE SmallMatrix<dim, dim, Number>
                  jacobian(const double *points, const int *geometry, const int n_geometry, const double *gradients)
  {
    SmallMatrix<dim, dim, Number> J{};
    const double                 *origin = points + std::int64_t(geometry[0]) * dim;
    for (int g = 1; g < n_geometry; ++g) // the first node is the origin
    {
      const double *point = points + std::int64_t(geometry[g]) * dim, *gradient = gradients + g * dim;
      Number        x[dim];
      PATCHFEM_UNROLL
      for (int a = 0; a < dim; ++a)
        x[a] = static_cast<Number>(point[a] - origin[a]);
      PATCHFEM_UNROLL
      for (int a = 0; a < dim; ++a)
        PATCHFEM_UNROLL
      for (int b = 0; b < dim; ++b)
        J(a, b) += x[a] * static_cast<Number>(gradient[b]);
    }
    return J;
  }

  /** Coordinate @p a of the point of a cell where the geometry functions have the @p values: sum_g values_g X_g. */
  PATCHFEM_INLINE double coordinate(
      const double *points, const int dim, const int a, const int *geometry, const int n_geometry, const double *values)
  {
    double sum = 0.;
    for (int g = 0; g < n_geometry; ++g)
      sum += values[g] * points[std::int64_t(geometry[g]) * dim + a];
    return sum;
  }

  /** What integration at a quadrature point of a cell needs. */
  template <int dim, typename Number>
  struct PointGeometry
  {
    SmallMatrix<dim, dim, Number> inverse; ///< J^-1
    Number                        weight;  ///< det J times the weight of the rule
  };

  /** At point @p q of the cell at position @p local of @p batch. */
  template <int dim, typename Number>
  PATCHFEM_INLINE PointGeometry<dim, Number>
                  point_geometry(const double *points, const BatchView &batch, const int local, const int q)
  {
    const ReferenceView &r = batch.reference;
    const auto   J   = jacobian<dim, Number>(points, batch.geometry + std::int64_t(local) * r.n_geometry, r.n_geometry,
                                         r.geometry_gradients + q * r.n_geometry * dim);
    const Number det = determinant(J);
    return {inverse(J, det), det * static_cast<Number>(r.weights[q])};
  }

  /** Point @p q of face @p face of the cell at position @p local of a batch. */
  template <int dim, typename Number>
  struct FacePointGeometry
  {
    SmallMatrix<dim, dim, Number>     jacobian;
    SmallMatrix<dim, dim - 1, Number> tangents; ///< (d, k): dX_d / ds_k, s the coordinates of the reference face
    Number                            weight;   ///< |t| in 2D, |t_1 x t_2| in 3D, times the weight of the rule
  };

  template <int dim, typename Number>
  PATCHFEM_INLINE FacePointGeometry<dim, Number>
  face_point_geometry(const double *points, const BatchView &batch, const int local, const int face, const int q)
  {
    const ReferenceView           &r     = batch.reference;
    const std::int64_t             entry = std::int64_t(face) * r.n_face_quadrature + q;
    FacePointGeometry<dim, Number> result;
    result.jacobian = jacobian<dim, Number>(points, batch.geometry + std::int64_t(local) * r.n_geometry, r.n_geometry,
                                            r.face_geometry_gradients + entry * r.n_geometry * dim);
    const double *tangents = r.face_tangents + entry * dim * (dim - 1);
    auto         &t        = result.tangents;
    for (int i = 0; i < dim; ++i)
      for (int k = 0; k < dim - 1; ++k)
      {
        t(i, k) = 0;
        for (int j = 0; j < dim; ++j)
          t(i, k) += result.jacobian(i, j) * static_cast<Number>(tangents[j * (dim - 1) + k]);
      }
    Number square;
    if constexpr (dim == 2)
      square = t(0, 0) * t(0, 0) + t(1, 0) * t(1, 0);
    else
    {
      const Number n0 = t(1, 0) * t(2, 1) - t(2, 0) * t(1, 1);
      const Number n1 = t(2, 0) * t(0, 1) - t(0, 0) * t(2, 1);
      const Number n2 = t(0, 0) * t(1, 1) - t(1, 0) * t(0, 1);
      square          = n0 * n0 + n1 * n1 + n2 * n2;
    }
    result.weight = std::sqrt(square) * static_cast<Number>(r.face_weights[q]);
    return result;
  }

  /** grad phi = J^-T grad_hat phi. */
  template <int dim, typename Number, typename Gradient>
  PATCHFEM_INLINE SmallVector<dim, Number> real_gradient(const SmallMatrix<dim, dim, Number> &inverse_jacobian,
                                                         const Gradient                      *reference_gradient)
  {
    SmallVector<dim, Number> g;
    PATCHFEM_UNROLL
    for (int a = 0; a < dim; ++a)
    {
      g[a] = inverse_jacobian(0, a) * static_cast<Number>(reference_gradient[0]);
      PATCHFEM_UNROLL
      for (int b = 1; b < dim; ++b)
        g[a] += inverse_jacobian(b, a) * static_cast<Number>(reference_gradient[b]);
    }
    return g;
  }
} // namespace PatchFEM
