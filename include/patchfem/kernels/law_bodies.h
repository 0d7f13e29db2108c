// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/geometry.h>
#include <patchfem/kernels/laws.h>
#include <patchfem/kernels/parallel_for.h>

/** @file Definitions of laws.h. Included where a law is instantiated; see PATCHFEM_INSTANTIATE_LAW_ON. */
namespace PatchFEM::kernels
{
  /** Item i is quadrature point i % n_quadrature of cell i / n_quadrature of batch @p b. */
  template <typename Law, typename Number>
  struct LawBody
  {
    static constexpr int dim = Law::dimension, n_comp = Law::n_components;

    LawArguments<Number> a;
    int                  b;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      const BatchView &batch = a.batches.batch[b];
      const int        n_q   = batch.reference.n_quadrature;
      const int        local = static_cast<int>(i / n_q), q = static_cast<int>(i % n_q);
      const auto       u = interpolate(batch, local, q);
      // Parameters may lie where the values go.
      Number values[Law::n_values];
      Law::evaluate(
          u, a.parameters.kind != CoefficientView<Number>::none ? a.parameters.at(a.batches, b, local, q) : nullptr,
          values);
      Number *to = a.values[b] + (std::int64_t(batch.source[local]) * n_q + q) * a.stride;
      PATCHFEM_UNROLL
      for (int k = 0; k < Law::n_values; ++k)
        to[k] = values[k];
    }

    /** u = sum_i u_i phi_i, grad u = J^-T sum_i u_i grad_hat phi_i, x = sum_g X_g psi_g. */
    PATCHFEM_INLINE FieldPoint<dim, n_comp, Number>
                    interpolate(const BatchView &batch, const int local, const int q) const
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
        const Number x = a.u[std::int64_t(nodes[s]) * n_comp + c];
        u.value[c] += x * static_cast<Number>(shape[s]);
        PATCHFEM_UNROLL
        for (int d = 0; d < dim; ++d)
          reference(c, d) += x * static_cast<Number>(gradients[s * dim + d]);
      }
      const auto at = point_geometry<dim, Number>(a.batches.points, batch, local, q);
      for (int c = 0; c < n_comp; ++c)
        u.gradient[c] = real_gradient<dim, Number>(at.inverse, reference.entries[c]);

      const int *geometry = batch.geometry + std::int64_t(local) * r.n_geometry;
      PATCHFEM_UNROLL
      for (int d = 0; d < dim; ++d)
        u.position[d] = static_cast<Number>(
            coordinate(a.batches.points, dim, d, geometry, r.n_geometry, r.geometry_values + q * r.n_geometry));
      return u;
    }
  };

  template <typename Law, typename Number, typename Where>
  void needs_patchfem_add_law::evaluate_law(const Where &where, const LawArguments<Number> &arguments)
  {
    for (int b = 0; b < arguments.batches.n_batches; ++b)
    {
      const BatchView &batch = arguments.batches.batch[b];
      parallel_for(where, std::int64_t(batch.n_cells) * batch.reference.n_quadrature,
                   LawBody<Law, Number>{arguments, b});
    }
  }
} // namespace PatchFEM::kernels

/** Compiles the kernels of a law for @p Where, Host or Cuda. */
#define PATCHFEM_INSTANTIATE_LAW_ON(Where, Law)                                                       \
  template void PatchFEM::kernels::evaluate_law<Law, double>(const PatchFEM::Where &,                 \
                                                             const PatchFEM::LawArguments<double> &); \
  template void PatchFEM::kernels::evaluate_law<Law, float>(const PatchFEM::Where &,                  \
                                                            const PatchFEM::LawArguments<float> &)
