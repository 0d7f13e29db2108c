// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/multigrid_pattern_bodies.h"
#include <patchfem/kernels/jacobi.h>

/** @file Bodies (see parallel_for.h) that copy matrices to other formats or number types. */
namespace PatchFEM::kernels
{
  /** The block columns of a sliced matrix in compressed rows. */
  struct CompressColumnsBody
  {
    SlicedPattern       A;
    const std::int64_t *offsets; ///< [row]
    int                *columns;

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      for (int k = 0; k < A.length(static_cast<int>(row)); ++k)
        columns[offsets[row] + k] = A.column(static_cast<int>(row), k);
    }
  };

  /** The values of a sliced matrix in scalar rows, in the places of expand_pattern(). */
  template <typename Number>
  struct CompressValuesBody
  {
    SlicedEllpackView<Number> A;
    CSRView<Number>           scalar;

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      const int    i = static_cast<int>(row / A.block_rows), a = static_cast<int>(row % A.block_rows);
      std::int64_t e = scalar.row_offsets[row];
      for (int k = 0; e < scalar.row_offsets[row + 1]; ++k)
        for (int c = 0; c < A.block_columns; ++c, ++e)
          scalar.values[e] = A.values[A.value_index(i, k, a, c)];
    }
  };

  /** The smallest place of a positive number that fp32 has neither exactly nor rounded to all of its digits. */
  struct SingleRangeBody
  {
    const double *values;
    int          *failure; ///< starts at no_failure

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      if (values[i] > 0. && !(values[i] >= 1.18e-38 && values[i] <= 3.4e38))
        atomic_min(failure, static_cast<int>(i));
    }
  };
} // namespace PatchFEM::kernels
