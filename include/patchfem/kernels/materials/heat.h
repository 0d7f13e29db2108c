// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/material_law.h>

namespace PatchFEM::Materials
{
  /**
   * Heat: flux k grad T with k = k_0 + k_1 T, source C dT/dt with C = C_0 + L / (w sqrt(pi)) exp(-((T - T_m) / w)^2),
   * the latent heat L spread over a width w of temperatures. Parameters: k_0 (W/(m K)), k_1 (W/(m K^2)), C_0 (J/(m^3
   * K)), L (J/m^3), T_m, w > 0 (K).
   */
  template <int dim>
  struct Heat
  {
    static constexpr int n_parameters = 6;

    template <typename T>
    static PATCHFEM_INLINE Fluxes<dim, 1, T>
    flux(const PointInput<dim, 1, T, Reads::value | Reads::rate> &u, const PointData &data, const NoState &, NoState &)
    {
      const double *c = data.parameters;
      const T       k = c[0] + c[1] * u.value[0], z = (u.value[0] - c[4]) * (1. / c[5]);
      const T       capacity = c[2] + c[3] / (c[5] * 1.7724538509055161) * exp(-(z * z));
      return {k * u.gradient, {{capacity * u.rate[0]}}};
    }
  };
} // namespace PatchFEM::Materials
