// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_app_system_export_h
#define patchfem_app_system_export_h

#include <patchfem/app/linear_system_path.h>
#include <patchfem/lac/matrix/matrix_io.h>

namespace PatchFEM
{
  /**
   * Writes @p system with the near-null space of the physics for other solvers, see write_linear_system(). One process.
   *
   * @param dof_indices deal.II's index of each unknown of the matrix.
   */
  template <int dim>
  void export_system(const std::string               &file_name,
                     LinearSystem                     system,
                     const std::vector<unsigned int> &dof_indices,
                     const Discretisation<dim>       &discretisation,
                     const Physics<dim>              &physics);
} // namespace PatchFEM

#endif
