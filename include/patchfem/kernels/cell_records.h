// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/assembly.h>
#include <patchfem/kernels/geometry.h>

namespace PatchFEM::kernels
{
  /** Extents of isoparametric cells that are known when compiling; 0 takes the batch's at run time. */
  template <int shape, int quadrature>
  struct FixedExtents
  {
    static constexpr int n_shape      = shape;
    static constexpr int n_quadrature = quadrature;
  };
  using AnyExtents = FixedExtents<0, 0>;
  template <int dim>
  using LinearSimplex = FixedExtents<dim + 1, 1>;
  template <int dim>
  using MultilinearCube = FixedExtents<(1 << dim), (1 << dim)>;

  /** Whether cells have these extents, are isoparametric, and have short places. */
  template <typename Extents>
  bool fits(const KernelRequest &request)
  {
    const ReferenceView &r = request.reference;
    if constexpr (Extents::n_shape == 0)
      return true;
    else
      return request.computes && request.isoparametric && request.short_places && r.n_shape == Extents::n_shape &&
             (Extents::n_quadrature == 1 ? request.one_point && r.barycentric
                                         : r.n_quadrature == Extents::n_quadrature);
  }

  /** The name of a kernel with these extents. */
  template <typename Extents>
  constexpr const char *name_of_cells()
  {
    return Extents::n_shape == 0 ? "any cells" : Extents::n_quadrature == 1 ? "linear simplices" : "multilinear cubes";
  }

  /** What a computed cell keeps in fast memory, per quadrature point: weight times determinant and real gradients. */
  template <typename Form, typename Number, typename Extents>
  struct CellRecords
  {
    static constexpr int dim    = Form::dimension;
    static constexpr int n_comp = Form::n_components;

    const AssemblyArguments<Number> &a;

    PATCHFEM_INLINE const BatchView &batch() const { return a.batches.batch[a.computed_batch]; }
    PATCHFEM_INLINE int n_shape() const { return Extents::n_shape > 0 ? Extents::n_shape : batch().reference.n_shape; }
    PATCHFEM_INLINE int n_geometry() const
    {
      return Extents::n_shape > 0 ? Extents::n_shape : batch().reference.n_geometry;
    }
    PATCHFEM_INLINE int n_quadrature() const
    {
      return Extents::n_quadrature > 0 ? Extents::n_quadrature : (a.one_point ? 1 : batch().reference.n_quadrature);
    }

    /** Numbers of a point's record; odd, so that workers at neighbouring points use different banks. */
    static PATCHFEM_HOST_DEVICE int point_size(const int n_shape) { return (1 + n_shape * dim) | 1; }
    static PATCHFEM_HOST_DEVICE int record_size(const int n_shape, const int n_quadrature)
    {
      return n_quadrature * point_size(n_shape);
    }

    /** Of the simplex, the only reference cell that one point integrates. */
    static PATCHFEM_INLINE Number reference_volume() { return Number(1) / Number(dim == 2 ? 2 : 6); }

    PATCHFEM_INLINE Number weight(const int q) const
    {
      return a.one_point ? reference_volume() : static_cast<Number>(batch().reference.weights[q]);
    }

    PATCHFEM_INLINE Number shape_value(const int q, const int i) const
    {
      return a.one_point ? Number(1) / Number(dim + 1)
                         : static_cast<Number>(batch().reference.shape_values[q * n_shape() + i]);
    }

    /** The record of point @p q of the cell at position @p local of the batch. */
    PATCHFEM_INLINE void stage(const int local, const int q, Number *record) const
    {
      const auto   J   = jacobian<dim, Number>(a.batches.points, batch().geometry + std::int64_t(local) * n_geometry(),
                                           n_geometry(), batch().reference.geometry_gradients + q * n_geometry() * dim);
      const Number det = determinant(J);
      const auto   inverse_jacobian = inverse(J, det);
      record[0]                     = det * weight(q);
      PATCHFEM_UNROLL
      for (int i = 0; i < n_shape(); ++i)
      {
        const auto g =
            real_gradient<dim, Number>(inverse_jacobian, batch().reference.shape_gradients + (q * n_shape() + i) * dim);
        PATCHFEM_UNROLL
        for (int d = 0; d < dim; ++d)
          record[1 + i * dim + d] = g[d];
      }
    }

    PATCHFEM_INLINE ShapeFunction<dim, Number> shape(const Number *point, const int q, const int i) const
    {
      ShapeFunction<dim, Number> result;
      result.value = shape_value(q, i);
      PATCHFEM_UNROLL
      for (int d = 0; d < dim; ++d)
        result.gradient[d] = point[1 + i * dim + d];
      return result;
    }

    /** Block (i, j) of the cell's matrix; of a symmetric form the mirror image of (j, i) for j < i. */
    PATCHFEM_INLINE SmallMatrix<n_comp, n_comp, Number>
                    block(const Number *record, const int local, const int i, const int j) const
    {
      if constexpr (is_symmetric<Form>)
      {
        const auto upper = integrate(record, local, i < j ? i : j, i < j ? j : i);
        return i <= j ? upper : transpose(upper);
      }
      else
        return integrate(record, local, i, j);
    }

    PATCHFEM_INLINE SmallMatrix<n_comp, n_comp, Number>
                    integrate(const Number *record, const int local, const int i, const int j) const
    {
      const int stride = point_size(n_shape());
      if constexpr (has_moments<Form>)
        if (!a.coefficients.varies_inside_cells())
        {
          typename Form::template Moments<Number> moments{};
          PATCHFEM_UNROLL
          for (int q = 0; q < n_quadrature(); ++q)
            Form::add(moments, record[q * stride], shape(record + q * stride, q, i), shape(record + q * stride, q, j));
          return Form::finish(a.coefficients.at(a.batches, a.computed_batch, local, 0), moments);
        }
      if constexpr (has_cell_moments<Form>)
      {
        typename Form::template CellMoments<Number> moments{};
        PATCHFEM_UNROLL
        for (int q = 0; q < n_quadrature(); ++q)
          Form::add(moments, record[q * stride], a.coefficients.at(a.batches, a.computed_batch, local, q),
                    shape(record + q * stride, q, i), shape(record + q * stride, q, j));
        return Form::finish(moments);
      }
      SmallMatrix<n_comp, n_comp, Number> sum{};
      for (int q = 0; q < n_quadrature(); ++q)
      {
        const auto entry = Form::matrix(a.coefficients.at(a.batches, a.computed_batch, local, q),
                                        shape(record + q * stride, q, i), shape(record + q * stride, q, j));
        PATCHFEM_UNROLL
        for (int c = 0; c < n_comp; ++c)
          PATCHFEM_UNROLL
        for (int d = 0; d < n_comp; ++d)
          sum(c, d) += record[q * stride] * entry(c, d);
      }
      return sum;
    }

    PATCHFEM_INLINE Number load(const Number *record, const int local, const int i, const int c) const
    {
      const int stride = point_size(n_shape());
      Number    sum    = Number(0);
      for (int q = 0; q < n_quadrature(); ++q)
        sum += record[q * stride] * shape_value(q, i) * a.load.at(a.batches, a.computed_batch, local, q)[c];
      return sum;
    }
  };
} // namespace PatchFEM::kernels
