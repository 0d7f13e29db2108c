// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rank_edges.h"

#include "graph_tools.h"

#include <patchfem/lac/graph/mis_aggregation.h>

#include <algorithm>

namespace PatchFEM
{
  namespace
  {
    Array<int> copy(const Array<int> &array)
    {
      Array<int> result;
      result.copy_from(array.backend(), array);
      return result;
    }

    /// Nodes are aggregated along short edges unless that makes more aggregates than this share of them: pairs of nodes
    /// are few enough, nodes that mostly stay alone are not, and all edges are taken then.
    constexpr double most_aggregates = 0.6;

    /// Rounding of coordinates is not to tell edges of equal lengths apart: those that are the factor itself times as
    /// long as the shortest, as of cells 2 : 1, are long in space, where that takes 13 steps in place of 16, and short
    /// in the plane, where it takes 25 in place of 41.
    constexpr double rounding_of_lengths = 1e-6;

    /// See graph_tools::line_weights(). A cube of 20 layers that grow 1 : 200 takes 29 steps, and 72 if nine nodes are
    /// needed everywhere, a cube of cells that do 1 : 30 in each direction 29 and 47; of Laplace 28 and 27 in place of
    /// 56 and 38.
    constexpr double line_share = 0.35;

    /** Neighbours of a node in the mean, to the nearest. */
    std::int64_t neighbours(const std::int64_t n_nodes, const std::int64_t n_ends)
    {
      const std::int64_t n = std::max<std::int64_t>(n_nodes, 1);
      return (n_ends + n / 2) / n;
    }

    /** Whether nodes of a level of a body below the finest have so few neighbours that they make a surface or a line. */
    bool bends(const int block_size, const std::int64_t n_nodes, const std::int64_t n_ends)
    {
      return block_size > 1 && neighbours(n_nodes, n_ends) <= (block_size > 3 ? 10 : 4);
    }

    /**
     * Parameters of a level. Aggregates are smaller where the coarse problem is harder than its size tells or they cost
     * little: three nodes of a scalar problem in lines, the short edges of flat cells; and of a body that bends, if
     * nodes have so few neighbours that they make a surface or a line, as thin bodies do on coarser levels.
     * (line_weights() cuts lines in parts of a body: cells of 50 : 1 with hanging nodes take 40 steps in place of 263.)
     */
    Aggregation::AdditionalData smaller(Aggregation::AdditionalData data,
                                        const unsigned int          level,
                                        const Adjacency            &graph,
                                        const bool                  stretched,
                                        const int                   block_size)
    {
      const bool in_lines = block_size == 1 && stretched && neighbours(graph.n_nodes(), graph.n_ends()) <= 2;
      if (in_lines || (!stretched && level > 0 && bends(block_size, graph.n_nodes(), graph.n_ends())))
      {
        data.aggregate_distance = 1;
        data.min_aggregate_size = std::min(data.min_aggregate_size, in_lines ? 3 : 4);
      }
      return data;
    }
  } // namespace

  /** Whether they are asked for, or coefficients jump on any rank. */
  template <typename Number>
  bool MISAggregation::is_for_couplings(const SlicedEllpackMatrix<Number> &A, const Adjacency &all) const
  {
    if (data.strength != Aggregation::Strength::automatic)
      return data.strength == Aggregation::Strength::couplings;
    if (n_coordinates == 0 || !has(AMGRule::couplings_at_discontinuities))
      return false;
    auto rows = dispatch(A.backend(), [&](auto where) {
      return graph_tools::rows_at_jumps(where, A, all, {points.data(), n_coordinates, width});
    });
    if (A.partitioner() != nullptr)
      A.partitioner()->communicator().sum(rows.data(), 2);
    return graph_tools::may_jump(rows);
  }

  template <typename Number>
  AggregateLists MISAggregation::aggregate_level(const unsigned int level, const SlicedEllpackMatrix<Number> &A)
  {
    if (level > 0 && by_couplings)
      return by_couplings->aggregate(level, A);
    require(level <= aggregations.size(), "Aggregates of level ", level,
            " were asked for before those of the level above.");
    by_couplings.reset();
    aggregations.resize(level);
    edges_across.resize(level);
    Aggregation::AdditionalData parameters = data;
    parameters.patches                     = data.patches || patches_wanted;
    parameters.bytes_per_value             = sizeof(Number);
    if (patches_wanted)
      parameters.patch_storage = patch_storage;
    const Partitioner *const ranks = A.partitioner().get();
    const auto of_all = [&](const std::int64_t n) { return ranks != nullptr ? ranks->communicator().sum(n) : n; };
    const unsigned int depth      = level + levels_above;
    const Adjacency   &above      = level > 0 ? aggregations.back().aggregate_graph() : graph_above;
    const bool         follow     = depth > 0 && of_all(above.n_edges()) > 0;
    const bool         by_entries = depth == 0 && data.strength_threshold != 0.;
    Adjacency          pattern, strong, across;
    if (!follow || parameters.patches)
      pattern.reinit(A);
    if (by_entries)
    {
      strong.reinit(A, data.strength_threshold);
      require(of_all(strong.n_edges()) > 0 || of_all(pattern.n_edges()) == 0,
              "no two nodes are coupled strongly enough for a common aggregate; lower the strength threshold of ",
              std::to_string(data.strength_threshold), ".");
    }
    if (ranks != nullptr)
    {
      across        = level > 0 && follow ? rank_edges::across(*ranks, edges_across.back())
                                          : rank_edges::across(A, by_entries ? data.strength_threshold : 0.);
      n_coordinates = static_cast<int>(ranks->communicator().maximum(std::int64_t(n_coordinates))); // some have no node
      width         = static_cast<int>(ranks->communicator().maximum(std::int64_t(width)));
    }
    const Adjacency &all = follow ? above : by_entries ? strong : pattern;
    const double     factor =
        data.distance_factor * (1. + (n_coordinates == 2 ? rounding_of_lengths : -rounding_of_lengths));
    const bool distances_count =
        n_coordinates > 0 && data.distance_factor > 0. && !by_entries && has(AMGRule::mesh_distances);
    if (distances_count && depth == 0 && has(AMGRule::tensor_metric))
      find_metric(A);
    if (depth == 0 && !by_entries && !parameters.patches && is_for_couplings(A, pattern))
    {
      by_couplings = std::make_unique<CouplingAggregation>(data);
      by_couplings->know_pattern(std::move(pattern));
      return by_couplings->aggregate(level, A);
    }
    Adjacency  strong_across; // those to nodes of other ranks
    const bool by_distance =
        distances_count && (ranks != nullptr ? rank_edges::find_short(*ranks, all, across, n_coordinates, width, points,
                                                                      factor, strong, strong_across)
                                             : find_short_edges(all, n_coordinates, points, factor, strong));
    const Adjacency &stored       = parameters.patches || !follow ? pattern : all;
    const bool       mostly_lines = by_distance && 2 * strong.n_edges() < all.n_edges();
    Aggregation      next;
    AggregationFacts facts;
    std::int64_t     n_strong = 0; // ends of edges
    const auto       reinit   = [&](const Adjacency &graph, const bool in_lines) {
      const Aggregation::AdditionalData of_level =
          has(AMGRule::small_aggregates) ? smaller(parameters, depth, graph, in_lines, A.block_rows()) : parameters;
      facts.distance   = of_level.aggregate_distance;
      facts.least_size = of_level.min_aggregate_size;
      n_strong         = graph.n_ends();
      Array<std::int64_t> weights;
      if (has(AMGRule::chain_weights) && (by_distance || (depth > 0 && A.block_rows() > 1)))
      {
        const int most = std::max(of_level.min_aggregate_size, 1), least = std::min(most, depth == 0 ? 4 : 3);
        weights = dispatch(A.backend(), [&](auto where) {
          return graph_tools::line_weights(where, all, graph, {points.data(), n_coordinates, width},
                                                   {least, most, line_share});
        });
      }
      next.reinit({stored, all, graph, ranks != nullptr ? &across : nullptr}, A.block_rows(), of_level, weights);
    };
    if (by_distance)
      reinit(strong, mostly_lines);
    // Nodes all of whose short edges are cut by a border of ranks stay alone, and tell nothing of the mesh.
    const int n_cut =
        by_distance && ranks != nullptr
            ? dispatch(A.backend(), [&](auto where) { return graph_tools::n_cut(where, strong, strong_across); })
            : 0;
    const bool along_short_edges =
        by_distance && static_cast<double>(of_all(next.n_aggregates() - n_cut)) <=
                           most_aggregates * static_cast<double>(of_all(all.n_nodes() - n_cut));
    if (!along_short_edges)
      reinit(all, false);
    if (n_coordinates > 0)
      points = dispatch(A.backend(), [&](auto where) {
        return graph_tools::find_centroids(where, next.aggregate_offsets(), next.permutation(),
                                           {points.data(), n_coordinates, width});
      });
    AggregateLists lists(copy(next.aggregate_of_node()), copy(next.aggregate_offsets()), copy(next.permutation()));
    edges_across.emplace_back();
    if (ranks != nullptr)
      edges_across.back() = rank_edges::between_aggregates(*ranks, across, Array<double>(), next, lists);
    if (parameters.patches)
      lists.set_patches(copy(next.patch_offsets()), copy(next.permutation()));
    // Ends of edges between nodes of one rank, in all blocks and strong ones.
    std::int64_t counts[2] = {by_entries ? pattern.n_ends() : all.n_ends(), n_strong};
    if (ranks != nullptr)
      ranks->communicator().sum(counts, 2);
    facts.strength    = by_entries              ? "entries"
                        : !along_short_edges    ? "pattern"
                        : width > n_coordinates ? "tensors"
                                                : "distances";
    facts.n_couplings = counts[0] / 2;
    facts.n_weak      = (counts[0] - counts[1]) / 2;
    lists.set_facts(std::move(facts));
    aggregations.push_back(std::move(next)); // with whose room references to what is above end
    if (along_short_edges && has(AMGRule::mode_preserving_dropping))
      lists.set_short_edges(std::move(strong), std::move(strong_across));
    else if (along_short_edges)
      lists.set_stretched();
    return lists;
  }

  std::unique_ptr<AMGAggregation> MISAggregation::gather(const unsigned int level, const Partitioner &nodes) const
  {
    if (by_couplings)
      return by_couplings->gather(level, nodes);
    auto result = std::make_unique<MISAggregation>(data);
    if (level == 0)
      return result;
    const Adjacency &own = aggregations[level - 1].aggregate_graph();
    result->levels_above = level;
    result->width        = width;
    result->points       = Array<double>(points.backend(), nodes.communicator().concatenate(points.to_vector()));
    Array<double> none;
    result->graph_above =
        rank_edges::of_all_ranks(nodes, own, rank_edges::across(nodes, edges_across[level - 1]), none, none, none);
    return result;
  }

  void MISAggregation::know_points(const int dim, const Array<double> &node_points)
  {
    n_coordinates = node_points.empty() ? 0 : dim;
    if (levels_above > 0 && width > n_coordinates) // gathered, with the same positions
      return;
    width = n_coordinates;
    points.copy_from(node_points.backend(), node_points);
  }

  template <typename Number>
  void MISAggregation::find_metric(const SlicedEllpackMatrix<Number> &A)
  {
    const Partitioner *const ranks = A.partitioner().get();
    Array<double>            here;
    if (ranks != nullptr)
      here = rank_edges::with_ghosts(A.backend(), *ranks, points, n_coordinates);
    const graph_tools::NodePoints at{ranks != nullptr ? here.data() : points.data(), n_coordinates, n_coordinates};
    const bool may = dispatch(A.backend(), [&](auto where) { return graph_tools::may_be_anisotropic(where, A, at); });
    if ((ranks != nullptr ? ranks->communicator().sum(std::int64_t(may)) : std::int64_t(may)) == 0)
      return;
    std::int64_t  counts[2] = {0, A.n_rows() / A.block_rows()};
    Array<double> with_metric =
        dispatch(A.backend(), [&](auto where) { return graph_tools::with_metric(where, A, at, counts[0]); });
    if (ranks != nullptr)
      ranks->communicator().sum(counts, 2);
    if (static_cast<double>(counts[0]) < graph_tools::least_stretched_share * static_cast<double>(counts[1]))
      return;
    points.swap(with_metric);
    width = n_coordinates + n_coordinates * (n_coordinates + 1) / 2;
  }

  template AggregateLists MISAggregation::aggregate_level(unsigned int, const SlicedEllpackMatrix<float> &);
  template AggregateLists MISAggregation::aggregate_level(unsigned int, const SlicedEllpackMatrix<double> &);
} // namespace PatchFEM
