// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/lac/solver/linear_solution.h>

namespace PatchFEM
{
  LinearSolution solve_truncated(ConjugateGradients<double>     &iteration,
                                 const Operator<double>         &A,
                                 Vector<double>                 &x,
                                 const Vector<double>           &b,
                                 const PreconditionBase<double> &M,
                                 const IterationControl         &control)
  {
    x                            = 0.;
    const IterationResult result = iteration.solve(A, x, b, M, control);
    LinearSolution        solution;
    solution.n_iterations = result.n_iterations;
    if (result.success())
      return solution;
    if (result.cause == CGStatus::matrix_not_positive && result.status == IterationResult::Status::breakdown)
    {
      solution.truncated = true;
      if (x.all_zero())
        M.vmult(x, b);
      return solution;
    }
    if (result.cause == CGStatus::iterating)
      throw StepFailure(result.message(M.name()));
    throw NotPositiveDefinite(result.message(M.name()));
  }
} // namespace PatchFEM
