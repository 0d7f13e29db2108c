// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/kernels/matrix_views.h>

/**
 * @file
 * Scalar compressed rows. A product reads 12 bytes an entry (fp64 value, 32-bit column), 8 bytes of offset, and
 * per row 8 bytes of the source and 8 of the destination: 27 entries a row make 348 bytes, 81 make 996.
 */
namespace PatchFEM::kernels
{
  /** See product.h. */
  template <typename Value, typename Number, typename Target>
  void product(Host, const CSRView<Value> &A, const Number *x, const Target &target);
  template <typename Value, typename Number, typename Target>
  void product(Cuda, const CSRView<Value> &A, const Number *x, const Target &target);

  /**
   * The scalar pattern of blocks of @p block_rows x @p block_columns: row i * block_rows + a holds, for every block
   * column j of block row i in its order, the columns j * block_columns + c. With m blocks in the row and o blocks
   * before it, entry (a, k, c) stands at o * block_rows * block_columns + (a * m + k) * block_columns + c.
   */
  void expand_pattern(
      Host, const SparsityView &pattern, int block_rows, int block_columns, std::int64_t *row_offsets, int *columns);
  void expand_pattern(
      Cuda, const SparsityView &pattern, int block_rows, int block_columns, std::int64_t *row_offsets, int *columns);
} // namespace PatchFEM::kernels
