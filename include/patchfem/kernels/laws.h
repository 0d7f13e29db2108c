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
 * See QuadratureField, integrate_fields() and field_extremes() for what becomes of the values. A law that says
 * `static constexpr bool needs_mean_gradient = true` is given the mean of the gradient on the cell as well.
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
    SmallVector<dim, Number>    mean_gradient[n_comp]; ///< over the cell, only for laws that need it
  };

  /** Whether a law says so. */
  template <typename Law, typename = void>
  constexpr bool needs_mean_gradient = false;
  template <typename Law>
  constexpr bool needs_mean_gradient<Law, decltype(void(Law::needs_mean_gradient))> = Law::needs_mean_gradient;

  /** Kinds of laws by their function: evaluate(), flux() of material_law.h, traction() of face_law.h. */
  enum class LawKind
  {
    numbers,
    material,
    face
  };
  template <typename Law, typename = void, typename = void>
  constexpr LawKind law_kind = LawKind::numbers;
  template <typename Law, typename Void>
  constexpr LawKind law_kind<Law, decltype(void(&Law::template flux<double>)), Void> = LawKind::material;
  template <typename Law, typename Void>
  constexpr LawKind law_kind<Law, Void, decltype(void(&Law::template traction<double>))> = LawKind::face;

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

  /**
   * Sums and extreme values of a law over cells. Lanes take them in turn, 32 neighbouring ones in 32 lanes, and each
   * lane goes through its own in their order, so that results do not depend on threads.
   */
  struct LawReduction
  {
    BatchesView             batches; ///< with the points of evaluation in place of those of quadrature
    ReferenceView           rules[BatchesView::max_batches]; ///< those of quadrature, for means
    const double           *u;                               ///< [node][component]
    CoefficientView<double> parameters;                      ///< at the points of evaluation
    int                     n_own[BatchesView::max_batches]; ///< of the cells of the tables, others do not count
    int                     material;                        ///< position among the materials, -1 for all
    int                     n_lanes, cells_per_lane;

    double       *sums;               ///< [value][lane], weighted as integrals; or null
    double       *least, *most;       ///< [value][lane]; null where there are sums
    std::int64_t *least_at, *most_at; ///< [value][lane], cell * max_points + point

    static constexpr int max_points = 1024; ///< in a cell, where extremes are asked for
  };

  namespace kernels
  {
    // An undefined symbol names what has to be called in CMakeLists.txt.
    inline namespace needs_patchfem_add_law
    {
      /** Those of a law of numbers are here, those of a material law in point_pass.h, those of a face law in face_pass.h. */
      template <typename Where, typename Law, LawKind kind = law_kind<Law>>
      struct LawKernels;

      template <typename Where, typename Law>
      struct LawKernels<Where, Law, LawKind::numbers>
      {
        /** @p Law at every quadrature point of every cell. */
        static void evaluate(const Where &where, const LawArguments<double> &arguments);
        static void evaluate(const Where &where, const LawArguments<float> &arguments);

        /** Sums or extremes of @p Law in each lane. */
        static void reduce(const Where &where, const LawReduction &arguments);
      };
    } // namespace needs_patchfem_add_law
  }   // namespace kernels
} // namespace PatchFEM
