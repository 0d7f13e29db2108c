// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/exceptions.h>

namespace PatchFEM
{
  template <typename VectorType>
  class NewtonSolver;

  /**
   * The proof that a step's equations are solved, without which no state of a material is replaced: what
   * NewtonSolver::solve() returns. It is used up by the commit of that step.
   */
  class Converged
  {
  public:
    /** Of a loop of one's own. Throws Error unless @p residual <= @p tolerance, as where either is not a number. */
    static Converged by_my_own_test(const double residual, const double tolerance)
    {
      require(residual <= tolerance, "A step has not converged: its residual is ", residual, ", which is not below ",
              tolerance, "; go on iterating, or try a shorter step.");
      return {};
    }

    Converged(Converged &&)            = default;
    Converged &operator=(Converged &&) = default;

  private:
    Converged() {}

    template <typename VectorType>
    friend class NewtonSolver;
  };
} // namespace PatchFEM
