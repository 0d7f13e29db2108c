// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/lac/graph/aggregate_lists.h>

#include <algorithm>

namespace PatchFEM
{
  AggregateLists::AggregateLists(const Backend &backend, const std::vector<int> &aggregate_of_node)
  {
    int n_aggregates = 0;
    for (const int aggregate : aggregate_of_node)
      n_aggregates = std::max(n_aggregates, aggregate + 1);
    std::vector<int> first(n_aggregates + 1, 0);
    for (const int aggregate : aggregate_of_node)
      if (aggregate >= 0)
        ++first[aggregate + 1];
    for (int i = 0; i < n_aggregates; ++i)
    {
      require(first[i + 1] > 0, "Aggregate ", i, " has no node.");
      first[i + 1] += first[i];
    }
    std::vector<int> next = first, by_aggregate(first.back());
    for (std::size_t i = 0; i < aggregate_of_node.size(); ++i)
      if (aggregate_of_node[i] >= 0)
        by_aggregate[next[aggregate_of_node[i]]++] = static_cast<int>(i);
    of_node.copy_from(backend, aggregate_of_node);
    offsets.copy_from(backend, first);
    nodes.copy_from(backend, by_aggregate);
  }
} // namespace PatchFEM
