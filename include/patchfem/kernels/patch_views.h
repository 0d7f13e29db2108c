// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace PatchFEM
{
  /**
   * A cell with constraints or boundary terms. Its matrix is resolved in the chunk's buffer before rows are summed:
   * blocks [row][column][component][component] of the n_free rows that couple, then a diagonal block of each other row.
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
   * Where the columns of a cell lie in its rows. For each (cell, row) pair the places of the cell's n_shape nodes, 1, 2
   * or 4 bytes each; or, where cells have at most four nodes and rows at most 32 blocks, the places of the other nodes
   * in 5 bits each of one 16-bit word. The diagonal's place is then kept once per row.
   *
   * Matrices that are symmetric need each entry once. If upper(), a patch sums entry (i, j) in the first of the rows i
   * and j that is its own, and the other takes it from there at the end: copies. The plan's
   * entry for a cell of at most four nodes is one word, with the places of its pairs of nodes, (0, 1), (0, 2), ...,
   * (n - 2, n - 1). Cells of eight nodes have numbers of the patch's blocks instead, 2 or 4 bytes each: two halves of 14
   * pairs and two numbers that nobody writes or uses. A pair of which no row is the patch's own has the diagonal block of one of
   * its rows, so that kernels that form diagonals in the end may add it all the same.
   */
  struct PlacesView
  {
    PackedView          view;      ///< width 2 if compact
    const std::uint8_t *diagonal;  ///< [row]; nullptr if neither compact nor for upper entries
    int                 pair_bits; ///< of a place in a word of upper entries: 5 or 8; 0: all entries are summed
    /// Blocks of a patch that the other row of a pair takes at the end: [copy][from, to], 2 or 4 bytes each.
    PackedView          copies;
    const std::int64_t *copy_offsets; ///< [patch + 1]

    PATCHFEM_INLINE bool compact() const { return diagonal != nullptr && pair_bits == 0; }
    PATCHFEM_INLINE bool upper() const { return pair_bits > 0; }

    /**
     * Where an entry of eight nodes, the corners of a cube, has the pair (@p i, @p j), i < j, of this many numbers: each
     * half is for a layer of four, (0, 1), (0, 5), (0, 2), (0, 6), ..., (2, 3), (2, 7), (0, 4), (1, 5) of the first. The
     * second begins likewise with i and j exchanged with i + 4 and j + 4, and ends with (2, 6), (3, 7).
     */
    static constexpr int       numbers_of_eight = 32;
    static PATCHFEM_INLINE int position_of_eight(const int i, const int j)
    {
      const int a = i % 4, b = j % 4;
      if (a == b)
        return a < 2 ? 12 + a : 26 + a;
      const bool mixed = i < 4 && j >= 4, second = mixed ? b < a : i >= 4;
      return (second ? 16 : 0) + 2 * pair_number(4, a < b ? a : b, a < b ? b : a) + (mixed ? 1 : 0);
    }

    static PATCHFEM_INLINE bool sums_pairs(const int n_shape) { return n_shape <= 4 || n_shape == 8; }

    /** Bytes of a word of upper entries. */
    static PATCHFEM_INLINE int word_bytes(const int n_shape, const int pair_bits)
    {
      return n_shape == 4 ? (pair_bits == 5 ? 4 : 8) : (n_shape == 3 && pair_bits == 8 ? 4 : 2);
    }

    /**
     * The place of the pair (@p i, @p j), i < j, of the nodes of the cell with the plan's entry @p entry, in the row that
     * sums it and starts at block @p start of the patch.
     */
    PATCHFEM_INLINE int
    pair_place(const std::int64_t entry, const int n_shape, const int i, const int j, const int start) const
    {
      if (n_shape == 8)
        return static_cast<int>(view[entry * numbers_of_eight + position_of_eight(i, j)]) - start;
      const std::uint64_t word = view.width == 8 ? static_cast<const std::uint64_t *>(view.data)[entry] : view[entry];
      return static_cast<int>(word >> (pair_bits * pair_number(n_shape, i, j))) & ((1 << pair_bits) - 1);
    }

    /** Number of the pair (@p i, @p j) of @p n nodes, i < j. */
    static PATCHFEM_INLINE int pair_number(const int n, const int i, const int j)
    {
      return i * (2 * n - i - 1) / 2 + j - i - 1;
    }

    /**
     * Place of the pair of nodes @p i and @p j != @p i in the row of node i, which starts at block @p start, or -1 if the
     * sum stands in that of node j: rows are counted from the patch's first, modulo 2^32, so that those of other patches
     * come last.
     */
    PATCHFEM_INLINE int upper_place(const std::int64_t entry,
                                    const int          n_shape,
                                    const int          start,
                                    const unsigned int row_i,
                                    const unsigned int row_j,
                                    const int          i,
                                    const int          j) const
    {
      if (row_j < row_i)
        return -1;
      return pair_place(entry, n_shape, i < j ? i : j, i < j ? j : i, start);
    }

    /** Of node @p other, counted among the nodes but the row's own, in a compact @p word. */
    static PATCHFEM_INLINE int in_word(const unsigned int word, const int other)
    {
      return static_cast<int>((word >> (5 * other)) & 31u);
    }

    /** Of node @p j in row @p row of the cell's node @p i. */
    PATCHFEM_INLINE int
    operator()(const std::int64_t pair, const int n_shape, const std::int64_t row, const int i, const int j) const
    {
      if (!compact())
        return static_cast<int>(view[pair * n_shape + j]);
      return i == j ? diagonal[row] : in_word(view[pair], j - (j > i ? 1 : 0));
    }
  };

  /**
   * The cut of the rows into patches and what each sums of one batch. Patch p owns rows [p * rows_per_patch, ...).
   * Those that buffered cells feed ("fed" rows) add these last, in the order of the cells.
   *
   * The patch computes cells[cell_offsets[p]...] in the order of the sums: level after level. Cells of a level share none
   * of its rows, unless one worker adds all. For each of its rows that a cell touches, a *pair*, the plan keeps places.
   *
   * With the gather strategy it computes none. The matrices of the chunk's *staged* cells, one of n_shape x n_shape
   * blocks in each slot of the buffer, or records that stand for them (RecordedCells), are there before; a row adds its
   * row of each of them, cell by cell. Pairs are
   * then those of a row with its staged cells.
   */
  struct PatchesView
  {
    int                 n_rows;
    int                 n_patches;
    int                 rows_per_patch;
    const std::int64_t *cell_offsets;  ///< [patch + 1]
    const int          *cells;         ///< global numbers
    PackedView          cell_pairs;    ///< [entry of cells], the patch's pairs before the cell's; not for upper entries
    const std::int64_t *pair_offsets;  ///< [patch + 1]; not for upper entries
    PlacesView          places;        ///< [pair], of upper entries [entry of cells]
    const std::int64_t *level_offsets; ///< [patch + 1]
    const int          *level_ends;    ///< [level], relative to the patch: the entry after the level's last

    const std::int64_t *staged_offsets; ///< [row + 1], pairs; nullptr if the strategy stages none
    const unsigned int *staged_pairs;   ///< slot of the cell * n_shape + row of the cell

    const std::int64_t *fed_offsets;      ///< [patch + 1]
    const int          *fed_rows;         ///< rows of the patch with buffered cells, ascending
    const std::int64_t *fed_pair_offsets; ///< [fed row + 1]
    const std::int64_t *fed_pairs;        ///< kernels::Pair: position among the chunk's buffered cells, row of the cell
    const std::int64_t *fed_place_offsets; ///< [fed row + 1]
    PackedView          fed_places;  ///< for each pair the places of the cell's n_free columns, or one for a diagonal
    const std::int64_t *row_offsets; ///< [row + 1], blocks of the sparsity

    PATCHFEM_INLINE int first_row(const int p) const { return p * rows_per_patch; }
    PATCHFEM_INLINE int end_row(const int p) const
    {
      return (p + 1) * rows_per_patch < n_rows ? (p + 1) * rows_per_patch : n_rows;
    }

    /** Whether no cell of the batch feeds the patch's rows. */
    PATCHFEM_INLINE bool idle(const int p) const
    {
      return cell_offsets[p] == cell_offsets[p + 1] &&
             (staged_offsets == nullptr || staged_offsets[first_row(p)] == staged_offsets[end_row(p)]) &&
             (fed_offsets == nullptr || fed_offsets[p] == fed_offsets[p + 1]);
    }
  };

  namespace kernels
  {
    /** What the patches of a kernel have of fast memory, and what is good for them. */
    struct PatchRoom
    {
      std::size_t available;                              ///< bytes of a patch: its rows, and its workers
      std::size_t worker_bytes  = 0;                      ///< what its workers want
      std::size_t bytes_per_row = 0, bytes_per_level = 0; ///< and what they want for each row and each level of cells
      double      most_redundant = 3.5; ///< integrations of a cell above which another strategy is better
      double      buffer_share   = 0.1; ///< of the matrix, what the buffer of a chunk's cell matrices may take
      std::size_t total = 0, bytes_per_entry = 0; ///< of the multiprocessor, and of a matrix entry
      bool        symmetric        = false;       ///< entry (i, j) of a matrix is entry (j, i), and a number
      int         most_rows        = 128;         ///< of a patch whose rows gather
      int         numbers_per_cell = 0;           ///< of a staged cell in the buffer of matrices; 0: its matrix

      /** What kernels for scalars on quadrilaterals ask for in place of buffer_share. */
      static constexpr double planar_share = 0.5;

      /** An even number of columns: the device moves two at a time. */
      static PATCHFEM_INLINE int even(const int n_columns) { return (n_columns + 1) / 2 * 2; }

      /** Numbers of a staged cell with @p n_shape nodes. */
      std::int64_t staged_numbers(const int n_shape, const int n_components) const
      {
        return numbers_per_cell > 0 ? numbers_per_cell
                                    : std::int64_t(n_shape) * even(n_shape) * n_components * n_components;
      }

      bool operator==(const PatchRoom &other) const
      {
        const auto all = [](const PatchRoom &r) {
          return std::tie(r.available, r.worker_bytes, r.bytes_per_row, r.bytes_per_level, r.most_redundant,
                          r.buffer_share, r.total, r.bytes_per_entry, r.symmetric, r.most_rows, r.numbers_per_cell);
        };
        return all(*this) == all(other);
      }
    };
  } // namespace kernels
} // namespace PatchFEM
