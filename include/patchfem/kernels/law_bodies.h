// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/geometry.h>
#include <patchfem/kernels/laws.h>
#include <patchfem/kernels/parallel_for.h>

#include <cmath>

/** @file Definitions of laws.h. Included where a law is instantiated; see PATCHFEM_INSTANTIATE_LAW_ON. */
namespace PatchFEM::kernels
{
  /** u = sum_i u_i phi_i, grad u = J^-T sum_i u_i grad_hat phi_i, x = sum_g X_g psi_g, at a point of @p batch. */
  template <int dim, int n_comp, typename Number>
  PATCHFEM_INLINE FieldPoint<dim, n_comp, Number>
  interpolate(const double *points, const Number *u_of_nodes, const BatchView &batch, const int local, const int q)
  {
    FieldPoint<dim, n_comp, Number>  u{};
    const ReferenceView             &r         = batch.reference;
    const int                       *nodes     = batch.nodes + std::int64_t(local) * r.n_shape;
    const double                    *shape     = r.shape_values + q * r.n_shape;
    const double                    *gradients = r.shape_gradients + q * r.n_shape * dim;
    SmallMatrix<n_comp, dim, Number> reference{};
    for (int s = 0; s < r.n_shape; ++s)
      PATCHFEM_UNROLL
    for (int c = 0; c < n_comp; ++c)
    {
      const Number x = u_of_nodes[std::int64_t(nodes[s]) * n_comp + c];
      u.value[c] += x * static_cast<Number>(shape[s]);
      PATCHFEM_UNROLL
      for (int d = 0; d < dim; ++d)
        reference(c, d) += x * static_cast<Number>(gradients[s * dim + d]);
    }
    const auto at = point_geometry<dim, Number>(points, batch, local, q);
    for (int c = 0; c < n_comp; ++c)
      u.gradient[c] = real_gradient<dim, Number>(at.inverse, reference.entries[c]);

    const int *geometry = batch.geometry + std::int64_t(local) * r.n_geometry;
    PATCHFEM_UNROLL
    for (int d = 0; d < dim; ++d)
      u.position[d] =
          static_cast<Number>(coordinate(points, dim, d, geometry, r.n_geometry, r.geometry_values + q * r.n_geometry));
    return u;
  }

  /** Input of a law at a point of @p batch. @p rule integrates over the cell, for laws that need means. */
  template <typename Law, typename Number>
  PATCHFEM_INLINE auto point_of_law(const double        *points,
                                    const Number        *u_of_nodes,
                                    const BatchView     &batch,
                                    const ReferenceView &rule,
                                    const int            local,
                                    const int            q)
  {
    constexpr int dim = Law::dimension, n_comp = Law::n_components;
    auto          u = interpolate<dim, n_comp>(points, u_of_nodes, batch, local, q);
    if constexpr (needs_mean_gradient<Law>)
    {
      BatchView integrated = batch;
      integrated.reference = rule;
      Number volume        = 0;
      for (int p = 0; p < rule.n_quadrature; ++p)
      {
        const auto   v      = interpolate<dim, n_comp>(points, u_of_nodes, integrated, local, p);
        const Number weight = point_geometry<dim, Number>(points, integrated, local, p).weight;
        volume += weight;
        for (int c = 0; c < n_comp; ++c)
          for (int d = 0; d < dim; ++d)
            u.mean_gradient[c][d] += weight * v.gradient[c][d];
      }
      for (int c = 0; c < n_comp; ++c)
        for (int d = 0; d < dim; ++d)
          u.mean_gradient[c][d] /= volume;
    }
    else
      static_cast<void>(rule);
    return u;
  }

  /** Item i is quadrature point i % n_quadrature of cell i / n_quadrature of batch @p b. */
  template <typename Law, typename Number>
  struct LawBody
  {
    LawArguments<Number> a;
    int                  b;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      const BatchView &batch = a.batches.batch[b];
      const int        n_q   = batch.reference.n_quadrature;
      const int        local = static_cast<int>(i / n_q), q = static_cast<int>(i % n_q);
      const auto       u = point_of_law<Law>(a.batches.points, a.u, batch, batch.reference, local, q);
      Number           values[Law::n_values];
      Law::evaluate(
          u, a.parameters.kind != CoefficientView<Number>::none ? a.parameters.at(a.batches, b, local, q) : nullptr,
          values);
      Number *to = a.values[b] + (std::int64_t(batch.source[local]) * n_q + q) * a.stride;
      PATCHFEM_UNROLL
      for (int k = 0; k < Law::n_values; ++k)
        to[k] = values[k];
    }
  };

  /** The sums of a lane. */
  template <int n>
  struct LawSums
  {
    static constexpr bool weighted = true;

    double sums[n] = {};

    PATCHFEM_INLINE void add(const double *values, const double weight, std::int64_t)
    {
      PATCHFEM_UNROLL
      for (int k = 0; k < n; ++k)
        sums[k] += weight * values[k];
    }

    PATCHFEM_INLINE void write(const LawReduction &to, const std::int64_t lane) const
    {
      for (int k = 0; k < n; ++k)
        to.sums[std::int64_t(k) * to.n_lanes + lane] = sums[k];
    }
  };

  /** The extreme values of a lane, +-infinity and the place -1 if it has no cells. */
  template <int n>
  struct LawExtremes
  {
    static constexpr bool weighted = false;

    double       least[n], most[n];
    std::int64_t least_at[n], most_at[n];

    PATCHFEM_INLINE LawExtremes()
    {
      for (int k = 0; k < n; ++k)
      {
        least[k]    = HUGE_VAL;
        most[k]     = -HUGE_VAL;
        least_at[k] = most_at[k] = -1;
      }
    }

    PATCHFEM_INLINE void add(const double *values, double, const std::int64_t place)
    {
      PATCHFEM_UNROLL
      for (int k = 0; k < n; ++k)
      {
        if (values[k] < least[k])
        {
          least[k]    = values[k];
          least_at[k] = place;
        }
        if (values[k] > most[k])
        {
          most[k]    = values[k];
          most_at[k] = place;
        }
      }
    }

    PATCHFEM_INLINE void write(const LawReduction &to, const std::int64_t lane) const
    {
      for (int k = 0; k < n; ++k)
      {
        const std::int64_t i = std::int64_t(k) * to.n_lanes + lane;
        to.least[i]          = least[k];
        to.most[i]           = most[k];
        to.least_at[i]       = least_at[k];
        to.most_at[i]        = most_at[k];
      }
    }
  };

  /** Goes through the cells of lane i; @p Totals are LawSums or LawExtremes. */
  template <typename Law, typename Totals>
  struct LawReductionBody
  {
    LawReduction a;

    PATCHFEM_INLINE void operator()(const std::int64_t lane) const
    {
      const std::int64_t first = lane / 32 * 32 * a.cells_per_lane + lane % 32;
      Totals             totals;
      for (int i = 0; i < a.cells_per_lane; ++i)
      {
        const std::int64_t cell = first + 32 * std::int64_t(i);
        if (cell >= a.batches.n_cells)
          break;
        const int        b     = a.batches.batch_of(static_cast<int>(cell));
        const BatchView &batch = a.batches.batch[b];
        const int        local = static_cast<int>(cell) - batch.first_cell;
        const int        here  = batch.material != nullptr ? batch.material[local] : 0;
        if (batch.source[local] >= a.n_own[b] || (a.material >= 0 && a.material != here))
          continue;
        for (int q = 0; q < batch.reference.n_quadrature; ++q)
        {
          double values[Law::n_values], weight = 0.;
          Law::evaluate(point_of_law<Law>(a.batches.points, a.u, batch, a.rules[b], local, q),
                        a.parameters.kind != CoefficientView<double>::none ? a.parameters.at(a.batches, b, local, q)
                                                                           : nullptr,
                        values);
          if constexpr (Totals::weighted)
            weight = point_geometry<Law::dimension, double>(a.batches.points, batch, local, q).weight;
          totals.add(values, weight, cell * LawReduction::max_points + q);
        }
      }
      totals.write(a, lane);
    }
  };

  template <typename Law, typename Number, typename Where>
  void evaluate_law(const Where &where, const LawArguments<Number> &arguments)
  {
    for (int b = 0; b < arguments.batches.n_batches; ++b)
    {
      const BatchView &batch = arguments.batches.batch[b];
      parallel_for(where, std::int64_t(batch.n_cells) * batch.reference.n_quadrature,
                   LawBody<Law, Number>{arguments, b});
    }
  }

  template <typename Where, typename Law>
  void needs_patchfem_add_law::LawKernels<Where, Law, LawKind::numbers>::evaluate(const Where                &where,
                                                                                  const LawArguments<double> &arguments)
  {
    evaluate_law<Law>(where, arguments);
  }

  template <typename Where, typename Law>
  void needs_patchfem_add_law::LawKernels<Where, Law, LawKind::numbers>::evaluate(const Where               &where,
                                                                                  const LawArguments<float> &arguments)
  {
    evaluate_law<Law>(where, arguments);
  }

  template <typename Where, typename Law>
  void needs_patchfem_add_law::LawKernels<Where, Law, LawKind::numbers>::reduce(const Where        &where,
                                                                                const LawReduction &arguments)
  {
    if (arguments.sums != nullptr)
      parallel_for(where, arguments.n_lanes, LawReductionBody<Law, LawSums<Law::n_values>>{arguments});
    else
      parallel_for(where, arguments.n_lanes, LawReductionBody<Law, LawExtremes<Law::n_values>>{arguments});
  }
} // namespace PatchFEM::kernels

/** Compiles the kernels of a law for @p Where, Host or Cuda. */
#define PATCHFEM_INSTANTIATE_LAW_ON(Where, Law) template struct PatchFEM::kernels::LawKernels<PatchFEM::Where, Law>
