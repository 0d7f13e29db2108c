// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/element_tables.h>
#include <patchfem/assembly/face_quadrature.h>

#include <deal.II/base/function.h>

#include <vector>

/**
 * @file
 * Values of deal.II's functions at quadrature points, computed on all threads. As in deal.II's own threaded loops, the
 * value functions must be safe to call at the same time, as those of FunctionParser are.
 * A value that is not finite is an Error that names the point.
 */
namespace PatchFEM
{
  /** @p function at the quadrature points of all cells: for each batch, [cell][q][component of the function]. */
  template <int dim>
  std::vector<std::vector<double>> evaluate_at_quadrature_points(const dealii::Function<dim> &function,
                                                                 const ElementTables         &tables);

  /** @p function at the points of @p faces, [point][component of the function]. */
  template <int dim>
  std::vector<double> evaluate_at_face_quadrature_points(const dealii::Function<dim> &function,
                                                         const FaceQuadrature        &faces);
} // namespace PatchFEM
