// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "patch_launch.cuh"
#include "strategies/target_rows.cuh"

namespace PatchFEM::kernels
{
  namespace internal
  {
    /** A block for each part, with a thread for each column of its arrays; see SharedNZBody. */
    template <typename Body, int residency>
    __global__ void __launch_bounds__(SharedNZView::n_threads, residency)
        shared_nz_kernel(const __grid_constant__ Body body)
    {
      extern __shared__ __align__(16) unsigned char memory[];
      auto                                         *data = reinterpret_cast<typename Body::value_type *>(memory);
      const int                                     part = blockIdx.x, rank = threadIdx.x;
      body.scatter(part, rank, body.view.n_threads, data);
      __syncthreads();
      body.compute(part, rank, body.view.n_threads, data, [] { __syncthreads(); });
      __syncthreads();
      body.reduce(part, rank, body.view.n_threads, data);
    }
  } // namespace internal

  /** See HostSharedNZ. */
  template <typename Form, typename Number, typename Extents>
  struct SharedNZKernel : public AnyKernel
  {
    using Body = SharedNZBody<Form, Number, Extents>;

    static constexpr const char *name      = name_of_cells<Extents>();
    static constexpr int         preferred = 2; ///< parts on a multiprocessor

    static bool      serves(const KernelRequest &r) { return r.strategy == "shared_nz" && fits<Extents>(r); }
    static PatchRoom room(const KernelRequest &r)
    {
      return {internal::share_of_memory(r, preferred), Body::bytes_of_cell(r.reference)};
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      const Body body{{a}, *static_cast<const SharedNZView *>(a.own_lists)};
      if (a.first_patch == 0 && body.view.n_parts > 0)
        internal::launch(where, internal::shared_nz_kernel<Body, preferred>, body.view.n_parts, SharedNZView::n_threads,
                         body.view.most_cells * Body::bytes_of_cell(a.batches.batch[a.computed_batch].reference), body);
      add_buffered(where, body.rows);
    }
  };
} // namespace PatchFEM::kernels

namespace PatchFEM
{
  template <typename Form, typename Number>
  auto strategies::SharedNZ::kernels(Cuda)
  {
    using namespace PatchFEM::kernels;
    constexpr int dim = Form::dimension;
    return std::tuple<SharedNZKernel<Form, Number, LinearSimplex<dim>>,
                      SharedNZKernel<Form, Number, MultilinearCube<dim>>, SharedNZKernel<Form, Number, AnyExtents>>();
  }
} // namespace PatchFEM
