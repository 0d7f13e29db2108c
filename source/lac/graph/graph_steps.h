// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "independent_sets.h"

#include "kernels/matrix_rows.h"

#include <cmath>
#include <limits>

/** @file The steps (see run.h) of graph_tools.h. */
namespace PatchFEM::graph_tools
{
  /**
   * Which blocks of a matrix are edges: those between two rows that couple, of owned columns, and with threshold > 0
   * those with |A_ij| > threshold sqrt(|A_ii| |A_jj|) in Frobenius norms. Of A_ij and A_ji the larger one counts, so
   * that rounding does not make the graph unsymmetric; and blocks within 1e-6 of the threshold count as weak, so that
   * on a regular mesh, where many blocks equal it, rounding does not decide.
   */
  template <typename Rows>
  struct EdgeCriterion
  {
    Rows          rows;
    const int    *coupled;   ///< [row]
    const double *norms;     ///< [row], of diagonal blocks; nullptr if threshold is 0
    double        threshold; ///< theta

    PATCHFEM_INLINE bool operator()(const int i, const int j) const
    {
      if (j == i || j >= rows.n_rows() || !coupled[j])
        return false;
      if (threshold == 0.)
        return true;
      const double a = rows.squared_norm(i, j), b = rows.squared_norm(j, i);
      return (a > b ? a : b) > threshold * threshold * (1. + 1e-6) * (norms[i] * norms[j]);
    }
  };

  /** Which edges are short: d_ij <= factor max(reach_i, reach_j). */
  struct ShortEdges
  {
    NodePoints    at;
    const double *reach;  ///< [node], squared
    double        factor; ///< squared

    PATCHFEM_INLINE bool operator()(const std::int64_t i, const int j) const
    {
      return at.squared_distance(i, j) <= factor * (reach[i] > reach[j] ? reach[i] : reach[j]);
    }
  };

  namespace
  {
    /// A graph in which fewer nodes than this share have cells that are stretched is used as it is.
    constexpr double least_stretched_share = 0.05;

    /// The distance to no node.
    constexpr double none = std::numeric_limits<double>::max();

    /// How many times as near the nearest neighbours of a node's neighbours are, for it to wait: between the factor 2
    /// of cells that are refined once, and that of cells stretched enough to matter; 2.5 to 4 do alike.
    constexpr double reach_jump = 3.;
  } // namespace

  template <typename Rows, typename Where>
  Adjacency read_rows(Where, const Backend &place, const Rows &rows, const double threshold)
  {
    const int     n = rows.n_rows();
    Array<int>    coupled(place, n), counts(place, n);
    Array<double> norms(place, threshold > 0. ? n : 0);
    for_all(place, n, [rows, coupled = coupled.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      coupled[i] = rows.couples(static_cast<int>(i));
    });
    if (threshold > 0.)
      for_all(place, n, [rows, norms = norms.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        norms[i] = std::sqrt(rows.squared_norm(static_cast<int>(i), static_cast<int>(i)));
      });

    const EdgeCriterion<Rows> is_edge{rows, coupled.data(), norms.data(), threshold};
    for_all(place, n, [is_edge, counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      const int row     = static_cast<int>(i);
      int       n_edges = 0;
      if (is_edge.coupled[row])
        is_edge.rows.for_each_column(row, [&](const int column) { n_edges += is_edge(row, column); });
      counts[row] = n_edges;
    });
    Array<std::int64_t> offsets;
    Array<int>          neighbours(place, scan(counts, offsets));
    for_all(place, n,
            [is_edge, offsets = offsets.data(), neighbours = neighbours.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              const int row = static_cast<int>(i);
              int      *out = neighbours + offsets[i];
              if (is_edge.coupled[row])
                is_edge.rows.for_each_column(row, [&](const int column) {
                  if (is_edge(row, column))
                    *out++ = column;
                });
            });
    place.synchronize();
    Adjacency result;
    result.reinit(std::move(offsets), std::move(neighbours));
    return result;
  }

  template <typename Number, typename Where>
  Array<int> coupled_rows(Where, const SlicedEllpackMatrix<Number> &A)
  {
    const kernels::SlicedEllpackRows<Number> rows{A.view()};
    Array<int>                               result(A.backend(), rows.n_rows());
    for_all(A.backend(), rows.n_rows(), [rows, coupled = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      coupled[i] = rows.couples(static_cast<int>(i));
    });
    return result;
  }

  template <typename Number, typename Where>
  Adjacency edges_across(Where, const SlicedEllpackMatrix<Number> &matrix, const Array<int> &coupled)
  {
    const Backend          &place = matrix.backend();
    const SlicedPatternView A     = matrix.view();
    Array<int>              counts(place, A.n_rows);
    for_all(place, A.n_rows,
            [=, coupled = coupled.data(), counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              const int row = static_cast<int>(i);
              int       n   = 0;
              for (int k = A.lower_bound(row, A.n_rows); coupled[i] && k < A.row_lengths[row]; ++k)
                n += coupled[A.column(row, k)] != 0;
              counts[i] = n;
            });
    Array<std::int64_t> offsets;
    Array<int>          neighbours(place, scan(counts, offsets));
    for_all(place, A.n_rows,
            [=, coupled = coupled.data(), offsets = offsets.data(),
             to = neighbours.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              const int    row = static_cast<int>(i);
              std::int64_t out = offsets[i];
              for (int k = A.lower_bound(row, A.n_rows); coupled[i] && k < A.row_lengths[row]; ++k)
                if (coupled[A.column(row, k)])
                  to[out++] = A.column(row, k);
            });
    place.synchronize();
    Adjacency result;
    result.reinit(std::move(offsets), std::move(neighbours));
    return result;
  }

  template <>
  Array<double> nearest_across(Here, const Adjacency &across, const NodePoints &at)
  {
    const AdjacencyView graph = across.view();
    Array<double>       result(across.backend(), graph.n_nodes);
    for_all(across.backend(), graph.n_nodes, [=, result = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      double nearest = none;
      for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
      {
        const double d = at.squared_distance(i, graph.neighbours[e]);
        nearest        = d < nearest ? d : nearest;
      }
      result[i] = nearest;
    });
    return result;
  }

  template <>
  bool find_short_edges(Here,
                        const Adjacency     &all,
                        const NodePoints    &at,
                        const double         length_factor,
                        const Array<double> &elsewhere,
                        Array<double>       &reaches,
                        Adjacency           &result)
  {
    const Backend      &place  = all.backend();
    const AdjacencyView graph  = all.view();
    const int           n      = graph.n_nodes;
    const double        factor = length_factor * length_factor, jump = reach_jump * reach_jump;
    Array<double>       least_distances(place, n); // squared, as are the factors
    Array<int>          counts(place, n);
    Array<std::int64_t> offsets;

    // The distance to the nearest neighbour, 0 without any; and whether less than half of them are within its factor.
    double *const       least = least_distances.data();
    const double *const other = elsewhere.empty() ? nullptr : elsewhere.data();
    for_all(place, n, [=, stretched = counts.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      double nearest = other != nullptr ? other[i] : none, farthest = 0.;
      for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
      {
        const double d = at.squared_distance(i, graph.neighbours[e]);
        nearest        = d < nearest ? d : nearest;
        farthest       = d > farthest ? d : farthest;
      }
      nearest   = nearest == none ? 0. : nearest;
      int n_far = 0;
      for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1] && farthest > factor * nearest; ++e)
        n_far += at.squared_distance(i, graph.neighbours[e]) > factor * nearest;
      least[i]     = nearest;
      stretched[i] = 2 * n_far > graph.offsets[i + 1] - graph.offsets[i];
    });
    if (scan(counts, offsets) < least_stretched_share * n)
    {
      reaches.swap(least_distances);
      return false;
    }

    // That distance; of a node that lacks near neighbours where its neighbours have some, whose least distances are
    // more than sqrt(jump) times as small, the smallest of those. Such a node is the end of a line or a part of one, as
    // above a hanging node; it has to stay by itself until its neighbours have as few.
    reaches.reinit(place, n);
    double *const reach = reaches.data();
    for_all(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) {
      double smallest = least[i];
      for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
      {
        const double other = least[graph.neighbours[e]];
        smallest           = other < smallest ? other : smallest;
      }
      reach[i] = least[i] > jump * smallest ? smallest : least[i];
    });

    const ShortEdges is_short{at, reach, factor};
    for_all(place, n, [=, counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      int n_short = 0;
      for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
        n_short += is_short(i, graph.neighbours[e]);
      counts[i] = n_short;
    });
    const std::int64_t n_short = scan(counts, offsets);
    if (n_short == static_cast<std::int64_t>(all.neighbours().size()))
      return false;
    Array<int> neighbours(place, n_short), weights(place, n_short);
    for_all(place, n,
            [=, offsets = offsets.data(), neighbours = neighbours.data(),
             weights = weights.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              std::int64_t out = offsets[i];
              for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
                if (is_short(i, graph.neighbours[e]))
                {
                  neighbours[out] = graph.neighbours[e];
                  weights[out++]  = graph.weight(e);
                }
            });
    place.synchronize();
    result.reinit(std::move(offsets), std::move(neighbours), std::move(weights));
    return true;
  }

  template <>
  Adjacency with_short_across(Here,
                              const Adjacency     &shorts,
                              const Adjacency     &across,
                              const NodePoints    &at,
                              const double         length_factor,
                              const Array<double> &reaches)
  {
    const Backend      &place = shorts.backend();
    const AdjacencyView graph = shorts.view(), more = across.view();
    const ShortEdges    is_short{at, reaches.data(), length_factor * length_factor};
    Array<int>          counts(place, graph.n_nodes);
    Array<std::int64_t> offsets;
    for_all(place, graph.n_nodes, [=, counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      int n = static_cast<int>(graph.offsets[i + 1] - graph.offsets[i]);
      for (std::int64_t e = more.offsets[i]; e < more.offsets[i + 1]; ++e)
        n += is_short(i, more.neighbours[e]);
      counts[i] = n;
    });
    Array<int> neighbours(place, scan(counts, offsets));
    for_all(place, graph.n_nodes,
            [=, offsets = offsets.data(), to = neighbours.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              std::int64_t out = offsets[i];
              for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
                to[out++] = graph.neighbours[e];
              for (std::int64_t e = more.offsets[i]; e < more.offsets[i + 1]; ++e)
                if (is_short(i, more.neighbours[e]))
                  to[out++] = more.neighbours[e];
            });
    place.synchronize();
    Adjacency result;
    result.reinit(std::move(offsets), std::move(neighbours));
    return result;
  }

  template <>
  int maximal_independent_set(Here, const Adjacency &graph, const int k, Array<int> &members)
  {
    Array<std::uint64_t> tuples   = draw_tuples(graph.backend(), graph.view(), false);
    const int            n_rounds = decide_members(graph.view(), k, tuples);
    members                       = flag_members(tuples);
    graph.backend().synchronize();
    return n_rounds;
  }

  template <>
  Array<std::int64_t> line_weights(
      Here, const Adjacency &all_edges, const Adjacency &short_edges, const NodePoints &at, const LineSizes &sizes)
  {
    const AdjacencyView all = all_edges.view(), shorts = short_edges.view();
    Array<std::int64_t> weights(all_edges.backend(), all.n_nodes);
    for_all(weights.backend(), all.n_nodes, [=, weights = weights.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      const auto has_two_at_most = [&](const int j) { return shorts.offsets[j + 1] - shorts.offsets[j] <= 2; };

      const std::int64_t begin = shorts.offsets[i], end = shorts.offsets[i + 1];
      int                size = sizes.most;
      if (end > begin && end - begin <= 2 && has_two_at_most(shorts.neighbours[begin]) &&
          has_two_at_most(shorts.neighbours[end - 1]))
      {
        double near = 0., far = 0.; // squared: the longer short edge, the shortest long one
        for (std::int64_t e = all.offsets[i]; e < all.offsets[i + 1]; ++e)
        {
          const int    j = all.neighbours[e];
          const double d = at.squared_distance(i, j);
          if (j == shorts.neighbours[begin] || j == shorts.neighbours[end - 1])
            near = d > near ? d : near;
          else
            far = far == 0. || d < far ? d : far;
        }
        constexpr double no_tie = 1. - 1e-6; // edges of round ratios, whose last bits differ, are not to decide
        size                    = sizes.least;
        while (size < sizes.most && (size + 0.5) * (size + 0.5) * near < no_tie * sizes.share * sizes.share * far)
          ++size;
      }
      weights[i] = (std::int64_t(whole_node) * sizes.most + size - 1) / size;
    });
    return weights;
  }

  template <>
  Array<double>
  find_centroids(Here, const Array<int> &group_offsets, const Array<int> &group_nodes, const NodePoints &at)
  {
    const std::size_t n = group_offsets.size() - 1;
    Array<double>     centroids(group_nodes.backend(), n * at.dim);
    for_all(centroids.backend(), n,
            [at, offsets = group_offsets.data(), nodes = group_nodes.data(),
             centroids = centroids.data()] PATCHFEM_DEVICE(const std::int64_t g) {
              for (int d = 0; d < at.dim; ++d)
              {
                double sum = 0.;
                for (int k = offsets[g]; k < offsets[g + 1]; ++k)
                  sum += at.points[std::int64_t(nodes[k]) * at.dim + d];
                centroids[g * at.dim + d] = sum / (offsets[g + 1] - offsets[g]);
              }
            });
    centroids.backend().synchronize();
    return centroids;
  }

#define INSTANTIATE(Number)                                                    \
  template Array<int> coupled_rows(Here, const SlicedEllpackMatrix<Number> &); \
  template Adjacency  edges_across(Here, const SlicedEllpackMatrix<Number> &, const Array<int> &);
  INSTANTIATE(float)
  INSTANTIATE(double)
#undef INSTANTIATE
#define INSTANTIATE(Rows) template Adjacency read_rows(Here, const Backend &, const Rows &, double)
  INSTANTIATE(kernels::PatternRows);
  INSTANTIATE(kernels::SlicedEllpackRows<float>);
  INSTANTIATE(kernels::SlicedEllpackRows<double>);
  INSTANTIATE(kernels::CSRRows<float>);
  INSTANTIATE(kernels::CSRRows<double>);
#undef INSTANTIATE
} // namespace PatchFEM::graph_tools
