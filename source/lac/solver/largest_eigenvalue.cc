// SPDX-License-Identifier: LGPL-2.1-or-later
#include "solver_tools.h"

namespace PatchFEM
{
  template <typename Number>
  void LargestEigenvalue<Number>::compute(const Operator<Number>         &A,
                                          const PreconditionBase<Number> &D_inverse,
                                          const int                       n_steps,
                                          const bool                      jumps)
  {
    require(n_steps >= 1 && n_steps <= kernels::LanczosScalars::max_steps,
            "The steps of an eigenvalue estimate must be between 1 and ", kernels::LanczosScalars::max_steps, ", not ",
            n_steps, ".");
    memory.reinit(A.backend(), 1);
    memory.set_zero();
    dispatch(A.backend(), [&](auto where) { solver::lanczos(where, A, D_inverse, n_steps, jumps, memory.data()); });
  }

  template class LargestEigenvalue<float>;
  template class LargestEigenvalue<double>;
} // namespace PatchFEM
