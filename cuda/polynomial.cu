// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include "kernels/polynomial_bodies.h"

// The bodies of polynomial preconditioners.
namespace PatchFEM::kernels
{
#define INSTANTIATE(...) template void parallel_for(Cuda, std::int64_t, const __VA_ARGS__ &)

  INSTANTIATE(PolynomialIntervalBody);
  INSTANTIATE(PolynomialCoefficientsBody);
  INSTANTIATE(PolynomialStartBody<float>);
  INSTANTIATE(PolynomialStartBody<double>);
  INSTANTIATE(PolynomialStepBody<float>);
  INSTANTIATE(PolynomialStepBody<double>);
} // namespace PatchFEM::kernels
