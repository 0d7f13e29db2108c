// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_patch_views_h
#define patchfem_kernels_patch_views_h

#include <patchfem/base/host_device.h>

#include <cstdint>

namespace PatchFEM
{
  /**
   * A cell whose matrix lies in the chunk's buffer before rows are summed: it has constraints, boundary terms or a
   * degree for which that is cheaper. Its matrix holds, for the n_free rows that couple, blocks [row][column] of
   * n_components^2 entries row by row, then one diagonal block for each of the other rows.
   */
  struct BufferedCell
  {
    int          cell; ///< global number
    int          batch;
    int          constrained; ///< position in ConstrainedCellsView or -1
    int          faces;       ///< position in FacesView or -1
    int          n_free;
    int          n_rows;
    std::int64_t matrix_offset; ///< in the chunk's buffer of matrix entries
    std::int64_t raw_offset;    ///< unresolved matrix of a constrained cell, in the same buffer
    std::int64_t vector_offset; ///< in the chunk's buffer of load entries: n_rows * n_components
    std::int64_t raw_vector_offset;
  };

  /** Unsigned numbers that are stored in 1, 2 or 4 bytes each. */
  struct PackedView
  {
    const void *data;
    int         width;

    PATCHFEM_INLINE unsigned int operator[](const std::int64_t i) const
    {
      return width == 1   ? static_cast<const std::uint8_t *>(data)[i]
             : width == 2 ? static_cast<const std::uint16_t *>(data)[i]
                          : static_cast<const std::uint32_t *>(data)[i];
    }
  };

  /**
   * The cut of the rows into patches and what each row sums. Patch p owns rows [p * rows_per_patch, ...). Entry e of a
   * patch's cells is a global cell number if the patch computes the cell, or ~(position among the chunk's buffered
   * cells).
   */
  struct PatchesView
  {
    int                 n_rows;
    int                 n_patches;
    int                 rows_per_patch;
    const std::int64_t *cell_offsets; ///< [patch + 1]
    const int          *cells;        ///< of each patch, ascending by global number
    const std::int64_t *pair_offsets; ///< [patch + 1]
    const std::int64_t *slot_offsets; ///< [patch + 1]
    const std::uint32_t
        *row_pairs; ///< [row + patch of the row], relative to the patch; one past the end at each patch's end
    const std::uint32_t *row_slots; ///< [row], relative to the patch

    /// (position of the cell in the patch) << row_bits | row of the cell, in the order of the cells
    PackedView pairs;
    int        row_bits;
    /// For each pair the places in the row that the cell's n_free columns have, or one place for a diagonal.
    PackedView          slots;
    const std::int64_t *row_offsets; ///< [row + 1], blocks of the sparsity

    PATCHFEM_INLINE int first_row(const int p) const { return p * rows_per_patch; }
    PATCHFEM_INLINE int end_row(const int p) const
    {
      return (p + 1) * rows_per_patch < n_rows ? (p + 1) * rows_per_patch : n_rows;
    }
  };
} // namespace PatchFEM

#endif
