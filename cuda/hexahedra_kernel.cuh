// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_cells.cuh"
#include "assembly_hexahedra.cuh"

#include <algorithm>

namespace PatchFEM::kernels
{
  namespace internal
  {
    /**
     * Blocks stay and take one patch after the other, so that the first cells of the next are mapped while the rows of
     * this one are written.
     */
    template <typename Form, typename Number>
    __global__ void __launch_bounds__(Hexahedra<Form, Number>::n_threads, Hexahedra<Form, Number>::residency)
        hexahedra_kernel(const __grid_constant__ PatchBody<Form::n_components, Number> body, const int n_slots)
    {
      extern __shared__ __align__(16) unsigned char memory[];
      const auto                                    scratch = body.scratch(memory);
      const Hexahedra<Form, Number>                 cells{body, scratch, n_slots};
      cells.clear(threadIdx.x, blockDim.x);
      if (threadIdx.x == 0)
        cells.init_barriers();
      __syncthreads();
      if (threadIdx.x / 32 < Hexahedra<Form, Number>::n_mapping)
        cells.map_patches();
      else
        cells.add_patches();
    }
  } // namespace internal

  /**
   * Patches compute trilinear hexahedra by matrix instructions, in double precision. For sums in single precision that is
   * worth it where a cell has much to compute.
   */
  template <typename Form, typename Number>
  struct HexahedraKernel : public AnyKernel
  {
    /// A cell's matrix is a product with constants.
    static constexpr bool inner = MomentsOf<Form>::kind == MomentKind::inner_product;
    static constexpr bool possible =
        Form::dimension == 3 && Form::n_components <= 4 &&
        (MomentsOf<Form>::kind == MomentKind::outer_product || (inner && std::is_same<Number, double>::value));
    static constexpr const char *name = "trilinear hexahedra by matrix instructions";

    using Cells = Hexahedra<Form, Number>;

    static bool serves(const KernelRequest &r)
    {
      return r.strategy == "patches" && fits<MultilinearCube<3>>(r) && !r.varying;
    }

    static PatchRoom room(const KernelRequest &request)
    {
      // Data that vary inside cells need the general kernel, with one cell at least.
      PatchRoom room{internal::share_of_memory(request, Cells::residency),
                     std::max(CellsKernel<Form, Number, AnyExtents>::least_bytes(request.reference),
                              Cells::least_slots * Cells::slot_bytes + Cells::barrier_bytes)};
      if (inner)
        room.most_redundant = 1.; // they are staged faster
      return room;
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      const typename Cells::Body body{a};
      const std::size_t          bytes = Cells::slot_bytes, extra = Cells::barrier_bytes;
      const std::size_t          room    = internal::room_of_workers(body);
      const int                  n_slots = room < extra ? 0 : static_cast<int>((room - extra) / bytes);
      require(n_slots >= Cells::fewest_slots, internal::too_many_rows);
      const int n_blocks = std::min(a.end_patch - a.first_patch, internal::multiprocessor_count() * Cells::residency);
      internal::launch_with_memory(where, internal::hexahedra_kernel<Form, Number>, n_blocks, Cells::n_threads,
                                   body.row_bytes() + n_slots * bytes + extra, body, n_slots);
    }
  };
} // namespace PatchFEM::kernels
