// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/kernels/batch_views.h>
#include <patchfem/kernels/small_tensor.h>

/**
 * @file
 * A law is one struct that makes numbers of a field u at one quadrature point: a coefficient that depends on the
 * solution, a flux and its tangent, the next state of a material. It sees numbers and our small tensors, never deal.II,
 * and is compiled for host and device by patchfem_add_law(TARGET HEADER STRUCT...):
 * @code
 *   struct MyLaw // k(u) = p (1 + u^2), and the flux k(u) grad u
 *   {
 *     static constexpr int dimension    = 3;
 *     static constexpr int n_components = 1; // of u
 *     static constexpr int n_parameters = 1; // read
 *     static constexpr int n_values     = 4; // written, all of them
 *
 *     template <typename Number>
 *     static PATCHFEM_INLINE void evaluate(const FieldPoint<3, 1, Number> &u, const Number *parameters, Number *values)
 *     {
 *       values[0] = parameters[0] * (1 + u.value[0] * u.value[0]);
 *       for (int d = 0; d < 3; ++d)
 *         values[1 + d] = values[0] * u.gradient[0][d];
 *     }
 *   };
 * @endcode
 * See QuadratureField for what becomes of the values.
 */
namespace PatchFEM
{
  /** A field with @p n_comp components at a quadrature point. */
  template <int dim, int n_comp, typename Number>
  struct FieldPoint
  {
    SmallVector<n_comp, Number> value;
    SmallVector<dim, Number>    gradient[n_comp]; ///< of each component, in real coordinates
    SmallVector<dim, Number>    position;
  };

  /** What a law reads and writes. */
  template <typename Number>
  struct LawArguments
  {
    BatchesView             batches;
    const Number           *u; ///< [node][component]
    CoefficientView<Number> parameters;
    Number                 *values[BatchesView::max_batches]; ///< per batch, [cell of the tables][q], stride apart
    int                     stride;
  };

  namespace kernels
  {
    // An undefined symbol names what has to be called in CMakeLists.txt.
    inline namespace needs_patchfem_add_law
    {
      /** @p Law at every quadrature point of every cell. A point's parameters may lie among the values it writes. */
      template <typename Law, typename Number, typename Where>
      void evaluate_law(const Where &where, const LawArguments<Number> &arguments);
    } // namespace needs_patchfem_add_law
  }   // namespace kernels
} // namespace PatchFEM
