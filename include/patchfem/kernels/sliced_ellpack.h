// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/parallel_for.h>

namespace PatchFEM::kernels
{
  /** Over scalar rows, see fill_values(). */
  template <template <typename> class View, typename Number>
  struct FillValuesBody
  {
    View<Number>              source;
    SlicedEllpackView<Number> A;

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      const int i = static_cast<int>(row / A.block_rows), a = static_cast<int>(row % A.block_rows);
      int       k = 0;
      source.for_each_entry(row, [&](const int column, const Number value) {
        while (k < A.row_lengths[i] && A.column(i, k) < column / A.block_columns)
          ++k;
        A.values[A.value_index(i, k, a, column % A.block_columns)] = value;
      });
    }
  };

  /** Writes the entries of @p source, a CSRView or an MDIAView, into their places; each must lie in a block of @p A. */
  template <typename Where, template <typename> class View, typename Number>
  void fill_values(Where where, const View<Number> &source, const SlicedEllpackView<Number> &A)
  {
    parallel_for(where, source.n_rows, FillValuesBody<View, Number>{source, A});
  }
} // namespace PatchFEM::kernels
