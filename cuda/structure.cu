// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include "kernels/constraint_bodies.h"
#include "kernels/face_bodies.h"
#include <patchfem/kernels/pattern_statistics.h>

// The bodies that build structure, one line each.
namespace PatchFEM::kernels
{
#define PATCHFEM_INSTANTIATE_BODY(Body) template void parallel_for(Cuda, std::int64_t, const Body &)

  PATCHFEM_INSTANTIATE_BODY(PaddingBody);
  PATCHFEM_INSTANTIATE_BODY(SampleSlicesBody);
  PATCHFEM_INSTANTIATE_BODY(ReadBody);

  PATCHFEM_INSTANTIATE_BODY(DistributeBody<float>);
  PATCHFEM_INSTANTIATE_BODY(DistributeBody<double>);
  PATCHFEM_INSTANTIATE_BODY(MotionBody);
  PATCHFEM_INSTANTIATE_BODY(SetConstrainedZeroBody<float>);
  PATCHFEM_INSTANTIATE_BODY(SetConstrainedZeroBody<double>);
  PATCHFEM_INSTANTIATE_BODY(CondenseBody<float>);
  PATCHFEM_INSTANTIATE_BODY(CondenseBody<double>);
  PATCHFEM_INSTANTIATE_BODY(SubtractTractionBody<2>);
  PATCHFEM_INSTANTIATE_BODY(SubtractTractionBody<3>);

} // namespace PatchFEM::kernels
