// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "app/mesh_parts.h"

#include <deal.II/distributed/fully_distributed_tria.h>

namespace PatchFEM::internal
{
  /** Lists of a triangulation without refined cells, or the active cells of one; every boundary face is in them. */
  template <int dim>
  MeshLists to_lists(const dealii::Triangulation<dim> &triangulation);

  template <int dim>
  void create(dealii::Triangulation<dim> &triangulation, const MeshLists &lists);

  /** The same of cells that are ordered as deal.II wants them already, and remain so, by all of @p ranks. */
  template <int dim>
  void create_in_order(dealii::Triangulation<dim> &triangulation, const MeshLists &lists, const Communicator &ranks);

  /** By refine_global() of a serial triangulation, for cells that are ordered as deal.II wants them. */
  template <int dim>
  void refine_by_dealii(MeshPart &part, unsigned int n_refinements);

  /**
   * What deal.II makes a part of a mesh of, which loses cells, material ids and owners. The cells are coarse ones,
   * whose numbers are deal.II's coarse cell ids.
   */
  template <int dim>
  dealii::TriangulationDescription::Description<dim, dim>
  describe(MeshPart &part, const dealii::parallel::fullydistributed::Triangulation<dim> &triangulation);

  /** Boundary faces get the ids of @p lists, those that are not there cut_face_id. */
  template <int dim>
  void set_boundary_ids(dealii::Triangulation<dim> &triangulation, const MeshLists &lists);
} // namespace PatchFEM::internal
