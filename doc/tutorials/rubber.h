// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/material_law.h>

using namespace PatchFEM;

/** psi = mu/2 (tr C - 3) - mu ln J + lambda/2 (ln J)^2; parameters: lambda, mu. */
struct Rubber
{
  static constexpr int  n_parameters = 2;
  static constexpr bool symmetric    = true;

  template <typename T>
  static PATCHFEM_INLINE auto flux(const PointInput<3, 3, T> &u, const PointData &data, const NoState &, NoState &)
  {
    const double lambda = data.parameters[0], mu = data.parameters[1];
    const auto   F = plus_identity(u.gradient);
    const T      J = determinant(F);
    if (J <= 0.)
      data.refuse(Refusal::inverted);
    return mu * F + (lambda * log(J) - mu) * transpose(inverse(F, J));
  }
};
