// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include "lac/multigrid/patch_matrix_steps.h"

namespace PatchFEM::internal
{
#define INSTANTIATE(Number)                                                                               \
  template void build_patches(Here, const SlicedEllpackMatrix<Number> &, const AggregateLists &,          \
                              PatchArrays<Number> &);                                                     \
  template void fill_values(Here, const SlicedEllpackMatrix<Number> &, const BlockDiagonalView<Number> &, \
                            PatchArrays<Number> &)
  INSTANTIATE(float);
  INSTANTIATE(double);
} // namespace PatchFEM::internal
