// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/exceptions.h>
#include <patchfem/kernels/weak_forms.h>

#include <algorithm>
#include <cmath>

namespace PatchFEM
{
  /**
   * Throws Error if a weak form breaks a promise (`symmetric`, `gradients_only`, Moments, CellMoments, `moment_kind`), tried on one
   * pair of shape functions and arbitrary coefficients, for all of which it must hold: kernels rely on it unchecked.
   */
  template <typename Form>
  void check_promises()
  {
    constexpr int dim = Form::dimension, n = Form::n_components;
    using Shape = ShapeFunction<dim, double>;
    double coefficients[Form::n_coefficients + 1];
    for (int i = 0; i <= Form::n_coefficients; ++i)
      coefficients[i] = 1.25 + 0.75 * std::sin(1. + 3. * i);
    Shape test, trial;
    test.value  = 0.625;
    trial.value = -0.375;
    for (int d = 0; d < dim; ++d)
    {
      test.gradient[d]  = std::sin(2. + 5. * d);
      trial.gradient[d] = std::cos(1. + 4. * d);
    }
    const auto differ = [](const auto &a, const auto &b, const bool transposed) {
      double largest = 0., difference = 0.;
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
        {
          largest    = std::max(largest, std::abs(a(i, j)));
          difference = std::max(difference, std::abs(a(i, j) - (transposed ? b(j, i) : b(i, j))));
        }
      return !(difference <= 1e-10 * largest); // true for a NaN
    };
    const auto block = Form::matrix(coefficients, test, trial);
    if constexpr (is_symmetric<Form>)
      require(!differ(block, Form::matrix(coefficients, trial, test), true),
              "The weak form says that it is symmetric, but exchanging test and trial function does not transpose its "
              "block; take `symmetric = true` out of it.");
    if constexpr (depends_on_gradients_only<Form>)
    {
      Shape other = test, another = trial;
      other.value   = 3.;
      another.value = 7.;
      require(!differ(block, Form::matrix(coefficients, other, another), false),
              "The weak form says that it depends on gradients only, but it depends on values; take "
              "`gradients_only = true` out of it.");
    }
    constexpr const char *no_moments =
        "The moments of the weak form make another block than its matrix() does; correct "
        "add() or finish().";
    if constexpr (has_moments<Form>)
    {
      typename Form::template Moments<double> sum{};
      Form::add(sum, 1., test, trial);
      require(!differ(block, Form::finish(coefficients, sum), false), no_moments);
    }
    if constexpr (has_cell_moments<Form>)
    {
      // Of two points that are the same one, with weights whose sum is 1.
      typename Form::template CellMoments<double> sum{};
      Form::add(sum, 0.25, coefficients, test, trial);
      Form::add(sum, 0.75, coefficients, test, trial);
      require(!differ(block, Form::finish(sum), false), no_moments);
    }
    if constexpr (moment_kind_of<Form> == MomentKind::outer_product_and_means)
    {
      auto                          half = block; // of a volume of a half
      SmallMatrix<dim, dim, double> product;
      SmallVector<dim, double>      means[2];
      for (int i = 0; i < dim; ++i)
      {
        means[0][i] = 0.5 * test.gradient[i];
        means[1][i] = 0.5 * trial.gradient[i];
        for (int j = 0; j < dim; ++j)
        {
          half(i, j) *= 0.5;
          product(i, j) = 0.5 * test.gradient[i] * trial.gradient[j];
        }
      }
      require(!differ(half, Form::finish(coefficients, product, means[0], means[1], 0.5), false), no_moments);
    }
    else if constexpr (moment_kind_of<Form> != MomentKind::other)
    {
      static_assert(has_moments<Form>, "a weak form with a moment_kind has Moments");
      constexpr bool   inner  = moment_kind_of<Form> == MomentKind::inner_product;
      constexpr double weight = 0.75;
      bool             agree  = true;

      typename Form::template Moments<double> sum{};
      Form::add(sum, weight, test, trial);
      for (int i = 0; i < (inner ? 1 : dim); ++i)
        for (int j = 0; j < (inner ? 1 : dim); ++j)
        {
          const double product = inner ? dot(test.gradient, trial.gradient) : test.gradient[i] * trial.gradient[j];
          agree                = agree && std::abs(sum(i, j) - weight * product) <= 1e-10;
        }
      require(agree, "The moments of the weak form are not the products of gradients that its moment_kind names; take "
                     "`moment_kind` out of it.");
    }
  }
} // namespace PatchFEM
