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
  void refine_by_dealii(MeshLists &lists, unsigned int n_refinements);

  /**
   * Parts of a mesh that are refined after they are made of coarse cells. To make them of refined cells deal.II sorts and
   * searches the ids of the cells of each level, which takes longer than to refine them.
   */
  template <int dim>
  class RefinableParts : public dealii::parallel::fullydistributed::Triangulation<dim>
  {
  public:
    using dealii::parallel::fullydistributed::Triangulation<dim>::Triangulation;

    /**
     * Refines own cells, and those that share a vertex with one, all @p n_refinements times, by each rank for itself.
     * update_number_cache() is to follow.
     */
    void refine(unsigned int n_refinements);

    /** Collective. */
    void update_number_cache() override;
  };

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
