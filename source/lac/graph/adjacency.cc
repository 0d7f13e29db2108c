// SPDX-License-Identifier: LGPL-2.1-or-later
#include "graph_tools.h"

#include "kernels/distance_bodies.h"

#include <algorithm>
#include <vector>

namespace PatchFEM
{
  using graph_tools::scan;

  template <typename Rows>
  void Adjacency::read_rows(const Backend &backend, const Rows &rows, const double threshold)
  {
    const int  n = rows.n_rows();
    Array<int> coupled(backend, n), counts(backend, n);
    run(backend, n, kernels::CoupledBody<Rows>{rows, coupled.data()});
    Array<double> norms(backend, threshold > 0. ? n : 0);
    if (threshold > 0.)
      run(backend, n, kernels::DiagonalNormBody<Rows>{rows, norms.data()});

    const kernels::EdgeCriterion<Rows> is_edge{rows, coupled.data(), norms.data(), threshold};
    run(backend, n, kernels::CountEdgesBody<Rows>{is_edge, counts.data()});
    edge_weights.release();
    node_neighbours.reinit(backend, scan(counts, node_offsets));
    run(backend, n, kernels::WriteEdgesBody<Rows>{is_edge, node_offsets.data(), node_neighbours.data()});
    backend.synchronize();
  }

  void Adjacency::reinit(const Backend &backend, const SparsityView &pattern)
  {
    read_rows(backend, kernels::PatternRows{pattern}, 0.);
  }

  namespace
  {
    template <typename Matrix>
    void check(const Matrix &matrix, const double threshold)
    {
      require(matrix.block_rows() == matrix.block_columns() && matrix.n_rows() <= matrix.n_columns(),
              "The graph of a matrix needs square blocks and as many columns as rows.");
      require(threshold >= 0., "The strength threshold must not be negative, but it is " + std::to_string(threshold) +
                                   "; 0 takes every neighbour.");
    }
  } // namespace

  template <typename Number>
  void Adjacency::reinit(const SlicedEllpackMatrix<Number> &matrix, const double threshold)
  {
    check(matrix, threshold);
    read_rows(matrix.backend(), kernels::SlicedEllpackRows<Number>{matrix.view(), matrix.row_lengths()}, threshold);
  }

  template <typename Number>
  void Adjacency::reinit(const CSRMatrix<Number> &matrix, const double threshold)
  {
    check(matrix, threshold);
    require(matrix.n_rows() % matrix.block_rows() == 0 && matrix.block_rows() <= kernels::max_block_size,
            "A matrix of " + std::to_string(matrix.n_rows()) + " rows has no nodes of " +
                std::to_string(matrix.block_rows()) + " unknowns.");
    read_rows(matrix.backend(), kernels::CSRRows<Number>{matrix.view(), matrix.block_rows()}, threshold);
  }

  void Adjacency::reinit(Array<std::int64_t> &&offsets, Array<int> &&neighbours, Array<int> &&weights)
  {
    require(!offsets.empty() && (weights.empty() || weights.size() == neighbours.size()),
            "The arrays of a graph do not fit each other.");
    node_offsets    = std::move(offsets);
    node_neighbours = std::move(neighbours);
    edge_weights.release();
    edge_weights = std::move(weights);
  }

  void Adjacency::set_weights(Array<int> &&weights)
  {
    require(weights.size() == node_neighbours.size(), "The arrays of a graph do not fit each other.");
    edge_weights = std::move(weights);
  }

  std::size_t Adjacency::memory_consumption() const
  {
    return node_offsets.memory_consumption() + node_neighbours.memory_consumption() + edge_weights.memory_consumption();
  }

  template void Adjacency::reinit(const SlicedEllpackMatrix<float> &, double);
  template void Adjacency::reinit(const SlicedEllpackMatrix<double> &, double);
  template void Adjacency::reinit(const CSRMatrix<float> &, double);
  template void Adjacency::reinit(const CSRMatrix<double> &, double);

  namespace
  {
    /// A graph in which fewer nodes than this share have cells that are stretched is used as it is.
    constexpr double least_stretched_share = 0.05;

    /// How many times as near the nearest neighbours of a node's neighbours are, for it to wait (kernels::ReachBody): between
    /// the factor 2 of cells that are refined once, and that of cells stretched enough to matter; 2.5 to 4 do alike.
    constexpr double reach_jump = 3.;
  } // namespace

  bool find_short_edges(
      const Adjacency &graph, const int dim, const Array<double> &points, const double factor, Adjacency &result)
  {
    const Backend &place = graph.backend();
    const int      n     = graph.n_nodes();
    require(points.size() == std::size_t(n) * dim && points.backend() == place,
            "The positions of nodes do not fit the nodes of a graph.");
    const kernels::NodePoints at{points.data(), dim};
    Array<double>             least(place, n);
    Array<int>                counts(place, n);
    Array<std::int64_t>       offsets;
    run(place, n, kernels::LeastDistanceBody{graph.view(), at, factor * factor, least.data(), counts.data()});
    if (scan(counts, offsets) < least_stretched_share * n)
      return false;
    Array<double> reach(place, n);
    run(place, n, kernels::ReachBody{graph.view(), least.data(), reach_jump * reach_jump, reach.data()});
    const kernels::ShortEdges is_short{graph.view(), at, reach.data(), factor * factor};
    run(place, n, kernels::CountShortEdgesBody{is_short, counts.data()});
    const std::int64_t n_short = scan(counts, offsets);
    if (n_short == static_cast<std::int64_t>(graph.neighbours().size()))
      return false;
    Array<int> neighbours(place, n_short), weights(place, n_short);
    run(place, n, kernels::WriteShortEdgesBody{is_short, offsets.data(), neighbours.data(), weights.data()});
    place.synchronize();
    result.reinit(std::move(offsets), std::move(neighbours), std::move(weights));
    return true;
  }

  int maximal_independent_set(const Adjacency &graph, const int k, Array<int> &members)
  {
    require(k >= 1, "A maximal independent set needs a distance k of at least 1, not " + std::to_string(k) + ".");
    const Backend       &place = graph.backend();
    const int            n     = graph.n_nodes();
    Array<std::uint64_t> tuples(place, n);
    run(place, n, kernels::RandomTupleBody{graph.view(), false, tuples.data()});
    const int n_rounds = graph_tools::decide_members(graph.view(), k, tuples);
    members.reinit(place, n);
    run(place, n, kernels::MemberFlagBody{tuples.data(), members.data()});
    place.synchronize();
    return n_rounds;
  }

  namespace graph_tools
  {
    int decide_members(const AdjacencyView &graph, const int k, Array<std::uint64_t> &tuples)
    {
      const Backend       &place = tuples.backend();
      const std::int64_t   n     = graph.n_nodes;
      Array<std::uint64_t> reached(place, n * k);
      run(place, n * k, kernels::FillTupleBody{reached.data(), kernels::tuple::make(kernels::tuple::undecided, 0, 0)});
      Array<int> undecided(place, 1);
      for (int round = 1;; ++round)
      {
        for (int hop = 0; hop < k; ++hop)
          run(place, n,
              kernels::PropagateBody{graph, hop == 0 ? tuples.data() : reached.data() + (hop - 1) * n,
                                     reached.data() + hop * n});
        undecided.set_zero();
        run(place, n, kernels::DecideBody{reached.data() + (k - 1) * n, tuples.data(), undecided.data()});
        // The first of all that are undecided joins in each round, so this ends.
        if (undecided.read(0) == 0)
          return round;
      }
    }

    void Groups::list_nodes()
    {
      const Backend       &place = group.backend();
      const std::int64_t   n     = group.size();
      Array<std::uint64_t> keys(place, n);
      nodes.reinit(place, n);
      offsets.reinit(place, std::size_t(n_groups) + 1);
      run(place, n, kernels::GroupKeyBody{group.data(), n_groups, keys.data(), nodes.data()});
      if (n > 0)
        dispatch(place, [&](auto where) {
          kernels::stable_sort_by_key(where, n, keys.data(), nodes.data(), bits_for(std::int64_t(n_groups) + 1));
        });
      run(place, std::int64_t(n_groups) + 1, kernels::GroupOffsetsBody{keys.data(), n, offsets.data()});
    }

    void Groups::keep(const Array<int> &flags)
    {
      const Backend      &place = group.backend();
      Array<std::int64_t> positions;
      const int           n_kept = static_cast<int>(scan(flags, positions));
      Array<int>          new_number(place, n_groups);
      run(place, n_groups, kernels::FoundGroupsBody{flags.data(), positions.data(), new_number.data()});
      run(place, group.size(), kernels::RenumberGroupsBody{new_number.data(), group.data()});
      n_groups = n_kept;
    }

    void find_group_graph(const AdjacencyView &graph, const Groups &groups, GroupGraph &result)
    {
      const Backend &place = groups.group.backend();
      const int      n     = groups.n_groups;

      const kernels::TouchedGroups touched{graph, groups.offsets.data(), groups.nodes.data(), groups.group.data()};
      Array<int>                   counts(place, n);
      Array<std::int64_t>          offsets;
      Array<int>                   neighbours;
      dispatch(place, [&](auto where) {
        Array<int> kept(place, std::size_t(n) * kernels::n_kept(where, touched));
        const auto found = kernels::count_unique(where, n, n, touched, counts.data(), kept.data());
        neighbours.reinit(place, scan(counts, offsets));
        kernels::write_unique(where, n, touched, found, kept.data(), offsets.data(), neighbours.data());
      });
      result.graph.reinit(std::move(offsets), std::move(neighbours), Array<int>());
      result.inside.release();
    }

    void weigh_group_graph(const AdjacencyView &graph, const Groups &groups, GroupGraph &result)
    {
      const Backend &place = groups.group.backend();
      const int      n     = groups.n_groups;

      const kernels::TouchedGroups touched{graph, groups.offsets.data(), groups.nodes.data(), groups.group.data()};
      Array<int>                   weights(place, result.graph.neighbours().size());
      result.inside.reinit(place, n);
      const AdjacencyView       view = result.graph.view();
      kernels::GroupWeightsBody body{touched, view.offsets, view.neighbours, weights.data(), result.inside.data()};
      dispatch(place, [&](auto where) { kernels::team_for(where, n, body); });
      result.graph.set_weights(std::move(weights));
    }

    void build_group_graph(const AdjacencyView &graph, const Groups &groups, GroupGraph &result)
    {
      find_group_graph(graph, groups, result);
      weigh_group_graph(graph, groups, result);
    }

    void measure_groups(const kernels::SizeMeasure &measure,
                        const Groups               &groups,
                        const GroupGraph           &group_graph,
                        Array<std::int64_t>        &sizes)
    {
      sizes.reinit(groups.group.backend(), groups.n_groups);
      run(sizes.backend(), groups.n_groups,
          kernels::GroupSizeBody{measure, groups.offsets.data(), groups.nodes.data(), group_graph.inside.data(),
                                 sizes.data()});
    }

    namespace
    {
      /** Nodes without a group join neighbouring groups, layer by layer. */
      void grow(const AdjacencyView &graph, Groups &groups)
      {
        const Backend &place = groups.group.backend();
        Array<int>     next(place, groups.group.size()), flags(place, 2);
        while (true)
        {
          flags.set_zero();
          run(place, graph.n_nodes, kernels::JoinGroupBody{graph, groups.group.data(), next.data(), flags.data()});
          groups.group.swap(next);
          const std::vector<int> found = flags.to_vector();
          if (found[0] == 0 || found[1] == 0)
            return;
        }
      }

      /** Leaves of each group the node that touches most of it, the lowest of those that tie. */
      void recentre(const AdjacencyView &graph, Groups &groups)
      {
        const Backend       &place = groups.group.backend();
        Array<std::uint64_t> centres(place, groups.n_groups);
        Array<int>           roots(place, groups.group.size());
        centres.set_zero();
        run(place, graph.n_nodes, kernels::CentreBody{graph, groups.group.data(), centres.data()});
        run(place, graph.n_nodes, kernels::KeepCentreBody{groups.group.data(), centres.data(), roots.data()});
        groups.group.swap(roots);
      }

      /** Dissolves groups smaller than @p least while they touch others. */
      void dissolve_small(const AdjacencyView        &graph,
                          const kernels::SizeMeasure &measure,
                          const std::int64_t          least,
                          const bool                  with_weights,
                          Groups                     &groups,
                          GroupGraph                 &group_graph)
      {
        const Backend      &place = groups.group.backend();
        Array<std::int64_t> sizes;
        while (true)
        {
          grow(graph, groups);
          groups.list_nodes();
          find_group_graph(graph, groups, group_graph);
          if (with_weights)
            weigh_group_graph(graph, groups, group_graph);
          if (groups.n_groups == 0)
            return;

          measure_groups(measure, groups, group_graph, sizes);
          Array<std::uint64_t> tuples(place, groups.n_groups);
          Array<int>           undecided(place, 1);
          undecided.set_zero();
          run(place, groups.n_groups,
              kernels::SizeTupleBody{group_graph.graph.view(), sizes.data(), least, tuples.data(), undecided.data()});
          if (undecided.read(0) == 0)
            return;
          // Of small groups that touch each other or others at least one is dissolved, so this ends.
          decide_members(group_graph.graph.view(), 1, tuples);
          Array<int> flags(place, groups.n_groups);
          run(place, groups.n_groups, kernels::MemberFlagBody{tuples.data(), flags.data()});
          groups.keep(flags);
        }
      }
    } // namespace

    void partition(const Backend              &backend,
                   const AdjacencyView        &graph,
                   const AdjacencyView        &all,
                   const int                   k,
                   const int                   n_recentrings,
                   const bool                  with_isolated,
                   const kernels::SizeMeasure &measure,
                   const std::int64_t          least,
                   Groups                     &result,
                   GroupGraph                 &group_graph)
    {
      const int n = graph.n_nodes;
      result.group.reinit(backend, n);
      {
        Array<std::uint64_t> tuples(backend, n);
        run(backend, n, kernels::RandomTupleBody{all, with_isolated, tuples.data()});
        decide_members(graph, k, tuples);
        Array<int>          flags(backend, n);
        Array<std::int64_t> positions;
        run(backend, n, kernels::MemberFlagBody{tuples.data(), flags.data()});
        result.n_groups = static_cast<int>(scan(flags, positions));
        run(backend, n, kernels::FoundGroupsBody{flags.data(), positions.data(), result.group.data()});
      }

      for (int round = 0; round < n_recentrings; ++round)
      {
        grow(graph, result);
        recentre(graph, result);
      }
      // What is small joins along edges of the graph only; then the graph of groups is that of all edges.
      const bool need_weights = measure.edge_weight != 0;
      dissolve_small(graph, measure, least, need_weights, result, group_graph);
      const bool of_all = graph.offsets != all.offsets;
      if (of_all)
        find_group_graph(all, result, group_graph);
      if ((of_all || !need_weights) && result.n_groups > 0)
        weigh_group_graph(all, result, group_graph);
    }
  } // namespace graph_tools
} // namespace PatchFEM
