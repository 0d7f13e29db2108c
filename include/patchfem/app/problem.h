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
   *
   * @param report Gets a cycle at a time.
   */
  template <int dim>
  void
  run_problem(const ProblemParameters &parameters, Physics<dim> &physics, RunReport &report, MPI_Comm communicator);
} // namespace PatchFEM
