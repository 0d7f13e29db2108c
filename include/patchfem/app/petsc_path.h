// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_app_petsc_path_h
#define patchfem_app_petsc_path_h

#include <patchfem/app/linear_system_path.h>

#include <memory>

namespace PatchFEM
{
  /**
   * The second reference: deal.II's loop over cells into a PETSc matrix, and deal.II's conjugate gradients with hypre's
   * BoomerAMG through deal.II's wrapper. The wrapper takes every unknown by itself: it passes on neither the unknowns of
   * a node nor a near-null space, which is what elasticity lacks most with it. Strong connections are 0.25 of the largest
   * in 2D and 0.5 in 3D, as hypre's manual recommends; everything else is deal.II's default. Any number of ranks.
   *
   * Throws Error if deal.II was built without PETSc or PETSc without hypre.
   */
  template <int dim>
  std::unique_ptr<LinearSystemPath<dim>>
  make_petsc_path(const SolverParameters &parameters, int n_repetitions, Progress &progress);
} // namespace PatchFEM

#endif
