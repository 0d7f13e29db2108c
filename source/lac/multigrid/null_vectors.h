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

  /** @p vectors of the level of @p A become those of the next one, w of v = Q w, or Error if there are none such. */
  template <typename Number>
  void restrict_null_vectors(const SlicedEllpackMatrix<Number> &A,
                             const AggregateLists              &aggregates,
                             const TentativeProlongator        &Q,
                             const int                          n_modes,
                             std::vector<Array<double>>        &vectors)
  {
    for (Array<double> &v : vectors)
    {
      Vector<double> w      = choose(A.backend(), [&](auto where) {
        return restricted(where, aggregates, Q.values(), A.block_rows(), n_modes, false, v);
      });
      double         square = w.norm_sqr();
      if (A.partitioner() != nullptr)
        A.partitioner()->communicator().sum(&square, 1);
      // v = Q w, that is |w| = |v| = 1.
      require(std::abs(std::sqrt(square) - 1.) < 1e-6,
              "the near-null space does not contain the null space of the matrix, which is singular.");
      v = std::move(w.array());
    }
  }

  /** Of @p vectors of the level of @p A those of parts of the mesh that are a single node there go to @p settled. */
  template <typename Number>
  void settle_null_vectors(const SlicedEllpackMatrix<Number> &A,
                           std::vector<Array<double>>        &vectors,
                           std::vector<Array<double>>        &settled)
  {
    for (auto v = vectors.begin(); v != vectors.end();)
    {
      // One of a later level was found to be coupled here before.
      std::int64_t coupled = v->size() != std::size_t(A.n_rows()) ||
                             choose(A.backend(), [&](auto where) { return couples(where, A, *v); });
      if (A.partitioner() != nullptr)
        coupled = A.partitioner()->communicator().maximum(coupled);
      if (coupled != 0)
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
      choose(A.backend(), [&](auto where) { add_node_product(where, s, v, A); });
  }
} // namespace PatchFEM::multigrid
