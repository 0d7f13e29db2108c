// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/cell_degrees.h>
#include <patchfem/app/mesh.h>
#include <patchfem/app/output.h>
#include <patchfem/app/report.h>

namespace PatchFEM
{
  /** All parameters of a run, apart from those of the physics. */
  struct ProblemParameters
  {
    GeneralParameters            general;
    MeshParameters               mesh;
    FiniteElementParameters      finite_element;
    RefinementParameters         refinement;
    SolverParameters             solver;
    AssemblyParameters           assembly;
    OutputParameters             output;
    EssentialConditionParameters essential;
    std::string                  exact_solution; ///< formulas of all components; empty if unknown

    void declare_parameters(dealii::ParameterHandler &prm, bool vector_valued);
    void parse_parameters(dealii::ParameterHandler &prm, bool vector_valued);
  };

  /**
   * The cycle of an application: mesh, unknowns and constraints, linear system, errors, pictures, refinement.
   * What is solved is a Physics; how, one or two LinearSystemPath.
   */
  template <int dim>
  class Problem
  {
  public:
    /** @param report Gets a cycle at a time; is to live as long as this. */
    Problem(const ProblemParameters      &parameters,
            std::unique_ptr<Physics<dim>> physics,
            RunReport                    &report,
            MPI_Comm                      communicator);

    void run();

  private:
    LinearSystemPath<dim> make_path(const std::string &backend, const std::string &preconditioner);
    void                  make_mesh(unsigned int cycle);
    void                  check_support() const;
    void                  make_elements();
    void                  setup_dofs(bool first_cycle);
    void                  solve(CycleReport &report);
    void                  compute_errors(const SolutionVector &vector, std::optional<Errors> &errors) const;
    void                  write_output(unsigned int cycle, const PathReport &path_report);
    void                  refine_adaptively();

    const ProblemParameters                parameters;
    std::unique_ptr<Physics<dim>>          physics;
    const MPI_Comm                         communicator;
    const bool                             first_rank;
    Progress                               progress;
    const CellDegrees<dim>                 cell_degrees;
    EssentialConditions<dim>               essential;
    std::optional<ExpressionFunction<dim>> exact_solution;

    std::unique_ptr<dealii::Triangulation<dim>> triangulation;
    MeshSummary                                 summary;
    dealii::hp::FECollection<dim>               elements; ///< one for each legal degree, ascending
    std::unique_ptr<dealii::Mapping<dim>>       mapping;
    dealii::DoFHandler<dim>                     dof_handler;
    dealii::AffineConstraints<double>           constraints;
    Discretisation<dim>                         discretisation;
    SolutionVector                              solution;

    LinearSystemPath<dim> path, baseline; ///< the latter may be empty
    RunReport            &report;
    PictureSeries         pictures;
  };
} // namespace PatchFEM
