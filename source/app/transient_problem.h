// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/law_application.h>

namespace PatchFEM
{
  /** All that a parameter file says of it apart from the physics. */
  struct TransientProblemParameters
  {
    const ProblemParameters &problem;
    const StepParameters    &steps;
    const NewtonParameters  &newton;
  };

  /**
   * Solves a nonlinear problem on one mesh in steps of load or time: Newton's method for each, tried shorter where it
   * fails, then results and a picture. Throws Error where a step fails however short it is; @p report has those before.
   */
  template <int dim>
  void run_transient_problem(const TransientProblemParameters &parameters,
                             LawPhysics<dim>                  &physics,
                             RunReport                        &report,
                             MPI_Comm                          communicator);
} // namespace PatchFEM
