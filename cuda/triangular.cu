// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include "kernels/jacobi_steps.h"
#include "lac/precondition/triangular_steps.h"

// Block diagonals and triangular factors on the device, and the bodies that copy matrices.
namespace PatchFEM::kernels
{
#define INSTANTIATE(...) template void parallel_for(Cuda, std::int64_t, const __VA_ARGS__ &)

  INSTANTIATE(CompressColumnsBody);
  INSTANTIATE(SingleRangeBody);
  INSTANTIATE(CompressValuesBody<float>);
  INSTANTIATE(CompressValuesBody<double>);
} // namespace PatchFEM::kernels
