// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>

#include <mpi.h>

#include <string>

namespace PatchFEM
{
  /**
   * Collective: the back end @p name of the ranks of @p communicator, as Backend takes it. On `cuda` all ranks, which are
   * to be on one machine, share its first device by a RankGroup; others are idle. `auto` is `cuda` where there is such a
   * device, else `host`. One rank has it for itself, as all have on `host`, and on `emulated_device` unless the environment
   * variable PATCHFEM_EMULATED_DEVICES says how many of them each machine has: then neighbouring ranks share them evenly,
   * each by a group.
   *
   * Only owners touch devices. Groups hand data over through MPI's shared memory, 4 MiB a rank and less where /dev/shm
   * has no room, or the environment variable PATCHFEM_WINDOW_BYTES allows all ranks of a machine fewer: what is larger
   * goes in pieces. Groups live as long as the program, so make it once.
   *
   * Throws Error, on all ranks, if a machine has no such device, or shows one device to ranks with different
   * CUDA_VISIBLE_DEVICES, or if ranks on `cuda` would need several.
   */
  Backend backend_of_ranks(const std::string &name, MPI_Comm communicator);

  /** Of those who have rows on @p backend: @p communicator, of all; where ranks share it that of owners, or of one. */
  MPI_Comm communicator_of_owners(const Backend &backend, MPI_Comm communicator);
} // namespace PatchFEM
