// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/material_law.h>

/**
 * @file
 * Plastic solids with the yield condition of von Mises, q = sqrt(3/2 s : s) <= y(a), where a is the accumulated plastic
 * strain and y(a) = y_0 + r (1 - exp(-b a)) + H a: Voce's and linear isotropic hardening. Steps are implicit (radial
 * return; Simo and Hughes, Computational Inelasticity, chapters 3 and 9).
 */
namespace PatchFEM::Materials
{
  /** y(a) of @p c = {y_0, r, b, H}. */
  template <typename T>
  PATCHFEM_INLINE T yield_stress(const double *c, const T &a)
  {
    return c[0] + c[1] * (1. - exp(-c[2] * a)) + c[3] * a;
  }

  /**
   * Small strains, with linear kinematic hardening: a back stress of 2/3 H_kin times the plastic strain. Parameters:
   * bulk modulus, shear modulus, y_0, r (stresses), b (a number), H, H_kin (stresses).
   */
  struct J2Plasticity
  {
    static constexpr int  n_parameters = 7;
    static constexpr bool symmetric    = true;

    struct State
    {
      double plastic[6], accumulated; ///< the plastic strain, its upper triangle by rows; a
    };

    template <typename T>
    static PATCHFEM_INLINE auto flux(const PointInput<3, 3, T> &u, const PointData &data, const State &old, State &now)
    {
      const double *c = data.parameters, mu = c[1], stiffness = 3. * mu + c[6];
      const auto    plastic =
          matrix_of<3, 3>([&](const int i, const int j) { return old.plastic[packed_index(3, i, j)]; });
      const T    volume = trace(u.gradient);
      auto       s      = (2. * mu) * (plus_identity(symmetric_part(u.gradient), (-1. / 3.) * volume) - plastic);
      const auto xi     = s - (2. / 3. * c[6]) * plastic;
      const T    q      = sqrt(1.5 * double_contraction(xi, xi) + 1e-300);
      if (q > yield_stress(c + 2, old.accumulated))
      {
        const auto f = [&](const auto &step, const auto &trial) {
          return trial - stiffness * step - yield_stress(c + 2, old.accumulated + step);
        };
        const T    step = implicit_root(f, 0., q, 1e-14, data);
        const auto flow = (1.5 * step / q) * xi;
        s               = s - (2. * mu) * flow;
        now.accumulated += value_of(step);
        PATCHFEM_UNROLL
        for (int e = 0; e < 9; ++e)
          if (e / 3 <= e % 3)
            now.plastic[packed_index(3, e / 3, e % 3)] += value_of(flow(e / 3, e % 3));
      }
      return plus_identity(s, c[0] * volume);
    }
  };

  /**
   * Finite strains: psi = kappa/2 ((J^2 - 1)/2 - ln J) + mu/2 (tr b - 3), b = J^(-2/3) F C_p^-1 F^T, s = mu dev b, flow
   * after Simo, whose tangent is not symmetric. Parameters: kappa, mu, y_0, r (stresses), b of y (a number), H (a
   * stress).
   */
  struct FiniteStrainJ2Plasticity
  {
    static constexpr int n_parameters = 6;

    struct State
    {
      double plastic[6], accumulated; ///< C_p^-1 - I, its upper triangle by rows; a
    };

    template <typename T>
    static PATCHFEM_INLINE auto flux(const PointInput<3, 3, T> &u, const PointData &data, const State &old, State &now)
    {
      const double *c = data.parameters, mu = c[1];
      const auto    plastic = matrix_of<3, 3>(
          [&](const int i, const int j) { return old.plastic[packed_index(3, i, j)] + (i == j ? 1. : 0.); });
      const auto F = plus_identity(u.gradient);
      const T    J = determinant(F);
      if (J <= 0.)
        data.refuse(Refusal::inverted);
      const auto G     = inverse(F, J);
      const T    scale = exp((2. / 3.) * log(J)), p = 0.5 * c[0] * (J * J - 1.);
      const auto b    = (1. / scale) * symmetric_product(F * plastic, transpose(F));
      const T    mean = (1. / 3.) * trace(b);
      auto       e    = plus_identity(b, -mean); // s / mu
      const T    q    = mu * sqrt(1.5 * double_contraction(e, e) + 1e-300);
      if (q > yield_stress(c + 2, old.accumulated))
      {
        const auto f = [&](const auto &step, const auto &trial) {
          return trial[0] - 3. * mu * step * trial[1] - yield_stress(c + 2, old.accumulated + step);
        };
        const T step = implicit_root(f, 0., SmallVector<2, T>{{q, mean}}, 1e-14, data);
        e            = (1. - 3. * mu * step * mean / q) * e;
        now.accumulated += value_of(step);
        const auto g = value_of(G);
        const auto updated =
            value_of(scale) * symmetric_product(g * plus_identity(value_of(e), value_of(mean)), transpose(g));
        PATCHFEM_UNROLL
        for (int k = 0; k < 9; ++k)
          if (k / 3 <= k % 3)
            now.plastic[packed_index(3, k / 3, k % 3)] = updated(k / 3, k % 3) - (k % 4 == 0 ? 1. : 0.);
      }
      return plus_identity(mu * e, p) * transpose(G);
    }
  };
} // namespace PatchFEM::Materials
