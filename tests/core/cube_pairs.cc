// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../benchmarks/synthetic_tables.h"

#include <patchfem/kernels/cube_pairs.h>
#include <patchfem/kernels/patch_views.h>

#include <gtest/gtest.h>

#include <cmath>

using namespace PatchFEM;
using kernels::CubePairs;

namespace
{
  template <int dim, typename Number>
  using Corners = Number[1 << dim][dim];

  /** The unit cube, its corners moved by up to half of @p shift in each direction. */
  template <int dim, typename Number>
  void make_cube(const double shift, Corners<dim, Number> &x)
  {
    for (int v = 0; v < 1 << dim; ++v)
      for (int d = 0; d < dim; ++d)
        x[v][d] = static_cast<Number>((v >> d & 1) + shift * (synthetic::hashed(v * dim + d) - 0.5));
  }

  template <int dim>
  double determinant_and_inverse(const double (&J)[dim][dim], double (&inverse)[dim][dim])
  {
    if constexpr (dim == 2)
    {
      const double det = J[0][0] * J[1][1] - J[0][1] * J[1][0];
      inverse[0][0]    = J[1][1] / det;
      inverse[0][1]    = -J[0][1] / det;
      inverse[1][0]    = -J[1][0] / det;
      inverse[1][1]    = J[0][0] / det;
      return det;
    }
    else
    {
      const auto minor = [&](const int i, const int j) {
        return J[(i + 1) % 3][(j + 1) % 3] * J[(i + 2) % 3][(j + 2) % 3] -
               J[(i + 1) % 3][(j + 2) % 3] * J[(i + 2) % 3][(j + 1) % 3];
      };
      const double det = J[0][0] * minor(0, 0) + J[0][1] * minor(0, 1) + J[0][2] * minor(0, 2);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
          inverse[i][j] = minor(j, i) / det;
      return det;
    }
  }

  /** The definition: gradients of products of xi_d and 1 - xi_d, point by point. */
  template <int dim>
  void integrate_plainly(const Corners<dim, double> &x,
                         const double *const         k,
                         const double *const         f,
                         double (&matrix)[1 << dim][1 << dim],
                         double (&load)[1 << dim])
  {
    constexpr int n = 1 << dim;
    for (int i = 0; i < n; ++i)
    {
      load[i] = 0.;
      for (double &entry : matrix[i])
        entry = 0.;
    }
    for (int q = 0; q < n; ++q)
    {
      double value[n], gradient[n][dim], J[dim][dim] = {}, inverse[dim][dim];
      for (int v = 0; v < n; ++v)
      {
        value[v] = 1.;
        for (double &g : gradient[v])
          g = 1.;
        for (int d = 0; d < dim; ++d)
        {
          const double xi  = 0.5 + ((q >> d & 1) - 0.5) / std::sqrt(3.);
          const double own = v >> d & 1 ? xi : 1. - xi;
          value[v] *= own;
          for (int e = 0; e < dim; ++e)
            gradient[v][e] *= e != d ? own : v >> d & 1 ? 1. : -1.;
        }
      }
      for (int v = 0; v < n; ++v)
        for (int d = 0; d < dim; ++d)
          for (int e = 0; e < dim; ++e)
            J[d][e] += x[v][d] * gradient[v][e];
      const double weight = determinant_and_inverse<dim>(J, inverse) / n;
      double       real[n][dim];
      for (int v = 0; v < n; ++v)
        for (int d = 0; d < dim; ++d)
        {
          real[v][d] = 0.;
          for (int e = 0; e < dim; ++e)
            real[v][d] += inverse[e][d] * gradient[v][e];
        }
      for (int i = 0; i < n; ++i)
      {
        load[i] += weight * f[q] * value[i];
        for (int j = 0; j < n; ++j)
          for (int d = 0; d < dim; ++d)
            matrix[i][j] += weight * k[q] * real[i][d] * real[j][d];
      }
    }
  }

  template <int dim, typename Number>
  void compare(const double shift, const double tolerance)
  {
    constexpr int        n = 1 << dim;
    Corners<dim, Number> x;
    make_cube<dim>(shift, x);
    Corners<dim, double> exact;
    double               k[n], f[n], matrix[n][n], load[n];
    for (int v = 0; v < n; ++v)
    {
      k[v] = 1. + synthetic::hashed(100 + v);
      f[v] = synthetic::hashed(200 + v) - 0.3;
      for (int d = 0; d < dim; ++d)
        exact[v][d] = x[v][d];
    }
    integrate_plainly<dim>(exact, k, f, matrix, load);
    CubePairs<dim, Number> pairs;
    pairs.integrate(
        x, [&](const int q) { return static_cast<Number>(k[q]); },
        [&](const int q) { return static_cast<Number>(f[q]); });
    for (int i = 0; i < n; ++i)
    {
      EXPECT_NEAR(pairs.load[i], load[i], tolerance) << "dim " << dim << ", node " << i;
      for (int j = i + 1; j < n; ++j)
        EXPECT_NEAR(pairs.pair[PlacesView::pair_number(n, i, j)], matrix[i][j], tolerance)
            << "dim " << dim << ", nodes " << i << " and " << j;
    }
  }
} // namespace

/** Of the unit square neighbours have -1/6 and opposite corners -1/3; of the unit cube they have 0, and others -1/12. */
TEST(CubePairs, UnitCubesByEye)
{
  Corners<2, double> square;
  Corners<3, double> cube;
  make_cube<2>(0., square);
  make_cube<3>(0., cube);
  CubePairs<2, double> of_square;
  CubePairs<3, double> of_cube;
  const auto           one = [](int) { return 1.; };
  of_square.integrate(square, one, one);
  of_cube.integrate(cube, one, one);
  for (int i = 0, pair = 0; i < 4; ++i)
  {
    EXPECT_NEAR(of_square.load[i], 1. / 4., 1e-15);
    for (int j = i + 1; j < 4; ++j, ++pair)
      EXPECT_NEAR(of_square.pair[pair], (i ^ j) == 3 ? -1. / 3. : -1. / 6., 1e-15);
  }
  for (int i = 0, pair = 0; i < 8; ++i)
  {
    EXPECT_NEAR(of_cube.load[i], 1. / 8., 1e-15);
    for (int j = i + 1; j < 8; ++j, ++pair)
      EXPECT_NEAR(of_cube.pair[pair], ((i ^ j) & ((i ^ j) - 1)) == 0 ? 0. : -1. / 12., 1e-15);
  }
}

TEST(CubePairs, AreThoseOfTheDefinition)
{
  for (const double shift : {0.1, 0.4})
  {
    compare<2, double>(shift, 1e-14);
    compare<3, double>(shift, 1e-14);
    compare<2, float>(shift, 2e-6);
    compare<3, float>(shift, 2e-6);
  }
}
