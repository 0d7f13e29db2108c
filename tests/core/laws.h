// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/laws.h>
#include <patchfem/kernels/small_tensor.h>

/** All that a law sees: values of all components, their gradients, and the position. */
template <int dim, int n_comp>
struct Probe
{
  static constexpr int dimension    = dim;
  static constexpr int n_components = n_comp;
  static constexpr int n_parameters = 0;
  static constexpr int n_values     = n_comp * (dim + 1) + dim;

  template <typename Number>
  static PATCHFEM_INLINE void
  evaluate(const PatchFEM::FieldPoint<dim, n_comp, Number> &u, const Number *, Number *values)
  {
    for (int c = 0; c < n_comp; ++c)
    {
      values[c] = u.value[c];
      for (int d = 0; d < dim; ++d)
        values[n_comp + c * dim + d] = u.gradient[c][d];
    }
    for (int d = 0; d < dim; ++d)
      values[n_comp * (dim + 1) + d] = u.position[d];
  }
};

/** (p, q) -> (q, p + u). */
struct Exchange
{
  static constexpr int dimension    = 3;
  static constexpr int n_components = 1;
  static constexpr int n_parameters = 2;
  static constexpr int n_values     = 2;

  template <typename Number>
  static PATCHFEM_INLINE void
  evaluate(const PatchFEM::FieldPoint<3, 1, Number> &u, const Number *parameters, Number *values)
  {
    values[0] = parameters[1];
    values[1] = parameters[0] + u.value[0];
  }
};

/** (a, b) -> quotient(a, b). */
struct Quotient
{
  static constexpr int dimension    = 3;
  static constexpr int n_components = 1;
  static constexpr int n_parameters = 2;
  static constexpr int n_values     = 1;

  template <typename Number>
  static PATCHFEM_INLINE void
  evaluate(const PatchFEM::FieldPoint<3, 1, Number> &, const Number *parameters, Number *values)
  {
    values[0] = PatchFEM::quotient(parameters[0], parameters[1]);
  }
};
