// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "patch_launch.cuh"

namespace PatchFEM::kernels
{
  /** The phases of EdgeBody by the threads of a block, an edge each; data are the same everywhere if @p constant. */
  template <typename Form, typename Number, bool constant>
  struct EdgeCells
  {
    static constexpr int  n_threads = 256, residency = 4;
    static constexpr bool overlaps = false;

    using Body    = EdgeBody<Form, Number>;
    using Scratch = typename Body::Scratch;

    const Body    &body;
    const Scratch &scratch;
    const int      patch;

    __device__ void prepare() const { body.load_points(patch, threadIdx.x, blockDim.x, scratch); }

    __device__ void run() const
    {
      const int rank = threadIdx.x, size = blockDim.x;
      body.template sum_edges<constant>(patch, rank, size, scratch);
      __syncthreads();
      if (body.loaded())
      {
        body.sum_loads(patch, rank, size, scratch);
        __syncthreads();
        body.put_values(patch, rank, size, scratch);
        __syncthreads();
      }
      if (body.with_matrix())
        body.sum_diagonals(patch, rank, size, scratch);
    }
  };

  template <typename Form, typename Number>
  struct EdgesKernel : public AnyKernel
  {
    static constexpr bool        possible = HostEdges<Form, Number>::possible;
    static constexpr const char *name     = HostEdges<Form, Number>::name;

    static bool serves(const KernelRequest &r) { return HostEdges<Form, Number>::serves(r); }

    static PatchRoom room(const KernelRequest &r)
    {
      PatchRoom room{internal::share_of_memory(r, EdgeCells<Form, Number, true>::residency), 0,
                     HostEdges<Form, Number>::bytes_per_row};
      // Where PairCells serve they take 0.97 of the time on tetrahedra, with a quarter of the memory beside the matrix,
      // and as long on triangles (H200, fp64, 4a60734; tetrahedra in two runs).
      if (Form::n_components == 1 && moment_kind_of<Form> == MomentKind::inner_product && !r.varying)
        room.most_redundant = 1.; // only if named
      return room;
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      const EdgeBody<Form, Number> body{{a}, *static_cast<const EdgesView *>(a.own_lists)};
      require(body.worker_bytes() <= internal::room_of_workers(body), internal::too_many_rows);
      if (body.constant())
        internal::launch_patches<EdgeCells<Form, Number, true>>(where, body, 256, body.worker_bytes());
      else
        internal::launch_patches<EdgeCells<Form, Number, false>>(where, body, 256, body.worker_bytes());
    }
  };
} // namespace PatchFEM::kernels

namespace PatchFEM
{
  template <typename Form, typename Number>
  auto strategies::Edges::kernels(Cuda)
  {
    return std::tuple<PatchFEM::kernels::EdgesKernel<Form, Number>>();
  }
} // namespace PatchFEM
