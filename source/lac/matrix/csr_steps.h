// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/launch.h"
#include "kernels/structure_bodies.h"
#include <patchfem/kernels/team.h>
#include <patchfem/lac/matrix/compressed_pattern.h>
#include <patchfem/lac/matrix/csr_matrix.h>

/** @file The steps (see launch.h) that make compressed rows and read them. */
namespace PatchFEM::internal
{
  /**
   * The scalar pattern of blocks of @p block_rows x @p block_columns: row i * block_rows + a holds, for every block
   * column j of block row i in its order, the columns j * block_columns + c. With m blocks in the row and o blocks
   * before it, entry (a, k, c) stands at o * block_rows * block_columns + (a * m + k) * block_columns + c.
   */
  struct ExpandPatternBody
  {
    static constexpr int team_size = 32;
    struct Scratch
    {};

    SparsityView  pattern;
    int           block_rows, block_columns;
    std::int64_t *row_offsets;
    int          *columns;

    template <typename Team>
    PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t i, Scratch &) const
    {
      const std::int64_t begin = pattern.row_offsets[i], m = pattern.row_offsets[i + 1] - begin;
      const std::int64_t offset = begin * block_rows * block_columns, width = m * block_columns;
      for (int a = team.rank(); a <= block_rows; a += Team::size)
        if (a < block_rows || i + 1 == pattern.n_rows)
          row_offsets[i * block_rows + a] = offset + a * width;
      for (std::int64_t k = team.rank(); k < m; k += Team::size)
        for (int a = 0; a < block_rows; ++a)
          for (int c = 0; c < block_columns; ++c)
            columns[offset + a * width + k * block_columns + c] = pattern.columns[begin + k] * block_columns + c;
    }
  };

  template <typename Number, typename Rows>
  void compress_rows(Cuda, const Backend &, const Rows &, int n_rows, int, CompressedPattern &, Array<Number> &values);

  /** @p n_rows rows in compressed ones; @p rows has for_each_entry() as CSRView does. */
  template <typename Number, typename Rows>
  void compress_rows(Here,
                     const Backend     &place,
                     const Rows        &rows,
                     const int          n_rows,
                     const int          n_columns,
                     CompressedPattern &pattern,
                     Array<Number>     &values)
  {
    Array<int> lengths(place, n_rows);
    launch(place, n_rows, [=, lengths = lengths.data()] PATCHFEM_DEVICE(const std::int64_t row) {
      int n = 0;
      rows.for_each_entry(row, [&](int, Number) { ++n; });
      lengths[row] = n;
    });
    launch(place, [&](const Here where) { pattern = CompressedPattern(where, n_columns, lengths); });
    values.reinit(place, pattern.columns.size());
    launch(place, n_rows,
           [=, offsets = pattern.offsets.data(), columns = pattern.columns.data(),
            values = values.data()] PATCHFEM_DEVICE(const std::int64_t row) {
             std::int64_t e = offsets[row];
             rows.for_each_entry(row, [&](const int column, const Number value) {
               columns[e]  = column;
               values[e++] = value;
             });
           });
  }

  /** The same as a matrix of blocks. */
  template <typename Number, typename Rows>
  void compress_rows(const Backend     &place,
                     const Rows        &rows,
                     const int          n_rows,
                     const int          n_columns,
                     CSRMatrix<Number> &result,
                     const int          block_rows    = 1,
                     const int          block_columns = 1)
  {
    CompressedPattern pattern;
    Array<Number>     values;
    dispatch(place, [&](auto where) { compress_rows(where, place, rows, n_rows, n_columns, pattern, values); });
    result.reinit(std::move(pattern), std::move(values), block_rows, block_columns);
  }

  template <typename Number>
  void block_diagonal(Cuda, const CSRView<Number> &, int block_size, Array<Number> &blocks);

  /** See MatrixBase::extract_block_diagonal(); entries that the pattern lacks are 0. */
  template <typename Number>
  void block_diagonal(Here, const CSRView<Number> &A, const int block_size, Array<Number> &result)
  {
    launch(result.backend(), A.n_rows, [=, blocks = result.data()] PATCHFEM_DEVICE(const std::int64_t row) {
      const int  a = static_cast<int>(row % block_size), first = static_cast<int>(row) - a;
      const int *end = A.columns + A.row_offsets[row + 1];
      const int *at  = kernels::lower_bound(A.columns + A.row_offsets[row], end, first);
      for (int c = 0; c < block_size; ++c)
      {
        const bool present = at < end && *at == first + c;
        blocks[std::int64_t(a * block_size + c) * (A.n_rows / block_size) + row / block_size] =
            present ? A.values[at - A.columns] : Number(0);
        at += present;
      }
    });
  }
} // namespace PatchFEM::internal
