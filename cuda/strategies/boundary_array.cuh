// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_cells.cuh"

namespace PatchFEM::kernels
{
  /** Cells of a patch with extended rows, all of which are its own. */
  template <typename Form, typename Number, typename Extents>
  struct OwnedCells : public WarpCells<Form, Number, Extents>
  {
    using Body = BoundaryBody<typename WarpCells<Form, Number, Extents>::Body, Form::n_components, Number>;
  };

  /** See HostBoundaryArray. */
  template <typename Form, typename Number, typename Extents>
  struct BoundaryArrayKernel : public CellsKernel<Form, Number, Extents>
  {
    static bool serves(const KernelRequest &r) { return r.strategy == "boundary_array" && fits<Extents>(r); }

    /** Blocks of several components leave few rows to a quarter of the memory, and most of them to boundaries. */
    static PatchRoom room(const KernelRequest &r)
    {
      KernelRequest request = r;
      request.concurrent    = r.concurrent > 0 ? r.concurrent : Form::n_components == 1 ? 4 : 2;
      return CellsKernel<Form, Number, Extents>::room(request);
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      using Cells                    = OwnedCells<Form, Number, Extents>;
      const BoundaryArrayView &lists = boundary_array_of(a);
      typename Cells::Body     body{{{extended(a, lists)}, 1}, {a}, lists};
      const ReferenceView     &r     = a.batches.batch[a.computed_batch].reference;
      typename Cells::Shape    shape = {Cells::most_warps, 1, 0}; // where all cells are buffered
      if (a.most_levels > 0)
      {
        const std::size_t room = internal::room_of_workers(body);
        shape                  = Cells::shape(r.n_shape, a.one_point ? 1 : r.n_quadrature, room);
        require(shape.bytes() <= room, internal::too_many_rows);
      }
      body.cells_per_warp = shape.cells_per_warp;
      internal::launch_patches<Cells>(where, body, shape.n_warps * 32, shape.bytes());
      add_boundary_rows<Form>(where, a);
    }
  };
} // namespace PatchFEM::kernels

namespace PatchFEM
{
  template <typename Form, typename Number>
  auto strategies::BoundaryArray::kernels(Cuda)
  {
    using namespace PatchFEM::kernels;
    constexpr int dim = Form::dimension;
    return std::tuple<BoundaryArrayKernel<Form, Number, LinearSimplex<dim>>,
                      BoundaryArrayKernel<Form, Number, MultilinearCube<dim>>,
                      BoundaryArrayKernel<Form, Number, AnyExtents>>();
  }
} // namespace PatchFEM
