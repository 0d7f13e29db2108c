// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/element_tables.h>

#include <deal.II/base/types.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/fe/mapping.h>
#include <deal.II/hp/q_collection.h>
#include <deal.II/lac/affine_constraints.h>

#include <set>

/**
 * @file
 * From deal.II's objects to plain tables: the only place that reads a DoFHandler's cells.
 *
 * Supported are, in 2D and 3D,
 * - quadrilaterals and hexahedra: FE_Q(1..4), an FESystem of one of them with up to 6 components, hp::FECollection of
 *   these, MappingQ of degree 1 to 3 and what is made of it (MappingQ1, MappingQEulerian, MappingQ1Eulerian,
 *   MappingQCache), and every closed AffineConstraints;
 * - triangles and tetrahedra: FE_SimplexP(1..2) and an FESystem of one of them, MappingFE(FE_SimplexP(1)), conforming
 *   meshes, one element, constraints that prescribe values;
 * - FE_Nothing, or an FESystem of it, beside these: its cells are left out, with their boundary faces. Faces between them
 *   and others are no boundary, as in deal.II.
 * Everything else is refused by an Error.
 *
 * Several processes share a parallel::distributed, shared or fullydistributed Triangulation. What constrains an unknown
 * is then what its owner's AffineConstraints say, which has to know the lines of the unknowns that its process owns, as
 * the locally relevant ones, and no others.
 */
namespace PatchFEM
{
  /** What extract_element_tables() may be told beside the discretisation itself. */
  template <int dim>
  struct ExtractionData
  {
    /// The rule on cells: one for all, or one for each element of the DoFHandler's collection. Empty: Gauss rules with
    /// degree + 1 points per direction (QGauss, on simplices QGaussSimplex).
    dealii::hp::QCollection<dim> quadrature;

    /** The same for faces. */
    dealii::hp::QCollection<dim - 1> face_quadrature;

    /** The boundary faces to be listed in ElementTables::faces. An id that no face has is an Error. */
    std::set<dealii::types::boundary_id> boundary_ids;

    /** List all faces at the boundary, whatever their id. */
    bool all_boundary_faces = false;
  };

  /**
   * Reads the active cells of @p dof_handler, in one pass over them on all threads, and @p constraints, which must be
   * closed. Nodes are the support points of the scalar element, numbered by the index of their first unknown; the
   * unknowns of a node are those that component_to_system_index() assigns to one support point, so any renumbering is
   * allowed. Geometry nodes are the vertices of the mesh, shared between cells, for mappings of degree 1 that leave
   * them where they are, and (degree+1)^dim points per cell, as the mapping gives them, for all others. Throws Error
   * for what is not supported, see the top of this file.
   *
   * Collective if several processes share the triangulation: each gets its part, see RankTables, and all get the same
   * Error if one has a reason.
   */
  template <int dim>
  ElementTables extract_element_tables(const dealii::Mapping<dim>              &mapping,
                                       const dealii::DoFHandler<dim>           &dof_handler,
                                       const dealii::AffineConstraints<double> &constraints,
                                       const ExtractionData<dim>               &data = ExtractionData<dim>());

  namespace internal
  {
    /** That share @p triangulation. */
    template <int dim>
    unsigned int n_processes(const dealii::Triangulation<dim> &triangulation);
  } // namespace internal

  /**
   * Throws Error, naming the cycle, if @p constraints, not yet closed, contain x_i = ... x_j ..., x_j = ... x_i ...,
   * directly or through others. AffineConstraints::close() does not return on such input: call this before it.
   */
  void check_for_cycles(const dealii::AffineConstraints<double> &constraints);
} // namespace PatchFEM
