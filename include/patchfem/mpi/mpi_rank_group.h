// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>

#include <mpi.h>

#include <functional>
#include <string>

namespace PatchFEM
{
  /**
   * Collective: the back end @p name of the ranks of @p communicator, as Backend takes it. On `cuda` the ranks of each
   * machine share its devices evenly, neighbours together, each by a RankGroup, whose first rank owns it and exchanges
   * with other owners by their Transport; devices beyond the number of ranks are idle. `auto` is `cuda` where every machine
   * has a device, else `host`. One rank has one for itself, as all have on `host`, and on `emulated_device` unless the
   * environment variable PATCHFEM_EMULATED_DEVICES says how many of them each machine has.
   *
   * Only owners touch devices. Groups exchange data through MPI's shared memory, 4 MiB a rank and less where /dev/shm
   * has no room, or the environment variable PATCHFEM_WINDOW_BYTES allows all ranks of a machine fewer: what is larger
   * goes in pieces. Groups live as long as the program, so make it once.
   *
   * Throws Error, on all ranks, if a machine has no such device, or shows one device to ranks with different
   * CUDA_VISIBLE_DEVICES.
   */
  Backend backend_of_ranks(const std::string &name, MPI_Comm communicator);

  /**
   * backend_of_ranks() in two collective steps, between which programs read meshes: begins to look for devices, which takes
   * CUDA a second where there are several, and returns a function to be called once, for the back end.
   */
  std::function<Backend()> look_for_backend(const std::string &name, MPI_Comm communicator);

  /** The ranks of @p communicator with rows on @p backend: all, or where ranks share it the owners, or one. */
  MPI_Comm communicator_of_owners(const Backend &backend, MPI_Comm communicator);
} // namespace PatchFEM
