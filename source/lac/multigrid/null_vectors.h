// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "multigrid_tools.h"

#include <cmath>
#include <vector>

/**
 * @file The null space of a singular matrix on its way down the levels of a hierarchy, of one rank or, with the
 * partitioner of its matrices, of several, each of which has its own entries; collective then.
 */
namespace PatchFEM::multigrid
{
  /** The root mean square of the diagonal of @p A. */
  template <typename Number>
  double diagonal_scale(const SlicedEllpackMatrix<Number> &A)
  {
    Vector<Number> diagonal(A.backend());
    A.extract_diagonal(diagonal);
    double sums[2] = {diagonal.norm_sqr(), static_cast<double>(diagonal.size())};
    if (A.partitioner() != nullptr)
      A.partitioner()->communicator().sum(sums, 2);
    return std::sqrt(sums[0] / sums[1]);
  }

  /**
   * @p vectors of the level of @p A, orthonormal, become those of the next one: w of the combinations v that are v = Q w.
   * Others are none there, such as a turn about a hinge inside of an aggregate: for them the next level is regular.
   */
  template <typename Number>
  void restrict_null_vectors(const SlicedEllpackMatrix<Number> &A,
                             const AggregateLists              &aggregates,
                             const TentativeProlongator        &Q,
                             const int                          n_modes,
                             std::vector<Array<double>>        &vectors)
  {
    std::vector<Vector<double>> images;
    for (const Array<double> &v : vectors)
      images.push_back(dispatch(A.backend(), [&](auto where) {
        return restricted(where, aggregates, Q.values(), A.block_rows(), n_modes, false, v);
      }));
    const auto product = [&](const Vector<double> &a, const Vector<double> &b) {
      return sum(A.partitioner(), a.dot(b));
    };
    // v . v - w . w, which is that of the rest v - Q w, and vanishes for the combinations wanted.
    const std::size_t                k = images.size();
    std::vector<std::vector<double>> rests(k, std::vector<double>(k, 0.));
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        rests[i][j] = rests[j][i] = (i == j ? 1. : 0.) - product(images[i], images[j]);
    vectors.clear();
    bool complete = true;
    for (std::size_t i = 0; i < k; ++i)
    {
      Vector<double> &w = images[i];
      if (!(rests[i][i] < 2e-6))
      {
        // Its rest is taken out of those behind it.
        complete = false;
        for (std::size_t j = i + 1; j < k; ++j)
        {
          const double factor = rests[i][j] / rests[i][i];
          images[j].add(-factor, w);
          for (std::size_t l = i + 1; l < k; ++l)
            rests[j][l] -= factor * rests[i][l];
        }
        continue;
      }
      for (std::size_t j = 0; j < i && !complete; ++j)
        if (rests[j][j] < 2e-6)
          w.add(-product(w, images[j]), images[j]);
      if (!complete)
        w /= std::sqrt(product(w, w));
    }
    for (std::size_t i = 0; i < k; ++i)
      if (rests[i][i] < 2e-6)
        vectors.push_back(std::move(images[i].array()));
  }

  /** Of @p vectors of the level of @p A those of parts of the mesh that are a single node there go to @p settled. */
  template <typename Number>
  void settle_null_vectors(const SlicedEllpackMatrix<Number> &A,
                           std::vector<Array<double>>        &vectors,
                           std::vector<Array<double>>        &settled)
  {
    for (auto v = vectors.begin(); v != vectors.end();)
    {
      const bool coupled = dispatch(A.backend(), [&](auto where) { return couples(where, A, *v); });
      if (maximum(A.partitioner(), coupled) != 0)
        ++v;
      else
      {
        settled.push_back(std::move(*v));
        v = vectors.erase(v);
      }
    }
  }

  /** A + s v v^T for those that are settled. */
  template <typename Number>
  void add_settled(const double s, const std::vector<Array<double>> &settled, SlicedEllpackMatrix<Number> &A)
  {
    for (const Array<double> &v : settled)
      dispatch(A.backend(), [&](auto where) { add_node_product(where, s, v, A); });
  }
} // namespace PatchFEM::multigrid
