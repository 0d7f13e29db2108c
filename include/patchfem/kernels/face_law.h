// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/material_law.h>

/**
 * @file
 * A face law gives the traction t of a load int t . phi_i over undeformed faces at one of their points: a force by
 * undeformed area, a heat flow into the body. As a material law (see material_law.h) it is written once for plain and
 * dual numbers:
 * @code
 *   struct Convection // parameters: heat transfer coefficient, temperature of the surroundings
 *   {
 *     static constexpr int  n_parameters = 2;
 *     static constexpr bool symmetric    = true;
 *
 *     template <typename T>
 *     static PATCHFEM_INLINE SmallVector<1, T>
 *     traction(const FaceInput<3, 1, T> &u, const FaceData &data, const NoState &, NoState &)
 *     {
 *       return {{data.parameters[0] * (data.parameters[1] - u.value[0])}};
 *     }
 *   };
 * @endcode
 */
namespace PatchFEM
{
  namespace Reads
  {
    constexpr int tangents = 8; ///< of the deformed face, by face laws
  }

  template <int dim, typename T, bool is_read>
  struct FaceTangents
  {};
  template <int dim, typename T>
  struct FaceTangents<dim, T, true>
  {
    SmallVector<dim, T> tangents[dim - 1]; ///< d(X + u)/ds_k
  };

  /** A field with @p n_comp components at a point of a face; it is a displacement where n_comp == dim. */
  template <int dim, int n_comp, typename T, int reads = 0>
  struct FaceInput : FaceTangents<dim, T, (reads & Reads::tangents) != 0>
  {
    SmallVector<n_comp, T> value;
    SmallVector<dim, T>    position; ///< X + u, or X where u is no displacement
  };

  /** Data of a point of a face beside the field. */
  struct FaceData : PointData
  {
    double normal[3]      = {}; ///< outward, of length 1, undeformed
    double tangents[2][3] = {}; ///< dX/ds_k of any coordinates s of the face
  };

  namespace law_traits
  {
    template <typename Function>
    struct OfTraction
    {
      static_assert(
          sizeof(Function) == 0,
          "traction() of a law takes (const FaceInput<dim, n_comp, T, reads> &, const FaceData &, const State &, "
          "State &) and gives a SmallVector<n_comp, T>.");
    };

    template <int dim, int n_comp, int read, typename S>
    struct OfTraction<SmallVector<n_comp, double> (*)(
        const FaceInput<dim, n_comp, double, read> &, const FaceData &, const S &, S &)>
    {
      using State = S;

      static constexpr int  dimension = dim, n_components = n_comp, reads = read;
      static constexpr bool moves = n_comp == dim, with_tangents = (reads & Reads::tangents) != 0;
      static_assert(moves || !with_tangents, "Tangents of the deformed face are of displacements.");
    };
  } // namespace law_traits

  /** Properties of a face law. */
  template <typename Law, typename Traction = law_traits::OfTraction<decltype(&Law::template traction<double>)>>
  struct FaceLawTraits : Traction, law_traits::OfConstants<Law, typename Traction::State>
  {
    /** Input c is component c of u; with tangents, input n_components (1 + k) + c is du_c/ds_k. */
    static constexpr int n_inputs  = Traction::n_components * (Traction::with_tangents ? Traction::dimension : 1);
    static constexpr int n_outputs = Traction::n_components;
    static constexpr int n_tangent = n_outputs * n_inputs; ///< by rows
  };

  template <typename Law>
  using FaceLawState = typename FaceLawTraits<Law>::State;

  /** The traction of the numbers @p in (see FaceLawTraits::n_inputs), plain or dual, to @p out. */
  template <typename Law, typename T>
  PATCHFEM_INLINE void evaluate_traction(const T (&in)[FaceLawTraits<Law>::n_inputs],
                                         const FaceData          &data,
                                         const FaceLawState<Law> &old,
                                         FaceLawState<Law>       &now,
                                         T (&out)[FaceLawTraits<Law>::n_outputs])
  {
    using Traits      = FaceLawTraits<Law>;
    constexpr int dim = Traits::dimension, n_comp = Traits::n_components;

    FaceInput<dim, n_comp, T, Traits::reads> u;
    PATCHFEM_UNROLL
    for (int c = 0; c < n_comp; ++c)
      u.value[c] = in[c];
    PATCHFEM_UNROLL
    for (int d = 0; d < dim; ++d)
    {
      if constexpr (Traits::moves)
        u.position[d] = data.position[d] + in[d];
      else
        u.position[d] = data.position[d];
      if constexpr (Traits::with_tangents)
      {
        PATCHFEM_UNROLL
        for (int k = 0; k < dim - 1; ++k)
          u.tangents[k][d] = data.tangents[k][d] + in[dim * (1 + k) + d];
      }
    }

    now               = old;
    const auto result = Law::traction(u, data, old, now);
    PATCHFEM_UNROLL
    for (int c = 0; c < n_comp; ++c)
      out[c] = result[c];
  }

  /** As evaluate_traction(), and the tangent: @p put(row, column, d out[row] / d in[column]). */
  template <typename Law, int n, typename Put>
  PATCHFEM_INLINE void for_traction_tangent(const double (&in)[FaceLawTraits<Law>::n_inputs],
                                            const FaceData          &data,
                                            const FaceLawState<Law> &old,
                                            FaceLawState<Law>       &now,
                                            double (&out)[FaceLawTraits<Law>::n_outputs],
                                            const Put &put)
  {
    using Inputs  = Dual<n>[FaceLawTraits<Law>::n_inputs];
    using Outputs = Dual<n>[FaceLawTraits<Law>::n_outputs];
    for_directions<n>(
        in, out, [&](const Inputs &seeded, Outputs &result) { evaluate_traction<Law>(seeded, data, old, now, result); },
        put);
  }
} // namespace PatchFEM
