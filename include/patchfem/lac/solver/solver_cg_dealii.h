// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <deal.II/lac/solver_control.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

namespace PatchFEM
{
  /**
   * ConjugateGradients under a dealii::SolverControl, with the interface of dealii::SolverCG. The control sees the
   * residual |b - A x| of every step, the last one recomputed from x in double. SolverControl, ReductionControl and
   * IterationNumberControl give tolerance and limit to the back end; any other control costs one wait per iteration.
   * Where rows of A differ in size, as with a stiff support, |b - A x| sees the large ones alone: ask for
   * AdditionalData::row_tolerance as well, with which the first two end later where rows need it.
   *
   * Throws SolverControl::NoConvergence when the control says that it failed, and Error when the iteration broke down
   * (which names matrix or preconditioner), stagnates, or finds the matrix singular. A solution as accurate as double
   * allows is one, with last_result().status IterationResult::Status::rounding and a last value above the tolerance.
   */
  class SolverCG
  {
  public:
    using AdditionalData = CGParameters;

    explicit SolverCG(dealii::SolverControl &control, const AdditionalData &additional_data = AdditionalData())
        : control(control), additional_data(additional_data)
    {}

    /** Solves A x = b on the back end of @p A; x is the initial guess. Instantiated for float and double. */
    template <typename Number>
    void solve(const Operator<Number>         &A,
               Vector<Number>                 &x,
               const Vector<Number>           &b,
               const PreconditionBase<Number> &preconditioner);

    /** The same from x = 0; the solution. */
    template <typename Number>
    Vector<Number>
    solve(const Operator<Number> &A, const Vector<Number> &b, const PreconditionBase<Number> &preconditioner)
    {
      Vector<Number> x;
      A.initialize_vector(x);
      solve(A, x, b, preconditioner);
      return x;
    }

    /** Steps, history, restarts and residual of the last solution. */
    const IterationResult &last_result() const { return result; }

  private:
    dealii::SolverControl &control;
    AdditionalData         additional_data;
    IterationResult        result;
  };
} // namespace PatchFEM
