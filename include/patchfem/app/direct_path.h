// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_app_direct_path_h
#define patchfem_app_direct_path_h

#include <patchfem/app/linear_system_path.h>

#include <memory>

namespace PatchFEM
{
  /**
   * The reference for accuracy: deal.II's loop over cells into deal.II's matrix, which UMFPACK factorises, and two steps
   * of iterative refinement with residuals in extended precision. On systems whose condition is below 1e13 or so x is then
   * as accurate as its digits, whatever its residual; both triangular factors are kept, which in three dimensions is for
   * some ten thousand unknowns. In the report the steps are iterations and the factorisation is the preconditioner `lu`.
   *
   * Throws Error if @p communicator has several processes or deal.II was built without UMFPACK; run() does so if the system is
   * singular, or too large for memory.
   */
  template <int dim>
  std::unique_ptr<LinearSystemPath<dim>>
  make_direct_path(const SolverParameters &parameters, int n_repetitions, Progress &progress, MPI_Comm communicator);
} // namespace PatchFEM

#endif
