// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rank_edges.h"

#include "graph_tools.h"
#include "lac/multigrid/ghost_rows.h"

#include <algorithm>
#include <tuple>

namespace PatchFEM::rank_edges
{
  namespace
  {
    /** Ascending. */
    std::vector<std::int64_t> global_ghosts(const Partitioner &nodes)
    {
      std::vector<std::int64_t> result;
      for (int g = nodes.n_owned(); g < nodes.n_local(); ++g)
        result.push_back(nodes.global(g));
      return result;
    }
  } // namespace

  template <typename Number>
  Adjacency across(const SlicedEllpackMatrix<Number> &A, const double threshold)
  {
    return dispatch(A.backend(), [&](auto where) {
      const Backend     &place   = A.backend();
      const Partitioner &nodes   = *A.partitioner();
      const Array<int>   coupled = with_ghosts(place, nodes, graph_tools::coupled_rows(where, A));
      Array<double>      norms;
      if (threshold > 0.)
        norms = with_ghosts(place, nodes, graph_tools::diagonal_norms(where, A));
      return graph_tools::edges_across(where, A, coupled, norms, threshold);
    });
  }

  Adjacency across(const Partitioner &nodes, const AggregateEdges &edges)
  {
    const Backend                  &place  = edges.graph.backend();
    const int                       n      = nodes.n_owned();
    const std::vector<std::int64_t> ghosts = global_ghosts(nodes);
    std::vector<int>                numbers; // of other ranks' aggregates, here
    for (const std::int64_t other : edges.others)
    {
      const auto at = std::lower_bound(ghosts.begin(), ghosts.end(), other);
      numbers.push_back(at != ghosts.end() && *at == other ? n + static_cast<int>(at - ghosts.begin()) : -1);
    }
    const Array<int> &from = edges.graph.neighbours();
    const Array<int>  there(place, numbers);
    Array<int>        to(place, from.size()), used(place, edges.others.size());
    used.set_zero();
    dispatch(place, [&](auto where) {
      const auto n_edges = static_cast<std::int64_t>(from.size());
      of_ranks::mark(where, n_edges, from, n, used);
      of_ranks::renumber(where, place, n_edges, n, there.data(), from.data(), to.data());
    });
    nodes.communicator().defer_errors([&] {
      const std::vector<int> is_used = used.to_vector();
      for (std::size_t k = 0; k < is_used.size(); ++k)
        require(is_used[k] == 0 || numbers[k] >= 0, "A coarse matrix lacks neighbours of its graph.");
    });
    Array<std::int64_t> offsets;
    Array<int>          weights;
    offsets.copy_from(place, edges.graph.offsets());
    weights.copy_from(place, edges.graph.weights());
    Adjacency result;
    result.reinit(std::move(offsets), std::move(to), std::move(weights));
    return result;
  }

  namespace
  {
    /** A graph in host memory. */
    struct HostGraph
    {
      std::vector<std::int64_t> offsets;
      std::vector<int>          neighbours, weights;
      std::vector<double>       couplings;

      HostGraph(const Adjacency &graph, const Array<double> &couplings)
          : offsets(graph.offsets().to_vector()), neighbours(graph.neighbours().to_vector()),
            weights(graph.weights().to_vector()), couplings(couplings.to_vector())
      {}
      int    weight(const std::int64_t e) const { return weights.empty() ? 1 : weights[e]; }
      double coupling(const std::int64_t e) const { return couplings.empty() ? 0. : couplings[e]; }
    };
  } // namespace

  AggregateEdges between_aggregates(const Partitioner   &nodes,
                                    const Adjacency     &across,
                                    const Array<double> &couplings,
                                    const Aggregation   &aggregates,
                                    AggregateLists      &lists)
  {
    const Backend   &place   = across.backend();
    const auto       known   = std::make_shared<CoarseNumbers>(nodes.communicator(), aggregates.n_aggregates());
    CoarseNumbers   &numbers = *known;
    const Array<int> all     = aggregates_with_ghosts(place, nodes, aggregates.aggregate_of_node(), numbers);
    AggregateEdges   result;
    dispatch(place, [&](auto where) {
      result.graph = graph_tools::between_groups(where, across, aggregates.aggregate_offsets(),
                                                 aggregates.permutation(), all, numbers.n());
      if (couplings.size() > 0)
        result.couplings = graph_tools::sums_between_groups(where, across, couplings, aggregates.aggregate_offsets(),
                                                            aggregates.permutation(), all, result.graph);
    });
    result.others = numbers.of_others();
    Array<int> of_ghosts(place, nodes.n_ghosts());
    if (!of_ghosts.empty())
      memory::copy(place, of_ghosts.data(), place, all.data() + nodes.n_owned(), of_ghosts.memory_consumption());
    lists.set_ghosts(known, std::move(of_ghosts));
    return result;
  }

  bool find_short(const Partitioner   &nodes,
                  const Adjacency     &own,
                  const Adjacency     &across,
                  const int            dim,
                  const int            width,
                  const Array<double> &points,
                  const double         factor,
                  Adjacency           &short_own,
                  Adjacency           &short_across)
  {
    const Communicator &ranks = nodes.communicator();
    const Backend      &place = across.backend(); // of the matrix, on all ranks
    const Array<double> here  = with_ghosts(place, nodes, points, width);
    return dispatch(place, [&](auto where) {
      using namespace graph_tools;
      const NodePoints at{here.data(), dim, width};
      Array<double>    nearest;
      if (ranks.sum(std::int64_t(may_be_stretched(where, own, &across, at, factor))) == 0)
        return false;
      const std::int64_t n_stretched = ranks.sum(nearest_neighbours(where, own, &across, at, factor, nearest));
      if (static_cast<double>(n_stretched) < least_stretched_share * static_cast<double>(nodes.n_global()))
        return false;
      const Array<double> least = with_ghosts(place, nodes, nearest),
                          reach = with_ghosts(place, nodes, reaches(where, own, &across, least));
      Adjacency inside          = short_edges(where, own, at, factor, reach),
                outside         = short_edges(where, across, at, factor, reach);
      if (ranks.sum(own.n_ends() + across.n_ends() - inside.n_ends() - outside.n_ends()) == 0)
        return false;
      short_own    = std::move(inside);
      short_across = std::move(outside);
      return true;
    });
  }

  Adjacency of_all_ranks(const Partitioner   &nodes,
                         const Adjacency     &own,
                         const Adjacency     &across,
                         const Array<double> &couplings,
                         const Array<double> &couplings_across,
                         Array<double>       &couplings_of_all)
  {
    const HostGraph                           inside(own, couplings), outside(across, couplings_across);
    std::vector<int>                          lengths, neighbours, weights;
    std::vector<double>                       coupled;
    std::vector<std::tuple<int, int, double>> row; // neighbour, weight, coupling
    for (int i = 0; i < nodes.n_owned(); ++i)
    {
      row.clear();
      for (const HostGraph *graph : {&inside, &outside})
        for (std::int64_t e = graph->offsets[i]; e < graph->offsets[i + 1]; ++e)
          row.emplace_back(static_cast<int>(nodes.global(graph->neighbours[e])), graph->weight(e), graph->coupling(e));
      std::sort(row.begin(), row.end());
      lengths.push_back(static_cast<int>(row.size()));
      for (const auto &[neighbour, weight, coupling] : row)
      {
        neighbours.push_back(neighbour);
        weights.push_back(weight);
        coupled.push_back(coupling);
      }
    }
    nodes.communicator().concatenate_all(lengths, neighbours, coupled, weights);
    std::vector<std::int64_t> offsets(1, 0);
    for (const int length : lengths)
      offsets.push_back(offsets.back() + length);
    const std::vector<double> from_here = coupled;
    for (int i = 0; i + 1 < static_cast<int>(offsets.size()); ++i)
      for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
      {
        const auto end   = neighbours.begin() + offsets[neighbours[e] + 1];
        const auto other = std::lower_bound(neighbours.begin() + offsets[neighbours[e]], end, i);
        if (other != end && *other == i)
          coupled[e] = std::min(from_here[e], from_here[other - neighbours.begin()]);
      }
    const Backend &place = own.backend();
    Adjacency      result;
    result.reinit(Array<std::int64_t>(place, offsets), Array<int>(place, neighbours), Array<int>(place, weights));
    couplings_of_all = Array<double>(place, coupled);
    return result;
  }

  template Adjacency across(const SlicedEllpackMatrix<float> &, double);
  template Adjacency across(const SlicedEllpackMatrix<double> &, double);
} // namespace PatchFEM::rank_edges
