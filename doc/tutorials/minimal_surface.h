// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef minimal_surface_h
#define minimal_surface_h

#include <patchfem/kernels/laws.h>

#include <cmath>

/**
 * The flux F = s grad u, s = 1 / sqrt(1 + |grad u|^2), of surfaces with the least area, and its tangent
 * s I - s^3 grad u (x) grad u as the coefficients of PatchFEM::Diffusion<dim>: first these, then the flux.
 */
template <int dim>
struct MinimalSurface
{
  static constexpr int n_tangent    = dim * (dim + 1) / 2 + 1;
  static constexpr int dimension    = dim;
  static constexpr int n_components = 1;
  static constexpr int n_parameters = 0;
  static constexpr int n_values     = n_tangent + dim;

  template <typename Number>
  static PATCHFEM_INLINE void evaluate(const PatchFEM::FieldPoint<dim, 1, Number> &u, const Number *, Number *values)
  {
    const auto  &g = u.gradient[0];
    const Number s = 1 / std::sqrt(1 + dot(g, g));
    int          k = 0;
    for (int i = 0; i < dim; ++i)
      for (int j = i; j < dim; ++j)
        values[k++] = (i == j ? s : Number(0)) - s * s * s * g[i] * g[j];
    values[k++] = 0;
    for (int i = 0; i < dim; ++i)
      values[k++] = s * g[i];
  }
};

#endif
