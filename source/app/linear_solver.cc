// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/linear_solver.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/lac/solver/backward_error.h>

#include <cmath>
#include <limits>
#include <type_traits>

namespace PatchFEM
{
  namespace
  {
    /** What a user may do about a solve that failed, in @p single precision. */
    std::string remedy(const IterationResult &result, const bool single)
    {
      using Status = IterationResult::Status;
      if (single)
        return " This may be out of reach of single precision: choose Precision = double, or raise Solver/Tolerance.";
      if (result.status == Status::max_iterations)
        return " Raise Solver/Maximum iterations or choose another preconditioner.";
      return result.status == Status::stagnated ? " Choose another preconditioner, or raise Solver/Tolerance." : "";
    }

    /** Numbers between -1/2 and 1/2 without a pattern, the fractions of multiples of the golden ratio. */
    template <typename Number>
    std::vector<Number> known_solution(const std::size_t n)
    {
      std::vector<Number> result(n);
      for (std::size_t i = 0; i < n; ++i)
      {
        const double multiple = 0.6180339887498949 * static_cast<double>(i + 1);
        result[i]             = static_cast<Number>(multiple - std::floor(multiple) - 0.5);
      }
      return result;
    }

    template <typename Number>
    std::vector<double> widened(std::vector<Number> values)
    {
      if constexpr (std::is_same_v<Number, double>)
        return values;
      else
        return {values.begin(), values.end()};
    }

    CGParameters with_rows(const SolverParameters &parameters)
    {
      CGParameters result  = parameters.iteration;
      result.row_tolerance = parameters.tolerance;
      return result;
    }
  } // namespace

  template <typename Number>
  LinearSolver<Number>::LinearSolver(const Backend      &backend,
                                     const SolverChoice &choice,
                                     const bool          keep_aggregates,
                                     Progress           &progress,
                                     const MPI_Comm      communicator)
      : backend(backend), choice(choice), keep_aggregates(keep_aggregates), progress(progress),
        communicator(communicator), cg(with_rows(choice.parameters))
  {}

  template <typename Number>
  IterationResult LinearSolver<Number>::iterate(const MatrixBase<Number>       &A,
                                                Vector<Number>                 &x,
                                                const Vector<Number>           &b,
                                                const PreconditionBase<Number> &preconditioner,
                                                const std::string              &of)
  {
    const double     norm = b.l2_norm();
    IterationControl control;
    control.tolerance      = choice.parameters.tolerance * norm;
    control.max_iterations = choice.parameters.max_iterations;
    if (of.empty())
      control.monitor = [&](const unsigned int step, const double residual) {
        progress.iteration(step, residual / norm);
        return IterationControl::Action::iterate;
      };
    const IterationResult result = cg.solve(A, x, b, preconditioner, control);
    kernel.project(x);
    if (!result.success())
      throw Error(of + result.message(choice.parameters.preconditioner) +
                  remedy(result, std::is_same_v<Number, float>));
    return result;
  }

  template <typename Number>
  void describe(const MatrixBase<Number> &A, PathReport &report)
  {
    std::int64_t entries[2] = {A.n_nonzero_elements(), A.n_stored_elements()};
    if (A.partitioner() != nullptr)
      A.partitioner()->communicator().sum(entries, 2);
    report.nnz    = entries[0];
    report.stored = entries[1];
    report.format = A.format();
  }

  template <typename Number>
  void LinearSolver<Number>::solve(const MatrixBase<Number>                 &A,
                                   Vector<Number>                           &x,
                                   Vector<Number>                           &b,
                                   const std::function<NullSpace<Number>()> &make_null_space,
                                   const std::function<NearNullSpace()>     &make_near_null_space,
                                   PathReport                               &report)
  {
    report.backend        = backend.name();
    report.device         = backend.device_name();
    report.precision      = choice.precision;
    report.preconditioner = choice.parameters.preconditioner;
    describe(A, report);

    kernel = NullSpace<Number>(); // before there are two
    std::unique_ptr<PreconditionBase<Number>> preconditioner, projected;
    report.seconds.preconditioner = timed(
        backend, progress, "preconditioner",
        [&] {
          kernel = make_null_space();
          if (kernel.n_vectors() > 0)
            report.null_space = balance_by(b, kernel.n_vectors(), [&](Vector<Number> &v) { return kernel.balance(v); });
          preconditioner =
              preconditioner_row(choice.parameters.preconditioner)
                  .make(PreconditionerInput<Number>{choice, A, kernel, make_near_null_space, keep_aggregates, report});
          if (kernel.n_vectors() > 0)
            projected = std::make_unique<PreconditionProjected<Number>>(*preconditioner, kernel);
        },
        communicator);
    const PreconditionBase<Number> &applied = projected ? *projected : *preconditioner;

    // No guess is nearer to the solution of a system without a load.
    const double norm = b.l2_norm();
    if (norm == 0. || x.size() == 0)
      A.initialize_vector(x);
    IterationResult result;
    report.seconds.solve = timed(
        backend, progress, "solve", [&] { result = iterate(A, x, b, applied, ""); }, communicator);
    if (choice.parameters.check)
    {
      Vector<Number> known, image, y;
      for (Vector<Number> *vector : {&known, &image, &y})
        A.initialize_vector(*vector);
      known.copy_from_host(known_solution<Number>(A.n_rows()));
      kernel.project(known);
      A.vmult(image, known);
      const IterationResult second = iterate(A, y, image, applied, "Solver/Check, the system with a known solution: ");
      y.add(Number(-1), known);
      report.solver_check = SolverCheck{second.n_iterations, y.l2_norm() / known.l2_norm()};
    }

    Vector<Number> residual;
    A.initialize_vector(residual, true);
    A.residual(residual, x, b);
    report.relative_residual = norm > 0. ? residual.l2_norm() / norm : residual.l2_norm();
    report.n_iterations      = result.n_iterations;
    report.solution_update   = to_string(result.update);
    report.row_residual      = result.row_residual;
    if (result.status == IterationResult::Status::rounding)
    {
      report.stopped_at_rounding = true;
      const double norm_of_A_x   = result.rounding_limit / (4. * std::numeric_limits<double>::epsilon());
      report.backward_error =
          BackwardError{result.residual / (norm_of_A_x + norm), componentwise_backward_error(A, x, b)};
    }
  }

  template <typename Number>
  std::vector<double> to_double(const Vector<Number> &x)
  {
    return widened(x.copy_to_host());
  }

  template <typename Number>
  LinearSystem to_linear_system(const MatrixBase<Number> &A, const Vector<Number> &b)
  {
    HostCSR<Number> matrix = A.to_csr_host();
    LinearSystem    result;
    result.matrix = {matrix.n_rows, matrix.n_columns, std::move(matrix.row_offsets), std::move(matrix.columns),
                     widened(std::move(matrix.values))};
    result.rhs    = to_double(b);
    return result;
  }

#define PATCHFEM_INSTANTIATE(Number)                                               \
  template class LinearSolver<Number>;                                             \
  template void                describe(const MatrixBase<Number> &, PathReport &); \
  template std::vector<double> to_double(const Vector<Number> &);                  \
  template LinearSystem        to_linear_system(const MatrixBase<Number> &, const Vector<Number> &)
  PATCHFEM_INSTANTIATE(double);
  PATCHFEM_INSTANTIATE(float);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
