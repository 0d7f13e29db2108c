// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef grad_div_h
#define grad_div_h

#include <patchfem/kernels/weak_forms.h>

/** A user's own physics, -grad(k div u) + r u: the coefficients are k and r. */
template <int dim>
struct GradDiv
{
  static constexpr int dimension      = dim;
  static constexpr int n_components   = dim;
  static constexpr int n_coefficients = 2;

  template <typename Number>
  static PATCHFEM_INLINE PatchFEM::SmallMatrix<dim, dim, Number>
                         matrix(const Number                               *coefficients,
                                const PatchFEM::ShapeFunction<dim, Number> &test,
                                const PatchFEM::ShapeFunction<dim, Number> &trial)
  {
    PatchFEM::SmallMatrix<dim, dim, Number> block;
    for (int i = 0; i < dim; ++i)
      for (int j = 0; j < dim; ++j)
        block(i, j) = coefficients[0] * test.gradient[i] * trial.gradient[j] +
                      (i == j ? coefficients[1] * test.value * trial.value : Number(0));
    return block;
  }
};

#endif
