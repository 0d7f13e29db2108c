// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "sliced_ellpack_product.cuh"
#include "workspace.cuh"

#include <patchfem/kernels/csr.h>
#include <patchfem/kernels/sliced_ellpack.h>

#include <cub/device/device_scan.cuh>

namespace PatchFEM::kernels
{
  namespace
  {
    constexpr int block_size = tuning::block_size;

    /** One warp per slice: lengths of its rows, and slice_height times the largest, left for the scan. */
    __global__ void slice_sizes_kernel(const SparsityView  pattern,
                                       const int           slice_height,
                                       const int           n_slices,
                                       std::int64_t *const offsets,
                                       int *const          row_lengths)
    {
      const int slice = static_cast<int>((std::int64_t(blockIdx.x) * block_size + threadIdx.x) / 32);
      const int lane  = threadIdx.x % 32;
      if (slice >= n_slices)
        return;
      int                width = 0;
      const std::int64_t first = std::int64_t(slice) * slice_height;
      for (int r = lane; r < slice_height && first + r < pattern.n_rows; r += 32)
      {
        const std::int64_t row    = first + r;
        const int          length = static_cast<int>(pattern.row_offsets[row + 1] - pattern.row_offsets[row]);
        row_lengths[row]          = length;
        width                     = max(width, length);
      }
      width = __reduce_max_sync(0xffffffffu, width);
      if (lane == 0)
      {
        offsets[slice + 1] = std::int64_t(width) * slice_height;
        if (slice == 0)
          offsets[0] = 0;
      }
    }
  } // namespace

  template <typename Value, typename Number, typename Target>
  void product(Cuda where, const SlicedEllpackView<Value> &A, const Number *x, const Target &target)
  {
    // Slices of one row of scalars are compressed rows.
    if (A.slice_height == 1 && A.block_rows == 1 && A.block_columns == 1)
      return product(where, CSRView<Value>{A.n_rows, A.n_columns, A.slice_offsets, A.columns, A.values}, x, target);
    product::launch_sliced_ellpack(where, A, x, target);
  }

  void slice_offsets(
      Cuda where, const SparsityView &pattern, const int slice_height, std::int64_t *offsets, int *row_lengths)
  {
    const cudaStream_t stream   = stream_of(where);
    const int          n_slices = PatchFEM::n_slices(pattern.n_rows, slice_height);
    if (n_slices == 0)
    {
      PATCHFEM_CUDA_CHECK(cudaMemsetAsync(offsets, 0, sizeof(std::int64_t), stream));
      return;
    }
    slice_sizes_kernel<<<PatchFEM::n_slices(n_slices, block_size / 32), block_size, 0, stream>>>(
        pattern, slice_height, n_slices, offsets, row_lengths);
    PATCHFEM_CUDA_CHECK_LAUNCH();

    with_workspace(where, [&](void *workspace, std::size_t &bytes) {
      return cub::DeviceScan::InclusiveSum(workspace, bytes, offsets + 1, offsets + 1, n_slices, stream);
    });
  }

  template void parallel_for(Cuda, std::int64_t, const FillColumnsBody &);
  template void parallel_for(Cuda, std::int64_t, const FillValuesBody<float> &);
  template void parallel_for(Cuda, std::int64_t, const FillValuesBody<double> &);
  template void parallel_for(Cuda, std::int64_t, const ColumnStepsBody &);
  template void parallel_for(Cuda, std::int64_t, const CountShortSlicesBody &);

  PATCHFEM_INSTANTIATE_PRODUCTS(Cuda, SlicedEllpackView)
} // namespace PatchFEM::kernels
