// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include <patchfem/kernels/multigrid_value_bodies.h>
#include <patchfem/kernels/near_null_space_bodies.h>
#include <patchfem/kernels/smoother_bodies.h>

// The bodies of smoothed aggregation and of the cycle.
namespace PatchFEM
{
  namespace kernels
  {
#define INSTANTIATE(...) template void parallel_for(Cuda, std::int64_t, const __VA_ARGS__ &)

    INSTANTIATE(ConstantModesBody);
    INSTANTIATE(CoordinateBody);
    INSTANTIATE(RigidBodyModesBody<2>);
    INSTANTIATE(RigidBodyModesBody<3>);
    INSTANTIATE(InterleaveModesBody);

    INSTANTIATE(CountRowBody<ProlongatorRows>);
    INSTANTIATE(WriteRowBody<ProlongatorRows>);
    INSTANTIATE(CountRowBody<ProductRows>);
    INSTANTIATE(WriteRowBody<ProductRows>);
    INSTANTIATE(CountRowBody<CoarseRows>);
    INSTANTIATE(WriteRowBody<CoarseRows>);
    INSTANTIATE(CountRowBody<BlockedRows>);
    INSTANTIATE(WriteRowBody<BlockedRows>);
    INSTANTIATE(EmitTransposedBody);
    INSTANTIATE(SymmetryBody);

    INSTANTIATE(AggregateQRBody);
    INSTANTIATE(LanczosLengthBody);
    INSTANTIATE(LargestEigenvalueBody);
    INSTANTIATE(OmegaBody);
    INSTANTIATE(ChebyshevCoefficientsBody);
    INSTANTIATE(JacobiCoefficientsBody);
    INSTANTIATE(ConvertScaledBody<double, float>);
    INSTANTIATE(ConvertScaledBody<float, double>);
    INSTANTIATE(ConvertScaledBody<float, float>);

#define INSTANTIATE_SIZES(nc, nm, Number)             \
  INSTANTIATE(ProlongatorBody<nc, nm, Number>);       \
  INSTANTIATE(MatrixProlongatorBody<nc, nm, Number>); \
  INSTANTIATE(CoarseMatrixBody<nc, nm, Number>)

#define INSTANTIATE_NUMBER(Number)           \
  INSTANTIATE(ScatteredBody<Number>);        \
  INSTANTIATE(LanczosNormaliseBody<Number>); \
  INSTANTIATE(LanczosUpdateBody<Number>);    \
  INSTANTIATE(MaskDecoupledBody<Number>);    \
  INSTANTIATE(TransposeBody<Number>);        \
  INSTANTIATE(MirrorBody<Number>);           \
  INSTANTIATE(AddRowSumsBody<Number>);       \
  INSTANTIATE(ToDenseBody<Number>);          \
  INSTANTIATE_SIZES(1, 1, Number);           \
  INSTANTIATE_SIZES(2, 2, Number);           \
  INSTANTIATE_SIZES(2, 3, Number);           \
  INSTANTIATE_SIZES(3, 3, Number);           \
  INSTANTIATE_SIZES(3, 6, Number);           \
  INSTANTIATE_SIZES(6, 6, Number);           \
  INSTANTIATE_SIZES(0, 0, Number);           \
  INSTANTIATE(SmootherStepBody<1, Number>);  \
  INSTANTIATE(SmootherStepBody<2, Number>);  \
  INSTANTIATE(SmootherStepBody<3, Number>);  \
  INSTANTIATE(SmootherStepBody<6, Number>);  \
  INSTANTIATE(SmootherStepBody<0, Number>)

    INSTANTIATE_NUMBER(float);
    INSTANTIATE_NUMBER(double);
  } // namespace kernels
} // namespace PatchFEM
