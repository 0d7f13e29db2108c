// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/parallel_for.h>

namespace PatchFEM::kernels
{
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
