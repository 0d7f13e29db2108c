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
      const BoundaryArrayView &lists = boundary_array_of(a);
      BoundaryArrayKernel::template launch_cells<OwnedCells<Form, Number, Extents>>(
          where, {{{extended(a, lists)}, 1}, {a}, lists});
      add_boundary_rows<Form>(where, a);
    }
  };
} // namespace PatchFEM::kernels

namespace PatchFEM
{
  template <typename Form, typename Number>
  auto strategies::BoundaryArray::kernels(Cuda)
  {
    return OfCells<PatchFEM::kernels::BoundaryArrayKernel>::kernels<Form, Number>(Cuda());
  }
} // namespace PatchFEM
