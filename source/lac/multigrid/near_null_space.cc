// SPDX-License-Identifier: LGPL-2.1-or-later
#include "multigrid_tools.h"

#include <patchfem/kernels/jacobi.h>
#include <patchfem/lac/multigrid/near_null_space.h>

namespace PatchFEM
{
  NearNullSpace NearNullSpace::constants(const Backend &backend, const int n_nodes, const int n_components)
  {
    require(n_components >= 1 && n_components <= kernels::max_block_size, "A node has ", n_components,
            " components; 1 to ", kernels::max_block_size, " are supported.");
    NearNullSpace result;
    result.modes_per_unknown = n_components;
    result.values.reinit(backend, std::size_t(n_nodes) * n_components * n_components);
    dispatch(backend, [&](auto where) { multigrid::constant_modes(where, n_components, result.values); });
    return result;
  }

  NearNullSpace NearNullSpace::constants(const int n_components, const int dim, const Array<double> &points)
  {
    require(dim >= 1 && points.size() % dim == 0, "The positions of nodes are not a multiple of the dimension.");
    NearNullSpace result = constants(points.backend(), static_cast<int>(points.size() / dim), n_components);
    result.set_points(dim, points);
    return result;
  }

  void NearNullSpace::set_points(const int dim, const Array<double> &points)
  {
    n_coordinates = dim;
    node_points.copy_from(points.backend(), points);
  }

  NearNullSpace
  NearNullSpace::rigid_body_modes(const int dim, const Array<double> &points, const Communicator *const ranks)
  {
    require(dim == 2 || dim == 3, "Rigid-body modes exist in 2 and 3 dimensions, not in ", dim, ".");
    require(points.size() % dim == 0, "The positions of nodes are not a multiple of the dimension.");
    NearNullSpace result;
    result.set_points(dim, points);
    result.modes_per_unknown = dim == 2 ? 3 : 6;
    dispatch(points.backend(),
             [&](auto where) { multigrid::rigid_body_modes(where, dim, points, ranks, result.values); });
    return result;
  }

  NearNullSpace
  NearNullSpace::at_nodes(const int n_modes, Array<double> &&modes, const int dim, const Array<double> &points)
  {
    NearNullSpace result;
    if (!points.empty())
      result.set_points(dim, points);
    result.modes_per_unknown = n_modes;
    result.values            = std::move(modes);
    return result;
  }

  NearNullSpace NearNullSpace::from_vectors(const Backend &backend, const std::vector<std::vector<double>> &modes)
  {
    const int n_modes = static_cast<int>(modes.size());
    require(n_modes >= 1 && n_modes <= kernels::max_block_size, "A near-null space has ", n_modes, " modes; 1 to ",
            kernels::max_block_size, " are supported.");
    const std::size_t   n = modes[0].size();
    std::vector<double> values(n * n_modes);
    for (int m = 0; m < n_modes; ++m)
    {
      require(modes[m].size() == n, "The modes of a near-null space differ in length.");
      for (std::size_t i = 0; i < n; ++i)
        values[i * n_modes + m] = modes[m][i];
    }
    NearNullSpace result;
    result.modes_per_unknown = n_modes;
    result.values            = Array<double>(backend, values);
    return result;
  }
} // namespace PatchFEM
