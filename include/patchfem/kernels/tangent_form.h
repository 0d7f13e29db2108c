// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/material_law.h>
#include <patchfem/kernels/weak_forms.h>

#include <tuple>

namespace PatchFEM
{
  /**
   * The tangent of a law: a(trial, test) = sum_rc D_r(test) A_rc D_c(trial), where D_(i, J) is the derivative of component
   * i in direction J, with r = i * dim + J, and where @p with_value also the value of component i, with
   * r = n_comp * dim + i. The coefficients are A at each point, m x m by rows, or where @p is_sym its upper triangle
   * by rows: 45 for a solid in 3D.
   */
  template <int dim, int n_comp, bool with_value, bool is_sym>
  struct TangentForm
  {
    static constexpr int  m = n_comp * (dim + with_value), dimension = dim, n_components = n_comp;
    static constexpr int  n_coefficients = is_sym ? m * (m + 1) / 2 : m * m;
    static constexpr bool gradients_only = !with_value, symmetric = is_sym;

    /** The position of A_rc among the coefficients. */
    static PATCHFEM_INLINE constexpr int at(const int r, const int c)
    {
      return is_sym ? packed_index(m, r, c) : r * m + c;
    }

    /** A D(trial): its entry (r, k) is that of the field with one component, k, of these values. */
    template <typename Number>
    static PATCHFEM_INLINE SmallMatrix<m, n_comp, Number> trial(const Number                     *A,
                                                                const ShapeFunction<dim, Number> &shape)
    {
      SmallMatrix<m, n_comp, Number> result;
      PATCHFEM_UNROLL
      for (int r = 0; r < m; ++r)
        PATCHFEM_UNROLL
      for (int k = 0; k < n_comp; ++k)
      {
        Number sum = A[at(r, k * dim)] * shape.gradient[0];
        PATCHFEM_UNROLL
        for (int L = 1; L < dim; ++L)
          sum += A[at(r, k * dim + L)] * shape.gradient[L];
        if constexpr (with_value)
          sum += A[at(r, n_comp * dim + k)] * shape.value;
        result(r, k) = sum;
      }
      return result;
    }

    /** The block of @p test and what trial() has made of the other function. */
    template <typename Number>
    static PATCHFEM_INLINE SmallMatrix<n_comp, n_comp, Number> pair(const ShapeFunction<dim, Number>     &test,
                                                                    const SmallMatrix<m, n_comp, Number> &of_trial)
    {
      SmallMatrix<n_comp, n_comp, Number> block;
      PATCHFEM_UNROLL
      for (int i = 0; i < n_comp; ++i)
        PATCHFEM_UNROLL
      for (int k = 0; k < n_comp; ++k)
      {
        Number sum = test.gradient[0] * of_trial(i * dim, k);
        PATCHFEM_UNROLL
        for (int J = 1; J < dim; ++J)
          sum += test.gradient[J] * of_trial(i * dim + J, k);
        if constexpr (with_value)
          sum += test.value * of_trial(n_comp * dim + i, k);
        block(i, k) = sum;
      }
      return block;
    }

    template <typename Number>
    static PATCHFEM_INLINE SmallMatrix<n_comp, n_comp, Number>
    matrix(const Number *A, const ShapeFunction<dim, Number> &test, const ShapeFunction<dim, Number> &shape)
    {
      return pair(test, trial(A, shape));
    }
  };

  /** The tangents that the library compiles: scalar fields with values, and displacements with and without. */
  using TangentForms = std::tuple<TangentForm<2, 1, true, true>,
                                  TangentForm<2, 1, true, false>,
                                  TangentForm<3, 1, true, true>,
                                  TangentForm<3, 1, true, false>,
                                  TangentForm<2, 2, false, true>,
                                  TangentForm<2, 2, false, false>,
                                  TangentForm<2, 2, true, true>,
                                  TangentForm<2, 2, true, false>,
                                  TangentForm<3, 3, false, true>,
                                  TangentForm<3, 3, false, false>,
                                  TangentForm<3, 3, true, true>,
                                  TangentForm<3, 3, true, false>>;
  template <int n>
  using TangentFormNumber = std::tuple_element_t<n, TangentForms>;
} // namespace PatchFEM
