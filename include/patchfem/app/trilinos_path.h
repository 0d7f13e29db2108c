// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_app_trilinos_path_h
#define patchfem_app_trilinos_path_h

#include <patchfem/app/linear_system_path.h>

namespace PatchFEM
{
  /**
   * The reference: deal.II's loop over cells with distribute_local_to_global() into a Trilinos matrix, and
   * Trilinos' conjugate gradients with point Jacobi (Ifpack) or smoothed aggregation (ML). Runs on any number
   * of ranks.
   */
  template <int dim>
  class TrilinosPath : public LinearSystemPath<dim>
  {
  public:
    /** @p parameters.preconditioner is none, jacobi or ml. The assembly is timed @p n_repetitions times more. */
    TrilinosPath(const SolverParameters &parameters, const int n_repetitions, Progress &progress)
        : parameters(parameters), n_repetitions(n_repetitions), progress(progress)
    {}

    PathReport
    run(const Discretisation<dim> &discretisation, const Physics<dim> &physics, SolutionVector &solution) override;

  private:
    const SolverParameters parameters;
    const int              n_repetitions;
    Progress              &progress;
  };
} // namespace PatchFEM

#endif
