// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/launch.h"
#include "lac/multigrid/bending.h"

#include <patchfem/kernels/atomics.h>
#include <patchfem/kernels/blas1.h>

/** @file The steps (see launch.h) of softness_in_bending(). */
namespace PatchFEM::multigrid
{
  /** A body's middle, the directions in which it is longest and shortest, and its length. */
  struct BeamAxes
  {
    int    dim         = 3;
    double middle[3]   = {0., 0., 0.};
    double along[3]    = {0., 0., 0.};
    double across[3]   = {0., 0., 0.};
    double length      = 0.;
    double held_below  = 0.,
           held_above  = 0.; ///< where nodes are held, along from the middle: nearest to it on each side
    bool is_held_below = false, is_held_above = false;

    PATCHFEM_INLINE double coordinate(const double *point, const double *axis) const
    {
      double sum = 0.;
      for (int d = 0; d < dim; ++d)
        sum += (point[d] - middle[d]) * axis[d];
      return sum;
    }
  };

  /// Places along the axis are told apart by this part of the length.
  constexpr double places = 1 << 20;

  /** Sums over @p points, [node][dim], of x_d or, of @p order 2, [d][e], of x_d x_e; coordinates are from the middle. */
  template <typename Where>
  void moments_of_points(Where, const Array<double> &points, const BeamAxes &axes, int order, Array<double> &sums);

  /** found[0], found[1]: the last place of a node that is held below the middle, and minus the first one above. */
  template <typename Where>
  void find_held(Where,
                 const SlicedEllpackMatrix<double> &A,
                 const Array<double>               &points,
                 const BeamAxes                    &axes,
                 Array<int>                        &found);

  /** The deflection u of softness_in_bending(). */
  template <typename Where>
  void deflect(Where, const Array<double> &points, const BeamAxes &axes, Vector<double> &u);

  template <>
  void moments_of_points(Here, const Array<double> &points, const BeamAxes &axes, const int order, Array<double> &sums)
  {
    const Backend     &place = points.backend();
    const int          dim   = axes.dim;
    const std::int64_t n     = points.size() / dim;
    Array<double>      x(place, n), y(place, n), partials(place, kernels::reduction::max_parts);
    for (int k = 0; k < (order == 1 ? dim : dim * dim); ++k)
    {
      const int d = order == 1 ? k : k / dim, e = order == 1 ? -1 : k % dim;
      launch(place, n, [=, points = points.data(), x = x.data(), y = y.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        x[i] = points[i * dim + d] - axes.middle[d];
        y[i] = e < 0 ? 1. : points[i * dim + e] - axes.middle[e];
      });
      launch(place,
             [&](const Here where) { kernels::dot(where, n, x.data(), y.data(), partials.data(), sums.data() + k); });
    }
  }

  template <>
  void find_held(Here,
                 const SlicedEllpackMatrix<double> &matrix,
                 const Array<double>               &points,
                 const BeamAxes                    &axes,
                 Array<int>                        &found)
  {
    launch(matrix.backend(), matrix.n_rows() / matrix.block_rows(),
           [=, A = matrix.view(), points = points.data(), found = found.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const int row = static_cast<int>(i);
             for (int k = 0; k < A.row_lengths[row]; ++k)
               for (int a = 0; a < A.block_rows && A.column(row, k) != row; ++a)
                 for (int b = 0; b < A.block_columns; ++b)
                   if (A.values[A.value_index(row, k, a, b)] != 0.)
                     return;
             const double at = axes.coordinate(points + i * axes.dim, axes.along) / axes.length * places;
             if (at < -2. * places || at > 2. * places)
               return;
             if (at < 0.)
               kernels::atomic_max(found, static_cast<int>(at));
             else
               kernels::atomic_max(found + 1, -static_cast<int>(at));
           });
  }

  template <>
  void deflect(Here, const Array<double> &points, const BeamAxes &axes, Vector<double> &u)
  {
    launch(u.backend(), u.size() / axes.dim,
           [=, points = points.data(), u = u.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const double s     = axes.coordinate(points + i * axes.dim, axes.along);
             const double z     = axes.coordinate(points + i * axes.dim, axes.across);
             const double below = axes.is_held_below ? s - axes.held_below : 1.;
             const double above = axes.is_held_above ? axes.held_above - s : 1.;
             const bool   moves = below > 0. && above > 0.;
             const double t     = moves ? below * above : 0.;
             const double slope = (axes.is_held_below ? above : 0.) - (axes.is_held_above ? below : 0.);
             for (int d = 0; d < axes.dim; ++d)
               u[i * axes.dim + d] = t * t * axes.across[d] - 2. * t * slope * z * axes.along[d];
           });
  }
} // namespace PatchFEM::multigrid
