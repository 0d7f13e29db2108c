// SPDX-License-Identifier: LGPL-2.1-or-later
#include "voxel_output.h"

#include <patchfem/base/write_file.h>

#include <deal.II/base/data_out_base.h>

namespace PatchFEM
{
  template <int dim>
  void write_voxels(const std::string        &file_name,
                    const VoxelGrid          &grid,
                    const dealii::Point<dim> &lower_corner,
                    const VoxelPicture       &picture)
  {
    constexpr unsigned int n_vertices = 1 << dim, n_fields = 2 + dim;

    std::vector<dealii::DataOutBase::Patch<dim>> patches(grid.n_cells());
    const std::int64_t                           nx = grid.n[0], ny = grid.n[1];
    for (std::int64_t cell = 0; cell < grid.n_cells(); ++cell)
    {
      const std::int64_t               at[3] = {cell % nx, cell / nx % ny, cell / nx / ny};
      dealii::DataOutBase::Patch<dim> &patch = patches[cell];
      patch.patch_index                      = cell;
      patch.reference_cell                   = dealii::ReferenceCells::get_hypercube<dim>();
      patch.n_subdivisions                   = 1;
      for (unsigned int v = 0; v < n_vertices; ++v)
        for (int d = 0; d < dim; ++d)
          patch.vertices[v][d] = lower_corner[d] + grid.h * static_cast<double>(at[d] + (v >> d & 1));
      patch.data.reinit(n_fields, n_vertices);
      const std::int64_t face[3] = {(at[2] * ny + at[1]) * (nx + 1) + at[0], (at[2] * (ny + 1) + at[1]) * nx + at[0],
                                    cell};
      const std::int64_t step[3] = {1, nx, nx * ny};
      for (unsigned int v = 0; v < n_vertices; ++v)
      {
        patch.data(0, v) = static_cast<float>((*picture.labels)[cell]);
        patch.data(1, v) = static_cast<float>((*picture.pressure)[cell]);
        for (int d = 0; d < dim; ++d)
          patch.data(2 + d, v) =
              static_cast<float>(0.5 * (picture.velocity[d][face[d]] + picture.velocity[d][face[d] + step[d]]));
      }
    }
    const std::vector<std::string> names = [] {
      std::vector<std::string> result = {"label", "pressure"};
      for (int d = 0; d < dim; ++d)
        result.push_back("velocity");
      return result;
    }();
    const std::vector<std::tuple<unsigned int, unsigned int, std::string,
                                 dealii::DataComponentInterpretation::DataComponentInterpretation>>
        vectors = {{2u, 1u + dim, "velocity", dealii::DataComponentInterpretation::component_is_part_of_vector}};
    dealii::DataOutBase::VtkFlags flags;
    flags.compression_level = dealii::DataOutBase::VtkFlags::ZlibCompressionLevel::best_speed;
    write_file(file_name,
               [&](std::ostream &out) { dealii::DataOutBase::write_vtu(patches, names, vectors, flags, out); });
  }

  template void write_voxels(const std::string &, const VoxelGrid &, const dealii::Point<2> &, const VoxelPicture &);
  template void write_voxels(const std::string &, const VoxelGrid &, const dealii::Point<3> &, const VoxelPicture &);
} // namespace PatchFEM
