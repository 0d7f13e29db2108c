// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "jump_steps.h"

#include "kernels/unique_rows.h"

/** @file The steps (see launch.h) of graph_tools.h for strength of connection by traces of blocks. */
namespace PatchFEM::graph_tools
{
  namespace
  {
    /** A graph and what its edges couple; no edges where a rank has none to others. */
    struct CoupledEdges
    {
      AdjacencyView graph;
      const double *of_edge;

      PATCHFEM_INLINE std::int64_t begin(const std::int64_t i) const { return graph.offsets[i]; }
      PATCHFEM_INLINE std::int64_t end(const std::int64_t i) const { return graph.offsets[i + 1]; }
    };

    CoupledEdges coupled(const Adjacency &graph, const Array<double> &couplings)
    {
      return {graph.view(), couplings.data()};
    }

    /** The weight of an edge of @p negative_trace, the @p largest one of the row not being negative. */
    PATCHFEM_INLINE double weight_of(const double negative_trace, const double largest)
    {
      // More than stiffness has of either sign: the long edges of bricks have up to once the short ones' negative.
      constexpr double dominant = 4.;
      return negative_trace > 0. ? negative_trace : -negative_trace > dominant * largest ? -negative_trace : 0.;
    }
  } // namespace

  template <typename Number, typename Where>
  Array<double> trace_weights(Where, const SlicedEllpackMatrix<Number> &matrix, const Adjacency &edges)
  {
    Array<double> result(matrix.backend(), edges.neighbours().size());
    launch(matrix.backend(), edges.n_nodes(),
           [A = matrix.view(), graph = edges.view(), result = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const BlockRow     row(A, static_cast<int>(i));
             const std::int64_t begin = graph.offsets[i], end = graph.offsets[i + 1];
             double             largest = 0.;
             std::int64_t       e       = begin;
             for (int k = 0; k < row.length && e < end; ++k)
               if (row.column(k) == graph.neighbours[e]) // both ascend
               {
                 const double trace = row.negative_trace(k, A.block_rows);
                 largest            = trace > largest ? trace : largest;
                 result[e++]        = trace;
               }
             for (e = begin; e < end; ++e)
               result[e] = weight_of(result[e], largest);
           });
    return result;
  }

  namespace
  {
    /**
     * The sums of a group's edges, by a team (see team.h): of integers, so that they do not depend on the order, with 40 bits for the
     * largest of its couplings. Less than 2^-40 of that does not count, whose edge would be weak from here.
     */
    struct GroupSumsBody
    {
      static constexpr int team_size = 32, n_bits = 40;

      struct Scratch
      {
        int exponent; ///< that of the largest coupling
      };

      CoupledEdges  fine;
      AdjacencyView coarse;
      const int    *offsets, *nodes, *group;
      std::int64_t *sums;
      double       *result;

      template <typename Team>
      PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t i, Scratch &scratch) const
      {
        const int *const first = coarse.neighbours + coarse.offsets[i], *const last =
                                                                            coarse.neighbours + coarse.offsets[i + 1];
        const auto for_each = [&](const auto &use) {
          const kernels::RowShare share(team.rank(), Team::size, 8);
          for (int k = offsets[i] + share.row; k < offsets[i + 1]; k += share.n_rows)
            for (std::int64_t e = fine.begin(nodes[k]) + share.entry; e < fine.end(nodes[k]); e += share.width)
              if (fine.of_edge[e] > 0. && group[fine.graph.neighbours[e]] != i)
                use(e);
        };
        if (team.rank() == 0)
          scratch.exponent = -10000;
        for (std::int64_t e = coarse.offsets[i] + team.rank(); e < coarse.offsets[i + 1]; e += Team::size)
          sums[e] = 0;
        team.sync();
        for_each([&](const std::int64_t e) { kernels::atomic_max(&scratch.exponent, std::ilogb(fine.of_edge[e])); });
        team.sync();
        for_each([&](const std::int64_t e) {
          const int        g  = group[fine.graph.neighbours[e]];
          const int *const at = kernels::lower_bound(first, last, g);
          if (at != last && *at == g)
            kernels::atomic_add(sums + (at - coarse.neighbours),
                                static_cast<std::int64_t>(std::ldexp(fine.of_edge[e], n_bits - scratch.exponent)));
        });
        team.sync();
        for (std::int64_t e = coarse.offsets[i] + team.rank(); e < coarse.offsets[i + 1]; e += Team::size)
          result[e] = std::ldexp(static_cast<double>(sums[e]), scratch.exponent - n_bits);
      }
    };
  } // namespace

  template <>
  Array<double> sums_between_groups(Here,
                                    const Adjacency     &edges,
                                    const Array<double> &couplings,
                                    const Array<int>    &offsets,
                                    const Array<int>    &nodes,
                                    const Array<int>    &group,
                                    const Adjacency     &groups)
  {
    Array<double>       result(groups.backend(), groups.neighbours().size());
    Array<std::int64_t> sums(groups.backend(), result.size());
    launch(groups.backend(), [&](const Here where) {
      kernels::team_for(where, groups.n_nodes(),
                        GroupSumsBody{coupled(edges, couplings), groups.view(), offsets.data(), nodes.data(),
                                      group.data(), sums.data(), result.data()});
    });
    return result;
  }

  template <>
  Array<double> largest_couplings(Here,
                                  const Adjacency     &edges,
                                  const Array<double> &couplings,
                                  const Adjacency     *across,
                                  const Array<double> &couplings_across)
  {
    Array<double> result(edges.backend(), edges.n_nodes());
    CoupledEdges  outside{};
    if (across != nullptr)
      outside = coupled(*across, couplings_across);
    launch(edges.backend(), edges.n_nodes(),
           [=, inside = coupled(edges, couplings), result = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             double     largest = 0.;
             const auto visit   = [&](const CoupledEdges &of) {
               for (std::int64_t e = of.begin(i); e < of.end(i); ++e)
                 largest = of.of_edge[e] > largest ? of.of_edge[e] : largest;
             };
             visit(inside);
             if (outside.of_edge != nullptr)
               visit(outside);
             result[i] = largest;
           });
    return result;
  }

  template <>
  Adjacency strong_edges(
      Here, const Adjacency &edges, const Array<double> &weights, const Array<double> &largest, const double threshold)
  {
    return kept(edges.backend(), edges.n_nodes(),
                [of = coupled(edges, weights), largest = largest.data(),
                 threshold] PATCHFEM_DEVICE(const std::int64_t i, const auto &keep) {
                  for (std::int64_t e = of.begin(i); e < of.end(i); ++e)
                  {
                    const int    j    = of.graph.neighbours[e];
                    const double size = std::sqrt(largest[i] * largest[j]), limit = threshold * size / no_tie;
                    double       weight = of.of_edge[e];
                    // Neither rounding nor a row of its own scale must make the graph unsymmetric: the larger one of both
                    // ends counts.
                    if (weight < limit && j < of.graph.n_nodes)
                    {
                      const int *const first = of.graph.neighbours + of.begin(j), *const last =
                                                                                      of.graph.neighbours + of.end(j);
                      const int *const other = kernels::lower_bound(first, last, static_cast<int>(i));
                      if (other != last && *other == i)
                        weight = std::fmax(weight, of.of_edge[other - of.graph.neighbours]);
                    }
                    if (weight >= limit && (size > 0. || threshold == 0.))
                      keep(j, 1 + static_cast<int>(size > 0. ? std::fmin(1024. * weight / size, 16384.) : 0.));
                  }
                });
  }

  namespace
  {
    /** Walks through the neighbours that nodes @p i and @p j of one graph have in common. */
    PATCHFEM_INLINE int
    largest_common(const AdjacencyView &graph, const std::int64_t i, const std::int64_t j, int weight)
    {
      for (std::int64_t f = graph.offsets[i], g = graph.offsets[j];
           f < graph.offsets[i + 1] && g < graph.offsets[j + 1];) // both ascend
      {
        const int p = graph.neighbours[f], q = graph.neighbours[g];
        if (p == q)
        {
          const int least = graph.weight(f) < graph.weight(g) ? graph.weight(f) : graph.weight(g);
          weight          = least > weight ? least : weight;
        }
        f += p <= q;
        g += q <= p;
      }
      return weight;
    }

    /** Of the edges @p all those that are @p strong, and others with a weight(i, j) above 0. */
    template <typename Weight>
    Adjacency with_others(const Adjacency &edges, const Adjacency &strong_edges, const Weight &weight)
    {
      return kept(
          edges.backend(), edges.n_nodes(),
          [=, all = edges.view(), graph = strong_edges.view()] PATCHFEM_DEVICE(const std::int64_t i, const auto &keep) {
            std::int64_t s = graph.offsets[i];
            for (std::int64_t e = all.offsets[i]; e < all.offsets[i + 1]; ++e)
            {
              const int j = all.neighbours[e];
              if (s < graph.offsets[i + 1] && graph.neighbours[s] == j) // both ascend
                keep(j, graph.weight(s++));
              else if (const int w = weight(i, j); w > 0)
                keep(j, w);
            }
          });
    }
  } // namespace

  template <>
  void close_triangles(Here, const Adjacency &all, const Adjacency &across, Adjacency &strong, Adjacency &strong_across)
  {
    const AdjacencyView inside  = strong.view(),
                        outside = across.offsets().empty() ? AdjacencyView() : strong_across.view();
    Adjacency own               = with_others(all, strong, [=] PATCHFEM_DEVICE(const std::int64_t i, const int j) {
      const int weight = largest_common(inside, i, j, 0);
      return outside.offsets != nullptr ? largest_common(outside, i, j, weight) : weight;
    });
    if (outside.offsets != nullptr)
    {
      // The third node is one of this rank: of i's strong neighbours one with a strong edge to the ghost.
      Adjacency there = with_others(across, strong_across, [=] PATCHFEM_DEVICE(const std::int64_t i, const int ghost) {
        int weight = 0;
        for (std::int64_t e = inside.offsets[i]; e < inside.offsets[i + 1]; ++e)
        {
          const std::int64_t k   = inside.neighbours[e];
          const int *const first = outside.neighbours + outside.offsets[k], *const last = outside.neighbours +
                                                                                          outside.offsets[k + 1];
          const int *const at = kernels::lower_bound(first, last, ghost);
          if (at == last || *at != ghost)
            continue;
          const int there = outside.weight(at - outside.neighbours), here = inside.weight(e);
          const int least = here < there ? here : there;
          weight          = least > weight ? least : weight;
        }
        return weight;
      });
      strong_across   = std::move(there);
    }
    strong = std::move(own);
  }

#define INSTANTIATE(Number) \
  template Array<double> trace_weights(Here, const SlicedEllpackMatrix<Number> &, const Adjacency &)
  INSTANTIATE(float);
  INSTANTIATE(double);
#undef INSTANTIATE
} // namespace PatchFEM::graph_tools
