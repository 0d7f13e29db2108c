// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "csr_steps.h"

#include <patchfem/lac/matrix/coordinate_matrix.h>

/** @file The steps (see launch.h) that make and read coordinates, and ELLPACK with coordinates. */
namespace PatchFEM::internal
{
  /** Of each row of compressed ones those entries behind the first @p n_before that are not more than @p most. */
  template <typename Number>
  struct PartsOfRows
  {
    CSRView<Number> A;
    int             n_before, most;

    template <typename Use>
    PATCHFEM_INLINE void for_each_entry(const std::int64_t row, const Use &use) const
    {
      const std::int64_t begin = A.row_offsets[row] + n_before, end = A.row_offsets[row + 1];
      for (std::int64_t e = begin; e < end && e < begin + most; ++e)
        use(A.columns[e], A.values[e]);
    }
  };

  template <typename Where>
  void name_rows(Where, const Array<std::int64_t> &offsets, Array<int> &rows);

  /** rows[e] = row for the entries from offsets[row] to offsets[row + 1]. */
  template <>
  void name_rows(Here, const Array<std::int64_t> &offsets, Array<int> &rows)
  {
    launch(rows.backend(), offsets.size() - 1,
           [offsets = offsets.data(), rows = rows.data()] PATCHFEM_DEVICE(const std::int64_t row) {
             for (std::int64_t e = offsets[row]; e < offsets[row + 1]; ++e)
               rows[e] = static_cast<int>(row);
           });
  }

  template <typename Number>
  void block_diagonal(Cuda, const CoordinateView<Number> &, int block_size, Array<Number> &blocks);

  /** See MatrixBase::extract_block_diagonal(); places of entries that there are none of are left as they are. */
  template <typename Number>
  void block_diagonal(Here, const CoordinateView<Number> &A, const int block_size, Array<Number> &result)
  {
    launch(result.backend(), A.n_entries, [=, blocks = result.data()] PATCHFEM_DEVICE(const std::int64_t e) {
      const int row = A.rows[e], column = A.columns[e], i = row / block_size;
      if (column / block_size == i)
        blocks[std::int64_t(row % block_size * block_size + column % block_size) * (A.n_rows / block_size) + i] =
            A.values[e];
    });
  }

  template <typename Number>
  void hybrid_residual(
      Cuda, const SlicedEllpackMatrix<Number> &, const Number *x, const Number *b, const double *others, Number *r);

  /** r = b - A x for a matrix in two parts, A = ellpack + others, of which others x is known; summed in double. */
  template <typename Number>
  void hybrid_residual(Here,
                       const SlicedEllpackMatrix<Number> &matrix,
                       const Number                      *x,
                       const Number                      *b,
                       const double                      *others,
                       Number                            *r)
  {
    launch(matrix.backend(), matrix.n_rows(), [=, ellpack = matrix.view()] PATCHFEM_DEVICE(const std::int64_t i) {
      double sum = others[i];
      ellpack.for_each_entry(i, [&](const int column, const Number value) {
        sum += static_cast<double>(value) * static_cast<double>(x[column]);
      });
      r[i] = static_cast<Number>(static_cast<double>(b[i]) - sum);
    });
  }
} // namespace PatchFEM::internal
