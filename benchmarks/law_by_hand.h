// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/laws.h>
#include <patchfem/kernels/material_law.h>

/** Materials::NeoHookean with a tangent by hand: the upper triangle of dP_iJ / dF_kL at each point, then P. */
struct NeoHookeanByHand
{
  static constexpr int dimension = 3, n_components = 3, n_parameters = 2, n_tangent = 45, n_values = n_tangent + 9;

  template <typename Number>
  static PATCHFEM_INLINE void
  evaluate(const PatchFEM::FieldPoint<3, 3, Number> &u, const Number *parameters, Number *values)
  {
    using namespace PatchFEM;
    const Number lambda = parameters[0], mu = parameters[1];
    const auto   F = matrix_of<3, 3>([&](const int i, const int j) { return u.gradient[i][j] + (i == j ? 1 : 0); });
    const Number J = determinant(F);
    const auto   G = transpose(inverse(F, J));
    const Number p = lambda * static_cast<Number>(log(double(J))) - mu;
    PATCHFEM_UNROLL
    for (int r = 0; r < 9; ++r)
    {
      PATCHFEM_UNROLL
      for (int c = r; c < 9; ++c)
        values[packed_index(9, r, c)] = lambda * G(r / 3, r % 3) * G(c / 3, c % 3) -
                                        p * G(r / 3, c % 3) * G(c / 3, r % 3) + (r == c ? mu : Number(0));
      values[n_tangent + r] = mu * F(r / 3, r % 3) + p * G(r / 3, r % 3);
    }
  }
};
