// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/cell_records.h>

#include <tuple>

namespace PatchFEM
{
  struct StrategyRow;

  namespace kernels
  {
    /** At point @p q of a cell whose geometry node g has the coordinate @p x(g, d), relative to any point. */
    template <typename Form, typename Number, typename Extents, typename Coordinates>
    PATCHFEM_INLINE PointGeometry<Form::dimension, Number>
                    geometry_at(const CellRecords<Form, Number, Extents> &cells, const int q, const Coordinates &x)
    {
      constexpr int dim       = Form::dimension;
      const double *gradients = cells.batch().reference.geometry_gradients + q * cells.n_geometry() * dim;
      SmallMatrix<dim, dim, Number> J{};
      PATCHFEM_UNROLL
      for (int g = 1; g < cells.n_geometry(); ++g) // the first node is the origin
        PATCHFEM_UNROLL
      for (int i = 0; i < dim; ++i)
        PATCHFEM_UNROLL
      for (int j = 0; j < dim; ++j)
        J(i, j) += static_cast<Number>(x(g, i) - x(0, i)) * static_cast<Number>(gradients[g * dim + j]);
      const Number det = determinant(J);
      return {inverse(J, det), det * cells.weight(q)};
    }

    /** Its shape function @p i there. */
    template <typename Form, typename Number, typename Extents>
    PATCHFEM_INLINE ShapeFunction<Form::dimension, Number> shape_at(const CellRecords<Form, Number, Extents>     &cells,
                                                                    const PointGeometry<Form::dimension, Number> &point,
                                                                    const int                                     q,
                                                                    const int                                     i)
    {
      constexpr int dim = Form::dimension;
      return {cells.shape_value(q, i),
              real_gradient<dim, Number>(point.inverse,
                                         cells.batch().reference.shape_gradients + (q * cells.n_shape() + i) * dim)};
    }
  } // namespace kernels

  namespace strategies
  {
    /** What strategies have whose kernels are of one template: for cells of extents known when compiling, and others. */
    template <template <typename, typename, typename> class Kernel>
    struct OfCells
    {
      template <typename Form, typename Number, typename Where>
      static auto kernels(Where)
      {
        using namespace PatchFEM::kernels;
        constexpr int dim = Form::dimension;
        return std::tuple<Kernel<Form, Number, LinearSimplex<dim>>, Kernel<Form, Number, MultilinearCube<dim>>,
                          Kernel<Form, Number, AnyExtents>>();
      }
    };
  } // namespace strategies
} // namespace PatchFEM
