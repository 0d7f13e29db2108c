// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/solver/conjugate_gradients.h>
#include <patchfem/lac/solver/renewal.h>

namespace PatchFEM
{
  /** The solution of a linear system within Newton's method. */
  struct LinearSolution
  {
    unsigned int    n_iterations   = 0;
    bool            truncated      = false; ///< at a direction of negative curvature
    Renewal::Action preconditioner = Renewal::Action::keep;
  };

  /**
   * Solves A x = b from x = 0, where A may be indefinite (Steihaug 1983): at a direction p with p.Ap <= 0 the iteration ends
   * with the x that the directions before have given, or with M^-1 b where p is the first. Along both the energy
   * x.Ax / 2 - b.x falls. Throws StepFailure where there is no solution for another reason.
   */
  LinearSolution solve_truncated(ConjugateGradients<double>     &iteration,
                                 const Operator<double>         &A,
                                 Vector<double>                 &x,
                                 const Vector<double>           &b,
                                 const PreconditionBase<double> &M,
                                 const IterationControl         &control);
} // namespace PatchFEM
