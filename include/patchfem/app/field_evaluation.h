// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/boundary_conditions.h>
#include <patchfem/app/physics.h>

#include <functional>

namespace PatchFEM
{
  /**
   * A coefficient or load as the assembler takes it. Where @p piecewise_constant holds there is one value per
   * material, else one per quadrature point, computed on all threads.
   *
   * Of a @p piecewise_constant one all ranks have the values of all materials; ranks call it together.
   *
   * @param evaluate Writes @p n_values numbers for a point and a material id; must be safe to call at the same time.
   */
  template <int dim>
  CoefficientField
  make_field(const ElementTables &tables,
             int                  n_values,
             bool                 piecewise_constant,
             const std::function<void(const dealii::Point<dim> &, dealii::types::material_id, double *)> &evaluate);

  /** All components of @p function; nothing if it is zero. */
  template <int dim>
  CoefficientField make_field(const ElementTables &tables, const MaterialFunction<dim> &function);

  /** Loads and Robin coefficients at the quadrature points of the faces in @p tables. */
  template <int dim>
  FaceTerms make_face_terms(const ElementTables &tables, const NaturalConditions<dim> &conditions);
} // namespace PatchFEM
