// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/parallel_for.h>

/**
 * @file
 * Sliced block ELLPACK. A product reads, per stored b x b block, 8 b^2 bytes of values and 4 of column, and per
 * unknown 8 bytes of the source and 8 of the destination. Q1 elasticity in 3D (27 blocks of 3 x 3 a row) moves
 * 27 * 76 / 3 + 16 = 700 bytes an unknown, against 996 in CSR.
 */
namespace PatchFEM::kernels
{
  /** See product.h. */
  template <typename Value, typename Number, typename Target>
  void product(Host, const SlicedEllpackView<Value> &A, const Number *x, const Target &target);
  template <typename Value, typename Number, typename Target>
  void product(Cuda, const SlicedEllpackView<Value> &A, const Number *x, const Target &target);

  /**
   * slice_offsets[s + 1] - slice_offsets[s] = slice_height * (longest row of slice s), and the blocks of each
   * row.
   */
  void slice_offsets(Host, const SparsityView &pattern, int slice_height, std::int64_t *offsets, int *row_lengths);
  void slice_offsets(Cuda, const SparsityView &pattern, int slice_height, std::int64_t *offsets, int *row_lengths);

  /**
   * The column that padding repeats in @p row, which is empty or lies behind the last one: the first of the next row
   * of its slice that has one, cyclically. So it names a part of the source that the slice reads anyway, and never one
   * that the rows of a triangle's phase write. Among more than 64 empty rows in higher slices it is 0.
   */
  PATCHFEM_INLINE int padding_column(const SparsityView &pattern, const int slice_height, const std::int64_t row)
  {
    const std::int64_t first = row / slice_height * slice_height;
    for (int k = 1; k < slice_height && k <= 64; ++k)
    {
      const std::int64_t next = first + (row - first + k) % slice_height;
      if (next < pattern.n_rows && pattern.row_offsets[next] < pattern.row_offsets[next + 1])
        return pattern.columns[pattern.row_offsets[next]];
    }
    return 0;
  }

  /**
   * Over the rows of all slices, those past the end included: the columns of @p pattern in the places that block_index()
   * gives. Padding repeats the last column of its row, so that it costs no further memory of the source vector; see
   * padding_column() for rows without any.
   */
  struct FillColumnsBody
  {
    SparsityView        pattern;
    int                 slice_height;
    const std::int64_t *slice_offsets;
    int                *columns;

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      const std::int64_t slice = row / slice_height, out = slice_offsets[slice] + row % slice_height;
      const std::int64_t width  = (slice_offsets[slice + 1] - slice_offsets[slice]) / slice_height;
      const std::int64_t begin  = row < pattern.n_rows ? pattern.row_offsets[row] : 0;
      const std::int64_t length = row < pattern.n_rows ? pattern.row_offsets[row + 1] - begin : 0;
      int                column = width > 0 && length == 0 ? padding_column(pattern, slice_height, row) : 0;
      for (std::int64_t k = 0; k < width; ++k)
      {
        if (k < length)
          column = pattern.columns[begin + k];
        columns[out + k * slice_height] = column;
      }
    }
  };

  /** The column_steps of one slice of 32 rows (see SlicedEllpackView), from its columns. */
  struct ColumnStepsBody
  {
    const std::int64_t *slice_offsets;
    const int          *columns;
    std::uint16_t      *steps;

    PATCHFEM_INLINE void operator()(const std::int64_t slice) const
    {
      const std::int64_t begin = slice_offsets[slice], end = slice_offsets[slice + 1];
      bool               all_short = true;
      for (std::int64_t e = begin + 32; e < end; ++e)
      {
        const int step = columns[e] - columns[e - 32];
        all_short      = all_short && step >= 0 && step < 65536;
        steps[e]       = static_cast<std::uint16_t>(step);
      }
      for (std::int64_t e = begin; e < begin + 32 && e < end; ++e)
        steps[e] = all_short;
    }
  };

  struct CountShortSlicesBody
  {
    const std::int64_t  *slice_offsets;
    const std::uint16_t *steps;
    int                 *count; ///< starts at 0

    PATCHFEM_INLINE void operator()(const std::int64_t slice) const
    {
      if (slice_offsets[slice] < slice_offsets[slice + 1] && steps[slice_offsets[slice]] == 1)
        atomic_increment(count);
    }
  };

  /** Over scalar rows, see fill_values(). */
  template <typename Number>
  struct FillValuesBody
  {
    CSRView<Number>           source;
    const int                *row_lengths;
    SlicedEllpackView<Number> A;

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      const int i = static_cast<int>(row / A.block_rows), a = static_cast<int>(row % A.block_rows);
      for (std::int64_t e = source.row_offsets[row]; e < source.row_offsets[row + 1]; ++e)
      {
        const int k = find_block(A, row_lengths[i], i, source.columns[e] / A.block_columns);
        A.values[A.value_index(i, k, a, source.columns[e] % A.block_columns)] = source.values[e];
      }
    }
  };

  /** Writes the entries of @p source, each of which must lie in a block of @p A, into its place. */
  template <typename Where, typename Number>
  void
  fill_values(Where where, const CSRView<Number> &source, const int *row_lengths, const SlicedEllpackView<Number> &A)
  {
    parallel_for(where, source.n_rows, FillValuesBody<Number>{source, row_lengths, A});
  }
} // namespace PatchFEM::kernels
