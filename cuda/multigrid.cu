// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include "kernels/backward_error_bodies.h"
#include "kernels/multigrid_value_bodies.h"
#include "kernels/near_null_space_bodies.h"
#include "kernels/null_space_bodies.h"
#include "kernels/smoother_bodies.h"

// The bodies of smoothed aggregation and of the cycle.
namespace PatchFEM::kernels
{
#define INSTANTIATE(...) template void parallel_for(Cuda, std::int64_t, const __VA_ARGS__ &)

  INSTANTIATE(ConstantModesBody);
  INSTANTIATE(CoordinateBody);
  INSTANTIATE(RigidBodyModesBody<2>);
  INSTANTIATE(RigidBodyModesBody<3>);
  INSTANTIATE(InterleaveModesBody);

  INSTANTIATE(EmitTransposedBody);
  INSTANTIATE(SymmetryBody);

  INSTANTIATE(RestrictVectorBody);
  INSTANTIATE(AddOuterProductBody);
  INSTANTIATE(RootMeanSquareBody);
  INSTANTIATE(CoupledNodesBody);
  INSTANTIATE(DenseDiagonalBody);
  INSTANTIATE(DependentRowBody<double>);

  INSTANTIATE(ComponentwiseErrorBody<CSRView<float>, float>);
  INSTANTIATE(ComponentwiseErrorBody<CSRView<double>, double>);
  INSTANTIATE(ComponentwiseErrorBody<SlicedEllpackView<float>, float>);
  INSTANTIATE(ComponentwiseErrorBody<SlicedEllpackView<double>, double>);
  INSTANTIATE(CompensatedResidualBody<CSRView<double>>);
  INSTANTIATE(CompensatedResidualBody<SlicedEllpackView<double>>);

  INSTANTIATE(LanczosLengthBody);
  INSTANTIATE(LargestEigenvalueBody);
  INSTANTIATE(OmegaBody);
  INSTANTIATE(ChebyshevCoefficientsBody);
  INSTANTIATE(ChebyshevWeightBody);
  INSTANTIATE(JacobiCoefficientsBody);
  INSTANTIATE(ConvertScaledBody<double, float>);
  INSTANTIATE(ConvertScaledBody<float, double>);
  INSTANTIATE(ConvertScaledBody<float, float>);

#define INSTANTIATE_NUMBER(Number)           \
  INSTANTIATE(ScatteredBody<Number>);        \
  INSTANTIATE(RemoveComponentBody<Number>);  \
  INSTANTIATE(AddNodeProductBody<Number>);   \
  INSTANTIATE(LanczosNormaliseBody<Number>); \
  INSTANTIATE(LanczosUpdateBody<Number>);    \
  INSTANTIATE(MaskDecoupledBody<Number>);    \
  INSTANTIATE(FoldBlocksBody<Number>);       \
  INSTANTIATE(FillProlongatorBody<Number>);  \
  INSTANTIATE(FillRestrictorBody<Number>);   \
  INSTANTIATE(MirrorBody<Number>);           \
  INSTANTIATE(AddRowSumsBody<Number>);       \
  INSTANTIATE(ToDenseBody<Number>);          \
  INSTANTIATE(SmootherStepBody<1, Number>);  \
  INSTANTIATE(SmootherStepBody<2, Number>);  \
  INSTANTIATE(SmootherStepBody<3, Number>);  \
  INSTANTIATE(SmootherStepBody<6, Number>);  \
  INSTANTIATE(SmootherStepBody<0, Number>)

  INSTANTIATE_NUMBER(float);
  INSTANTIATE_NUMBER(double);
} // namespace PatchFEM::kernels
