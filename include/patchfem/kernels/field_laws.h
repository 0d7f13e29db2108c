// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/laws.h>

#include <cmath>

/**
 * @file
 * Laws of the built-in equations: what is reported and pictured of a solution, and the fluxes that its reactions are
 * made of. Parameters are the coefficients of the weak form. The first n_fields values are fields to look at; those
 * behind them are for integrals alone.
 */
namespace PatchFEM
{
  /** The Euclidean norm of @p v, also where squares would overflow or vanish. */
  template <int n, typename Number>
  PATCHFEM_INLINE Number safe_norm(const Number *v)
  {
    Number largest = 0, sum = 0;
    for (int i = 0; i < n; ++i)
      sum += v[i] * v[i];
    if (sum > Number(1e-30) && sum < Number(1e30)) // mostly, and without divisions
      return std::sqrt(sum);
    sum = 0;
    for (int i = 0; i < n; ++i)
      largest = std::fabs(v[i]) > largest ? std::fabs(v[i]) : largest;
    if (!(largest > 0))
      return largest;
    for (int i = 0; i < n; ++i)
      sum += (v[i] / largest) * (v[i] / largest);
    return largest * std::sqrt(sum);
  }

  /**
   * Elasticity<dim>, or ElasticityMeanDilatation<dim>, whose volumetric stress is of the mean divergence on the cell:
   * displacement u and |u|, the stress xx, xy, (xz,) yy, (yz,) zz, von Mises' stress; strains xx, xy, ... within the
   * dimension; the density of the energy. Out of plane, plane strain has the stress lambda div u, plane stress none.
   */
  template <int dim, bool plane_stress = false, bool mean_dilatation = false>
  struct ElasticityFields
  {
    static constexpr int  dimension           = dim;
    static constexpr int  n_components        = dim;
    static constexpr int  n_parameters        = 2; // lambda, mu
    static constexpr int  n_strains           = dim * (dim + 1) / 2;
    static constexpr int  n_stresses          = dim == 2 ? 4 : 6;
    static constexpr int  first_stress        = dim + 1;
    static constexpr int  n_fields            = first_stress + n_stresses + 1;
    static constexpr int  n_values            = n_fields + n_strains + 1;
    static constexpr bool needs_mean_gradient = mean_dilatation;

    template <typename Number>
    static PATCHFEM_INLINE void
    evaluate(const FieldPoint<dim, dim, Number> &u, const Number *parameters, Number *values)
    {
      const auto &of_volume = mean_dilatation ? u.mean_gradient : u.gradient;
      Number      pressure  = 0; // lambda div u
      for (int d = 0; d < dim; ++d)
      {
        values[d] = u.value[d];
        pressure += parameters[0] * of_volume[d][d];
      }
      values[dim] = safe_norm<dim>(values);

      Number *const stress = values + first_stress, *const strain = values + n_fields, energy = 0;
      int k = 0;
      for (int i = 0; i < dim; ++i)
        for (int j = i; j < dim; ++j, ++k)
        {
          strain[k] = (u.gradient[i][j] + u.gradient[j][i]) / 2;
          stress[k] = 2 * parameters[1] * strain[k] + (i == j ? pressure : Number(0));
          energy += (i == j ? Number(0.5) : Number(1)) * stress[k] * strain[k];
        }
      if (dim == 2)
        stress[3] = plane_stress ? Number(0) : pressure;
      values[n_values - 1] = energy;

      // 2 sigma_v^2 = the squared differences of the normal stresses + 6 times the squared shear stresses
      const Number xx = stress[0], yy = stress[dim == 2 ? 2 : 3], zz = stress[n_stresses - 1];
      const Number half = std::sqrt(Number(0.5)), three = std::sqrt(Number(3));
      const Number parts[] = {half * (xx - yy),
                              half * (yy - zz),
                              half * (zz - xx),
                              three * stress[1],
                              dim == 2 ? Number(0) : three * stress[2],
                              dim == 2 ? Number(0) : three * stress[4]};
      values[n_fields - 1] = safe_norm<6>(parts);
    }

    /** F with int F : grad v = a(u, v), [component][dim]. */
    static void weak_flux(const double *values, double *flux, double *source)
    {
      for (int i = 0, k = first_stress; i < dim; ++i)
        for (int j = i; j < dim; ++j, ++k)
          flux[i * dim + j] = flux[j * dim + i] = values[k];
      for (int i = 0; i < dim; ++i)
        source[i] = 0.;
    }
  };

  /**
   * Laplace<dim>, if it is @p plain, or Diffusion<dim>: u, the flux -K grad u and its magnitude; the density of the energy,
   * (grad u . K grad u + r u^2) / 2, and r u.
   */
  template <int dim, bool plain>
  struct DiffusionFields
  {
    static constexpr int dimension    = dim;
    static constexpr int n_components = 1;
    static constexpr int n_parameters = plain ? 1 : dim * (dim + 1) / 2 + 1; // K, or its upper triangle and r
    static constexpr int n_fields     = dim + 2;
    static constexpr int n_values     = n_fields + 2;

    template <typename Number>
    static PATCHFEM_INLINE void evaluate(const FieldPoint<dim, 1, Number> &u, const Number *parameters, Number *values)
    {
      const Number r    = plain ? Number(0) : parameters[n_parameters - 1];
      Number      *flux = values + 1, energy = r * u.value[0] * u.value[0];
      values[0] = u.value[0];
      for (int i = 0; i < dim; ++i)
        flux[i] = 0;
      for (int i = 0, k = 0; i < dim; ++i)
        for (int j = i; j < dim; ++j, ++k)
        {
          const Number entry = !plain ? parameters[k] : i == j ? parameters[0] : Number(0);
          flux[i] -= entry * u.gradient[0][j];
          if (i != j)
            flux[j] -= entry * u.gradient[0][i];
        }
      for (int i = 0; i < dim; ++i)
        energy -= flux[i] * u.gradient[0][i];
      values[dim + 1]      = safe_norm<dim>(flux);
      values[n_fields]     = energy / 2;
      values[n_fields + 1] = r * u.value[0];
    }

    static void weak_flux(const double *values, double *flux, double *source)
    {
      for (int i = 0; i < dim; ++i)
        flux[i] = -values[1 + i];
      source[0] = values[n_fields + 1];
    }
  };

  /** A load f, the parameters, its first moments f_c x_d, [component][dim], and |f| and |f| |x|, which do not cancel. */
  template <int dim, int n_comp>
  struct LoadMoments
  {
    static constexpr int dimension    = dim;
    static constexpr int n_components = n_comp;
    static constexpr int n_parameters = n_comp;
    static constexpr int n_values     = n_comp * (1 + dim) + 2;

    template <typename Number>
    static PATCHFEM_INLINE void
    evaluate(const FieldPoint<dim, n_comp, Number> &u, const Number *parameters, Number *values)
    {
      for (int c = 0; c < n_comp; ++c)
      {
        values[c] = parameters[c];
        for (int d = 0; d < dim; ++d)
          values[n_comp + c * dim + d] = parameters[c] * u.position[d];
      }
      values[n_values - 2] = safe_norm<n_comp>(parameters);
      values[n_values - 1] = values[n_values - 2] * safe_norm<dim>(u.position.entries);
    }
  };
} // namespace PatchFEM
