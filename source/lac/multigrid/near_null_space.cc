// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/run.h"

#include "kernels/near_null_space_bodies.h"
#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/jacobi.h>
#include <patchfem/lac/multigrid/near_null_space.h>

namespace PatchFEM
{
  NearNullSpace NearNullSpace::constants(const Backend &backend, const int n_nodes, const int n_components)
  {
    require(n_components >= 1 && n_components <= kernels::max_block_size,
            "A node has " + std::to_string(n_components) + " components; 1 to " +
                std::to_string(kernels::max_block_size) + " are supported.");
    NearNullSpace result;
    result.modes_per_unknown = n_components;
    result.values.reinit(backend, std::size_t(n_nodes) * n_components * n_components);
    run(backend, result.values.size(), kernels::ConstantModesBody{n_components, result.values.data()});
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

  NearNullSpace NearNullSpace::rigid_body_modes(const int dim, const Array<double> &points)
  {
    require(dim == 2 || dim == 3, "Rigid-body modes exist in 2 and 3 dimensions, not in " + std::to_string(dim) + ".");
    require(points.size() % dim == 0, "The positions of nodes are not a multiple of the dimension.");
    const Backend     &backend = points.backend();
    const std::int64_t n_nodes = points.size() / dim;
    Array<double>      coordinate(backend, n_nodes), one(backend, n_nodes), sum(backend, dim),
        partials(backend, kernels::reduction::max_parts);
    for (int d = 0; d < dim; ++d)
    {
      run(backend, n_nodes, kernels::CoordinateBody{points.data(), dim, d, coordinate.data(), one.data()});
      dispatch(backend, [&](auto where) {
        kernels::dot(where, n_nodes, coordinate.data(), one.data(), partials.data(), sum.data() + d);
      });
    }
    NearNullSpace result;
    result.set_points(dim, points);
    result.modes_per_unknown = dim == 2 ? 3 : 6;
    result.values.reinit(backend, points.size() * result.modes_per_unknown);
    if (dim == 2)
      run(backend, n_nodes, kernels::RigidBodyModesBody<2>{points.data(), sum.data(), n_nodes, result.values.data()});
    else
      run(backend, n_nodes, kernels::RigidBodyModesBody<3>{points.data(), sum.data(), n_nodes, result.values.data()});
    return result;
  }

  NearNullSpace NearNullSpace::from_vectors(const Backend &backend, const std::vector<std::vector<double>> &modes)
  {
    const int n_modes = static_cast<int>(modes.size());
    require(n_modes >= 1 && n_modes <= kernels::max_block_size,
            "A near-null space has " + std::to_string(n_modes) + " modes; 1 to " +
                std::to_string(kernels::max_block_size) + " are supported.");
    std::vector<double> all;
    for (const std::vector<double> &mode : modes)
    {
      require(mode.size() == modes[0].size(), "The modes of a near-null space differ in length.");
      all.insert(all.end(), mode.begin(), mode.end());
    }
    const Array<double> vectors(backend, all);
    NearNullSpace       result;
    result.modes_per_unknown = n_modes;
    result.values.reinit(backend, all.size());
    run(backend, all.size(),
        kernels::InterleaveModesBody{vectors.data(), std::int64_t(modes[0].size()), n_modes, result.values.data()});
    return result;
  }
} // namespace PatchFEM
