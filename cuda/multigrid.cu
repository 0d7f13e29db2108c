// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include <patchfem/kernels/coarsening.h>
#include <patchfem/kernels/near_null_space_bodies.h>
#include <patchfem/kernels/null_space_bodies.h>
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

    INSTANTIATE(RestrictVectorBody);
    INSTANTIATE(AddOuterProductBody);
    INSTANTIATE(RootMeanSquareBody);
    INSTANTIATE(CoupledNodesBody);
    INSTANTIATE(DenseDiagonalBody);
    INSTANTIATE(DependentRowBody<double>);

    INSTANTIATE(AggregateQRBody);
    INSTANTIATE(LanczosLengthBody);
    INSTANTIATE(LargestEigenvalueBody);
    INSTANTIATE(OmegaBody);
    INSTANTIATE(ChebyshevCoefficientsBody);
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
  INSTANTIATE(TransposeBody<Number>);        \
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

    template <typename Number>
    void prolongator(Cuda                             where,
                     const CoarseningView<Number>    &view,
                     const int                       *aggregate_of_node,
                     const double                    *tentative,
                     const BlockDiagonalView<Number> &D,
                     const double                    *omega)
    {
      prolongator_by_blocks(where, view, aggregate_of_node, tentative, D, omega);
    }

    template <typename Number>
    void
    matrix_prolongator(Cuda where, const CoarseningView<Number> &view, const int first, const int last, Number *values)
    {
      matrix_prolongator_by_blocks(where, view, first, last, values);
    }

    template <typename Number>
    void
    coarse_matrix(Cuda where, const CoarseningView<Number> &view, const int first, const int last, const Number *values)
    {
      coarse_matrix_by_blocks(where, view, first, last, values);
    }

#define INSTANTIATE_COARSENING(Number)                                                         \
  template void prolongator(Cuda, const CoarseningView<Number> &, const int *, const double *, \
                            const BlockDiagonalView<Number> &, const double *);                \
  template void matrix_prolongator(Cuda, const CoarseningView<Number> &, int, int, Number *);  \
  template void coarse_matrix(Cuda, const CoarseningView<Number> &, int, int, const Number *)
    INSTANTIATE_COARSENING(float);
    INSTANTIATE_COARSENING(double);
  } // namespace kernels
} // namespace PatchFEM
