// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef mass_h
#define mass_h

#include <patchfem/kernels/weak_forms.h>

/** The mass matrix of displacements, int rho u . v: the coefficient is the density rho. */
template <int dim>
struct Mass
{
  static constexpr int  dimension      = dim;
  static constexpr int  n_components   = dim;
  static constexpr int  n_coefficients = 1;
  static constexpr bool symmetric      = true;

  template <typename Number>
  static PATCHFEM_INLINE PatchFEM::SmallMatrix<dim, dim, Number>
                         matrix(const Number                               *coefficients,
                                const PatchFEM::ShapeFunction<dim, Number> &test,
                                const PatchFEM::ShapeFunction<dim, Number> &trial)
  {
    PatchFEM::SmallMatrix<dim, dim, Number> block;
    for (int i = 0; i < dim; ++i)
      for (int j = 0; j < dim; ++j)
        block(i, j) = i == j ? coefficients[0] * test.value * trial.value : Number(0);
    return block;
  }
};

#endif
