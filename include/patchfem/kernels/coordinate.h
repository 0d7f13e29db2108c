// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/parallel_for.h>

/**
 * @file
 * Coordinate form. A product reads 16 bytes an entry (fp64 value, row, column), and per row 8 bytes of the source and 16
 * of the destination, which is set first and then added to.
 */
namespace PatchFEM
{
  /** Entries by ascending rows, those of a row by ascending columns (COO). */
  template <typename Number>
  struct CoordinateView
  {
    /// Entries of a piece, which is summed at once: 28 KB of products, rows and where these begin.
    static constexpr int piece = 2048;

    int          n_rows;
    int          n_columns;
    std::int64_t n_entries;
    const int   *rows;    ///< [n_entries]
    const int   *columns; ///< [n_entries]
    Number      *values;  ///< [n_entries]

    PATCHFEM_INLINE std::int64_t n_pieces() const { return (n_entries + piece - 1) / piece; }

    PATCHFEM_INLINE std::int64_t end_of_piece(const std::int64_t p) const
    {
      return (p + 1) * piece < n_entries ? (p + 1) * piece : n_entries;
    }

    /** Whether the entries before and at @p e belong to one row. */
    PATCHFEM_INLINE bool joined(const std::int64_t e) const { return e > 0 && e < n_entries && rows[e - 1] == rows[e]; }
  };

  namespace kernels
  {
    /**
     * y = y + factor A x for rows whose entries lie in one piece, each summed in double. Sums of
     * pieces over rows that reach into other pieces go to @p carries, two for each piece: [0] of the row that began
     * before it, [1] of the row that begins in it and goes on. CoordinateCarryBody adds those. y may be of a wider type
     * than A.
     */
    template <typename Number, typename Result>
    void add_pieces(Host, const CoordinateView<Number> &A, double factor, const Number *x, Result *y, double *carries);
    template <typename Number, typename Result>
    void add_pieces(Cuda, const CoordinateView<Number> &A, double factor, const Number *x, Result *y, double *carries);

    /** Over pieces: the row that begins in a piece and goes on beyond it. */
    template <typename Number, typename Result>
    struct CoordinateCarryBody
    {
      CoordinateView<Number> A;
      double                 factor;
      const double          *carries;
      Result                *y;

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        const std::int64_t begin = p * A.piece, end = A.end_of_piece(p);
        const int          row = A.rows[end - 1];
        if (!A.joined(end) || (A.rows[begin] == row && A.joined(begin)))
          return;
        double sum = carries[2 * p + 1];
        for (std::int64_t next = p + 1; next < A.n_pieces(); ++next)
        {
          sum += carries[2 * next];
          const std::int64_t end_of_next = A.end_of_piece(next);
          if (A.rows[end_of_next - 1] != row || !A.joined(end_of_next))
            break;
        }
        y[row] = static_cast<Result>(static_cast<double>(y[row]) + factor * sum);
      }
    };

    /** Entries of each row that fit into @p width of them (counts[0][row]), and the others (counts[1][row]). */
    struct SplitRowBody
    {
      const std::int64_t *row_offsets;
      int                 width;
      int                *fitting, *others;

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        const std::int64_t length = row_offsets[row + 1] - row_offsets[row];
        fitting[row]              = static_cast<int>(length < width ? length : width);
        others[row]               = static_cast<int>(length - fitting[row]);
      }
    };

    /** The first or the last entries of each row of compressed ones. */
    template <typename Number>
    struct CopyRowsBody
    {
      CSRView<Number>     from;
      bool                last;
      const std::int64_t *offsets; ///< [row] of what is copied
      int                *rows;    ///< or nullptr
      int                *columns;
      Number             *values;

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        const std::int64_t n     = offsets[row + 1] - offsets[row];
        const std::int64_t first = last ? from.row_offsets[row + 1] - n : from.row_offsets[row];
        for (std::int64_t k = 0; k < n; ++k)
        {
          columns[offsets[row] + k] = from.columns[first + k];
          values[offsets[row] + k]  = from.values[first + k];
          if (rows != nullptr)
            rows[offsets[row] + k] = static_cast<int>(row);
        }
      }
    };

    /**
     * The diagonal blocks of a matrix in coordinate form, entry (a, c) of block i at (a * block_size + c) * n_blocks + i;
     * other places are left as they are.
     */
    template <typename Number>
    struct CoordinateDiagonalBody
    {
      CoordinateView<Number> A;
      int                    block_size, n_blocks;
      Number                *blocks;

      PATCHFEM_INLINE void operator()(const std::int64_t e) const
      {
        const int row = A.rows[e], column = A.columns[e], i = row / block_size;
        if (column / block_size == i)
          blocks[std::int64_t(row % block_size * block_size + column % block_size) * n_blocks + i] = A.values[e];
      }
    };

    /** r = b - A x for a matrix in two parts, A = ellpack + others, of which others x is known; summed in double. */
    template <typename Number>
    struct HybridResidualBody
    {
      SlicedEllpackView<Number> ellpack; ///< blocks of 1 x 1
      const int                *lengths; ///< [row]
      const Number             *x, *b;
      const double             *others;
      Number                   *r;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int row = static_cast<int>(i);
        double    sum = others[i];
        for (int k = 0; k < lengths[row]; ++k)
        {
          const std::int64_t e = ellpack.block_index(row, k);
          sum += static_cast<double>(ellpack.values[e]) * static_cast<double>(x[ellpack.columns[e]]);
        }
        r[i] = static_cast<Number>(static_cast<double>(b[i]) - sum);
      }
    };
  } // namespace kernels
} // namespace PatchFEM
