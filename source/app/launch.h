// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/mesh.h>

namespace PatchFEM::internal
{
  /** Cells of the mesh of @p parameters, refined @p n_more times, by the size of its file or the arguments of its generator. */
  double estimate_n_cells(const MeshParameters &parameters, unsigned int dimension, unsigned int n_more);

  /**
   * Processes of MPI that pay for @p n_cells on a machine with @p n_cores: MPI takes a second to begin and end, in which one
   * process makes and numbers some 300,000 cells.
   */
  unsigned int choose_n_ranks(double n_cells, unsigned int n_cores);

  /** Whether a launcher of MPI started this process. */
  bool is_launched();

  /** Cores that this process may use, by its affinity and a container's quota, whatever OMP_NUM_THREADS says. */
  unsigned int n_cores();

  /** Whether PATH has an mpirun. */
  bool has_mpirun();

  /**
   * Replaces this process, which has not begun MPI, by @p n_ranks of @p argv under mpirun, each with cores of its own if there
   * are enough, and such that a rank that waits leaves its core to others. Throws Error if there is no mpirun.
   */
  [[noreturn]] void launch_ranks(unsigned int n_ranks, char **argv);

  /** Lets MPI of a process that no launcher started begin without a daemon and without looking for a network: in half the time. */
  void let_mpi_begin_alone();

  /**
   * Lets ranks that wait leave their core to others, and threads of OpenMP sleep while they wait, unless the environment says
   * otherwise: a spinning thread takes a core from other programs, and waits for them to give one back. OpenMP's library reads the
   * environment when it is loaded, so that a process of several threads is replaced by itself. Before MPI begins.
   */
  void let_waiters_sleep(char **argv);
} // namespace PatchFEM::internal
