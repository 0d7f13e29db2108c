// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bending_steps.h"

#include "kernels/diagonalise.h"

#include <patchfem/base/communicator.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>

namespace PatchFEM::multigrid
{
  namespace
  {
    /// The longest extent over the shortest one; bodies below it are not looked at.
    constexpr double least_slenderness = 4.;
  } // namespace

  double softness_in_bending(const SlicedEllpackMatrix<double> &A, const NearNullSpace &near_null)
  {
    const Backend            &place  = A.backend();
    const Communicator *const ranks  = A.partitioner() ? &A.partitioner()->communicator() : nullptr;
    const Array<double>      &points = near_null.points();
    const bool fits = points.size() == std::size_t(A.n_rows()) && (points.empty() || points.backend() == place);
    // Of a rank without nodes nothing may be known. Rotations make for more modes than components.
    std::array<std::int64_t, 5> most{near_null.dim(), near_null.n_modes(), A.block_rows(),
                                     near_null.embedding() ? 1 : 0, fits ? 0 : 1};
    if (ranks)
      ranks->maximum(most.data(), static_cast<int>(most.size()));
    const int dim = static_cast<int>(most[0]);
    if (dim < 2 || most[1] <= dim || most[2] != dim || most[3] != 0 || most[4] != 0)
      return 0.;

    // Sums over all nodes of what moments_of_points() adds up.
    BeamAxes axes;
    axes.dim        = dim;
    const auto sums = [&](const int order) {
      std::vector<double> result(order == 1 ? dim : dim * dim, 0.);
      if (!points.empty())
      {
        Array<double> here(place, result.size());
        dispatch(place, [&](auto where) { moments_of_points(where, points, axes, order, here); });
        result = here.to_vector();
      }
      result.push_back(static_cast<double>(points.size() / dim));
      if (ranks)
        ranks->sum(result.data(), static_cast<int>(result.size()));
      return result;
    };
    const std::vector<double> first = sums(1);
    if (first.back() == 0.)
      return 0.;
    for (int d = 0; d < dim; ++d)
      axes.middle[d] = first[d] / first.back();
    const std::vector<double> second         = sums(2);
    double                    variance[3][3] = {}, directions[3][3];
    for (int d = 0; d < dim; ++d)
      for (int e = 0; e < dim; ++e)
        variance[d][e] = second[d * dim + e] / second.back();
    kernels::diagonalise(dim, variance, directions);
    int longest = 0, shortest = 0;
    for (int k = 1; k < dim; ++k)
    {
      longest  = variance[k][k] > variance[longest][longest] ? k : longest;
      shortest = variance[k][k] < variance[shortest][shortest] ? k : shortest;
    }
    const double square = variance[longest][longest];
    if (!(square > least_slenderness * least_slenderness * std::max(variance[shortest][shortest], 0.)))
      return 0.;
    axes.length = std::sqrt(12. * square); // of a bar
    for (int d = 0; d < dim; ++d)
    {
      axes.along[d]  = directions[d][longest];
      axes.across[d] = directions[d][shortest];
    }

    std::vector<std::int64_t> found(2, INT_MIN);
    if (!points.empty())
    {
      Array<int> here(place, std::vector<int>{INT_MIN, INT_MIN});
      dispatch(place, [&](auto where) { find_held(where, A, points, axes, here); });
      const std::vector<int> places_here = here.to_vector();
      found.assign(places_here.begin(), places_here.end());
    }
    if (ranks)
      ranks->maximum(found.data(), 2);
    axes.is_held_below = found[0] > INT_MIN;
    axes.is_held_above = found[1] > INT_MIN;
    if (!axes.is_held_below && !axes.is_held_above)
      return 0.;
    axes.held_below = static_cast<double>(found[0]) / places * axes.length;
    axes.held_above = static_cast<double>(-found[1]) / places * axes.length;

    Vector<double> u, Au;
    defer_errors(A.partitioner(), [&] {
      A.initialize_vector(u);
      A.initialize_vector(Au, true);
    });
    if (!points.empty())
      dispatch(place, [&](auto where) { deflect(where, points, axes, u); });
    A.vmult(Au, u);
    const double energy = u.dot(Au);
    A.extract_diagonal(Au);
    Au.scale(u);
    const double of_diagonal = u.dot(Au);
    return energy > 0. ? of_diagonal / energy : 0.;
  }
} // namespace PatchFEM::multigrid
