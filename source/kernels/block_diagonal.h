// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/parallel_for.h>

/**
 * @file
 * Bodies over scalar rows that copy the part of a row in its diagonal block: entry (a, c) of block i goes to
 * (a * block_size + c) * stride + i. Entries that the pattern lacks are 0.
 */
namespace PatchFEM::kernels
{
  template <typename Number>
  struct CSRBlockDiagonalBody
  {
    CSRView<Number> A;
    int             block_size;
    Number         *blocks;
    std::int64_t    stride;

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      const int          a     = static_cast<int>(row % block_size);
      const int          first = static_cast<int>(row) - a;
      std::int64_t       e     = A.row_offsets[row];
      const std::int64_t end   = A.row_offsets[row + 1];
      for (std::int64_t last = end; e < last;)
      {
        const std::int64_t middle = (e + last) / 2;
        if (A.columns[middle] < first)
          e = middle + 1;
        else
          last = middle;
      }
      for (int c = 0; c < block_size; ++c)
      {
        const bool present = e < end && A.columns[e] == first + c;

        blocks[std::int64_t(a * block_size + c) * stride + row / block_size] = present ? A.values[e] : Number(0);
        e += present;
      }
    }
  };

  /** The same for blocks of the format's own size, which must be square, or of size 1. */
  template <typename Number>
  struct SlicedEllpackBlockDiagonalBody
  {
    SlicedEllpackView<Number> A;
    const int                *row_lengths; ///< blocks of each block row
    int                       block_size;
    Number                   *blocks;
    std::int64_t              stride;

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      const int i = static_cast<int>(row / A.block_rows), in_block = static_cast<int>(row % A.block_rows);
      const int k = find_block(A, row_lengths[i], i, i);
      const int a = static_cast<int>(row % block_size);
      for (int c = 0; c < block_size; ++c)
        blocks[std::int64_t(a * block_size + c) * stride + row / block_size] =
            k >= 0 ? A.values[A.value_index(i, k, in_block, in_block - a + c)] : Number(0);
    }
  };
} // namespace PatchFEM::kernels
