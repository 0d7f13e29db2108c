// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

#include <cstdint>

/**
 * @file
 * Sliced block ELLPACK of symmetric matrices, in which most entries are stored once. Rows are cut into patches of equal
 * length along their numbering. Of two entries inside a patch that mirror each other one is stored, and serves both rows;
 * entries between patches are stored in both. Columns take 16 bits: rows of the patch first, then the rows of others
 * that it couples to, its halo.
 *
 * What a product reads per row of b x b blocks in fp64, with s blocks inside the patch off the diagonal, o outside and a
 * halo of h rows for each of the patch: each stored block has 8 b^2 bytes of values and 2 of column, those inside 2 more
 * for where the mirrored row finds it; then 4 b (b + 1) bytes of the diagonal's upper half, 16 b of source and
 * destination, 4 h of the halo, whose sources come from the second-level cache, and about 6 of structure:
 *
 *   s / 2 (8 b^2 + 4) + o (8 b^2 + 2) + 4 b (b + 1) + 16 b + 4 h + 6.
 *
 * A patch that were a box of nodes of a grid of trilinear hexahedra with edges of m nodes would have s + o = 26 and
 * s = (3 - 2/m)^3 - 1. Runs of 512 nodes along the Hilbert curve have s = 19.8 as boxes of 8^3 nodes do, and h = 0.94:
 * elasticity (b = 3) moves 435 bytes an unknown in place of 700, Laplace 212 in place of 344 or, with 16-bit columns,
 * 286; padding adds 1 to 3 %. Twice as long patches would save 3 % of that, half as long ones cost 4 to 5 %.
 *
 * Elasticity comes close to what the memory allows. A product of scalars waits as often and as long for a ninth of the
 * values and reaches three quarters of the memory's rate.
 */
namespace PatchFEM
{
  /**
   * A symmetric matrix as kernels see it. Patch p has rows [p * patch_rows, (p + 1) * patch_rows), a multiple of 32. The
   * rows of a patch stand in positions, those with like numbers of blocks side by side, 32 to a slice; slices
   * of the last patch that lie past its rows are empty. For position r of slice s (counted over all patches):
   *
   *   rows[32 s + r]                                its row in the patch and its number of blocks (SymmetricRow)
   *   diagonal[(32 s) b (b + 1) / 2 + 32 e + r]     upper half of the diagonal block, row by row
   *   columns[offsets[s] + 32 k + r]                column of the k-th block, those inside the patch first
   *   values[(offsets[s] + 32 k) b^2 + 32 e + r]
   *
   * A column below patch_rows is that row of the patch, c + patch_rows is row halo[halo_offsets[p] + c] of the matrix. The
   * products of the transposes of blocks inside are exchanged in chunks of @p chunk blocks a row. In chunk c of a patch
   * the one of block k = c * chunk + l of position q stands in slot l * patch_rows + q, and position r collects the slots
   *
   *   mirrors[mirror_offsets[(chunk_offsets[p] + c) * slices_per_patch() + t] + 32 m + r], t the slice in the patch,
   *
   * in this order; slot chunk * patch_rows is 0 and pads. Padding of blocks is 0, with the row itself as its column.
   */
  template <typename Number>
  struct SymmetricEllpackView
  {
    static constexpr int slice_height = 32;

    int n_rows;     ///< block rows
    int block_size; ///< b
    int patch_rows; ///< block rows in a patch
    int chunk;      ///< blocks of a row between two exchanges

    const std::uint32_t *rows;     ///< [n_positions]
    const Number        *diagonal; ///< [n_positions * b (b + 1) / 2]

    const std::int64_t  *offsets; ///< [n_slices + 1], in blocks
    const std::uint16_t *columns;
    const Number        *values;

    const std::int64_t *halo_offsets; ///< [n_patches + 1]
    const int          *halo;         ///< ascending in each patch

    const std::int64_t  *chunk_offsets;  ///< [n_patches + 1]
    const std::int64_t  *mirror_offsets; ///< [chunk_offsets[n_patches] * slices_per_patch() + 1]
    const std::uint16_t *mirrors;

    PATCHFEM_INLINE int slices_per_patch() const { return patch_rows / slice_height; }
    PATCHFEM_INLINE int n_patches() const { return n_rows / patch_rows + (n_rows % patch_rows != 0); }

    /** Rows of patch @p p; only the last may have fewer than patch_rows. */
    PATCHFEM_INLINE int n_rows_of(const int p) const
    {
      const std::int64_t left = n_rows - std::int64_t(p) * patch_rows;
      return static_cast<int>(left < patch_rows ? left : patch_rows);
    }
  };

  /** A row of a patch and its number of blocks in one word. */
  struct SymmetricRow
  {
    PATCHFEM_INLINE static std::uint32_t pack(const int row, const int n_blocks)
    {
      return static_cast<std::uint32_t>(row) | static_cast<std::uint32_t>(n_blocks) << 12;
    }
    PATCHFEM_INLINE static int row(const std::uint32_t packed) { return static_cast<int>(packed & 4095u); }
    PATCHFEM_INLINE static int n_blocks(const std::uint32_t packed) { return static_cast<int>(packed >> 12); }
  };

  namespace kernels
  {
    /**
     * Rows of a patch and blocks between exchanges, by the size of blocks. The products of a chunk and the source of
     * the patch and as much of its halo take 8 b patch_rows (chunk + 2) bytes of shared memory.
     */
    constexpr int symmetric_patch_rows(const int block_size)
    {
      return block_size == 6 ? 256 : 512;
    }
    constexpr int symmetric_chunk(const int block_size)
    {
      return block_size == 1 ? 16 : (block_size == 6 ? 4 : 6);
    }

    /** Whether there are kernels for blocks of this size. */
    constexpr bool symmetric_block_size(const int block_size)
    {
      return block_size == 1 || block_size == 2 || block_size == 3 || block_size == 6;
    }
  } // namespace kernels
} // namespace PatchFEM
