// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rank_edges.h"

#include "graph_tools.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace PatchFEM::rank_edges
{
  template <typename Number>
  Adjacency across(const SlicedEllpackMatrix<Number> &A, const double threshold)
  {
    return choose(A.backend(), [&](auto where) {
      const Backend     &place   = A.backend();
      const Partitioner &nodes   = *A.partitioner();
      const Array<int>   coupled = with_ghosts(place, nodes, graph_tools::coupled_rows(where, A));
      Array<double>      norms;
      if (threshold > 0.)
        norms = with_ghosts(place, nodes, graph_tools::diagonal_norms(where, A));
      return graph_tools::edges_across(where, A, coupled, norms, threshold);
    });
  }

  Adjacency across(const Backend &place, const Partitioner &nodes, const std::vector<RankEdge> &edges)
  {
    std::vector<std::int64_t>              offsets(nodes.n_owned() + 1, 0);
    std::vector<int>                       neighbours, weights;
    const std::vector<Partitioner::Ghost> &ghosts = nodes.ghosts();
    nodes.communicator().together([&] {
      for (const RankEdge &edge : edges) // by node and ghost
      {
        const auto at = std::lower_bound(ghosts.begin(), ghosts.end(), edge.other);
        require(at != ghosts.end() && *at == edge.other, "A coarse matrix lacks neighbours of its graph.");
        neighbours.push_back(nodes.n_owned() + static_cast<int>(at - ghosts.begin()));
        weights.push_back(edge.weight);
        offsets[edge.node + 1] = static_cast<std::int64_t>(neighbours.size());
      }
    });
    for (std::size_t i = 1; i < offsets.size(); ++i)
      offsets[i] = std::max(offsets[i], offsets[i - 1]);
    Adjacency result;
    result.reinit(Array<std::int64_t>(place, offsets), Array<int>(place, neighbours), Array<int>(place, weights));
    return result;
  }

  namespace
  {
    /** A graph in host memory. */
    struct HostGraph
    {
      std::vector<std::int64_t> offsets;
      std::vector<int>          neighbours, weights;

      explicit HostGraph(const Adjacency &graph)
          : offsets(graph.offsets().to_vector()), neighbours(graph.neighbours().to_vector()),
            weights(graph.weights().to_vector())
      {}
      int weight(const std::int64_t e) const { return weights.empty() ? 1 : weights[e]; }
    };
  } // namespace

  std::vector<RankEdge>
  between_aggregates(const Partitioner &nodes, const Adjacency &across, const Array<int> &aggregate_of_node)
  {
    const Array<int> aggregate = with_ghosts(across.backend(), nodes, aggregate_of_node);
    Array<int>       of_node, of_neighbour;
    choose(across.backend(),
           [&](auto where) { graph_tools::aggregates_of_ends(where, across, aggregate, of_node, of_neighbour); });
    const std::vector<int> from = of_node.to_vector(), to = of_neighbour.to_vector(),
                           neighbours = across.neighbours().to_vector(), weights = across.weights().to_vector();
    // Some hundred edges between nodes for each one between aggregates.
    std::map<int, std::unordered_map<std::uint64_t, int>> weights_of; // by rank, of both aggregates
    for (std::size_t e = 0; e < neighbours.size(); ++e)
      if (from[e] >= 0 && to[e] >= 0)
        weights_of[nodes.ghosts()[neighbours[e] - nodes.n_owned()].rank]
                  [std::uint64_t(from[e]) << 32 | static_cast<std::uint32_t>(to[e])] +=
            weights.empty() ? 1 : weights[e];
    std::vector<RankEdge> result;
    for (const auto &[rank, edges] : weights_of)
      for (const auto &[key, weight] : edges)
        result.push_back({static_cast<int>(key >> 32), {rank, static_cast<int>(key & 0xffffffffu)}, weight});
    std::sort(result.begin(), result.end(), [](const RankEdge &a, const RankEdge &b) {
      return std::tuple(a.node, a.other.rank, a.other.index) < std::tuple(b.node, b.other.rank, b.other.index);
    });
    return result;
  }

  bool find_short(const Partitioner   &nodes,
                  const Adjacency     &own,
                  const Adjacency     &across,
                  const int            dim,
                  const int            width,
                  const Array<double> &points,
                  const double         factor,
                  Adjacency           &result)
  {
    const Communicator &ranks = nodes.communicator();
    const Backend      &place = across.backend(); // of the matrix, on all ranks
    const Array<double> here  = with_ghosts(place, nodes, points, width);
    return choose(place, [&](auto where) {
      using namespace graph_tools;
      const NodePoints   at{here.data(), dim, width};
      Array<double>      nearest;
      const std::int64_t n_stretched = ranks.sum(nearest_neighbours(where, own, &across, at, factor, nearest));
      if (static_cast<double>(n_stretched) < least_stretched_share * static_cast<double>(nodes.n_global()))
        return false;
      const Adjacency     graph  = joined(where, own, across);
      const Array<double> reach  = reaches(where, graph, with_ghosts(place, nodes, nearest));
      Adjacency           shorts = short_edges(where, graph, at, factor, with_ghosts(place, nodes, reach));
      if (ranks.sum(static_cast<std::int64_t>(graph.neighbours().size() - shorts.neighbours().size())) == 0)
        return false;
      result = std::move(shorts);
      return true;
    });
  }

  Adjacency of_all_ranks(const Partitioner &nodes, const Adjacency &own, const Adjacency &across)
  {
    const HostGraph                  inside(own), outside(across);
    std::vector<int>                 lengths, neighbours, weights;
    std::vector<std::pair<int, int>> row; // neighbour, weight
    for (int i = 0; i < nodes.n_owned(); ++i)
    {
      row.clear();
      for (const HostGraph *graph : {&inside, &outside})
        for (std::int64_t e = graph->offsets[i]; e < graph->offsets[i + 1]; ++e)
          row.emplace_back(static_cast<int>(nodes.global(graph->neighbours[e])), graph->weight(e));
      std::sort(row.begin(), row.end());
      lengths.push_back(static_cast<int>(row.size()));
      for (const auto &[neighbour, weight] : row)
      {
        neighbours.push_back(neighbour);
        weights.push_back(weight);
      }
    }
    std::vector<std::int64_t> offsets(1, 0);
    for (const int length : nodes.communicator().concatenate(lengths))
      offsets.push_back(offsets.back() + length);
    const Backend &place = own.backend();
    Adjacency      result;
    result.reinit(Array<std::int64_t>(place, offsets), Array<int>(place, nodes.communicator().concatenate(neighbours)),
                  Array<int>(place, nodes.communicator().concatenate(weights)));
    return result;
  }

  template Adjacency across(const SlicedEllpackMatrix<float> &, double);
  template Adjacency across(const SlicedEllpackMatrix<double> &, double);
} // namespace PatchFEM::rank_edges
