// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_app_output_h
#define patchfem_app_output_h

#include <patchfem/app/linear_system_path.h>

namespace PatchFEM
{
  /**
   * Writes a solution as VTU: NAME.vtu on one rank, a piece per rank and NAME.pvtu on several. Contains the
   * solution, what the physics derives from it, the material id, and on hp spaces the degree of each cell, as data of nodes `aggregate_0`, `patch_0`
   * and so on for each level of multigrid. Every file is
   * renamed when it is whole.
   *
   * @param folder Exists.
   * @param report Of the path that found the solution: its patches of cells, and aggregates of multigrid if it holds any.
   */
  template <int dim>
  void write_picture(const std::string         &folder,
                     const std::string         &name,
                     const Discretisation<dim> &discretisation,
                     const Physics<dim>        &physics,
                     const SolutionVector      &solution,
                     const PathReport          &report);
} // namespace PatchFEM

#endif
