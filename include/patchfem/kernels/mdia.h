// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/parallel_for.h>

/**
 * @file
 * mDIA. A product reads 4 bytes for each column, 8 of the diagonal, and per row 8 bytes of the source and 8 of the
 * destination: 48 bytes a row for six neighbours, against 108 in compressed rows.
 */
namespace PatchFEM::kernels
{
  /** See product.h. */
  template <typename Value, typename Number, typename Target>
  void product(Host, const MDIAView<Value> &A, const Number *x, const Target &target);
  template <typename Value, typename Number, typename Target>
  void product(Cuda, const MDIAView<Value> &A, const Number *x, const Target &target);

  /** Entries of each row of a pattern off its diagonal; at @p offsets their columns, if @p counts is nullptr. */
  struct OffDiagonalBody
  {
    SparsityView        pattern;
    int                *counts;  ///< [row]
    const std::int64_t *offsets; ///< [row]
    int                *columns;

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      int n = 0;
      for (std::int64_t e = pattern.row_offsets[row]; e < pattern.row_offsets[row + 1]; ++e)
        if (pattern.columns[e] != row)
        {
          if (counts == nullptr)
            columns[offsets[row] + n] = pattern.columns[e];
          ++n;
        }
      if (counts != nullptr)
        counts[row] = n;
    }
  };

  /**
   * Of each row the first value off the diagonal that is not 0, beside the largest of the row times @p tolerance, and the
   * first row that has one.
   */
  template <typename Number>
  struct OffDiagonalValueBody
  {
    CSRView<Number> A;
    double          tolerance;
    Number         *values;    ///< [row]
    int            *first_row; ///< starts at INT_MAX

    /** Beside which differences are rounding. */
    PATCHFEM_INLINE static double rounding(const CSRView<Number> &A, const std::int64_t row, const double tolerance)
    {
      double most = 0.;
      for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
      {
        const double value = static_cast<double>(A.values[e]);
        most               = value > most ? value : (-value > most ? -value : most);
      }
      return tolerance * most;
    }

    /** Not for what is not a number. */
    PATCHFEM_INLINE static bool is_near(const double value, const double other, const double rounding)
    {
      return value - other <= rounding && other - value <= rounding;
    }

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      const double limit = rounding(A, row, tolerance);
      for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
        if (A.columns[e] != row && !is_near(static_cast<double>(A.values[e]), 0., limit))
        {
          values[row] = A.values[e];
          atomic_min(first_row, static_cast<int>(row));
          return;
        }
    }
  };

  /**
   * Like OffDiagonalBody for the entries off the diagonal that are @p constant, with @p counts; others must be 0, or
   * the row is bad.
   */
  template <typename Number>
  struct ConstantEntriesBody
  {
    CSRView<Number>     A;
    double              tolerance;
    Number              constant;
    int                *counts;  ///< [row]
    const std::int64_t *offsets; ///< [row]
    int                *columns;
    int                *bad_row; ///< starts at INT_MAX

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      using Values       = OffDiagonalValueBody<Number>;
      const double limit = Values::rounding(A, row, tolerance);
      int          n     = 0;
      for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
      {
        const double value = static_cast<double>(A.values[e]);
        if (A.columns[e] == row || Values::is_near(value, 0., limit))
          continue;
        if (counts == nullptr)
          columns[offsets[row] + n] = A.columns[e];
        else if (!Values::is_near(value, static_cast<double>(constant), limit))
          atomic_min(bad_row, static_cast<int>(row));
        ++n;
      }
      if (counts != nullptr)
        counts[row] = n;
    }
  };

  /** The columns of a pattern in slices, for each row of a slice, rows behind the end included. */
  struct MDIAColumnsBody
  {
    SparsityView        pattern; ///< without the diagonal
    const std::int64_t *slice_offsets;
    int                *columns;

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      constexpr int      h     = MDIAView<double>::slice_height;
      const std::int64_t slice = row / h, end = slice_offsets[slice + 1];
      std::int64_t       e    = row < pattern.n_rows ? pattern.row_offsets[row] : 0;
      const std::int64_t last = row < pattern.n_rows ? pattern.row_offsets[row + 1] : 0;
      for (std::int64_t at = slice_offsets[slice] + row % h; at < end; at += h, ++e)
        columns[at] = e < last ? pattern.columns[e] : -1;
    }
  };

  /** Rows of an mDIA matrix in compressed rows: their lengths, or with @p counts nullptr columns and values. */
  template <typename Number>
  struct MDIAToCSRBody
  {
    MDIAView<Number> A;
    int             *counts; ///< [row]
    CSRView<Number>  csr;
    int             *columns; ///< those of csr

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      const std::int64_t s      = row / A.slice_height;
      std::int64_t       e      = counts == nullptr ? csr.row_offsets[row] : 0;
      int                n      = 0;
      bool               before = true; // the diagonal
      const auto         add    = [&](const int column, const Number value) {
        if (counts == nullptr)
        {
          columns[e + n]    = column;
          csr.values[e + n] = value;
        }
        ++n;
      };
      for (std::int64_t at = A.slice_offsets[s] + row % A.slice_height; at < A.slice_offsets[s + 1];
           at += A.slice_height)
      {
        const int column = A.columns[at];
        if (column < 0)
          break;
        if (before && column > row)
        {
          add(static_cast<int>(row), A.diagonal[row]);
          before = false;
        }
        add(column, A.constant);
      }
      if (before)
        add(static_cast<int>(row), A.diagonal[row]);
      if (counts != nullptr)
        counts[row] = n;
    }
  };

  /** The values of an mDIA matrix on its pattern in slices of scalars, with the diagonal. */
  template <typename Number>
  struct MDIAToSlicedBody
  {
    MDIAView<Number>          A;
    SlicedEllpackView<Number> sliced;
    const int                *row_lengths;

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      const int i = static_cast<int>(row);
      for (int k = 0; k < row_lengths[i]; ++k)
        sliced.values[sliced.value_index(i, k, 0, 0)] =
            sliced.columns[sliced.block_index(i, k)] == i ? A.diagonal[i] : A.constant;
    }
  };
} // namespace PatchFEM::kernels
