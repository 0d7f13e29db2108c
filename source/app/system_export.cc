// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/near_null_space.h>
#include <patchfem/app/system_export.h>

namespace PatchFEM
{
  template <int dim>
  void export_system(const std::string               &file_name,
                     LinearSystem                     system,
                     const std::vector<unsigned int> &dof_indices,
                     const Discretisation<dim>       &discretisation,
                     const Physics<dim>              &physics)
  {
    system.block_size  = physics.n_components();
    system.n_near_null = physics.mode_names().size();

    // [mode][deal.II's index] becomes [unknown of the matrix][mode].
    const std::vector<double> modes = near_null_space(discretisation, physics);
    const std::size_t         n     = dof_indices.size();
    system.near_null.resize(n * system.n_near_null);
    for (std::size_t i = 0; i < n; ++i)
      for (int m = 0; m < system.n_near_null; ++m)
        system.near_null[i * system.n_near_null + m] = modes[m * n + dof_indices[i]];
    write_linear_system(system, file_name);
  }

  template void export_system(const std::string &,
                              LinearSystem,
                              const std::vector<unsigned int> &,
                              const Discretisation<2> &,
                              const Physics<2> &);
  template void export_system(const std::string &,
                              LinearSystem,
                              const std::vector<unsigned int> &,
                              const Discretisation<3> &,
                              const Physics<3> &);
} // namespace PatchFEM
