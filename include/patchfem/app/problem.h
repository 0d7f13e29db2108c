// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/boundary_conditions.h>
#include <patchfem/app/mesh.h>
#include <patchfem/app/parameters.h>

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
} // namespace PatchFEM
