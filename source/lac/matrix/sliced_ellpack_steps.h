// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "block_pattern.h"
#include "csr_steps.h"
#include "lac/graph/graph_tools.h"

#include <patchfem/kernels/atomics.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

/** @file The steps (see launch.h) that make slices and read them. */
namespace PatchFEM
{
  namespace
  {
    /**
     * The column that padding repeats in @p row, which is empty or lies behind the last one: the first of the next row
     * of its slice that has one, cyclically. So it names a part of the source that the slice reads anyway, and never
     * one that the rows of a triangle's phase write. Among more than 64 empty rows in higher slices it is 0.
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
  } // namespace

  template <>
  std::int64_t slice_offsets(Here, const Array<int> &lengths, const int height, Array<std::int64_t> &offsets)
  {
    const Backend &place = lengths.backend();
    Array<int>     widths(place, n_slices(static_cast<int>(lengths.size()), height));
    widths.set_zero();
    launch(place, lengths.size(),
           [=, lengths = lengths.data(), widths = widths.data()] PATCHFEM_DEVICE(const std::int64_t row) {
             kernels::atomic_max(widths + row / height, lengths[row]);
           });
    const std::int64_t n = graph_tools::scan(widths, offsets);
    launch(place, offsets.size(),
           [=, offsets = offsets.data()] PATCHFEM_DEVICE(const std::int64_t s) { offsets[s] *= height; });
    return n * height;
  }

  template <typename Where>
  void fill_slices(Where, const Backend &, const SparsityView &blocks, bool short_columns, internal::SlicedPattern &);

  /** The arrays of @p made, whose height is known, for the pattern @p blocks. */
  template <>
  void fill_slices(
      Here, const Backend &place, const SparsityView &blocks, const bool short_columns, internal::SlicedPattern &made)
  {
    const int height = made.height, n = n_slices(blocks.n_rows, height);
    made.lengths.reinit(place, blocks.n_rows);
    launch(place, blocks.n_rows, [=, lengths = made.lengths.data()] PATCHFEM_DEVICE(const std::int64_t row) {
      lengths[row] = static_cast<int>(blocks.row_offsets[row + 1] - blocks.row_offsets[row]);
    });
    made.columns.reinit(place, slice_offsets(Here(), made.lengths, height, made.slice_offsets));

    // Over the rows of all slices, those past the end included. Padding repeats the last column of its row, so that it
    // costs no further memory of the source vector.
    const std::int64_t *const offsets = made.slice_offsets.data();
    int *const                columns = made.columns.data();
    launch(place, std::int64_t(n) * height, [=] PATCHFEM_DEVICE(const std::int64_t row) {
      const std::int64_t slice = row / height, last = offsets[slice + 1];
      const std::int64_t end    = row < blocks.n_rows ? blocks.row_offsets[row + 1] : 0;
      std::int64_t       e      = row < blocks.n_rows ? blocks.row_offsets[row] : 0;
      int                column = offsets[slice] < last && e == end ? padding_column(blocks, height, row) : 0;
      for (std::int64_t at = offsets[slice] + row % height; at < last; at += height, ++e)
      {
        if (e < end)
          column = blocks.columns[e];
        columns[at] = column;
      }
    });
    if (!short_columns)
      return;
    made.column_steps.reinit(place, made.columns.size());
    launch(place, n, [=, steps = made.column_steps.data()] PATCHFEM_DEVICE(const std::int64_t slice) {
      const std::int64_t begin = offsets[slice], end = offsets[slice + 1];
      bool               all_short = true;
      for (std::int64_t e = begin + 32; e < end; ++e)
      {
        const int step = columns[e] - columns[e - 32];
        all_short      = all_short && step >= 0 && step < 65536;
        steps[e]       = static_cast<std::uint16_t>(step);
      }
      for (std::int64_t e = begin; e < begin + 32 && e < end; ++e)
        steps[e] = all_short;
    });
  }

  namespace internal
  {
    template <typename Where>
    int first_boundary_row(Where, const Backend &, const SlicedPatternView &, int n_owned);

    /** The first block row that reads columns from @p n_owned on, or the number of rows. */
    template <>
    int first_boundary_row(Here, const Backend &place, const SlicedPatternView &A, const int n_owned)
    {
      Array<int> result(place, std::vector<int>{A.n_rows});
      // Columns ascend and padding, which products read, repeats one of them: the last place has the largest.
      launch(place, A.n_rows, [=, first = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        const int row = static_cast<int>(i), width = A.slice_width(row / A.slice_height);
        if (width > 0 && A.column(row, width - 1) >= n_owned)
          kernels::atomic_min(first, row);
      });
      return result.read(0);
    }

    template <typename Number>
    void block_diagonal(Cuda, const SlicedEllpackView<Number> &, int block_size, Array<Number> &blocks);

    /** The same for the size of the format's blocks, which must be square, or 1. */
    template <typename Number>
    void block_diagonal(Here, const SlicedEllpackView<Number> &A, const int block_size, Array<Number> &result)
    {
      // Row a of the diagonal block of block row i, which is its k-th; -1: none.
      const auto copy = [=, b = A.block_rows, blocks = result.data()] PATCHFEM_DEVICE(const int i, const int a,
                                                                                      const int k) {
        for (int c = 0; c < block_size; ++c)
          blocks[block_size > 1 ? std::int64_t(a * b + c) * A.n_rows + i : std::int64_t(i) * b + a] =
              k >= 0 ? A.values[A.value_index(i, k, a, block_size > 1 ? c : a)] : Number(0);
      };
#if defined(__CUDACC__)
      launch(result.backend(), std::int64_t(A.n_rows) * A.block_rows, [=] PATCHFEM_DEVICE(const std::int64_t row) {
        const int i = static_cast<int>(row / A.block_rows);
        copy(i, static_cast<int>(row % A.block_rows), A.find_block(i, i));
      });
#else
      // All columns in their order, some rows at once: each probe of a search would wait for a line of its own. Padding
      // repeats the last column of its row, so that the first block found is the diagonal one, or padding, which is 0.
      constexpr int n_at_once = 32;
      launch(result.backend(), (A.n_rows + n_at_once - 1) / n_at_once,
             [=, blocks = result.data()](const std::int64_t piece) {
               const int  first = static_cast<int>(piece) * n_at_once, n_here = std::min(n_at_once, A.n_rows - first);
               const bool in_one = first % A.slice_height + n_here <= A.slice_height;
               int        found[n_at_once];
               for (int r = 0; r < n_here; ++r)
                 found[r] = in_one ? -1 : A.find_block(first + r, first + r);
               for (int k = in_one ? A.slice_width(first / A.slice_height) : 0; k-- > 0;)
               {
                 const int *columns = A.columns + A.block_index(first, k);
                 for (int r = 0; r < n_here; ++r)
                   found[r] = columns[r] == first + r ? k : found[r];
               }
               if (in_one && A.block_rows == 1) // many entries are waited for at once
               {
                 const Number *const values = A.values + A.block_index(first, 0);
                 Number              here[n_at_once];
                 for (int r = 0; r < n_here; ++r)
                   here[r] = found[r] < 0 ? Number(0) : values[std::int64_t(found[r]) * A.slice_height + r];
                 std::copy_n(here, n_here, blocks + first);
                 return;
               }
               for (int r = 0; r < n_here; ++r)
                 for (int a = 0; a < A.block_rows; ++a)
                   copy(first + r, a, found[r]);
             });
#endif
    }
  } // namespace internal
} // namespace PatchFEM
