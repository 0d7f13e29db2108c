// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include "kernels/flux_bodies.h"

namespace PatchFEM::kernels
{
#define PATCHFEM_INSTANTIATE(Number)                                               \
  template void parallel_for(Cuda, std::int64_t, const PullBackBody<2, Number> &); \
  template void parallel_for(Cuda, std::int64_t, const PullBackBody<3, Number> &); \
  template void parallel_for(Cuda, std::int64_t, const TestFluxBody<2, Number> &); \
  template void parallel_for(Cuda, std::int64_t, const TestFluxBody<3, Number> &); \
  template void parallel_for(Cuda, std::int64_t, const SumCellsBody<Number> &)
  PATCHFEM_INSTANTIATE(float);
  PATCHFEM_INSTANTIATE(double);
} // namespace PatchFEM::kernels
