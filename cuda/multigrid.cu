// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include "kernels/smoother_bodies.h"

// Bodies of solvers and smoothers.
namespace PatchFEM::kernels
{
#define INSTANTIATE(...) template void parallel_for(Cuda, std::int64_t, const __VA_ARGS__ &)

#define INSTANTIATE_NUMBER(Number)          \
  INSTANTIATE(ScatteredBody<Number>);       \
  INSTANTIATE(SmootherStepBody<1, Number>); \
  INSTANTIATE(SmootherStepBody<2, Number>); \
  INSTANTIATE(SmootherStepBody<3, Number>); \
  INSTANTIATE(SmootherStepBody<6, Number>); \
  INSTANTIATE(SmootherStepBody<0, Number>)

  INSTANTIATE_NUMBER(float);
  INSTANTIATE_NUMBER(double);
} // namespace PatchFEM::kernels
