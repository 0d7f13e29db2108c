// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

#include <climits>
#include <cstdint>

/** @file Sparse matrices: pointers and extents, apart for rows owned and columns read. Offsets 64 bits, indices 32. */
namespace PatchFEM
{
  /** Block columns of block rows, sorted and unique in each; an owned row of a square pattern holds its diagonal. */
  struct SparsityView
  {
    int                 n_rows;      ///< block rows
    int                 n_columns;   ///< block columns
    const std::int64_t *row_offsets; ///< [n_rows + 1], in blocks
    const int          *columns;     ///< [row_offsets[n_rows]]
  };

  /** How compressed rows are shared out on the device. All sum a row in a fixed order, though not the same one. */
  enum class CSRKernel
  {
    pieces, ///< a warp streams the entries of 32 rows in pieces of equal length, whatever row they belong to
    scalar, ///< one thread per row (P2, figure 5)
    vector  ///< one warp per row (P0, section 3)
  };

  /**
   * Scalar compressed rows; columns of a row are sorted. A product reads 12 bytes an entry (fp64 value, 32-bit column), 8
   * bytes of offset, and per row 8 bytes of the source and 8 of the destination: 27 entries a row make 348 bytes, 81
   * make 996.
   */
  template <typename Number>
  struct CSRView
  {
    int                 n_rows;
    int                 n_columns;
    const std::int64_t *row_offsets; ///< [n_rows + 1]
    const int          *columns;     ///< [row_offsets[n_rows]]
    Number             *values;      ///< [row_offsets[n_rows]]

    CSRKernel kernel = CSRKernel::pieces;

    /** Calls @p use(column, value) for the entries of @p row, ascending. */
    template <typename Use>
    PATCHFEM_INLINE void for_each_entry(const std::int64_t row, const Use &use) const
    {
      for (std::int64_t e = row_offsets[row]; e < row_offsets[row + 1]; ++e)
        use(columns[e], values[e]);
    }
  };

  /** How many slices of @p slice_height rows hold @p n_rows rows; no step exceeds what int holds. */
  PATCHFEM_INLINE int n_slices(const int n_rows, const int slice_height)
  {
    return n_rows / slice_height + (n_rows % slice_height != 0);
  }

  /**
   * Sliced block ELLPACK (P0, section 3). Block rows are grouped into slices of @p slice_height; each slice is
   * as wide as its longest row, in blocks, and is stored block column by block column, within one block
   * column entry (a, b) by entry, and within one entry row by row, so that neighbouring threads that own
   * neighbouring rows read neighbouring values:
   *
   *   columns[slot(s, k) + r]
   *   values[slot(s, k) * block_rows * block_columns + (a * block_columns + b) * slice_height + r]
   *
   * with slot(s, k) = slice_offsets[s] + k * slice_height. Padding has value 0 and a column that exists.
   * Block size 1 is SELL; slice_height >= n_rows is ELLPACK or BELL; slice_height 1 is BCSR.
   */
  struct SlicedPatternView
  {
    int                 n_rows;        ///< block rows
    int                 n_columns;     ///< block columns
    int                 block_rows;    ///< rows of a block
    int                 block_columns; ///< columns of a block
    int                 slice_height;  ///< block rows in a slice
    const std::int64_t *slice_offsets; ///< [n_slices + 1], in stored blocks
    const int          *columns;       ///< [slice_offsets[n_slices]], block columns
    const int          *row_lengths;   ///< [n_rows], without padding; products do without

    PATCHFEM_INLINE int n_slices() const { return PatchFEM::n_slices(n_rows, slice_height); }

    /** Blocks stored in each row of slice @p s, padding included. */
    PATCHFEM_INLINE int slice_width(const int s) const
    {
      return static_cast<int>((slice_offsets[s + 1] - slice_offsets[s]) / slice_height);
    }

    /** Where the column of the @p k-th block of block row @p row stands. */
    PATCHFEM_INLINE std::int64_t block_index(const int row, const int k) const
    {
      return slice_offsets[row / slice_height] + std::int64_t(k) * slice_height + row % slice_height;
    }

    PATCHFEM_INLINE int column(const int row, const int k) const { return columns[block_index(row, k)]; }

    /** The first block of a row whose column is not below @p wanted. */
    PATCHFEM_INLINE int lower_bound(const int row, const int wanted) const
    {
      const int *const list  = columns + block_index(row, 0);
      int              first = 0, last = row_lengths[row];
      while (first < last)
      {
        const int middle = (first + last) / 2;
        if (list[std::int64_t(middle) * slice_height] < wanted)
          first = middle + 1;
        else
          last = middle;
      }
      return first;
    }

    /** Which block of @p row stands in block column @p wanted; -1 if none does. */
    PATCHFEM_INLINE int find_block(const int row, const int wanted) const
    {
      const int k = lower_bound(row, wanted);
      return k < row_lengths[row] && column(row, k) == wanted ? k : -1;
    }

    /** Calls @p use(at, column) for the blocks of block row @p row, whose columns ascend; @p at is as in block_index(). */
    template <typename Use>
    PATCHFEM_INLINE void for_each_block(const int row, const Use &use) const
    {
      std::int64_t at = block_index(row, 0);
      for (int k = 0; k < row_lengths[row]; ++k, at += slice_height)
        use(at, columns[at]);
    }
  };

  /**
   * Block rows that a product forms. Ranges that follow each other from 0 to `end` form each row once, and the last of
   * them sums over rows; together they give the bits of one product of all rows. A kernel cuts between whole pieces of
   * its work, at or before the row that is asked for: the first range may form no rows and the last one all.
   */
  struct RowRange
  {
    static constexpr int end = INT_MAX;

    int first = 0, last = end;
  };

  /**
   * A matrix in such slices. A product reads, per stored b x b block, 8 b^2 bytes of values and 4 of column, and per
   * unknown 8 bytes of the source and 8 of the destination. Q1 elasticity in 3D (27 blocks of 3 x 3 a row) moves
   * 27 * 76 / 3 + 16 = 700 bytes an unknown, against 996 in CSR.
   *
   * Where column_steps is given, columns of rows may be read as 16-bit steps from one to the next: in slices whose
   * column_steps[slot(s, 0) + r] is 1 the k-th column of row r is columns[slot(s, 0) + r] - 1 plus the steps at
   * slot(s, 0) + r to slot(s, k) + r; in slices where it is 0 a step is too long for 16 bits.
   */
  template <typename Number>
  struct SlicedEllpackView : SlicedPatternView
  {
    Number *values; ///< [slice_offsets[n_slices] * block_rows * block_columns]

    const std::uint16_t *column_steps = nullptr; ///< like columns
    bool                 skip_padding = false;   ///< products on the device stop at the end of rows
    RowRange             rows;                   ///< of products

    /** Where entry (@p a, @p b) of the @p k-th block of block row @p row stands. */
    PATCHFEM_INLINE std::int64_t value_index(const int row, const int k, const int a, const int b) const
    {
      return (slice_offsets[row / slice_height] + std::int64_t(k) * slice_height) * block_rows * block_columns +
             std::int64_t(a * block_columns + b) * slice_height + row % slice_height;
    }

    /** Calls @p use(column, value) for the entries of the scalar row @p row, ascending. */
    template <typename Use>
    PATCHFEM_INLINE void for_each_entry(const std::int64_t row, const Use &use) const
    {
      const int i = static_cast<int>(row / block_rows), a = static_cast<int>(row % block_rows);
      for (int k = 0; k < row_lengths[i]; ++k)
        for (int b = 0; b < block_columns; ++b)
          use(column(i, k) * block_columns + b, values[value_index(i, k, a, b)]);
    }
  };

  /**
   * Square matrices whose entries off the diagonal are one constant (mDIA, P2, section 3.3): the diagonal and the
   * columns of the others, in slices of 32 rows as wide as the longest,
   *
   *   columns[slice_offsets[s] + k * 32 + r],
   *
   * ascending in each row; -1 behind the end of a row. P2 has compressed rows; slices need no offsets of rows. A product
   * reads 4 bytes for each column, 8 of the diagonal, and per row 8 bytes of the source and 8 of the destination: 48
   * bytes a row for six neighbours, against 108 in compressed rows.
   */
  template <typename Number>
  struct MDIAView
  {
    static constexpr int slice_height = 32;

    int                 n_rows;
    Number              constant;
    const std::int64_t *slice_offsets; ///< [n_slices + 1], in columns
    const int          *columns;       ///< [slice_offsets[n_slices]]
    Number             *diagonal;      ///< [n_rows]

    /** See CSRView. */
    template <typename Use>
    PATCHFEM_INLINE void for_each_entry(const std::int64_t row, const Use &use) const
    {
      const std::int64_t end    = slice_offsets[row / slice_height + 1];
      bool               before = true; // the diagonal
      for (std::int64_t at = slice_offsets[row / slice_height] + row % slice_height;; at += slice_height)
      {
        const int column = at < end ? columns[at] : -1;
        if (before && (column < 0 || column > row))
        {
          use(static_cast<int>(row), diagonal[row]);
          before = false;
        }
        if (column < 0)
          return;
        use(column, constant);
      }
    }

    PATCHFEM_INLINE int n_slices() const { return PatchFEM::n_slices(n_rows, slice_height); }

    PATCHFEM_INLINE int slice_width(const int s) const
    {
      return static_cast<int>((slice_offsets[s + 1] - slice_offsets[s]) / slice_height);
    }
  };

  /** An undirected graph: j is a neighbour of i if and only if i is one of j. No node is its own neighbour. */
  struct AdjacencyView
  {
    int                 n_nodes;
    const std::int64_t *offsets;    ///< [node + 1]
    const int          *neighbours; ///< [offsets[n_nodes]], ascending for each node
    const int          *weights;    ///< of the edges, like neighbours; nullptr: all are 1

    PATCHFEM_INLINE bool is_isolated(const std::int64_t node) const { return offsets[node] == offsets[node + 1]; }
    PATCHFEM_INLINE int  weight(const std::int64_t e) const { return weights != nullptr ? weights[e] : 1; }
  };
} // namespace PatchFEM
