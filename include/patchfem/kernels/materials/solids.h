// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/material_law.h>

/**
 * @file
 * Elastic solids: P = d psi / d F for an energy psi per undeformed volume, F = I + grad u, C = F^T F, J = det F, or the
 * stress d psi / d eps of small strains eps = (grad u + grad u^T) / 2. Moduli have the unit of stress.
 */
namespace PatchFEM::Materials
{
  /** psi = lambda/2 (tr eps)^2 + mu eps : eps. Parameters: lambda, mu. */
  struct LinearElasticity
  {
    static constexpr int  n_parameters = 2;
    static constexpr bool symmetric    = true;

    template <typename T>
    static PATCHFEM_INLINE auto flux(const PointInput<3, 3, T> &u, const PointData &data, const NoState &, NoState &)
    {
      const double lambda = data.parameters[0], mu = data.parameters[1];
      return plus_identity((2. * mu) * symmetric_part(u.gradient), lambda * trace(u.gradient));
    }
  };

  /**
   * psi = 1/2 eps : C : eps with three planes of symmetry. Parameters: C_1111, C_2222, C_3333, C_1122, C_1133, C_2233,
   * the shear moduli G_12, G_13, G_23 (see orthotropic_moduli()), and the unit vectors of the material's axes 1 and 2.
   */
  struct OrthotropicElasticity
  {
    static constexpr int  n_parameters = 15;
    static constexpr bool symmetric    = true;

    template <typename T>
    static PATCHFEM_INLINE auto flux(const PointInput<3, 3, T> &u, const PointData &data, const NoState &, NoState &)
    {
      const double                   *C = data.parameters, *a = C + 9, *b = C + 12;
      const SmallMatrix<3, 3, double> Q{
          {{a[0], a[1], a[2]},
           {b[0], b[1], b[2]},
           {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}}};
      const auto eps    = symmetric_product(Q * symmetric_part(u.gradient), transpose(Q));
      const auto stress = matrix_of<3, 3>([&](const int i, const int j) {
        if (i != j)
          return 2. * C[5 + i + j] * eps(i, j);
        const int k = (i + 1) % 3, l = (i + 2) % 3;
        return C[i] * eps(i, i) + C[2 + i + k] * eps(k, k) + C[2 + i + l] * eps(l, l);
      });
      return symmetric_product(transpose(Q) * stress, Q);
    }
  };

  /**
   * The first nine parameters of OrthotropicElasticity from Young's moduli E_1, E_2, E_3, Poisson's ratios nu_12,
   * nu_13, nu_23 (nu_ij: contraction along j under stress along i) and shear moduli G_12, G_13, G_23.
   */
  PATCHFEM_INLINE SmallVector<9, double>
  orthotropic_moduli(const SmallVector<3, double> &E, const SmallVector<3, double> &nu, const SmallVector<3, double> &G)
  {
    const auto compliance = matrix_of<3, 3>(
        [&](const int i, const int j) { return i == j ? 1. / E[i] : -nu[i + j - 1] / E[i < j ? i : j]; });
    const auto C = inverse(compliance, determinant(compliance));
    return {{C(0, 0), C(1, 1), C(2, 2), C(0, 1), C(0, 2), C(1, 2), G[0], G[1], G[2]}};
  }

  /**
   * psi = lambda/2 (tr E)^2 + mu E : E with E = (C - I) / 2, for large rotations and small strains. Parameters: lambda,
   * mu.
   */
  struct SaintVenantKirchhoff
  {
    static constexpr int  n_parameters = 2;
    static constexpr bool symmetric    = true;

    template <typename T>
    static PATCHFEM_INLINE auto flux(const PointInput<3, 3, T> &u, const PointData &data, const NoState &, NoState &)
    {
      const double lambda = data.parameters[0], mu = data.parameters[1];
      const auto   E = symmetric_part(u.gradient) + 0.5 * (transpose(u.gradient) * u.gradient);
      return plus_identity(u.gradient) * plus_identity((2. * mu) * E, lambda * trace(E));
    }
  };

  /** psi = mu/2 (tr C - 3) - mu ln J + lambda/2 (ln J)^2. Parameters: lambda, mu. */
  struct NeoHookean
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

  /**
   * psi = c_10 (I_1 - 3) + c_01 (I_2 - 3) + kappa/2 (J - 1)^2 with the invariants of C / J^(2/3), I_1 = tr C and
   * I_2 = ((tr C)^2 - tr C^2) / 2. Parameters: c_10, c_01, kappa; the shear modulus at first is 2 (c_10 + c_01).
   */
  struct MooneyRivlin
  {
    static constexpr int  n_parameters = 3;
    static constexpr bool symmetric    = true;

    template <typename T>
    static PATCHFEM_INLINE auto flux(const PointInput<3, 3, T> &u, const PointData &data, const NoState &, NoState &)
    {
      const double *c = data.parameters;
      const auto    F = plus_identity(u.gradient);
      const T       J = determinant(F);
      if (J <= 0.)
        data.refuse(Refusal::inverted);
      const auto C = transpose(F) * F;
      const T    s = exp((-2. / 3.) * log(J)), I1 = trace(C), I2 = 0.5 * (I1 * I1 - double_contraction(C, C));
      const T    c1 = 2. * c[0] * s, c2 = 2. * c[1] * s * s;
      const T    p = c[2] * (J - 1.) * J - (c1 * I1 + 2. * c2 * I2) * (1. / 3.);
      return (c1 + c2 * I1) * F - c2 * (F * C) + p * transpose(inverse(F, J));
    }
  };

  /**
   * @p Law, one of small strains, of the strain less alpha (T - T_0) I. The temperature T is field 0. Parameters: those
   * of Law, alpha (1 / temperature), T_0.
   */
  template <typename Law>
  struct ThermalStrain : Law
  {
    static constexpr int n_parameters = LawTraits<Law>::n_parameters + 2, n_fields = 1;
    static_assert(LawTraits<Law>::n_fields == 0, "Field 0 is the temperature.");

    template <typename T>
    static PATCHFEM_INLINE auto
    flux(const PointInput<3, 3, T> &u, const PointData &data, const LawState<Law> &old, LawState<Law> &now)
    {
      const double *thermal = data.parameters + LawTraits<Law>::n_parameters;
      return Law::flux(
          PointInput<3, 3, T>{{}, {}, plus_identity(u.gradient, thermal[0] * (thermal[1] - data.fields[0]))}, data, old,
          now);
    }
  };
} // namespace PatchFEM::Materials
