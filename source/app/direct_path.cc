// SPDX-License-Identifier: LGPL-2.1-or-later
#include "reference_path.h"

#include <patchfem/app/paths.h>

#include <deal.II/lac/sparse_direct.h>
#include <deal.II/lac/sparse_matrix.h>

namespace PatchFEM
{
#ifdef DEAL_II_WITH_UMFPACK
  namespace
  {
    using Matrix     = dealii::SparseMatrix<double>;
    using VectorType = dealii::Vector<double>;

    /** r = b - A x, summed in extended precision. @return the largest |r_i| / (|A| |x| + |b|)_i. */
    double compute_residual(const Matrix &matrix, const VectorType &x, const VectorType &b, VectorType &r)
    {
      double most = 0.;
      for (dealii::types::global_dof_index row = 0; row < matrix.m(); ++row)
      {
        long double sum = b(row), size = std::abs(sum);
        for (auto entry = matrix.begin(row); entry != matrix.end(row); ++entry)
        {
          const long double product = static_cast<long double>(entry->value()) * x(entry->column());
          sum -= product;
          size += std::abs(product);
        }
        r(row) = static_cast<double>(sum);
        if (size > 0.L)
          most = std::max(most, static_cast<double>(std::abs(sum) / size));
      }
      return most;
    }
  } // namespace

  template <int dim>
  LinearSystemPath<dim> make_direct_path(const SolverParameters &parameters,
                                         const int               n_repetitions,
                                         Progress               &progress,
                                         const MPI_Comm          communicator)
  {
    require(dealii::Utilities::MPI::n_mpi_processes(communicator) == 1,
            "Baseline = umfpack factorises in one process; with several MPI ranks choose trilinos_ml.");
    return [=, &progress](const Discretisation<dim> &discretisation, const Physics<dim> &physics,
                          SolutionVector &solution) {
      require(discretisation.free_modes.empty(),
              "Baseline = umfpack factorises the matrix, which is singular here; choose trilinos_ml.");
      const MPI_Comm                 communicator = discretisation.communicator;
      const dealii::DoFHandler<dim> &dof_handler  = *discretisation.dof_handler;
      const auto                     n            = dof_handler.n_dofs();

      dealii::SparsityPattern     pattern;
      Matrix                      matrix;
      VectorType                  rhs(n), x(n), r(n);
      dealii::SparseDirectUMFPACK factors;
      PathReport                  report;

      report.seconds.sparsity = timed(communicator, progress, "sparsity (deal.II)", [&] {
        dealii::DynamicSparsityPattern rows(n);
        dealii::DoFTools::make_sparsity_pattern(dof_handler, rows, *discretisation.constraints, false);
        pattern.copy_from(rows);
        matrix.reinit(pattern);
      });
      reference::assemble(discretisation, physics, n_repetitions, progress, matrix, rhs, report);
      const int exponent = reference::remove_units(matrix, rhs);

      report.seconds.preconditioner = timed(communicator, progress, "factorisation (UMFPACK)", [&] {
        try
        {
          factors.initialize(matrix);
        }
        catch (const dealii::SparseDirectUMFPACK::ExcUMFPACKError &)
        {
          throw Error("Baseline = umfpack cannot factorise the matrix of " + std::to_string(n) +
                      " unknowns: memory does not suffice for its factors, or it is singular to double precision; "
                      "choose trilinos_ml.");
        }
      });
      double componentwise          = 0.;
      report.seconds.solve          = timed(communicator, progress, "solve (UMFPACK)", [&] {
        r = rhs;
        for (report.n_iterations = 0;; ++report.n_iterations)
        {
          factors.solve(r);
          x += r;
          componentwise = compute_residual(matrix, x, rhs, r);
          if (report.n_iterations == 2)
            break;
        }
      });

      // Above the tolerance the residual is to be rounding, as in reference::solve().
      const double norm = rhs.l2_norm(), residual = r.l2_norm();
      report.relative_residual   = norm > 0. ? residual / norm : 0.;
      report.stopped_at_rounding = norm > 0. && !(residual <= parameters.tolerance * norm);
      if (report.stopped_at_rounding)
      {
        const double product = reference::spectral_norm(matrix, rhs) * x.l2_norm();
        if (!(residual <= 4. * std::numeric_limits<double>::epsilon() * product && reference::is_answer(x, rhs, r)))
          throw Error(
              str(boost::format("The solution of UMFPACK is not accurate: its relative residual is %g; the matrix "
                                "is nearly singular.") %
                  report.relative_residual));
        report.backward_error = BackwardError{residual / (product + norm), componentwise};
      }
      reference::restore_units(x, exponent);

      discretisation.constraints->distribute(x);
      solution.reinit(n);
      std::copy(x.begin(), x.end(), solution.begin());

      reference::describe("UMFPACK", matrix, "lu", report);
      return report;
    };
  }
#else
  template <int dim>
  LinearSystemPath<dim> make_direct_path(const SolverParameters &, const int, Progress &, MPI_Comm)
  {
    throw Error("Baseline = umfpack needs a deal.II with UMFPACK, which this one lacks; choose trilinos_ml.");
  }
#endif

  template LinearSystemPath<2> make_direct_path(const SolverParameters &, int, Progress &, MPI_Comm);
  template LinearSystemPath<3> make_direct_path(const SolverParameters &, int, Progress &, MPI_Comm);
} // namespace PatchFEM
