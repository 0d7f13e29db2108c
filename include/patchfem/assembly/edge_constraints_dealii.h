// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <deal.II/dofs/dof_handler.h>
#include <deal.II/lac/affine_constraints.h>

#include <cstdint>

/**
 * @file
 * hp spaces of hexahedra. DoFTools::make_hanging_node_constraints() (deal.II 9.4) relates cells that share a face. Where
 * cells of three degrees meet at an edge, those of the lowest and of a middle one may share none: unknowns of the middle
 * one stay free there, and functions jump. In 2D, on one degree and on simplices neither function finds anything to do.
 */
namespace PatchFEM
{
  /**
   * Adds what is missing at edges of cells of equal size: unknowns of higher degrees take the values of the function of
   * the lowest degree there. To be called before DoFTools::make_hanging_node_constraints(), whose lines do not replace
   * others. Meshes without hanging nodes then have continuous functions; for others see count_open_edges().
   */
  template <int dim>
  void make_edge_constraints(const dealii::DoFHandler<dim>     &dof_handler,
                             dealii::AffineConstraints<double> &constraints);

  /**
   * Edges of cells at which functions that satisfy the homogeneous @p constraints, which are closed, may differ between
   * cells of different degrees. Edges inside of a face of a larger cell count, too. Collective; the same on all ranks.
   */
  template <int dim>
  std::uint64_t count_open_edges(const dealii::DoFHandler<dim>           &dof_handler,
                                 const dealii::AffineConstraints<double> &constraints);
} // namespace PatchFEM
