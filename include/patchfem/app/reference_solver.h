// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/linear_system_path.h>
#include <patchfem/app/powers_of_two.h>
#include <patchfem/base/backend.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/lac/solver/null_space.h>

#include <deal.II/lac/precondition.h>
#include <deal.II/lac/solver_cg.h>

#include <boost/algorithm/string/case_conv.hpp>

#include <limits>
#include <type_traits>

namespace PatchFEM
{
  /**
   * deal.II's conjugate gradients with matrices and vectors of other libraries, in any units and to a true residual.
   * Matrix and VectorType are Trilinos' or PETSc's, as deal.II wraps them.
   */
  namespace reference
  {
    /**
     * Divides matrix and right-hand side by powers of two, so that their largest row sum and entry are between 1/2 and
     * 1. Throws Error if they are not finite.
     * @return the e by whose power 2^e the solution is to be multiplied afterwards: restore_units().
     */
    template <typename Matrix, typename VectorType>
    int remove_units(Matrix &matrix, VectorType &rhs)
    {
      const int of_matrix = binary_exponent(matrix.linfty_norm()), of_rhs = binary_exponent(rhs.linfty_norm());
      multiply_by_power_of_two(matrix, -of_matrix);
      multiply_by_power_of_two(rhs, -of_rhs);
      // Norms of the largest may pass over what is not a number; sums do not.
      VectorType ones(rhs), sums(rhs);
      ones = 1.;
      matrix.vmult(sums, ones);
      require(std::isfinite(sums.l2_norm()), "The matrix has entries that are not finite: the coefficients of the "
                                             "material are beyond the range of double precision; choose other units.");
      require(std::isfinite(rhs.l2_norm()),
              "The right-hand side is not finite: loads, or Dirichlet values times coefficients of the material, are "
              "beyond the range of double precision; choose other units.");
      return of_rhs - of_matrix;
    }

    /** Multiplies the solution of a system without units by 2^@p exponent. Throws Error if that is out of range. */
    template <typename VectorType>
    void restore_units(VectorType &x, const int exponent)
    {
      using Limits      = std::numeric_limits<double>;
      const int largest = binary_exponent(x.linfty_norm()) + exponent;
      if (x.linfty_norm() > 0. && (largest > Limits::max_exponent || largest < Limits::min_exponent))
        throw Error("The solution is of the order of 1e", static_cast<int>(0.30103 * largest),
                    ", which is beyond the range of double precision; choose other units.");
      multiply_by_power_of_two(x, exponent);
    }

    /** |A|_2 from below, by ten power steps from a fixed vector. */
    template <typename Matrix, typename VectorType>
    double spectral_norm(const Matrix &matrix, const VectorType &like)
    {
      VectorType v(like), w(like);
      for (const dealii::types::global_dof_index i : v.locally_owned_elements())
      {
        // Fractions of multiples of the golden ratio have no pattern.
        const double multiple = 0.6180339887498949 * static_cast<double>(i + 1);
        v(i)                  = multiple - std::floor(multiple) - 0.5;
      }
      v.compress(dealii::VectorOperation::insert);
      double norm = 0.;
      for (int step = 0; step < 10; ++step)
      {
        v /= v.l2_norm();
        matrix.vmult(w, v);
        norm = w.l2_norm();
        if (norm == 0.)
          break;
        v = w;
      }
      return norm;
    }

    /** Whether a residual that rounding explains is an answer's: below the load, at most a hundredth of its work. */
    template <typename VectorType>
    bool is_answer(const VectorType &x, const VectorType &b, const VectorType &r)
    {
      return r.l2_norm() < b.l2_norm() && std::abs(r * x) <= 1e-2 * std::abs(b * x);
    }

    /** max_i |r_i| / (|A| |x| + |b|)_i over rows where that is not 0. */
    template <typename Matrix, typename VectorType>
    double componentwise_error(const Matrix &matrix, const VectorType &x, const VectorType &b, const VectorType &r)
    {
      const MPI_Comm         communicator = x.get_mpi_communicator();
      const dealii::IndexSet owned        = x.locally_owned_elements();
      dealii::IndexSet       others(owned.size());
      for (const dealii::types::global_dof_index row : owned)
      {
        const auto end = matrix.end(row); // Each makes a copy of a row.
        for (auto entry = matrix.begin(row); entry != end; ++entry)
          if (!owned.is_element(entry->column()))
            others.add_index(entry->column());
      }
      others.compress();
      VectorType with_ghosts(owned, others, communicator);
      with_ghosts      = x;
      const auto &all  = with_ghosts;
      double      most = 0.;
      for (const dealii::types::global_dof_index row : owned)
      {
        double     sum = std::abs(b(row));
        const auto end = matrix.end(row);
        for (auto entry = matrix.begin(row); entry != end; ++entry)
          sum += std::abs(entry->value()) * std::abs(all(entry->column()));
        if (sum > 0.)
          most = std::max(most, std::abs(r(row)) / sum);
      }
      return dealii::Utilities::MPI::max(most, communicator);
    }

    /** |D^-1 r| / (|x| + |D^-1 b|), D the diagonal, which does not depend on how rows are scaled. */
    template <typename Matrix, typename VectorType>
    double row_residual(const Matrix &matrix, const VectorType &x, const VectorType &b, const VectorType &r)
    {
      double squares[2] = {0., 0.};
      for (const dealii::types::global_dof_index row : x.locally_owned_elements())
      {
        const double d = matrix.diag_element(row);
        squares[0] += d != 0. ? std::pow(r(row) / d, 2) : 0.;
        squares[1] += d != 0. ? std::pow(b(row) / d, 2) : 0.;
      }
      dealii::Utilities::MPI::sum(dealii::ArrayView<const double>(squares, 2), x.get_mpi_communicator(),
                                  dealii::ArrayView<double>(squares, 2));
      const double size = x.l2_norm() + std::sqrt(squares[1]);
      return size > 0. ? std::sqrt(squares[0]) / size : 0.;
    }

    /** Both backward errors of x, for a report: they cost some twelve products, no part of a solution's time. */
    template <typename Matrix, typename VectorType>
    BackwardError backward_error(const Matrix &matrix, const VectorType &x, const VectorType &b)
    {
      VectorType   r(b);
      const double residual = matrix.residual(r, x, b), product = spectral_norm(matrix, b) * x.l2_norm();
      return BackwardError{residual / (product + b.l2_norm()), componentwise_error(matrix, x, b, r)};
    }

    /**
     * Solves A x = b from x = 0 until |b - A x| <= Tolerance |b| and row_residual() <= Tolerance hold for the residual
     * recomputed from x. Until then the iteration starts again from x, with steps that count on. The limit of the
     * arithmetic ends it as well: a residual that a restart did not halve and that is at most 8 u |A| |x|, u = 2^-53,
     * of a solution that is_answer(). Throws Error if it ends otherwise. Fills iterations, residuals and whether it
     * stopped at rounding of @p report.
     *
     * @param library     What messages call it.
     * @param project     Takes the null space of a singular matrix out of a vector.
     */
    template <typename Matrix, typename VectorType, typename Preconditioner, typename Project>
    void solve(const std::string      &library,
               const Matrix           &matrix,
               VectorType             &x,
               const VectorType       &b,
               const Preconditioner   &preconditioner,
               const Project          &project,
               const SolverParameters &parameters,
               Progress               &progress,
               PathReport             &report)
    {
      x                        = 0.;
      report.n_iterations      = 0;
      report.relative_residual = 0.;
      const double norm        = b.l2_norm();
      if (norm == 0.)
        return;
      const double target = parameters.tolerance * norm;
      double       goal = target, least = std::numeric_limits<double>::infinity(); // of the larger residual
      VectorType   best(x), r(b);

      constexpr double rounding_of_rows = 32. * std::numeric_limits<double>::epsilon();
      report.relative_residual          = least; // until there is one

      const auto fail = [&](const std::string &how, const std::string &remedy) {
        throw Error("The conjugate gradient method with ", library, " ", how, " ", report.n_iterations,
                    " iterations; the relative residual is ", report.relative_residual, ". ", remedy);
      };
      for (bool restarted = false;; restarted = true)
      {
        dealii::SolverControl        control(parameters.max_iterations - report.n_iterations, goal);
        dealii::SolverCG<VectorType> cg(control);
        cg.connect([&](const unsigned int step, const double residual, const VectorType &) {
          progress.iteration(report.n_iterations + step, residual / norm);
          return dealii::SolverControl::success;
        });
        try
        {
          cg.solve(matrix, x, b, preconditioner);
        }
        catch (const dealii::SolverControl::NoConvergence &)
        {
          // The state of the control says it, too, and also where no step was made.
        }
        report.n_iterations += control.last_step();
        project(x);

        const double residual = matrix.residual(r, x, b), rows = row_residual(matrix, x, b, r);
        const double excess = std::max(residual / norm, rows > rounding_of_rows ? rows : 0.);
        const bool   falls  = excess < 0.5 * least;
        if (excess < least)
        {
          best                     = x;
          least                    = excess;
          report.relative_residual = residual / norm;
          report.row_residual      = rows;
        }
        if (!std::isfinite(least))
          fail("broke down after",
               "Matrix or preconditioner are not positive definite; choose another preconditioner.");
        if (least <= parameters.tolerance)
          break;
        if (restarted && !falls && report.row_residual <= std::max(parameters.tolerance, rounding_of_rows))
        {
          const double limit = 4. * std::numeric_limits<double>::epsilon() * spectral_norm(matrix, b) * best.l2_norm();
          report.stopped_at_rounding = matrix.residual(r, best, b) <= limit && is_answer(best, b, r);
          if (report.stopped_at_rounding)
            break;
        }
        if (control.last_check() != dealii::SolverControl::success)
          fail("did not converge in", "Raise Solver/Maximum iterations or choose another preconditioner.");
        if (restarted && !falls)
          fail("no longer reduces the residual, recomputed from the solution, after",
               "Choose another preconditioner, or raise Solver/Tolerance.");
        x    = best;
        goal = report.relative_residual * norm > target ? target : 1e-3 * report.relative_residual * norm;
      }
      x = best;
    }

    /** The orthogonal projection that takes a singular matrix' null space away, and a preconditioner inside it. */
    template <typename VectorType, typename Preconditioner>
    struct Projection
    {
      const std::vector<VectorType> &basis;          ///< orthonormal
      const Preconditioner          *preconditioner; ///< null for none

      void project(VectorType &x) const
      {
        for (const VectorType &v : basis)
          x.add(-(v * x), v);
      }

      void vmult(VectorType &dst, const VectorType &src) const
      {
        VectorType projected(src);
        project(projected);
        if (preconditioner != nullptr)
          preconditioner->vmult(dst, projected);
        else
          dst = projected;
        project(dst);
      }
    };

    /** What is to be said about @p matrix and about what solves with it. */
    template <typename Matrix>
    void
    describe(const std::string &library, const Matrix &matrix, const std::string &preconditioner, PathReport &report)
    {
      report.backend        = boost::algorithm::to_lower_copy(library);
      report.device         = Backend("host").device_name();
      report.nnz            = matrix.n_nonzero_elements();
      report.stored         = report.nnz;
      report.format         = "csr";
      report.precision      = "double";
      report.preconditioner = preconditioner;
    }

    /**
     * From an assembled system to its solution, by solve(). Fills @p report, but for the stages before.
     *
     * @param x Of the right size.
     * @param basis An orthonormal one of the null space, which is taken out of @p rhs; empty for a regular matrix.
     * @param inertia The loads by which it is taken out, see NullSpace::balance(); empty for none.
     * @param make_preconditioner Makes a pointer to one of the matrix, or null for none.
     */
    template <typename Matrix, typename VectorType, typename MakePreconditioner>
    void solve_system(const std::string             &library,
                      Matrix                        &matrix,
                      VectorType                    &x,
                      VectorType                    &rhs,
                      const std::vector<VectorType> &basis,
                      const std::vector<VectorType> &inertia,
                      const SolverParameters        &parameters,
                      Progress                      &progress,
                      const MakePreconditioner      &make_preconditioner,
                      PathReport                    &report)
    {
      const MPI_Comm communicator = rhs.get_mpi_communicator();
      const double   norm_before  = rhs.linfty_norm();
      const int      exponent     = remove_units(matrix, rhs);

      decltype(make_preconditioner(matrix)) preconditioner;
      report.seconds.preconditioner = timed(communicator, progress, "preconditioner (" + library + ")",
                                            [&] { preconditioner = make_preconditioner(matrix); });

      const Projection<VectorType, std::decay_t<decltype(*preconditioner)>> projection{basis, preconditioner.get()};
      const auto project = [&](VectorType &vector) { projection.project(vector); };
      if (!basis.empty())
      {
        const int of_rhs  = binary_exponent(norm_before);
        report.null_space = balance_by(rhs, basis.size(), [&](VectorType &b) {
          std::vector<double> amounts = balance_load(b, basis, inertia);
          project(b);
          for (double &amount : amounts)
            amount = std::ldexp(amount, of_rhs); // in the units of before
          return amounts;
        });
      }

      report.seconds.solve = timed(communicator, progress, "solve (" + library + ")", [&] {
        const auto run_cg = [&](const auto &applied) {
          solve(library, matrix, x, rhs, applied, project, parameters, progress, report);
        };
        if (report.null_space)
          run_cg(projection);
        else if (preconditioner)
          run_cg(*preconditioner);
        else
          run_cg(dealii::PreconditionIdentity());
      });
      if (report.stopped_at_rounding)
        report.backward_error = backward_error(matrix, x, rhs);
      restore_units(x, exponent);
      describe(library, matrix, parameters.preconditioner, report);
    }
  } // namespace reference
} // namespace PatchFEM
