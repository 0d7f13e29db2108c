// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "patch_launch.cuh"
#include "strategies/target_rows.cuh"

namespace PatchFEM::kernels
{
  namespace internal
  {
    /** A block for each part, with a thread for each column of its arrays; see SharedNZBody. */
    template <typename Body>
    __global__ void __launch_bounds__(SharedNZView::n_threads, SharedNZView::preferred)
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

  template <typename Body>
  void compute_parts(Cuda where, const Body &body)
  {
    internal::launch(where, internal::shared_nz_kernel<Body>, body.view.n_parts, SharedNZView::n_threads,
                     body.n_numbers() * sizeof(typename Body::value_type), body);
  }
} // namespace PatchFEM::kernels
