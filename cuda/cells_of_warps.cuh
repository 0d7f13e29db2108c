// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "patch_launch.cuh"

#include <patchfem/kernels/cell_records.h>
#include <patchfem/kernels/target_rows.h>

namespace PatchFEM::kernels
{
  namespace internal
  {
    constexpr int warps_of_cells = 8; ///< of a block

    /**
     * Cells [@p begin, @p end) of what @p target names: a warp maps @p cells_per_warp of them to records in fast memory, then its
     * lanes share out their blocks, which go where the target puts them.
     */
    template <typename Form, typename Number, typename Extents, typename Target>
    __global__ void __launch_bounds__(warps_of_cells * 32)
        cells_kernel(const __grid_constant__ AssemblyArguments<Number> a,
                     const std::int64_t                                begin,
                     const std::int64_t                                end,
                     const int                                         cells_per_warp,
                     const bool                                        with_matrix,
                     const bool                                        loaded,
                     const __grid_constant__ Target                    target)
    {
      extern __shared__ __align__(16) unsigned char memory[];
      const CellRecords<Form, Number, Extents>      cells{a};
      const int n = cells.n_shape(), n_q = cells.n_quadrature(), size = cells.point_size(n), stride = n_q * size;
      const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
      const std::int64_t first   = begin + (std::int64_t(blockIdx.x) * (blockDim.x / 32) + warp) * cells_per_warp;
      const int          n_cells = static_cast<int>(end - first < cells_per_warp ? end - first : cells_per_warp);
      if (n_cells <= 0)
        return;
      Number    *records  = reinterpret_cast<Number *>(memory) + warp * cells_per_warp * stride;
      const auto local_of = [&](const int k) { return target.cell(first + k) - cells.batch().first_cell; };
      const auto nodes_of = [&](const int local) { return cells.batch().nodes + std::int64_t(local) * n; };
      for (int item = lane; item < n_cells * n_q; item += 32)
        cells.stage(local_of(item / n_q), item % n_q, records + item * size);
      __syncwarp();
      if (with_matrix)
        for (int item = lane; item < n_cells * n * n; item += 32)
        {
          const int k = item / (n * n), i = item / n % n, j = item % n, local = local_of(k);
          target.matrix(first + k, nodes_of(local), n, i, j, cells.block(records + k * stride, local, i, j));
        }
      if (loaded)
        for (int item = lane; item < n_cells * n * Form::n_components; item += 32)
        {
          constexpr int n_comp = Form::n_components;
          const int     k = item / (n * n_comp), i = item / n_comp % n, c = item % n_comp, local = local_of(k);
          target.load(first + k, nodes_of(local), n, i, c, cells.load(records + k * stride, local, i, c));
        }
    }
  } // namespace internal

  /** Bytes of the record of one cell. */
  template <typename Form, typename Number, typename Extents>
  std::size_t bytes_of_cell(const ReferenceView &r, const bool one_point)
  {
    using Records = CellRecords<Form, Number, Extents>;
    return Records::record_size(r.n_shape, one_point ? 1 : r.n_quadrature) * sizeof(Number);
  }

  /** Launches cells_kernel with four blocks on a multiprocessor, if cells are small enough. */
  template <typename Form, typename Number, typename Extents, typename Target>
  void compute_cells(const Cuda                       where,
                     const AssemblyArguments<Number> &a,
                     const std::int64_t               begin,
                     const std::int64_t               end,
                     const bool                       with_matrix,
                     const bool                       loaded,
                     const Target                    &target)
  {
    if (begin >= end)
      return;
    const ReferenceView &r      = a.batches.batch[a.computed_batch].reference;
    const std::size_t    a_cell = bytes_of_cell<Form, Number, Extents>(r, a.one_point), most = a.fast_memory;
    require(a_cell <= most, "The cells do not fit into fast memory; use the gather strategy.");
    int n_warps = internal::warps_of_cells, a_warp = std::max(1, 32 / (a.one_point ? 1 : r.n_quadrature));
    while (a_warp > 1 && n_warps * a_warp * a_cell > most / 4)
      a_warp /= 2;
    while (n_warps > 1 && n_warps * a_warp * a_cell > most)
      n_warps /= 2;
    const std::int64_t a_block  = std::int64_t(n_warps) * a_warp;
    const int          n_blocks = static_cast<int>((end - begin + a_block - 1) / a_block);
    internal::launch(where, internal::cells_kernel<Form, Number, Extents, Target>, n_blocks, n_warps * 32,
                     n_warps * a_warp * a_cell, a, begin, end, a_warp, with_matrix, loaded, target);
  }
} // namespace PatchFEM::kernels
