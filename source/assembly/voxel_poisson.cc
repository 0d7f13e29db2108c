// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/run.h"

#include <patchfem/assembly/voxel_poisson.h>
#include <patchfem/kernels/primitives.h>

#include <limits>
#include <string>

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
    dispatch(backend, [&](auto where) {
      kernels::voxel_words(where, view(), sides, labels.data(), bits.data(), counts.data());
      kernels::exclusive_scan(where, n_words, counts.data(), first.data());
    });
    const std::int64_t found = first.read(n_words);
    require(found < std::numeric_limits<int>::max(),
            "There are " + std::to_string(found) + " cells of fluid, more than rows of a matrix can have.");
    n = static_cast<int>(found);
  }

  int FluidCells::find_closed_parts()
  {
    const int n_words = view().all_words();
    parent.reinit(backend(), n);
    surface.reinit(backend(), n);
    Array<int> number(backend(), 1);
    number.set_zero();
    run(backend(), n_words, kernels::VoxelRunsBody{view(), parent.data(), surface.data()});
    run(backend(), n_words, kernels::VoxelJoinBody{view(), parent.data()});
    run(backend(), n_words, kernels::VoxelSurfaceBody{view(), parent.data(), surface.data()});
    run(backend(), n_words, kernels::VoxelClosedBody{view(), parent.data(), surface.data(), number.data(), nullptr});
    n_closed = number.read(0);
    return n_closed;
  }

  template <typename Number>
  NullSpace<Number> FluidCells::null_space(const int limit)
  {
    if (n_closed < 0)
      find_closed_parts();
    require(n_closed <= limit, "The fluid has " + std::to_string(n_closed) +
                                   " closed parts, and the constants of at most " + std::to_string(limit) +
                                   " can be projected away.");
    if (n_closed == 0)
      return NullSpace<Number>();
    Array<int>          flags(backend(), n);
    Array<std::int64_t> numbers(backend(), std::size_t(n) + 1);
    flags.set_zero();
    run(backend(), view().all_words(),
        kernels::VoxelClosedBody{view(), parent.data(), surface.data(), nullptr, flags.data()});
    dispatch(backend(), [&](auto where) { kernels::exclusive_scan(where, n, flags.data(), numbers.data()); });
    std::vector<Vector<double>> constants;
    for (int part = 0; part < n_closed; ++part)
    {
      constants.emplace_back(backend());
      constants.back().reinit(backend(), n, true);
      run(backend(), n_bits(),
          kernels::VoxelPartBody{view(), parent.data(), surface.data(), numbers.data(), part, constants.back().data()});
    }
    return NullSpace<Number>(std::move(constants));
  }

  template <typename Number>
  void FluidCells::to_cells(const Vector<Number> &values, Array<double> &cells) const
  {
    require(std::int64_t(values.size()) == n, "A vector does not have the size of the fluid.");
    cells.reinit(backend(), box.n_cells());
    run(backend(), n_bits(), kernels::VoxelScatterBody<Number>{view(), values.data(), cells.data()});
  }

  template <typename Number>
  void FluidCells::from_cells(const Array<double> &cells, Vector<Number> &values) const
  {
    require(std::int64_t(cells.size()) == box.n_cells(), "Values of cells do not fit their grid.");
    values.reinit(backend(), n, true);
    run(backend(), n_bits(), kernels::VoxelGatherBody<Number>{view(), cells.data(), values.data()});
  }

  template <typename Number>
  void VoxelPoisson<Number>::reinit(const FluidCells &cells)
  {
    const Backend  &backend = cells.backend();
    const VoxelView grid    = cells.view();
    const int       n_words = grid.all_words(), n = cells.n_unknowns(), n_slices = PatchFEM::n_slices(n, 32);
    A = MDIAMatrix<Number>(); // gives memory back first
    counts.reinit(backend, n_words);
    sums.reinit(backend, std::size_t(n_words) + 1);
    widths.reinit(backend, n_slices);
    widths.set_zero();
    run(backend, n_words, kernels::VoxelWidthsBody{grid, counts.data(), widths.data()});
    Array<std::int64_t> slice_offsets(backend, std::size_t(n_slices) + 1);
    dispatch(backend, [&](auto where) {
      kernels::exclusive_scan(where, n_words, counts.data(), sums.data());
      kernels::exclusive_scan(where, n_slices, widths.data(), slice_offsets.data());
    });
    const std::int64_t n_off_diagonal = sums.read(n_words);
    Array<int>         columns(backend, slice_offsets.read(n_slices));

    const std::int64_t *const offsets     = slice_offsets.data();
    int *const                all_columns = columns.data();
    A.reinit(n, Number(-1), std::move(slice_offsets), std::move(columns), n_off_diagonal);
    run(backend, cells.n_bits(), kernels::VoxelFillBody<Number>{grid, n, offsets, all_columns, A.view().diagonal});
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
    rhs.reinit(cells.backend(), cells.n_unknowns(), true);
    run(cells.backend(), cells.n_bits(),
        kernels::VoxelFlowBody<Number>{
            cells.view(),
            {velocities.component[0].data(), velocities.component[1].data(), velocities.component[2].data()},
            divergence != nullptr ? divergence->data() : nullptr,
            grid.h,
            scale,
            rhs.data()});
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
    run(cells.backend(), cells.n_bits(),
        kernels::VoxelProjectBody<Number>{
            cells.view(),
            pressure.data(),
            scale,
            {velocities.component[0].data(), velocities.component[1].data(), velocities.component[2].data()}});
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
