// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/launch.h"

#include <patchfem/assembly/voxel_poisson.h>
#include <patchfem/kernels/primitives.h>

#include <limits>

namespace PatchFEM
{
  void FaceVelocities::reinit(const Backend &backend, const VoxelGrid &grid)
  {
    for (int d = 0; d < 3; ++d)
    {
      component[d].reinit(backend, grid.n_faces(d));
      component[d].set_zero();
    }
  }

  void FluidCells::reinit(const Backend &backend, const VoxelGrid &grid, const Array<unsigned char> &labels)
  {
    require(grid.n[0] > 0 && grid.n[1] > 0 && grid.n[2] > 0 && grid.h > 0.,
            "A grid of voxels needs cells in every direction, of positive size.");
    require(labels.backend() == backend && std::int64_t(labels.size()) == grid.n_cells(),
            "The labels of voxels do not fit their grid.");
    require(grid.n_words() < std::numeric_limits<int>::max(), "A grid of voxels has more cells than can be numbered.");
    box      = grid;
    n_closed = -1;
    parent.release();
    surface.release();
    const std::int64_t n_words = view().all_words();
    bits.reinit(backend, n_words);
    counts.reinit(backend, n_words);
    first.reinit(backend, n_words + 1);
    unsigned int sides = 0;
    for (int s = 0; s < 6; ++s)
      sides |= static_cast<unsigned int>(box.open_sides[s]) << s;
    dispatch(backend, [&](auto where) { mark(where, labels, sides); });
    launch(backend, [&](auto where) { kernels::exclusive_scan(where, n_words, counts.data(), first.data()); });
    const std::int64_t found = first.read(n_words);
    require(found < std::numeric_limits<int>::max(), "There are ", found,
            " cells of fluid, more than rows of a matrix can have.");
    n = static_cast<int>(found);
  }

  int FluidCells::find_closed_parts()
  {
    n_closed = dispatch(backend(), [&](auto where) { return find_closed_parts(where); });
    return n_closed;
  }

  template <typename Number>
  NullSpace<Number> FluidCells::null_space(const int limit)
  {
    if (n_closed < 0)
      find_closed_parts();
    require(n_closed <= limit, "The fluid has ", n_closed, " closed parts, and the constants of at most ", limit,
            " can be projected away.");
    if (n_closed == 0)
      return NullSpace<Number>();
    return NullSpace<Number>(dispatch(backend(), [&](auto where) { return constants_of_parts(where); }));
  }

  template <typename Number>
  void FluidCells::to_cells(const Vector<Number> &values, Array<double> &cells) const
  {
    require(std::int64_t(values.size()) == n, "A vector does not have the size of the fluid.");
    dispatch(backend(), [&](auto where) { to_cells(where, values, cells); });
  }

  template <typename Number>
  void FluidCells::from_cells(const Array<double> &cells, Vector<Number> &values) const
  {
    require(std::int64_t(cells.size()) == box.n_cells(), "Values of cells do not fit their grid.");
    dispatch(backend(), [&](auto where) { from_cells(where, cells, values); });
  }

  template <typename Number>
  void VoxelPoisson<Number>::reinit(const FluidCells &cells)
  {
    dispatch(cells.backend(), [&](auto where) { reinit(where, cells); });
  }

  template <typename Number>
  void VoxelPoisson<Number>::assemble_rhs(const FluidCells     &cells,
                                          const FaceVelocities &velocities,
                                          const Array<double>  *divergence,
                                          const double          scale,
                                          Vector<Number>       &rhs) const
  {
    const VoxelGrid &grid = cells.grid();
    for (int d = 0; d < 3; ++d)
      require(std::int64_t(velocities.component[d].size()) == grid.n_faces(d), "Velocities do not fit their grid.");
    require(divergence == nullptr || std::int64_t(divergence->size()) == grid.n_cells(),
            "Values of cells do not fit their grid.");
    dispatch(cells.backend(), [&](auto where) { assemble_rhs(where, cells, velocities, divergence, scale, rhs); });
  }

  template <typename Number>
  void VoxelPoisson<Number>::project(const FluidCells     &cells,
                                     const Vector<Number> &pressure,
                                     const double          scale,
                                     FaceVelocities       &velocities) const
  {
    for (int d = 0; d < 3; ++d)
      require(std::int64_t(velocities.component[d].size()) == cells.grid().n_faces(d),
              "Velocities do not fit their grid.");
    require(std::int64_t(pressure.size()) == cells.n_unknowns(), "A pressure does not have the size of the fluid.");
    dispatch(cells.backend(), [&](auto where) { project(where, cells, pressure, scale, velocities); });
  }

#define INSTANTIATE(Number)                                                                         \
  template NullSpace<Number> FluidCells::null_space(int);                                           \
  template void              FluidCells::to_cells(const Vector<Number> &, Array<double> &) const;   \
  template void              FluidCells::from_cells(const Array<double> &, Vector<Number> &) const; \
  template class VoxelPoisson<Number>;
  INSTANTIATE(float)
  INSTANTIATE(double)
#undef INSTANTIATE
} // namespace PatchFEM
