// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/lac/matrix/matrix_io.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

namespace PatchFEM
{
  /** A linear system and what its preconditioner is made of, see ProblemParameters::observer. */
  struct ObservedSystem
  {
    const SolverChoice       &choice;
    const MatrixBase<double> &matrix;
    const Vector<double>     &rhs;
    const NullSpace<double>  &null_space; ///< of the matrix, empty if it is regular; not taken out of the load
    const NearNullSpace      &near_null_space;
  };

  /**
   * Solves the linear systems of an application on one back end as its parameters say: preconditioner, conjugate
   * gradients, the null space of a singular matrix, and what there is to report. Vectors of the iteration are kept from
   * one system to the next, the preconditioner is not.
   */
  template <typename Number>
  class LinearSolver
  {
  public:
    /** With @p keep_aggregates reports hold the aggregates of multigrid. @p communicator: whose ranks share matrices. */
    LinearSolver(const Backend      &backend,
                 const SolverChoice &choice,
                 bool                keep_aggregates,
                 Progress           &progress,
                 MPI_Comm            communicator = MPI_COMM_SELF);

    /**
     * Solves A x = b from the guess @p x, which may be empty for 0. What @p make_null_space gives, which may be empty,
     * is taken out of @p b, by NullSpace::balance(), and of the solution; @p make_near_null_space is called for multigrid alone. Fills what @p
     * report says of matrix, preconditioner and solution, with the seconds of both stages. Throws Error if the
     * preconditioner cannot be made or the iteration ends without a solution.
     */
    void solve(const MatrixBase<Number>                 &A,
               Vector<Number>                           &x,
               Vector<Number>                           &b,
               const std::function<NullSpace<Number>()> &make_null_space,
               const std::function<NearNullSpace()>     &make_near_null_space,
               PathReport                               &report);

    /** Of the system that was solved last. */
    const NullSpace<Number> &null_space() const { return kernel; }

    /** Of what is kept. */
    std::size_t memory_consumption() const { return cg.memory_consumption() + kernel.memory_consumption(); }

  private:
    const Backend              backend;
    const SolverChoice         choice;
    const bool                 keep_aggregates;
    Progress                  &progress;
    const MPI_Comm             communicator;
    ConjugateGradients<Number> cg;
    NullSpace<Number>          kernel;

    /** Throws Error, after @p of, unless it converges; shows its progress if that is empty. */
    IterationResult iterate(const MatrixBase<Number>       &A,
                            Vector<Number>                 &x,
                            const Vector<Number>           &b,
                            const PreconditionBase<Number> &preconditioner,
                            const std::string              &of);
  };

  /** Fills what @p report says of a matrix, of all ranks. */
  template <typename Number>
  void describe(const MatrixBase<Number> &A, PathReport &report);

  /** The entries of @p x on the host, in double precision. */
  template <typename Number>
  std::vector<double> to_double(const Vector<Number> &x);

  /** A x = b on the host in double precision, without a near-null space. */
  template <typename Number>
  LinearSystem to_linear_system(const MatrixBase<Number> &A, const Vector<Number> &b);
} // namespace PatchFEM
