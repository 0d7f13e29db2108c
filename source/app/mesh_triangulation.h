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

  /** By refine_global() of a serial triangulation, for cells that are ordered as deal.II wants them. */
  template <int dim>
  void refine_by_dealii(MeshPart &part, unsigned int n_refinements);

  /** The cells of all ranks' parts as coarse cells, whose numbers are deal.II's coarse cell ids. */
  template <int dim>
  void create(dealii::parallel::fullydistributed::Triangulation<dim> &triangulation, MeshPart part);
} // namespace PatchFEM::internal
