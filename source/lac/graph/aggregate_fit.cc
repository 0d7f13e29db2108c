// SPDX-License-Identifier: LGPL-2.1-or-later
#include "graph_tools.h"

#include <patchfem/lac/graph/aggregate_fit.h>

#include <algorithm>

namespace PatchFEM
{
  namespace
  {
    /// Aggregates do not fit where more of the sample have fallen apart than these and one in so many: a crack through half
    /// of a cube of 100^3 cells goes through one in 70. A few parts are few modes, which conjugate gradients find.
    constexpr std::int64_t few_apart = 2, one_apart_in = 256;

    /// Nor, if they follow couplings, where there are more than so many times as many strong dependences.
    constexpr double more_dependences = 1.1;
  } // namespace

  template <typename Number>
  void AggregateFit::look(const SlicedEllpackMatrix<Number> &A, const AggregateLists &aggregates)
  {
    const bool   is_first = counts.empty();
    std::int64_t n[5]     = {}; // looked at; of both calls those apart, and dependences
    defer_errors(A.partitioner(), [&] {
      if (is_first)
        counts.reinit(A.backend(), 4);
      n[0] = dispatch(A.backend(), [&](auto where) {
        return graph_tools::count_dependences(where, A, aggregates, counts.data() + (is_first ? 0 : 2));
      });
      if (!is_first)
      {
        const std::vector<int> values = counts.to_vector();
        std::copy(values.begin(), values.end(), n + 1);
      }
    });
    if (is_first)
      return;
    if (A.partitioner() != nullptr)
      A.partitioner()->communicator().sum(n, 5);
    is_fit = n[3] - n[1] <= few_apart + n[0] / one_apart_in &&
             (!aggregates.by_couplings() || static_cast<double>(n[4]) <= more_dependences * static_cast<double>(n[2]));
  }

  template void AggregateFit::look(const SlicedEllpackMatrix<float> &, const AggregateLists &);
  template void AggregateFit::look(const SlicedEllpackMatrix<double> &, const AggregateLists &);
} // namespace PatchFEM
