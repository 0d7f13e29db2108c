// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include "kernels/triangular_bodies.h"

// The bodies of preconditioners made of triangular factors.
namespace PatchFEM
{
  namespace kernels
  {
#define INSTANTIATE(...) template void parallel_for(Cuda, std::int64_t, const __VA_ARGS__ &)

    INSTANTIATE(ColouringBody);
    INSTANTIATE(LevelOfRowBody);
    INSTANTIATE(PhaseKeyBody);
    INSTANTIATE(PositionBody);
    INSTANTIATE(TriangleBody);
    INSTANTIATE(CompressColumnsBody);
    INSTANTIATE(PositiveDiagonalBody);
    INSTANTIATE(SingleRangeBody);
    INSTANTIATE(IncompleteCholeskyBody);

#define INSTANTIATE_NUMBER(Number)          \
  INSTANTIATE(CompressValuesBody<Number>);  \
  INSTANTIATE(PermuteDiagonalBody<Number>); \
  INSTANTIATE(ToPositionsBody<Number>);     \
  INSTANTIATE(FromPositionsBody<Number>);   \
  INSTANTIATE(LoadLowerBody<Number>);       \
  INSTANTIATE(FactorValuesBody<Number>);    \
  INSTANTIATE(InversePivotBody<Number>)

    INSTANTIATE_NUMBER(float);
    INSTANTIATE_NUMBER(double);
    INSTANTIATE(SSORValuesBody<float, float>);
    INSTANTIATE(SSORValuesBody<float, double>);
    INSTANTIATE(SSORValuesBody<double, double>);
  } // namespace kernels
} // namespace PatchFEM
