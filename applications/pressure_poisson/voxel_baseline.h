// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/linear_system_path.h>
#include <patchfem/assembly/voxel_poisson.h>

namespace PatchFEM
{
  /**
   * The same system in a Trilinos matrix, filled by a loop over cells on the host, and solved by Trilinos' conjugate
   * gradients with @p solver.preconditioner jacobi or ml.
   * @param rhs Its right-hand side, without what a null space takes away.
   * @param closed_parts The constants of closed parts of the fluid, orthonormal; empty if there are none.
   * @param x The solution.
   */
  PathReport solve_with_trilinos(const VoxelGrid                        &grid,
                                 const std::vector<unsigned char>       &labels,
                                 const std::vector<double>              &rhs,
                                 const std::vector<std::vector<double>> &closed_parts,
                                 const SolverParameters                 &solver,
                                 Progress                               &progress,
                                 std::vector<double>                    &x);
} // namespace PatchFEM
