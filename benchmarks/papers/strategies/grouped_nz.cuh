// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "patch_launch.cuh"

namespace PatchFEM::kernels
{
  namespace internal
  {
    constexpr int warps_of_group = 8; ///< of a block, at most

    template <typename Body>
    __global__ void __launch_bounds__(warps_of_group * 32)
        group_kernel(const __grid_constant__ Body body, const int a_warp, const int record_size)
    {
      extern __shared__ __align__(16) unsigned char memory[];
      auto                                         *x     = reinterpret_cast<typename Body::value_type *>(memory);
      const int                                     group = blockIdx.x, warp = threadIdx.x / 32;
      body.fetch(group, threadIdx.x, blockDim.x, x);
      __syncthreads();
      body.compute(group, WholeWarp(), warp, blockDim.x / 32, a_warp, x,
                   x + body.groups.n_points * Body::dim + warp * a_warp * record_size);
    }
  } // namespace internal

  /** A block for each group, with as many cells at once as fit beside its points. */
  template <typename Body>
  void compute_groups(Cuda where, const Body &body)
  {
    const std::size_t record = body.record_size(), most = body.a.fast_memory / sizeof(typename Body::value_type),
                      n_x = body.n_coordinates();
    require(n_x + record <= most, "The cells do not fit into fast memory; use the gather strategy.");
    int n_warps = internal::warps_of_group, a_warp = std::max(1, 32 / body.records().n_quadrature());
    while (a_warp > 1 && n_x + n_warps * a_warp * record > most)
      a_warp /= 2;
    while (n_warps > 1 && n_x + n_warps * a_warp * record > most)
      n_warps /= 2;
    internal::launch(where, internal::group_kernel<Body>, body.groups.n_groups, n_warps * 32,
                     (n_x + n_warps * a_warp * record) * sizeof(typename Body::value_type), body, a_warp,
                     static_cast<int>(record));
  }
} // namespace PatchFEM::kernels
