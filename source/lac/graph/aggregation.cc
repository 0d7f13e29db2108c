// SPDX-License-Identifier: LGPL-2.1-or-later
#include "graph_tools.h"

#include "kernels/distance_bodies.h"
#include "kernels/patch_exchange_bodies.h"
#include <patchfem/lac/graph/aggregation.h>

#include <algorithm>

namespace PatchFEM
{
  using graph_tools::GroupGraph;
  using graph_tools::Groups;
  using graph_tools::scan;

  namespace
  {
    void check(const Aggregation::AdditionalData &data, const int block_size)
    {
      require(data.aggregate_distance >= 1 && data.patch_distance >= 1,
              "The distances of the independent sets of an aggregation must be at least 1.");
      require(data.min_aggregate_size >= 1, "The smallest size of an aggregate must be at least 1, not " +
                                                std::to_string(data.min_aggregate_size) + ".");
      require(data.recentrings >= Aggregation::AdditionalData::automatic,
              "Aggregates cannot be grown again " + std::to_string(data.recentrings) + " times.");
      require(data.patch_bytes >= 1, "The largest size of a patch must be at least 1 byte.");
      require(data.min_patch_share >= 0. && data.min_patch_share <= 1.,
              "The share of the largest patch under which patches are dissolved must be between 0 and 1, not " +
                  std::to_string(data.min_patch_share) + ".");
      require(block_size >= 1 && data.bytes_per_value >= 1, "Blocks and values need at least one entry and one byte.");
    }

    /** Exchanges aggregates until no patch that has more than one is above the limit. */
    void exchange(const kernels::PatchBytes &measure, Groups &patches)
    {
      const Backend &place = patches.group.backend();
      const int      n     = measure.graph.n_nodes;

      Array<std::uint64_t> offers(place, n), accepted(place, n);
      Array<std::int64_t>  bytes(place, n);
      Array<int>           target(place, n), n_moved(place, 1);
      offers.set_zero();
      run(place, n, kernels::RankRootBody{measure.graph, patches.group.data(), offers.data()});
      run(place, n, kernels::NameByRootBody{offers.data(), patches.group.data()});
      // A move makes a patch that is too large smaller, and none too large, so this ends.
      do
      {
        bytes.set_zero();
        offers.set_zero();
        accepted.set_zero();
        n_moved.set_zero();
        run(place, n, kernels::AddBytesBody{measure, patches.group.data(), bytes.data()});
        run(place, n, kernels::OfferBody{measure, patches.group.data(), bytes.data(), target.data(), offers.data()});
        run(place, n, kernels::AcceptBody{offers.data(), target.data(), accepted.data()});
        run(place, n, kernels::MoveBody{accepted.data(), patches.group.data(), n_moved.data()});
      } while (n_moved.read(0) > 0);

      Array<int> flags(place, n);
      run(place, n, kernels::RootFlagBody{patches.group.data(), flags.data()});
      patches.n_groups = n;
      patches.keep(flags);
    }

    /** Unites pairs of neighbouring patches that fit one until there are none. */
    void unite(const kernels::PatchBytes &measure, Groups &patches, GroupGraph &patch_graph, Array<std::int64_t> &bytes)
    {
      const Backend             &place = patches.group.backend();
      const kernels::SizeMeasure size{measure.own, 0, measure.edge_bytes};
      while (true)
      {
        patches.list_nodes();
        graph_tools::build_group_graph(measure.graph, patches, patch_graph);
        graph_tools::measure_groups(size, patches, patch_graph, bytes);

        const int           n = patches.n_groups;
        Array<int>          partner(place, n), flags(place, n), new_number(place, n);
        Array<std::int64_t> positions;
        run(place, n,
            kernels::PartnerBody{patch_graph.graph.view(), bytes.data(), measure.edge_bytes, measure.limit,
                                 partner.data()});
        run(place, n, kernels::UniteFlagBody{partner.data(), flags.data()});
        const int n_left = static_cast<int>(scan(flags, positions));
        if (n_left == n)
          return;
        run(place, n, kernels::UnitedNumberBody{partner.data(), flags.data(), positions.data(), new_number.data()});
        run(place, patches.group.size(), kernels::RenumberGroupsBody{new_number.data(), patches.group.data()});
        patches.n_groups = n_left;
      }
    }

    /** Smallest, largest and mean of the lengths of n segments. */
    Aggregation::Sizes sizes_of(const Array<int> &offsets)
    {
      const int n = static_cast<int>(offsets.size()) - 1;
      if (n == 0)
        return {};
      Aggregation::Sizes result;
      Array<int>         sizes(offsets.backend(), n);
      run(offsets.backend(), n, kernels::OffsetSizeBody{offsets.data(), 1, 0, sizes.data()});
      result.maximum = graph_tools::maximum(sizes);
      run(offsets.backend(), n, kernels::OffsetSizeBody{offsets.data(), -1, result.maximum, sizes.data()});
      result.minimum = result.maximum - graph_tools::maximum(sizes);
      result.mean    = static_cast<double>(offsets.read(n)) / n;
      return result;
    }

    /** Edges between groups; without them, all. */
    std::int64_t cut(const Adjacency &graph, const Array<int> *groups = nullptr)
    {
      Array<int>          counts(graph.backend(), graph.n_nodes());
      Array<std::int64_t> offsets;
      run(graph.backend(), graph.n_nodes(),
          kernels::CutBody{graph.view(), groups == nullptr ? nullptr : groups->data(), counts.data()});
      return scan(counts, offsets) / 2;
    }

    /** From sums over aggregates that are there anyway: reads no edge between nodes again. */
    void count_edges(const GroupGraph &aggregates, Aggregation::Statistics &stats)
    {
      const std::size_t   n = aggregates.inside.size();
      Array<int>          inside(aggregates.inside.backend(), n);
      Array<std::int64_t> sums;
      run(aggregates.inside.backend(), n, kernels::ClampBody{aggregates.inside.data(), inside.data()});
      stats.cut_by_aggregates = cut(aggregates.graph);
      stats.n_edges           = scan(inside, sums) / 2 + stats.cut_by_aggregates;
    }
  } // namespace

  template <typename Matrix>
  void Aggregation::reinit_matrix(const Matrix &matrix, const AdditionalData &data)
  {
    Adjacency pattern, strong;
    pattern.reinit(matrix);
    if (data.strength_threshold != 0.)
      strong.reinit(matrix, data.strength_threshold);
    const Adjacency &graph = data.strength_threshold != 0. ? strong : pattern;
    reinit(pattern, graph, graph, matrix.block_rows(), data);
  }

  template <typename Number>
  void Aggregation::reinit(const SlicedEllpackMatrix<Number> &matrix, const AdditionalData &data)
  {
    reinit_matrix(matrix, data);
  }

  template <typename Number>
  void Aggregation::reinit(const CSRMatrix<Number> &matrix, const AdditionalData &data)
  {
    reinit_matrix(matrix, data);
  }

  void Aggregation::reinit(const Adjacency           &pattern,
                           const Adjacency           &all,
                           const Adjacency           &strong,
                           const int                  block_size,
                           const AdditionalData      &data,
                           const Array<std::int64_t> &weights)
  {
    check(data, block_size);
    require(weights.empty() ||
                (weights.size() == std::size_t(pattern.n_nodes()) && weights.backend() == pattern.backend()),
            "Not every node of an aggregation has a weight.");
    for (const Adjacency *graph : {&all, &strong})
      require(pattern.n_nodes() == graph->n_nodes() && pattern.backend() == graph->backend(),
              "The graphs of an aggregation do not have the same nodes.");
    const Backend &place = pattern.backend();
    const int      n     = pattern.n_nodes();

    const int recentrings = data.recentrings == AdditionalData::automatic ? (block_size > 1 ? 1 : 0) : data.recentrings;

    Groups     aggregates, patches;
    GroupGraph joint_graph, pattern_graph, patch_graph;

    graph_tools::partition(place, strong.view(), all.view(), data.aggregate_distance, recentrings, false,
                           {weights.empty() ? nullptr : weights.data(), 1, 0},
                           std::int64_t(data.min_aggregate_size) * (weights.empty() ? 1 : kernels::whole_node),
                           aggregates, joint_graph);
    stats              = Statistics();
    stats.n_nodes      = n;
    stats.n_aggregates = aggregates.n_groups;
    if (!data.patches)
    {
      for (Array<int> *array : {&aggregate_patches, &patch_aggregate_starts, &patch_node_starts})
        array->reinit(place, 0);
      if (stats.n_aggregates > 0)
        count_edges(joint_graph, stats);
      take(aggregates, joint_graph.graph);
      place.synchronize();
      return;
    }
    // What a matrix stores does not depend on the weights that its graph may have.
    const bool same = &pattern == &all && pattern.weights().empty();
    if (!same)
    {
      AdjacencyView blocks = pattern.view();
      blocks.weights       = nullptr;
      graph_tools::build_group_graph(blocks, aggregates, pattern_graph);
    }
    const GroupGraph &graph        = same ? joint_graph : pattern_graph;
    const int         n_aggregates = aggregates.n_groups;

    const std::int64_t block_bytes = kernels::patch_block_bytes(data.patch_storage, block_size, data.bytes_per_value);
    const std::int64_t edge_bytes  = kernels::patch_pair_bytes(data.patch_storage, block_size, data.bytes_per_value),
                       limit       = static_cast<std::int64_t>(data.patch_bytes);
    Array<std::int64_t> own, bytes;
    graph_tools::measure_groups({nullptr, block_bytes, edge_bytes}, aggregates, graph, own);
    const kernels::PatchBytes measure{graph.graph.view(), own.data(), edge_bytes, limit};
    const auto                least = static_cast<std::int64_t>(data.min_patch_share * static_cast<double>(limit));
    graph_tools::partition(place, graph.graph.view(), graph.graph.view(), data.patch_distance, 0, true,
                           {own.data(), 0, edge_bytes}, std::max<std::int64_t>(least, 1), patches, patch_graph);
    if (n_aggregates > 0)
    {
      exchange(measure, patches);
      unite(measure, patches, patch_graph, bytes);
    }

    // Aggregates by patch, then nodes by aggregate.
    aggregate_patches.reinit(place, n_aggregates);
    run(place, n_aggregates,
        kernels::GatherBody<int>{patches.nodes.data(), patches.group.data(), aggregate_patches.data()});
    Groups renumbered;
    renumbered.n_groups = n_aggregates;
    renumbered.group.reinit(place, n_aggregates);
    run(place, n_aggregates, kernels::InvertBody{patches.nodes.data(), renumbered.group.data()});
    run(place, n, kernels::RenumberGroupsBody{renumbered.group.data(), aggregates.group.data()});
    aggregates.list_nodes();
    renumbered.list_nodes();
    GroupGraph renumbered_graph;
    graph_tools::build_group_graph(joint_graph.graph.view(), renumbered, renumbered_graph);

    stats.n_patches        = patches.n_groups;
    patch_aggregate_starts = std::move(patches.offsets);
    take(aggregates, renumbered_graph.graph);
    patch_node_starts.reinit(place, std::size_t(stats.n_patches) + 1);
    run(place, std::int64_t(stats.n_patches) + 1,
        kernels::GatherBody<int>{patch_aggregate_starts.data(), aggregate_starts.data(), patch_node_starts.data()});

    if (n_aggregates > 0)
    {
      stats.nodes_per_patch      = sizes_of(patch_node_starts);
      stats.aggregates_per_patch = sizes_of(patch_aggregate_starts);

      Array<int>          patch_bytes(place, stats.n_patches);
      Array<std::int64_t> sums;
      run(place, stats.n_patches, kernels::ClampBody{bytes.data(), patch_bytes.data()});
      stats.mean_patch_bytes    = static_cast<double>(scan(patch_bytes, sums)) / stats.n_patches;
      stats.largest_patch_bytes = graph_tools::maximum(patch_bytes);
      count_edges(graph, stats);
      stats.cut_by_patches = cut(graph.graph, &patches.group);
    }
    place.synchronize();
  }

  /** Keeps the lists of @p aggregates and their graph. */
  void Aggregation::take(Groups &aggregates, Adjacency &graph)
  {
    const Backend place        = aggregates.group.backend(); // a copy: the arrays are moved from
    const int     n_aggregated = aggregates.offsets.read(stats.n_aggregates);
    stats.n_isolated           = stats.n_nodes - n_aggregated;
    aggregate_starts           = std::move(aggregates.offsets);
    node_aggregates            = std::move(aggregates.group);
    old_of_new                 = std::move(aggregates.nodes);
    graph_of_aggregates        = std::move(graph);
    nodes_by_aggregate.reinit(place, n_aggregated);
    if (n_aggregated > 0)
      memory::copy(place, nodes_by_aggregate.data(), place, old_of_new.data(), nodes_by_aggregate.memory_consumption());
    new_of_old.reinit(place, stats.n_nodes);
    run(place, stats.n_nodes, kernels::InvertBody{old_of_new.data(), new_of_old.data()});
    stats.nodes_per_aggregate = sizes_of(aggregate_starts);
    stats.ratio               = stats.nodes_per_aggregate.mean;
  }

  std::size_t Aggregation::memory_consumption() const
  {
    std::size_t bytes = graph_of_aggregates.memory_consumption();
    for (const Array<int> *array : {&node_aggregates, &aggregate_starts, &nodes_by_aggregate, &aggregate_patches,
                                    &patch_aggregate_starts, &patch_node_starts, &old_of_new, &new_of_old})
      bytes += array->memory_consumption();
    return bytes;
  }

  template void Aggregation::reinit(const SlicedEllpackMatrix<float> &, const AdditionalData &);
  template void Aggregation::reinit(const SlicedEllpackMatrix<double> &, const AdditionalData &);
  template void Aggregation::reinit(const CSRMatrix<float> &, const AdditionalData &);
  template void Aggregation::reinit(const CSRMatrix<double> &, const AdditionalData &);
} // namespace PatchFEM
