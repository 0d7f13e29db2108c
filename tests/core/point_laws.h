// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/material_law.h>

namespace PatchFEM
{
  /** A flux without symmetry, and a state: steps so far, and the sum of grad u(0, 0) that ended them. */
  struct Counter
  {
    static constexpr int n_parameters = 1;
    struct State
    {
      int    steps;
      double sum;
    };
    static State PATCHFEM_INLINE initial(const PointData &data) { return {100, data.parameters[0]}; }

    template <typename T>
    static PATCHFEM_INLINE auto flux(const PointInput<3, 3, T> &u, const PointData &, const State &old, State &now)
    {
      now.steps                   = old.steps + 1;
      now.sum                     = old.sum + value_of(u.gradient(0, 0));
      SmallMatrix<3, 3, T> result = (1. + old.steps) * u.gradient;
      result(0, 1) += u.gradient(2, 2) * u.gradient(2, 2);
      return result;
    }
  };

  /** Says that it is symmetric, and is not. */
  struct Liar : Counter
  {
    static constexpr bool symmetric = true;
  };

  /** k(u) = 1 + u^2, a source u u' - x t, and a field of another space beside k. */
  template <int dim>
  struct Conduction
  {
    static constexpr int n_parameters = 1, n_fields = 1;
    struct State
    {};

    template <typename T>
    static PATCHFEM_INLINE auto flux(const PointInput<dim, 1, T, Reads::value | Reads::rate | Reads::old> &u,
                                     const PointData                                                      &data,
                                     const State &,
                                     State &)
    {
      Fluxes<dim, 1, T> result;
      result.flux      = (data.parameters[0] + data.fields[0] + u.value[0] * u.value[0]) * u.gradient;
      result.source[0] = u.value[0] * u.rate[0] + 3. * data.old_value[0] - data.old_gradient[0] -
                         data.position[0] * data.time * data.load_factor;
      return result;
    }
  };
} // namespace PatchFEM
