// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/array.h>
#include <patchfem/kernels/jacobi.h>
#include <patchfem/kernels/matrix_views.h>

#include <cstdint>

namespace PatchFEM
{
  /** Throws Error unless blocks of this size on this pattern can be indexed. */
  inline void check_block_pattern(const SparsityView &pattern, const int block_rows, const int block_columns)
  {
    const int limit = kernels::max_block_size;
    require(block_rows >= 1 && block_rows <= limit && block_columns >= 1 && block_columns <= limit, "Blocks of ",
            block_rows, " x ", block_columns, " are not supported; sizes from 1 to ", limit, " are.");
    require(std::int64_t(pattern.n_rows) * block_rows < INT32_MAX &&
                std::int64_t(pattern.n_columns) * block_columns < INT32_MAX,
            "A matrix has more than 2^31 - 1 rows or columns, which its 32-bit indices cannot number.");
  }

  /** Throws Error unless the diagonal of scalar rows can be read in blocks of this size. */
  inline void check_block_diagonal(const int n_rows, const int n_columns, const int block_size)
  {
    require(block_size >= 1 && block_size <= kernels::max_block_size && n_rows % block_size == 0,
            "The rows of a matrix are not a multiple of the block size ", block_size, ".");
    require(n_rows <= n_columns, "A matrix with more rows than columns has no block diagonal.");
  }

  /** offsets[i], fetched from the back end. */
  inline std::int64_t read_offset(const Backend &backend, const std::int64_t *offsets, const std::int64_t i)
  {
    std::int64_t result = 0;
    memory::copy(Backend(BackendKind::host), &result, backend, offsets + i, sizeof(result));
    return result;
  }

  /** offsets[s + 1] - offsets[s] = height * (longest row of slice s); returns the last of them. */
  template <typename Where>
  std::int64_t slice_offsets(Where, const Array<int> &lengths, int height, Array<std::int64_t> &offsets);
} // namespace PatchFEM
