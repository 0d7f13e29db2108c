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

  namespace
  {
    /**
     * The vector of a trilinear hexahedron with 8 points and 3 components, in registers: a thread a cell moves the flux and
     * the vector alone, and needs no buffer of points.
     */
    template <typename Number>
    PATCHFEM_INLINE void integrate_hexahedron(const BatchesView             &view,
                                              const int                      b,
                                              const int                      local,
                                              const CoefficientView<Number> &load,
                                              const CoefficientView<Number> &flux,
                                              Number                        *vector)
    {
      const ReferenceView &r          = view.batch[b].reference;
      Number               sums[8][3] = {};
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
      for (int q = 0; q < 8; ++q)
      {
        const auto    at = point_geometry<3, Number>(view.points, view.batch[b], local, q);
        const Number *f  = load.kind != CoefficientView<Number>::none ? load.at(view, b, local, q) : nullptr;
        const Number *F  = flux.kind != CoefficientView<Number>::none ? flux.at(view, b, local, q) : nullptr;
        Number        on_reference[3][3] = {}, weighted[3] = {};
        PATCHFEM_UNROLL
        for (int c = 0; c < 3; ++c)
        {
          if (f != nullptr)
            weighted[c] = at.weight * f[c];
          if (F != nullptr)
            PATCHFEM_UNROLL
          for (int e = 0; e < 3; ++e)
            on_reference[c][e] = at.weight * (at.inverse(e, 0) * F[c * 3] + at.inverse(e, 1) * F[c * 3 + 1] +
                                              at.inverse(e, 2) * F[c * 3 + 2]);
        }
        PATCHFEM_UNROLL
        for (int i = 0; i < 8; ++i)
        {
          const double *gradient = r.shape_gradients + (q * 8 + i) * 3;
          const auto    value    = static_cast<Number>(r.shape_values[q * 8 + i]);
          PATCHFEM_UNROLL
          for (int c = 0; c < 3; ++c)
            sums[i][c] += weighted[c] * value + on_reference[c][0] * static_cast<Number>(gradient[0]) +
                          on_reference[c][1] * static_cast<Number>(gradient[1]) +
                          on_reference[c][2] * static_cast<Number>(gradient[2]);
        }
      }
      PATCHFEM_UNROLL
      for (int i = 0; i < 8; ++i)
        PATCHFEM_UNROLL
      for (int c = 0; c < 3; ++c)
        vector[i * 3 + c] = sums[i][c];
    }
  } // namespace

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
      if (dim == 3 && n_comp == 3 && n_shape == 8 && n_q == 8)
      {
        vectors.emplace_back(place, std::size_t(n_cells) * 24);
        vectors_of[b] = vectors[b].data();
        launch(place, n_cells, [=, vectors = vectors[b].data()] PATCHFEM_DEVICE(const std::int64_t cell) {
          integrate_hexahedron(view, b, static_cast<int>(cell), load, flux, vectors + cell * 24);
        });
        continue;
      }
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
