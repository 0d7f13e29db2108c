// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/matrix_views.h>

/** @file Products: 16 bytes an entry (fp64 value, row, column), 8 a row of source, 16 of destination (set, added). */
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

    /** Adds the sums of add_product() for the row that begins in piece @p p and goes on beyond it. */
    template <typename Result>
    PATCHFEM_INLINE void
    add_carried(const std::int64_t p, const double factor, const double *carries, Result *const y) const
    {
      const std::int64_t begin = p * piece, end = end_of_piece(p);
      const int          row = rows[end - 1];
      if (!joined(end) || (rows[begin] == row && joined(begin)))
        return;
      double sum = carries[2 * p + 1];
      for (std::int64_t next = p + 1; next < n_pieces(); ++next)
      {
        sum += carries[2 * next];
        const std::int64_t end_of_next = end_of_piece(next);
        if (rows[end_of_next - 1] != row || !joined(end_of_next))
          break;
      }
      y[row] = static_cast<Result>(static_cast<double>(y[row]) + factor * sum);
    }
  };

  namespace kernels
  {
    /**
     * y = y + factor A x, each row summed in double; y may be of a wider type than A. Rows whose entries lie in one piece
     * are added at once. Sums of pieces over rows that reach into other pieces go to @p carries, two for each piece: [0] of
     * the row that began before it, [1] of the row that begins in it and goes on. add_carried() adds those.
     */
    template <typename Number, typename Result, typename Where>
    void
    add_product(Where, const CoordinateView<Number> &A, double factor, const Number *x, Result *y, double *carries);
  } // namespace kernels
} // namespace PatchFEM
