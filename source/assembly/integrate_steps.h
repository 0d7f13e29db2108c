// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/launch.h"

#include <patchfem/assembly/space.h>
#include <patchfem/kernels/geometry.h>

#include <algorithm>
#include <vector>

/**
 * @file
 * The steps (see launch.h) of int f_c phi_i + F_cd d_d phi_i: at each point f and F are brought to the reference cell,
 * each cell tests them with its shape functions, and each unknown sums its cells in their order. No atomics, hence the
 * same bits each time.
 */
namespace PatchFEM
{
  template <int dim, typename Number>
  void integrate_cells(
      Cuda, const Space &, const CoefficientView<Number> &, const CoefficientView<Number> &, Vector<Number> &);

  /** @p rhs, of all unknowns, before constraints, with @p load f and @p flux F [component][dim]; kind none: 0. */
  template <int dim, typename Number>
  void integrate_cells(Here,
                       const Space                   &space,
                       const CoefficientView<Number> &load,
                       const CoefficientView<Number> &flux,
                       Vector<Number>                &rhs)
  {
    // So many points at a time: enough to fill a device, and few enough to stay in its second-level cache.
    constexpr std::int64_t most_points = std::int64_t(1) << 17;

    const Backend             &place  = space.backend();
    const BatchesView          view   = space.batches().view();
    const int                  n_comp = space.batches().n_components();
    std::vector<Array<Number>> vectors; // [cell][shape][component]
    const Number              *vectors_of[BatchesView::max_batches] = {};
    for (int b = 0; b < view.n_batches; ++b)
    {
      const ReferenceView r       = view.batch[b].reference;
      const int           n_cells = view.batch[b].n_cells, n_q = r.n_quadrature, n_shape = r.n_shape;
      const int           at_once = static_cast<int>(std::max<std::int64_t>(most_points / n_q, 1));
      // [cell][q][component]: w det J (J^-1 F_c, f_c)
      Array<Number> points(place, std::size_t(std::min(at_once, n_cells)) * n_q * n_comp * (dim + 1));
      vectors.emplace_back(place, std::size_t(n_cells) * n_shape * n_comp);
      vectors_of[b] = vectors[b].data();
      for (int first = 0; first < n_cells; first += at_once)
      {
        const std::int64_t n = std::min(at_once, n_cells - first);
        launch(place, n * n_q, [=, points = points.data()] PATCHFEM_DEVICE(const std::int64_t i) {
          const int  local = first + static_cast<int>(i / n_q), q = static_cast<int>(i % n_q);
          const auto at    = point_geometry<dim, Number>(view.points, view.batch[b], local, q);
          const auto entry = [&](const CoefficientView<Number> &field) {
            return field.kind != CoefficientView<Number>::none ? field.at(view, b, local, q) : nullptr;
          };
          const Number *f = entry(load), *F = entry(flux);
          for (int c = 0; c < n_comp; ++c)
          {
            Number *to = points + (i * n_comp + c) * (dim + 1);
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
        });
        launch(place, n * n_shape * n_comp,
               [=, points = points.data(),
                vectors =
                    vectors[b].data() + std::int64_t(first) * n_shape * n_comp] PATCHFEM_DEVICE(const std::int64_t k) {
                 const std::int64_t pair = k / n_comp, cell = pair / n_shape;
                 const int          c = static_cast<int>(k % n_comp), i = static_cast<int>(pair % n_shape);
                 Number             sum = 0;
                 for (int q = 0; q < n_q; ++q)
                 {
                   const Number *from     = points + ((cell * n_q + q) * n_comp + c) * (dim + 1);
                   const double *gradient = r.shape_gradients + (q * n_shape + i) * dim;
                   sum += from[dim] * static_cast<Number>(r.shape_values[q * n_shape + i]);
                   PATCHFEM_UNROLL
                   for (int d = 0; d < dim; ++d)
                     sum += from[d] * static_cast<Number>(gradient[d]);
                 }
                 vectors[k] = sum;
               });
      }
    }
    launch(place, rhs.size(),
           [=, cells = space.node_cells().view(), rhs = rhs.data()] PATCHFEM_DEVICE(const std::int64_t k) {
             Number sum = 0;
             cells.visit(k / n_comp, [&](const int cell, const int i) {
               const int          b     = view.batch_of(cell);
               const BatchView   &batch = view.batch[b];
               const std::int64_t entry = std::int64_t(cell - batch.first_cell) * batch.reference.n_shape + i;
               sum += vectors_of[b][entry * n_comp + k % n_comp];
             });
             rhs[k] = sum;
           });
  }

#define PATCHFEM_INSTANTIATE(dim, Number)                                                  \
  template void integrate_cells<dim>(Here, const Space &, const CoefficientView<Number> &, \
                                     const CoefficientView<Number> &, Vector<Number> &);
  PATCHFEM_INSTANTIATE(2, float)
  PATCHFEM_INSTANTIATE(2, double)
  PATCHFEM_INSTANTIATE(3, float)
  PATCHFEM_INSTANTIATE(3, double)
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
