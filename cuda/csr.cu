// SPDX-License-Identifier: LGPL-2.1-or-later
#include "csr_product.cuh"

#include <patchfem/kernels/csr.h>

namespace PatchFEM::kernels
{
  namespace
  {
    constexpr int block_size = tuning::block_size;

    /** One warp per block row, its lanes over the row's entries in the order of memory. */
    __global__ void expand_pattern_kernel(const SparsityView  pattern,
                                          const int           block_rows,
                                          const int           block_columns,
                                          std::int64_t *const row_offsets,
                                          int *const          columns)
    {
      const std::int64_t i    = (std::int64_t(blockIdx.x) * block_size + threadIdx.x) / 32;
      const int          lane = threadIdx.x % 32;
      if (i > pattern.n_rows)
        return;
      const std::int64_t begin  = pattern.row_offsets[i];
      const std::int64_t offset = begin * block_rows * block_columns;
      if (i == pattern.n_rows)
      {
        if (lane == 0)
          row_offsets[i * block_rows] = offset;
        return;
      }
      const std::int64_t m     = pattern.row_offsets[i + 1] - begin;
      const std::int64_t width = m * block_columns;
      for (int a = lane; a < block_rows; a += 32)
        row_offsets[i * block_rows + a] = offset + a * width;
      for (std::int64_t e = lane; e < width; e += 32)
      {
        const int column =
            pattern.columns[begin + e / block_columns] * block_columns + static_cast<int>(e % block_columns);
        for (int a = 0; a < block_rows; ++a)
          columns[offset + a * width + e] = column;
      }
    }
  } // namespace

  template <typename Value, typename Number, typename Target>
  void product(Cuda where, const CSRView<Value> &A, const Number *x, const Target &target)
  {
    product::launch_csr(where, A, x, target);
  }

  void expand_pattern(Cuda                where,
                      const SparsityView &pattern,
                      const int           block_rows,
                      const int           block_columns,
                      std::int64_t       *row_offsets,
                      int                *columns)
  {
    expand_pattern_kernel<<<pattern.n_rows / (block_size / 32) + 1, block_size, 0, stream_of(where)>>>(
        pattern, block_rows, block_columns, row_offsets, columns);
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }

  PATCHFEM_INSTANTIATE_PRODUCTS(Cuda, CSRView)
} // namespace PatchFEM::kernels
