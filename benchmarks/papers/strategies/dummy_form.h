// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/weak_forms.h>

namespace benchmark
{
  using PatchFEM::ShapeFunction, PatchFEM::SmallMatrix;

  /**
   * What reads and writes as Laplace<2>, through the same kernels, with hardly any arithmetic (P4, figures 13 and 14):
   * k (d test / dx + d trial / dx). A rule of one point takes the sums over points away as well.
   */
  struct DummyForm
  {
    static constexpr int  dimension      = 2;
    static constexpr int  n_components   = 1;
    static constexpr int  n_coefficients = 1;
    static constexpr bool gradients_only = true;
    static constexpr bool symmetric      = true;

    template <typename Number>
    using Shape = ShapeFunction<2, Number>;
    template <typename Number>
    using Moments = SmallMatrix<1, 1, Number>;

    template <typename Number>
    static PATCHFEM_INLINE SmallMatrix<1, 1, Number>
                           matrix(const Number *k, const Shape<Number> &test, const Shape<Number> &trial)
    {
      return {{{k[0] * (test.gradient[0] + trial.gradient[0])}}};
    }

    template <typename Number>
    static PATCHFEM_INLINE void
    add(SmallMatrix<1, 1, Number> &sum, const Number weight, const Shape<Number> &test, const Shape<Number> &trial)
    {
      sum(0, 0) += weight * (test.gradient[0] + trial.gradient[0]);
    }

    template <typename Number>
    static PATCHFEM_INLINE SmallMatrix<1, 1, Number> finish(const Number *k, const SmallMatrix<1, 1, Number> &sum)
    {
      return {{{k[0] * sum(0, 0)}}};
    }
  };
} // namespace benchmark
