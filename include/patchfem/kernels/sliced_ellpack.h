// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/parallel_for.h>

namespace PatchFEM::kernels
{
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

  template <typename Number>
  struct FillConstantBody
  {
    MDIAView<Number>          source;
    const int                *row_lengths;
    SlicedEllpackView<Number> A;

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      const int i = static_cast<int>(row);
      for (int k = 0; k < row_lengths[i]; ++k)
        A.values[A.value_index(i, k, 0, 0)] =
            A.columns[A.block_index(i, k)] == i ? source.diagonal[i] : source.constant;
    }
  };

  /** Writes the entries of @p source, each of which must lie in a block of @p A, into its place. */
  template <typename Where, typename Number>
  void
  fill_values(Where where, const CSRView<Number> &source, const int *row_lengths, const SlicedEllpackView<Number> &A)
  {
    parallel_for(where, source.n_rows, FillValuesBody<Number>{source, row_lengths, A});
  }

  /** The same for mDIA, which must have the pattern of @p A. */
  template <typename Where, typename Number>
  void
  fill_values(Where where, const MDIAView<Number> &source, const int *row_lengths, const SlicedEllpackView<Number> &A)
  {
    parallel_for(where, source.n_rows, FillConstantBody<Number>{source, row_lengths, A});
  }
} // namespace PatchFEM::kernels
