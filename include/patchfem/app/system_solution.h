// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_app_system_solution_h
#define patchfem_app_system_solution_h

#include <patchfem/app/linear_system_path.h>
#include <patchfem/lac/backward_error.h>
#include <patchfem/lac/conjugate_gradients.h>
#include <patchfem/lac/null_space.h>

#include <limits>
#include <string>

/** @file What applications do before and after conjugate gradients. */
namespace PatchFEM
{
  /** What @p solver says about the iteration itself. */
  template <typename Number>
  typename ConjugateGradients<Number>::AdditionalData iteration_data(const SolverParameters &solver)
  {
    typename ConjugateGradients<Number>::AdditionalData data;
    data.residual_interval = solver.residual_interval;
    data.update            = solver.update_on_a_stream ? SolutionUpdate::streams : SolutionUpdate::fused;
    return data;
  }

  /** b = P b; one that is rounding beside what was removed becomes 0. Returns |b - P b| / |b|. */
  template <typename Number>
  double project_load(const NullSpace<Number> &null_space, Vector<Number> &b)
  {
    Vector<Number> removed(b.backend());
    removed.copy_from(b);
    null_space.project(b);
    const double before = removed.l2_norm();
    removed.add(Number(-1), b);
    if (b.l2_norm() <= 100. * std::numeric_limits<Number>::epsilon() * before)
      b = Number(0);
    return before > 0. ? removed.l2_norm() / before : 0.;
  }

  /** What a user may do about a solve that failed, in @p single precision. */
  inline std::string remedy(const IterationResult &result, const bool single)
  {
    using Status = IterationResult::Status;
    if (single)
      return " This may be out of reach of single precision: choose Precision = double, or raise Solver/Tolerance.";
    if (result.status == Status::max_iterations)
      return " Raise Solver/Maximum iterations or choose another preconditioner.";
    return result.status == Status::stagnated ? " Choose another preconditioner, or raise Solver/Tolerance." : "";
  }

  /** Fills what @p report says of the solution @p x of A x = b: iterations, the true residual, and rounding if it is that. */
  template <typename Number>
  void report_solution(const IterationResult    &result,
                       const MatrixBase<Number> &A,
                       const Vector<Number>     &x,
                       const Vector<Number>     &b,
                       PathReport               &report)
  {
    Vector<Number> residual(b.backend(), b.size());
    A.residual(residual, x, b);
    const double norm        = b.l2_norm();
    report.relative_residual = norm > 0. ? residual.l2_norm() / norm : residual.l2_norm();
    report.n_iterations      = result.n_iterations;
    report.solution_update   = to_string(result.update);
    if (result.status == IterationResult::Status::rounding)
    {
      report.stopped_at_rounding = true;
      const double norm_of_A_x   = result.rounding_limit / (4. * std::numeric_limits<double>::epsilon());
      report.backward_error =
          BackwardError{result.residual / (norm_of_A_x + norm), componentwise_backward_error(A, x, b)};
    }
  }
} // namespace PatchFEM

#endif
