// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "unique_rows.cuh"

#include "lac/matrix/symmetric_ellpack_steps.h"

// The structure of symmetric matrices on the device.
namespace PatchFEM
{
  namespace kernels
  {
    PATCHFEM_INSTANTIATE_UNIQUE_ROWS(SymmetricHalo);
  }

  namespace internal
  {
#define INSTANTIATE(Number)                                                                                      \
  template int  asymmetric_row(Here, const Backend &, const SlicedEllpackView<Number> &, const int *, double);   \
  template void build_symmetric(Here, const SlicedEllpackMatrix<Number> &, SymmetricPattern &, Array<Number> &); \
  template void symmetric_block_diagonal(Here, const Backend &, const SymmetricEllpackView<Number> &, int, Number *)
    INSTANTIATE(float);
    INSTANTIATE(double);
  } // namespace internal
} // namespace PatchFEM
