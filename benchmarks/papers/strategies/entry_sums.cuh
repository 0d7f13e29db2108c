// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "patch_launch.cuh"

namespace PatchFEM::kernels
{
  struct WarpLanes : public WholeWarp
  {
    template <typename T>
    __device__ T from(const T value, const int lane) const
    {
      return __shfl_sync(mask(), value, lane);
    }

    __device__ bool any(const bool value) const { return __any_sync(mask(), value); }
  };

  /** See EntryBody. Registers are left for the numbers that a thread has on their way. */
  template <int n_comp, typename Number, typename Lists>
  struct EntryCells
  {
    static constexpr int  n_threads = 256, residency = n_comp > 2 ? 3 : n_comp == 2 ? 4 : 6;
    static constexpr bool overlaps = true;

    using Body = EntryBody<n_comp, Number, Lists>;

    const Body                   &body;
    const typename Body::Scratch &scratch;
    const int                     patch;

    __device__ void prepare() {}
    __device__ void run() const { body.sum(patch, WarpLanes(), threadIdx.x, blockDim.x, scratch); }
  };

  template <int n_comp, typename Number, typename Lists>
  void sum_entries(Cuda where, const EntryBody<n_comp, Number, Lists> &body)
  {
    using Cells = EntryCells<n_comp, Number, Lists>;
    internal::launch_patches<Cells>(where, body, Cells::n_threads, 0);
  }
} // namespace PatchFEM::kernels
