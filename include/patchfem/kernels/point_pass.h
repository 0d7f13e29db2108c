// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/kernels/laws.h>
#include <patchfem/kernels/material_law.h>

/**
 * @file
 * The point pass: a material law (see material_law.h) at the quadrature points of the cells of its materials. A thread a
 * point gathers u and grad u, calls the law once and stores the flux and, if asked, its consistent tangent. It reads
 * the state of the point as it was committed; only commit() writes it.
 */
namespace PatchFEM
{
  /** One law on one batch of cells. */
  struct PointPass
  {
    BatchesView             batches;
    int                     b;          ///< the batch
    const double           *u;          ///< [node][component]
    const double           *old_u;      ///< at the begin of the step; for laws that read it
    const double           *history;    ///< [node][component], u' = shift u + history; null: 0
    CoefficientView<double> parameters; ///< n_parameters values, or none
    CoefficientView<double> fields;     ///< at quadrature points, or none
    double                  time, step, load_factor, shift;

    const int *law_of_material; ///< null: all cells are of this law
    int        law;

    double      *state;       ///< [point / 32][word][point % 32], of all batches
    int          n_words;     ///< a point's words, those of the law that has most
    std::int64_t first_point; ///< of the batch; a point is cell of the tables * n_quadrature + q

    // [cell of the tables][q] of the batch
    double *flux;    ///< [component][dim]
    double *source;  ///< [component]; null: no law has one
    double *tangent; ///< [n_tangent], as TangentForm has its coefficients
    int     n_tangent;
    bool    packed; ///< the upper triangle of the tangent

    std::int64_t *failure; ///< the least of point * 8 + Refusal; failure_none before

    static constexpr std::int64_t failure_none = INT64_MAX;
  };

  /** The coefficients of TangentForm that the tangent of @p Law becomes: scalar fields have their values in it. */
  template <typename Law>
  struct TangentLayout
  {
    using Traits = LawTraits<Law>;

    static constexpr bool with_value = Traits::with_values || Traits::n_components == 1;
    static constexpr int  m          = Traits::n_components * (Traits::dimension + with_value);
  };

  namespace kernels
  {
    // An undefined symbol names what has to be called in CMakeLists.txt.
    inline namespace needs_patchfem_add_law
    {
      template <typename Where, typename Law>
      struct LawKernels<Where, Law, LawKind::material>
      {
        /** Flux and source. */
        static void residual(const Where &where, const PointPass &pass);

        /** Flux, source and tangent. */
        static void tangent(const Where &where, const PointPass &pass);

        /** The state that the law makes of the committed one takes its place. */
        static void commit(const Where &where, const PointPass &pass);

        /** The state of material that has seen nothing. */
        static void initialise(const Where &where, const PointPass &pass);
      };
    } // namespace needs_patchfem_add_law
  }   // namespace kernels
} // namespace PatchFEM
