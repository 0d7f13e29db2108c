// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/linear_system_path.h>
#include <patchfem/app/report.h>

/** @file The ways from a discretisation to its solution that there are. */
namespace PatchFEM
{
  /**
   * PatchFEM's own way: tables from deal.II, then sparsity, patches, matrix, preconditioner and conjugate gradients on
   * one back end; only the solution comes back. Throws Error if @p communicator has several processes.
   *
   * @param parameters Are to live as long as the path, and so are the others.
   * @param report Is told to begin() before a system is exported.
   */
  template <int dim>
  LinearSystemPath<dim>
  make_patch_path(const ProblemParameters &parameters, RunReport &report, Progress &progress, MPI_Comm communicator);

  /**
   * A reference by deal.II's loop over cells with distribute_local_to_global():
   *  - trilinos_ml, trilinos_jacobi, trilinos_none: into a Trilinos matrix, and conjugate gradients with smoothed
   *    aggregation (ML), point Jacobi (Ifpack) or nothing. Any number of ranks.
   *  - petsc_boomeramg: into a PETSc matrix, and conjugate gradients with hypre's BoomerAMG through deal.II's wrapper. The
   *    wrapper takes every unknown by itself: it passes on neither the unknowns of a node nor a near-null space, which is
   *    what elasticity lacks most with it. Strong connections are 0.25 of the largest in 2D and 0.5 in 3D, as hypre's
   *    manual recommends; everything else is deal.II's default. Any number of ranks.
   *  - umfpack, for accuracy: into deal.II's matrix, which UMFPACK factorises, and two steps of iterative refinement with
   *    residuals in extended precision. On systems whose condition is below 1e13 or so x is then as accurate as its digits,
   *    whatever its residual; both triangular factors are kept, which in three dimensions is for some ten thousand unknowns.
   *    In the report the steps are iterations and the factorisation is the preconditioner `lu`. One process; the path throws
   *    Error if the system is singular, or too large for memory.
   *
   * Throws Error if deal.II was built without PETSc, or PETSc without hypre, or without UMFPACK, where that is needed, or if
   * @p communicator has several processes where one is.
   */
  template <int dim>
  LinearSystemPath<dim> make_reference_path(const std::string       &name,
                                            const ProblemParameters &parameters,
                                            Progress                &progress,
                                            MPI_Comm                 communicator);
} // namespace PatchFEM
