// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/structure_bodies.h"
#include <patchfem/kernels/geometry.h>

/**
 * @file
 * int f_c phi_i + F_cd d_d phi_i: at each point f and F are brought to the reference cell, each cell tests them with its
 * shape functions, and each unknown sums its cells in their order. No atomics, hence the same bits each time.
 */
namespace PatchFEM::kernels
{
  /** w det J (J^-1 F_c, f_c), item by point, for cells from number @p first_cell of batch @p b on. */
  template <int dim, typename Number>
  struct PullBackBody
  {
    BatchesView             batches;
    int                     b, first_cell, n_components;
    CoefficientView<Number> load, flux; ///< f, and F [component][dim]; kind none: 0
    Number                 *points;     ///< [cell][q][component][dim + 1]

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      const BatchView &batch = batches.batch[b];
      const int        n_q   = batch.reference.n_quadrature;
      const int        local = first_cell + static_cast<int>(i / n_q), q = static_cast<int>(i % n_q);
      const auto       at    = point_geometry<dim, Number>(batches.points, batch, local, q);
      const auto       entry = [&](const CoefficientView<Number> &field) {
        return field.kind != CoefficientView<Number>::none ? field.at(batches, b, local, q) : nullptr;
      };
      const Number *f = entry(load), *F = entry(flux);
      for (int c = 0; c < n_components; ++c)
      {
        Number *to = points + (i * n_components + c) * (dim + 1);
        PATCHFEM_UNROLL
        for (int e = 0; e < dim; ++e)
        {
          Number sum = 0;
          if (F != nullptr)
            PATCHFEM_UNROLL
          for (int d = 0; d < dim; ++d)
            sum += at.inverse(e, d) * F[c * dim + d];
          to[e] = at.weight * sum;
        }
        to[dim] = f != nullptr ? at.weight * f[c] : Number(0);
      }
    }
  };

  /** Vectors of cells, item by local unknown. */
  template <int dim, typename Number>
  struct TestFluxBody
  {
    ReferenceView reference;
    int           n_components;
    const Number *points;  ///< of PullBackBody
    Number       *vectors; ///< [cell][shape][component]

    PATCHFEM_INLINE void operator()(const std::int64_t k) const
    {
      const int          n_shape = reference.n_shape, n_q = reference.n_quadrature;
      const std::int64_t pair = k / n_components, cell = pair / n_shape;
      const int          c = static_cast<int>(k % n_components), i = static_cast<int>(pair % n_shape);
      Number             sum = 0;
      for (int q = 0; q < n_q; ++q)
      {
        const Number *from     = points + ((cell * n_q + q) * n_components + c) * (dim + 1);
        const double *gradient = reference.shape_gradients + (q * n_shape + i) * dim;
        sum += from[dim] * static_cast<Number>(reference.shape_values[q * n_shape + i]);
        PATCHFEM_UNROLL
        for (int d = 0; d < dim; ++d)
          sum += from[d] * static_cast<Number>(gradient[d]);
      }
      vectors[k] = sum;
    }
  };

  /** An unknown is the sum of its entries in the vectors of its node's cells. */
  template <typename Number>
  struct SumCellsBody
  {
    BatchesView         batches;
    int                 n_components;
    const std::int64_t *pair_offsets; ///< [node]
    const std::int64_t *pairs;        ///< Pair of a cell and a shape function
    const Number       *vectors[BatchesView::max_batches];
    Number             *rhs; ///< [node][component]

    PATCHFEM_INLINE void operator()(const std::int64_t k) const
    {
      const std::int64_t node = k / n_components;
      Number             sum  = 0;
      for (std::int64_t p = pair_offsets[node]; p < pair_offsets[node + 1]; ++p)
      {
        const int          cell = Pair::cell(pairs[p]), b = batches.batch_of(cell);
        const BatchView   &batch = batches.batch[b];
        const std::int64_t entry =
            std::int64_t(cell - batch.first_cell) * batch.reference.n_shape + Pair::row(pairs[p]);
        sum += vectors[b][entry * n_components + k % n_components];
      }
      rhs[k] = sum;
    }
  };
} // namespace PatchFEM::kernels
