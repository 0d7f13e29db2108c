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

    /// Levels of bodies below the finest are smoothed by inverses of neighbourhoods if more than this share of their edges
    /// cross jumps: layers of one cell take 27 steps in place of 39, with half as long a set-up again, blocks of eight cells
    /// 36 for 58. It is 0.3 to 0.7 there, and 0.06 or less of a few large inclusions, and of small ones, which are in one
    /// aggregate with what is around them.
    constexpr double many_jumps = 0.15;

    /// The same if they are surfaces or lines: beams of 1000 : 1 take 65 steps in place of 187, plates of 64 : 1 35 in place
    /// of 44. With what levels of many jumps have beams would take 51, but plates of 1000 : 1 a quarter longer in all. Both
    /// only if the graph of a level makes for no larger share of the entries of the finest one, so that it costs little.
    constexpr double cheap_share = 0.2;

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

  /** What edges of a level couple, and which of them cross jumps of the coefficient. */
  struct MISAggregation::Jumps
  {
    Array<double>        couplings, couplings_across;
    Array<unsigned char> kinds; ///< see graph_tools::find_jumps()
    Array<unsigned char> tied;  ///< [node], to other ranks; empty without
    std::int64_t         n = 0; ///< ends of edges that do, on this rank
  };

  /** On the finest level from @p A, which tells whether there are any; below from what is coupled there. */
  template <typename Number>
  void MISAggregation::find_jumps(const SlicedEllpackMatrix<Number> &A,
                                  const unsigned int                 level,
                                  const Adjacency                   &all,
                                  const Adjacency                   &across,
                                  Jumps                             &result)
  {
    const Backend           &place   = A.backend();
    const Partitioner *const ranks   = A.partitioner().get();
    const Adjacency *const   outside = ranks != nullptr ? &across : nullptr;
    const bool               finest  = level + levels_above == 0;
    choose(place, [&](auto where) {
      const auto on_any = [&](const std::int64_t n) {
        return (ranks != nullptr ? ranks->communicator().sum(n) : n) > 0;
      };
      Array<double> largest;
      const auto    find = [&] {
        largest = graph_tools::largest_couplings(where, all, result.couplings, outside, result.couplings_across);
        if (ranks != nullptr)
          largest = rank_edges::with_ghosts(place, *ranks, largest);
        result.n = graph_tools::find_jumps(where, all, result.couplings, outside, result.couplings_across, largest,
                                              result.kinds);
        return on_any(result.n);
      };
      if (finest)
      {
        if (has(AMGRule::sampled_discontinuities))
        {
          auto rows = graph_tools::rows_at_jumps(where, A, all, {points.data(), n_coordinates, width});
          if (ranks != nullptr)
            ranks->communicator().sum(rows.data(), 2);
          jumps = graph_tools::may_jump(rows);
          if (!jumps)
            return;
        }
        result.couplings = graph_tools::couplings_of(where, A, all);
        if (ranks != nullptr)
          result.couplings_across = graph_tools::couplings_of(where, A, across);
      }
      else
      {
        result.couplings.copy_from(place, level > 0 ? couplings.back() : couplings_above);
        if (ranks != nullptr)
          result.couplings_across.copy_from(place, edges_across.back().couplings);
      }
      jumps = find() || !finest;
      if (jumps && finest)
      {
        Array<double> here;
        if (ranks != nullptr)
          here = rank_edges::with_ghosts(place, *ranks, points, width);
        const double *const at = ranks != nullptr ? here.data() : points.data();
        if (has(AMGRule::weak_by_length) &&
            on_any(graph_tools::compare_alike(where, all, outside, {at, n_coordinates, width}, largest, result.kinds,
                                              result.couplings, result.couplings_across)))
          jumps = find();
        // Of bodies, that is with a displacement for each coordinate.
        if (jumps && has(AMGRule::mechanism_nodes) && A.block_rows() > 1 && A.block_rows() == n_coordinates)
        {
          graph_tools::Hinges found;
          found.coupled =
              graph_tools::coupled_nodes(where, all, result.kinds, outside, result.couplings_across, largest);
          if (ranks != nullptr)
            found.rows = rank_edges::append_ghosts(*ranks, found.coupled);
          if (on_any(graph_tools::find_hinges(where, all, outside, largest, n_coordinates, found)))
            result.n += graph_tools::cut_at_hinges(where, all, found, n_coordinates, result.kinds);
        }
      }
      if (jumps && ranks != nullptr)
        result.tied = graph_tools::tied_across(where, across, result.couplings_across, largest);
    });
  }

  template <typename Number>
  AggregateLists MISAggregation::aggregate_level(const unsigned int level, const SlicedEllpackMatrix<Number> &A)
  {
    require(level <= aggregations.size(), "Aggregates of level ", level,
            " were asked for before those of the level above.");
    aggregations.resize(level);
    edges_across.resize(level);
    couplings.resize(level);
    Aggregation::AdditionalData parameters = data;
    parameters.patches                     = data.patches || patches_wanted;
    parameters.bytes_per_value             = sizeof(Number);
    if (patches_wanted)
      parameters.patch_storage = patch_storage;
    const Partitioner *const ranks = A.partitioner().get();
    const auto of_all = [&](const std::int64_t n) { return ranks != nullptr ? ranks->communicator().sum(n) : n; };
    const unsigned int depth = level + levels_above;
    const Adjacency   &above = level > 0 ? aggregations.back().aggregate_graph() : graph_above;
    if (depth == 0)
      material_depth = none;
    const bool follow     = depth > 0 && of_all(above.n_edges()) > 0;
    const bool by_entries = depth == 0 && data.strength_threshold != 0.;
    Adjacency  pattern, strong, across;
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
    const bool distances_count = n_coordinates > 0 && data.distance_factor > 0. && !by_entries &&
                                 depth <= material_depth && has(AMGRule::mesh_distances);
    if (distances_count && depth == 0 && has(AMGRule::tensor_metric))
      find_metric(A);
    Jumps crossed;
    jumps = depth == 0 ? n_coordinates > 0 && !by_entries && has(AMGRule::weak_couplings)
                       : jumps && follow && has(AMGRule::coarse_couplings);
    if (jumps)
      find_jumps(A, level, all, across, crossed);
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
    bool             fewer    = false;
    const auto       reinit   = [&](const Adjacency &candidates, const bool in_lines) {
      Adjacency uniform;
      if (crossed.n > 0)
        uniform = choose(A.backend(), [&](auto where) {
          return graph_tools::uniform_edges(where, all, crossed.couplings, crossed.kinds, crossed.tied, candidates);
        });
      fewer                                   = crossed.n > 0 && uniform.n_ends() < candidates.n_ends();
      const Adjacency                  &graph = fewer ? uniform : candidates;
      const Aggregation::AdditionalData of_level =
          has(AMGRule::small_aggregates) ? smaller(parameters, depth, graph, in_lines, A.block_rows()) : parameters;
      facts.distance   = of_level.aggregate_distance;
      facts.least_size = of_level.min_aggregate_size;
      n_strong         = graph.n_ends();
      Array<std::int64_t> weights;
      if (has(AMGRule::chain_weights) && (by_distance || (depth > 0 && A.block_rows() > 1)))
      {
        const int most = std::max(of_level.min_aggregate_size, 1), least = std::min(most, depth == 0 ? 4 : 3);
        weights = choose(A.backend(), [&](auto where) {
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
            ? choose(A.backend(), [&](auto where) { return graph_tools::n_cut(where, strong, strong_across); })
            : 0;
    const bool along_short_edges =
        by_distance && static_cast<double>(of_all(next.n_aggregates() - n_cut)) <=
                           most_aggregates * static_cast<double>(of_all(all.n_nodes() - n_cut));
    if (!along_short_edges)
      reinit(all, false);
    const bool any_jumps = jumps && of_all(fewer ? 1 : 0) > 0;
    if (any_jumps && !along_short_edges && depth < material_depth && has(AMGRule::material_depth))
      material_depth = depth;
    if (n_coordinates > 0)
      points = choose(A.backend(), [&](auto where) {
        return graph_tools::find_centroids(where, next.aggregate_offsets(), next.permutation(),
                                           {points.data(), n_coordinates, width});
      });
    AggregateLists lists(copy(next.aggregate_of_node()), copy(next.aggregate_offsets()), copy(next.permutation()));
    edges_across.emplace_back();
    if (ranks != nullptr)
      edges_across.back() = rank_edges::between_aggregates(*ranks, across, crossed.couplings_across, next, lists);
    couplings.emplace_back();
    if (jumps && has(AMGRule::coarse_couplings))
      couplings.back() = choose(A.backend(), [&](auto where) {
        return graph_tools::couplings_between_groups(where, all, crossed.couplings, next.aggregate_offsets(),
                                                     next.permutation(), next.aggregate_of_node(),
                                                     next.aggregate_graph());
      });
    if (parameters.patches)
      lists.set_patches(copy(next.patch_offsets()), copy(next.permutation()));
    lists.set_jumps(any_jumps);
    // Nodes, ends of edges between those of one rank and of all edges, of those that cross jumps, of all blocks and of
    // strong ones.
    const std::int64_t n_blocks  = by_entries ? pattern.n_ends() : all.n_ends();
    std::int64_t       counts[6] = {all.n_nodes(), all.n_ends(), all.n_ends(), crossed.n, n_blocks, n_strong};
    if (ranks != nullptr)
    {
      counts[2] += across.n_ends();
      ranks->communicator().sum(counts, 6);
    }
    const std::string by = width > n_coordinates ? "tensors" : "distances";
    facts.strength       = by_entries           ? "entries"
                           : !along_short_edges ? any_jumps ? "coefficients" : "pattern"
                           : any_jumps          ? by + ", coefficients"
                                                : by;
    facts.n_couplings    = counts[4] / 2;
    facts.n_weak         = (counts[4] - counts[5]) / 2;
    lists.set_facts(std::move(facts));
    const double entries = static_cast<double>(counts[0] + counts[2]) * A.block_rows() * A.block_rows();
    if (depth == 0)
      finest_entries = entries;
    if (depth > 0 && A.block_rows() > 1 && entries <= cheap_share * finest_entries && has(AMGRule::collective_modes))
    {
      if (any_jumps && static_cast<double>(counts[3]) > many_jumps * static_cast<double>(counts[1]))
        lists.set_joint_motions(JointMotions::jumps);
      else if (bends(A.block_rows(), counts[0], counts[2]))
        lists.set_joint_motions(JointMotions::bending);
    }
    aggregations.push_back(std::move(next)); // with whose room references to what is above end
    if (along_short_edges && has(AMGRule::mode_preserving_dropping))
      lists.set_short_edges(std::move(strong), std::move(strong_across));
    else if (along_short_edges)
      lists.set_stretched();
    return lists;
  }

  std::unique_ptr<AMGAggregation> MISAggregation::gather(const unsigned int level, const Partitioner &nodes) const
  {
    auto result = std::make_unique<MISAggregation>(data);
    if (level == 0)
      return result;
    const Adjacency &own   = aggregations[level - 1].aggregate_graph();
    result->levels_above   = level;
    result->material_depth = material_depth;
    result->jumps          = jumps;
    result->finest_entries = finest_entries;
    result->width          = width;
    result->points         = Array<double>(points.backend(), nodes.communicator().concatenate(points.to_vector()));
    result->graph_above =
        rank_edges::of_all_ranks(nodes, own, rank_edges::across(nodes, edges_across[level - 1]), couplings[level - 1],
                                 edges_across[level - 1].couplings, result->couplings_above);
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
    const bool may = choose(A.backend(), [&](auto where) { return graph_tools::may_be_anisotropic(where, A, at); });
    if ((ranks != nullptr ? ranks->communicator().sum(std::int64_t(may)) : std::int64_t(may)) == 0)
      return;
    std::int64_t  counts[2] = {0, A.n_rows() / A.block_rows()};
    Array<double> with_metric =
        choose(A.backend(), [&](auto where) { return graph_tools::with_metric(where, A, at, counts[0]); });
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
