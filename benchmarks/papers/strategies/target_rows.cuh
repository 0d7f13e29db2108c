// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "patch_launch.cuh"

#include <patchfem/kernels/target_rows.h>

namespace PatchFEM::kernels
{
  namespace internal
  {
    /** A warp for each fed row. */
    template <int n_comp, typename Number>
    __global__ void __launch_bounds__(256)
        fed_rows_kernel(const __grid_constant__ TargetRows<n_comp, Number> rows, const int n_patches)
    {
      const PatchesView &p     = rows.a.patches;
      const std::int64_t first = p.fed_offsets[rows.a.first_patch], end = p.fed_offsets[rows.a.first_patch + n_patches];
      for (std::int64_t fed = first + blockIdx.x * 8 + threadIdx.x / 32; fed < end; fed += gridDim.x * 8)
        rows.add_buffered(fed, WholeWarp());
    }
  } // namespace internal

  /** Zeros, unless another batch was there before. */
  template <int n_comp, typename Number>
  void clear(Cuda where, const TargetRows<n_comp, Number> &rows)
  {
    const cudaStream_t stream = stream_of(where);
    if (rows.with_matrix())
      PATCHFEM_CUDA_CHECK(cudaMemsetAsync(rows.values(), 0, rows.a.matrix.n_values * sizeof(Number), stream));
    if (rows.a.rhs != nullptr)
      PATCHFEM_CUDA_CHECK(
          cudaMemsetAsync(rows.a.rhs, 0, std::int64_t(rows.a.patches.n_rows) * n_comp * sizeof(Number), stream));
  }

  /** What buffered cells feed, of the chunk's patches. */
  template <int n_comp, typename Number>
  void add_buffered(Cuda where, const TargetRows<n_comp, Number> &rows)
  {
    if (rows.a.patches.fed_offsets == nullptr)
      return;
    internal::launch(where, internal::fed_rows_kernel<n_comp, Number>, 4 * internal::multiprocessor_count(), 256, 0,
                     rows, rows.a.end_patch - rows.a.first_patch);
  }
} // namespace PatchFEM::kernels
