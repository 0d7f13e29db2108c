// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/lac/graph/coupling_aggregation.h>

#include "graph_tools.h"
#include "rank_edges.h"

#include <algorithm>

namespace PatchFEM
{
  namespace
  {
    /// More aggregates than this share of the nodes that couple tell that too few edges are strong: columns of three nodes
    /// across a plate make a third.
    constexpr double most_of_coupled = 0.4;

    /// The threshold is divided by ten so often, before all edges are strong.
    constexpr int n_reductions = 4;

    /// Aggregates of fewer nodes join others along strong edges: three nodes of a solid have 9 unknowns for 6 modes.
    constexpr int least_nodes = 4;
  } // namespace

  CouplingAggregation::CouplingAggregation(const Aggregation::AdditionalData &aggregation_data) : data(aggregation_data)
  {
    require(data.coupling_threshold >= 0. && data.coupling_threshold < 1.,
            "A threshold of the strength of connection is between 0 and 1, not ",
            std::to_string(data.coupling_threshold), ".");
    data.patches            = false;
    data.min_aggregate_size = std::min(data.min_aggregate_size, least_nodes);
  }

  template <typename Number>
  AggregateLists CouplingAggregation::aggregate_level(const unsigned int level, const SlicedEllpackMatrix<Number> &A)
  {
    require(level <= aggregations.size(), "Aggregates of level ", level,
            " were asked for before those of the level above.");
    aggregations.resize(level);
    edges_across.resize(level);
    weights.resize(level);
    const Backend           &place = A.backend();
    const Partitioner *const ranks = A.partitioner().get();
    const auto of_all = [&](const std::int64_t n) { return ranks != nullptr ? ranks->communicator().sum(n) : n; };
    const bool finest = level + levels_above == 0;
    Adjacency  across; // edges to nodes of other ranks
    if (finest && pattern.offsets().empty())
      pattern.reinit(A);
    if (ranks != nullptr)
      across = level > 0 ? rank_edges::across(*ranks, edges_across.back()) : rank_edges::across(A, 0.);
    const Adjacency &all = finest ? pattern : level > 0 ? aggregations.back().aggregate_graph() : graph_above;
    return dispatch(place, [&](auto where) {
      using namespace graph_tools;
      Array<double> own, outside;
      if (finest)
        own = trace_weights(where, A, all);
      const Array<double> &of_edges = finest ? own : level > 0 ? weights.back() : weights_above;
      if (ranks != nullptr)
      {
        if (level > 0)
          outside.copy_from(place, edges_across.back().couplings);
        else
          outside = trace_weights(where, A, across);
      }
      Array<double> largest = largest_couplings(where, all, of_edges, ranks != nullptr ? &across : nullptr, outside);
      if (ranks != nullptr)
        largest = rank_edges::with_ghosts(place, *ranks, largest);

      Aggregation next;
      Adjacency   strong, strong_across;
      double      theta = data.coupling_threshold;
      for (int k = 0; k <= n_reductions + 1; ++k, theta *= 0.1)
      {
        const double limit = k > n_reductions ? 0. : theta;
        strong             = strong_edges(where, all, of_edges, largest, limit);
        if (ranks != nullptr)
          strong_across = strong_edges(where, across, outside, largest, limit);
        if (finest)
          close_triangles(where, all, across, strong, strong_across);
        next.reinit({all, all, strong, ranks != nullptr ? &across : nullptr}, A.block_rows(), data);
        // Nodes all of whose strong edges are cut by a border of ranks stay alone, and tell nothing.
        std::int64_t counts[2] = {next.n_aggregates(), next.n_nodes() - next.statistics().n_isolated};
        if (ranks != nullptr)
        {
          const int n_alone = n_cut(where, strong, strong_across);
          for (std::int64_t &count : counts)
            count = of_all(count - n_alone);
        }
        if (static_cast<double>(counts[0]) <= most_of_coupled * static_cast<double>(counts[1]))
          break;
      }
      const auto copied = [](const Array<int> &array) {
        Array<int> result;
        result.copy_from(array.backend(), array);
        return result;
      };
      AggregateLists lists(copied(next.aggregate_of_node()), copied(next.aggregate_offsets()),
                           copied(next.permutation()));
      edges_across.emplace_back();
      if (ranks != nullptr)
        edges_across.back() = rank_edges::between_aggregates(*ranks, across, outside, next, lists);
      weights.push_back(sums_between_groups(where, all, of_edges, next.aggregate_offsets(), next.permutation(),
                                            next.aggregate_of_node(), next.aggregate_graph()));
      std::int64_t ends[2] = {all.n_ends() + across.n_ends(), strong.n_ends() + strong_across.n_ends()};
      if (ranks != nullptr)
        ranks->communicator().sum(ends, 2);
      lists.set_facts(
          {"couplings", ends[0] / 2, (ends[0] - ends[1]) / 2, data.aggregate_distance, data.min_aggregate_size});
      lists.set_by_couplings();
      if (ends[1] < ends[0])
        lists.set_short_edges(std::move(strong), std::move(strong_across));
      aggregations.push_back(std::move(next)); // with whose room references to what is above end
      return lists;
    });
  }

  std::unique_ptr<AMGAggregation> CouplingAggregation::gather(const unsigned int level, const Partitioner &nodes) const
  {
    auto result = std::make_unique<CouplingAggregation>(data);
    if (level == 0)
      return result;
    result->levels_above = level;
    result->graph_above  = rank_edges::of_all_ranks(
         nodes, aggregations[level - 1].aggregate_graph(), rank_edges::across(nodes, edges_across[level - 1]),
         weights[level - 1], edges_across[level - 1].couplings, result->weights_above);
    return result;
  }

  template AggregateLists CouplingAggregation::aggregate_level(unsigned int, const SlicedEllpackMatrix<float> &);
  template AggregateLists CouplingAggregation::aggregate_level(unsigned int, const SlicedEllpackMatrix<double> &);
} // namespace PatchFEM
