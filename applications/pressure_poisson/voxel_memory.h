// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_applications_voxel_memory_h
#define patchfem_applications_voxel_memory_h

#include "voxel_parameters.h"

#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/assembly/voxel_poisson.h>

namespace PatchFEM
{
  /**
   * Bytes that a step allocates on a back end at most, before any of it is: exact for cells, matrix and vectors; of
   * preconditioners what they take for rows of seven entries. Of closed parts it counts one.
   * @param with_divergence Cells have one that is wanted.
   * @param with_errors An exact pressure is compared with.
   */
  std::size_t forecast_voxel_memory(const VoxelGrid          &grid,
                                    std::size_t               n_fluid,
                                    const PressureParameters &parameters,
                                    const SolverChoice       &choice,
                                    bool                      with_divergence,
                                    bool                      with_errors);
} // namespace PatchFEM

#endif
