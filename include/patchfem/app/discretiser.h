// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/cell_degrees.h>
#include <patchfem/app/linear_system_path.h>
#include <patchfem/app/mesh.h>

#include <optional>
#include <string>

namespace PatchFEM
{
  struct CycleReport;

  /**
   * All of a problem that the parameters fix before there is a system: the mesh and its refinement from cycle to cycle,
   * elements, unknowns and constraints, motions without energy, and errors against an exact solution. A driver solves on
   * that, once or in many steps. Ranks call all but the last five members together.
   */
  template <int dim>
  class Discretiser
  {
  public:
    /** All arguments are to live as long as this. */
    Discretiser(const ProblemParameters &parameters,
                Equation<dim>           &equation,
                Progress                &progress,
                MPI_Comm                 communicator);

    Discretiser(const Discretiser &)            = delete; // discretisation() points into it
    Discretiser &operator=(const Discretiser &) = delete;

    /**
     * The first mesh, whose names are then resolved in all entries, or the next one, by cells that were marked or all
     * cells. Throws Error for entries that do not fit the mesh.
     */
    void make_mesh(unsigned int cycle);

    /** Marks cells for the next mesh by an estimate of the error of @p solution, which is overwritten. */
    void mark_cells(SolutionVector &solution);

    /** Prints boundaries and materials with what the entries say of them, and gives them to @p report. */
    void describe_mesh(RunReport &report);

    /** Unknowns and constraints of the mesh. */
    void setup_dofs(bool first_cycle);

    /** Boundary values at the present time of formulas that mention it, which all else does not depend on. */
    void update_boundary_values() { make_constraints(); }

    /**
     * Motions that no condition holds; throws Error unless they are to be projected away. Refinement adds unknowns to
     * the parts of the boundary, never conditions: without a projection the first mesh decides.
     */
    void find_free_motions(bool first_cycle);

    /** Fills sizes and cautions of @p report. */
    void describe(CycleReport &report, unsigned int cycle) const;

    /** Nothing without an exact solution. */
    std::optional<Errors> compute_errors(const SolutionVector &solution) const;

    const Discretisation<dim>               &discretisation() const { return result; }
    const dealii::Triangulation<dim>        &mesh() const { return *triangulation; }
    const MeshSummary                       &facts() const { return summary; }
    const EssentialConditions<dim>          &essential_conditions() const { return essential; }
    const dealii::AffineConstraints<double> &continuity_constraints() const { return continuity; }

  private:
    const ProblemParameters               &parameters;
    Equation<dim>                         &equation;
    Progress                              &progress;
    const MPI_Comm                         communicator;
    const bool                             first_rank;
    CellDegrees<dim>                       cell_degrees;
    EssentialConditions<dim>               essential;
    std::optional<ExpressionFunction<dim>> exact_solution;

    std::unique_ptr<dealii::Triangulation<dim>> triangulation;
    MeshSummary                                 summary;
    dealii::hp::FECollection<dim>               elements; ///< one for each legal degree, ascending
    std::unique_ptr<dealii::Mapping<dim>>       mapping;
    dealii::DoFHandler<dim>                     dof_handler;
    dealii::AffineConstraints<double>           constraints, continuity; ///< the latter are those that hold nothing
    std::uint64_t                               n_open_edges = 0;
    Discretisation<dim>                         result;
    std::string                                 caution_of_motions; ///< see refuse_singular()

    /** Whether a refined mesh is another one to deal.II: simplices, and parts, which it does not refine. */
    bool is_made_anew() const;

    /** Whether cells are smaller than those of the file or of the generator's curved domain. */
    bool is_refined(unsigned int cycle) const;

    /** Prints the mesh in words, and what of a file was passed over. */
    void say_mesh() const;

    void check_support() const;
    void make_elements();
    void make_constraints();
  };
} // namespace PatchFEM
