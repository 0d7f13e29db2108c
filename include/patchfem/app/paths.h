// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/linear_system_path.h>

/** @file The ways from a discretisation to its solution that there are. */
namespace PatchFEM
{
  /** What PatchFEM's own way is told. */
  struct PatchPathData
  {
    Backend                      backend;
    std::string                  precision; ///< auto, double, single or, where the preconditioner has that form, mixed
    SolverParameters             solver;    ///< whose preconditioner is any but ml
    AssemblyParameters           assembly;
    std::function<std::string()> export_file;        ///< names the file for a system when it is there; empty for none
    bool                         aggregates = false; ///< whether the report holds those of multigrid
  };

  /**
   * PatchFEM's own way: tables from deal.II, then sparsity, patches, matrix, preconditioner and conjugate gradients on
   * one back end; only the solution comes back. One process.
   */
  template <int dim>
  LinearSystemPath<dim> make_patch_path(const PatchPathData &data, Progress &progress);

  /**
   * The reference: deal.II's loop over cells with distribute_local_to_global() into a Trilinos matrix, and
   * Trilinos' conjugate gradients with point Jacobi (Ifpack) or smoothed aggregation (ML). Runs on any number
   * of ranks. @p solver.preconditioner is none, jacobi or ml. This one and those below time the assembly @p n_repetitions
   * times more.
   */
  template <int dim>
  LinearSystemPath<dim> make_trilinos_path(const SolverParameters &solver, int n_repetitions, Progress &progress);

  /**
   * The second reference: deal.II's loop over cells into a PETSc matrix, and deal.II's conjugate gradients with hypre's
   * BoomerAMG through deal.II's wrapper. The wrapper takes every unknown by itself: it passes on neither the unknowns of
   * a node nor a near-null space, which is what elasticity lacks most with it. Strong connections are 0.25 of the largest
   * in 2D and 0.5 in 3D, as hypre's manual recommends; everything else is deal.II's default. Any number of ranks.
   *
   * Throws Error if deal.II was built without PETSc or PETSc without hypre.
   */
  template <int dim>
  LinearSystemPath<dim> make_petsc_path(const SolverParameters &solver, int n_repetitions, Progress &progress);

  /**
   * The reference for accuracy: deal.II's loop over cells into deal.II's matrix, which UMFPACK factorises, and two steps
   * of iterative refinement with residuals in extended precision. On systems whose condition is below 1e13 or so x is then
   * as accurate as its digits, whatever its residual; both triangular factors are kept, which in three dimensions is for
   * some ten thousand unknowns. In the report the steps are iterations and the factorisation is the preconditioner `lu`.
   *
   * Throws Error if @p communicator has several processes or deal.II was built without UMFPACK; the path does so if the system
   * is singular, or too large for memory.
   */
  template <int dim>
  LinearSystemPath<dim>
  make_direct_path(const SolverParameters &solver, int n_repetitions, Progress &progress, MPI_Comm communicator);
} // namespace PatchFEM
