// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/base/host_device.h>

#include <cstdint>

/**
 * @file
 * Relaxation on patches (P3, section 5.2). A = A_P + A_B: entries inside of patches, that is blocks A_kk on the
 * diagonal, and entries between patches. M^-1 = q(D^-1 A_P) D^-1 is block Jacobi with A_kk^-1 replaced by s sweeps of
 * Jacobi's method, z <- z + omega D^-1 (r_k - A_kk z) from z = 0: a symmetric operator, positive definite for
 * 0 < omega < 2 / lambda_max(D^-1 A).
 *
 * A patch is worked on by one block of threads, which holds its vectors and A_kk in shared memory, so that A_kk is read
 * once however many sweeps there are. First-level caches do not do that by themselves: with patches of 90 KB of blocks
 * of 3 an H200 found 8 % of the loads there and read A_kk twice. A patch that is too large for half of the shared memory
 * has only its vectors there. On the host a patch belongs to one thread and A_kk stays in the second-level cache.
 */
namespace PatchFEM
{
  /** What is stored of the symmetric blocks A_kk: see PatchMatrixView. */
  enum class PatchStorage
  {
    automatic,  ///< half for blocks, both for scalars
    both,       ///< all entries, by rows
    half,       ///< one of A_ij and A_ji, and for the other row where it stands: rows are summed in a fixed order
    half_atomic ///< one of them, whose product with the other row is added atomically, so that results do not repeat
  };

  /**
   * A in patches. Nodes are numbered in slots: those of patch p stand in the slices
   * [patch_slices[p], patch_slices[p + 1]) of slice_height slots each, the last one padded. Both parts of A are sliced
   * block ELLPACK in that order, laid out as SlicedEllpackView: the inner one holds the diagonal and the columns of the
   * patch as slots counted from its first, the outer one all others as block columns of A. Rows of a patch are sorted
   * by falling number of inner blocks, which leaves little padding in either part.
   *
   * With half storage the inner part holds one block of each pair {i, j} of nodes of a patch, in the row that
   * kernels::keeps_block() names, and in every row the diagonal first. The kept blocks of a row give
   *   y_i = sum A_ij x_j   and products   A_ij^T x_i,
   * which row j adds to y_j: they go to a buffer at the place of A_ij, where row j finds them by its *mirrors*. So a
   * block is read once for both rows, sums have a fixed order, and what is scattered is n_c numbers, not n_c^2. A pair in
   * fp32 takes 40 bytes for blocks of 3 and 8 for scalars; with both halves 76 and 12. The buffer adds 12 and 4 bytes
   * in fast memory alone.
   */
  template <typename Number>
  struct PatchMatrixView
  {
    int                  n_patches;
    int                  block_size;
    int                  slice_height;
    int                  largest_patch; ///< in slots
    std::size_t          largest_inner; ///< inner blocks of a patch, padding included
    const int           *patch_slices;  ///< [patch + 1]
    const int           *nodes;         ///< [slot], block row of A; -1 in padding
    const std::int64_t  *inner_offsets; ///< [slice + 1], in stored blocks
    const std::uint16_t *inner_columns;
    const Number        *inner_values;
    const std::int64_t  *outer_offsets; ///< [slice + 1], in stored blocks
    const int           *outer_columns;
    const Number        *outer_values;
    const Number        *diagonal; ///< D^-1: entry (a, c), c <= a, at (slice * packed + a (a + 1) / 2 + c) * h + r
    int                  n_slices;
    int                  n_sweeps;
    const double        *weights; ///< omega of the sweeps, [n_sweeps]

    PatchStorage        storage        = PatchStorage::both; ///< not automatic
    std::size_t         largest_mirror = 0;                  ///< mirrors of a patch, padding included
    const std::int64_t *mirror_offsets = nullptr;            ///< [slice + 1]; with half storage in a fixed order
    /// Sliced as columns: a kept block of another row of the patch, counted from the patch's first. Padding: the diagonal.
    const std::uint16_t *mirrors = nullptr;

    /** Entries of a symmetric block. */
    PATCHFEM_INLINE int packed() const { return block_size * (block_size + 1) / 2; }

    /** Blocks of each row of a slice in a part with these @p offsets. */
    PATCHFEM_INLINE int width(const std::int64_t *offsets, const std::int64_t slice) const
    {
      return static_cast<int>((offsets[slice + 1] - offsets[slice]) / slice_height);
    }
  };

  namespace kernels
  {
    /** Whether row @p i != @p j keeps the block of {i, j}, else row j. Of neighbours i - d, i + d rows keep one. */
    PATCHFEM_INLINE constexpr bool keeps_block(const int i, const int j)
    {
      return ((i ^ j) & 1) == (i < j ? 1 : 0);
    }

    /**
     * The storage that automatic stands for. Both halves of a pair of scalars take 12 bytes of fast memory in fp32, and so
     * does one half with its buffer and places, while its sums take an additional phase.
     */
    PATCHFEM_INLINE constexpr PatchStorage chosen_storage(const PatchStorage storage, const int block_size)
    {
      return storage != PatchStorage::automatic ? storage : block_size == 1 ? PatchStorage::both : PatchStorage::half;
    }

    /** Bytes of fast memory for a stored block of A_kk: its values and column and, of a half, its place in the buffer. */
    PATCHFEM_INLINE constexpr std::int64_t
    patch_block_bytes(const PatchStorage storage, const int block_size, const int bytes_per_value)
    {
      const bool both = chosen_storage(storage, block_size) == PatchStorage::both;
      return (std::int64_t(block_size) + (both ? 0 : 1)) * block_size * bytes_per_value + 2;
    }

    /** The same for what couples a pair of nodes, the same whether or not half storage needs mirrors. */
    PATCHFEM_INLINE constexpr std::int64_t
    patch_pair_bytes(const PatchStorage storage, const int block_size, const int bytes_per_value)
    {
      const std::int64_t block = patch_block_bytes(storage, block_size, bytes_per_value);
      return chosen_storage(storage, block_size) == PatchStorage::both ? 2 * block : block + 2;
    }

    /** Blocks of six make patches of few nodes: slices of 32 would be padding for the most part. */
    PATCHFEM_INLINE constexpr int patch_slice_height(const int block_size)
    {
      return block_size <= 3 ? 32 : 8;
    }

    /**
     * A step of the relaxation, x = x + omega_b M^-1 (r - A_P x) with r = b - A_B x and omega_b = weight[0]; without
     * @p r from x = 0, which is not read, and without @p weight x = M^-1 b. With @p r_out also r_out = b - A_P x of the new x. Per unknown b or r (and b
     * for r_out) and x in, x and r_out out, D^-1 and A_P in, which s products use, one more with r_out. r_out may be r.
     */
    template <typename Number, typename Where>
    void patch_relaxation(Where,
                          const PatchMatrixView<Number> &A,
                          const double                  *weight,
                          const Number                  *b,
                          const Number                  *r,
                          Number                        *x,
                          Number                        *r_out);

    /** r = b - A_B x, each row summed in double; r may be b. */
    template <typename Number, typename Where>
    void patch_outer_residual(Where, const PatchMatrixView<Number> &A, const Number *x, const Number *b, Number *r);
  } // namespace kernels
} // namespace PatchFEM
