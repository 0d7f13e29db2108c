// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/launch.h"
#include "kernels/list_by_key.h"
#include "kernels/structure_bodies.h"

#include <patchfem/kernels/primitives.h>
#include <patchfem/lac/graph/aggregate_lists.h>

/** @file What the sources of graphs share, and the algorithms that graph_steps.h has for both back ends (see launch.h). */
#include <array>

namespace PatchFEM::graph_tools
{
  /** offsets[i] = sum of counts[0..i); returns the sum of all. */
  inline std::int64_t scan(const Array<int> &counts, Array<std::int64_t> &offsets)
  {
    offsets.reinit(counts.backend(), counts.size() + 1);
    launch(counts.backend(), [&](auto where) {
      kernels::exclusive_scan(where, static_cast<std::int64_t>(counts.size()), counts.data(), offsets.data());
    });
    return offsets.read(counts.size());
  }

  inline int maximum(const Array<int> &values)
  {
    int result = 0;
    launch(values.backend(), [&](auto where) {
      result = kernels::maximum(where, static_cast<std::int64_t>(values.size()), values.data());
    });
    return result;
  }

  namespace
  {
    /** For steps: @p nodes by @p group, ascending in each, those without one (-1) last; @p offsets [group + 1]. */
    inline void sort_by_group(const Array<int> &group, const int n_groups, Array<int> &offsets, Array<int> &nodes)
    {
      const Backend     &place = group.backend();
      const std::int64_t n     = group.size();
      nodes.reinit(place, n);
      offsets.reinit(place, std::size_t(n_groups) + 1);
#if defined(__CUDACC__)
      Array<std::uint64_t> sorted(place, n);
      std::uint64_t *const keys = sorted.data();
      launch(place, n, [=, group = group.data(), nodes = nodes.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        keys[i]  = static_cast<std::uint64_t>(group[i] >= 0 ? group[i] : n_groups);
        nodes[i] = static_cast<int>(i);
      });
      if (n > 0)
        launch(place, [&](const Here where) {
          kernels::stable_sort_by_key(where, n, keys, nodes.data(), bits_for(std::int64_t(n_groups) + 1));
        });
      launch(place, std::int64_t(n_groups) + 1, [=, offsets = offsets.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        offsets[i] = static_cast<int>(kernels::lower_bound(keys, keys + n, static_cast<std::uint64_t>(i)) - keys);
      });
#else
      launch(place, [&](Here) {
        std::vector<int> starts(std::size_t(n_groups) + 2);
        kernels::list_by_key(n_groups + 1, starts.data(), nodes.data(), [=, group = group.data()](const auto &use) {
          for (std::int64_t i = 0; i < n; ++i)
            use(group[i] >= 0 ? group[i] : n_groups, static_cast<int>(i));
        });
        std::copy_n(starts.data(), n_groups + 1, offsets.data());
      });
#endif
    }
  } // namespace

  /** Positions of nodes and, if they are wider than those, how distances are measured there, see with_metric(). */
  struct NodePoints
  {
    const double *points; ///< [node][width]: dim coordinates, and the upper triangle of a metric
    int           dim, width;

    PATCHFEM_INLINE double squared_distance(const std::int64_t i, const std::int64_t j) const
    {
      const double *const a = points + i * width, *const b = points + j * width;
      double sum = 0.;
      // A loop of a length that the compiler does not know takes longer, and this is called for every edge.
      if (width == dim)
      {
        if (dim > 0)
          sum += (a[0] - b[0]) * (a[0] - b[0]);
        if (dim > 1)
          sum += (a[1] - b[1]) * (a[1] - b[1]);
        if (dim > 2)
          sum += (a[2] - b[2]) * (a[2] - b[2]);
        return sum;
      }
      for (int d = 0, m = dim; d < dim; ++d)
        for (int e = d; e < dim; ++e, ++m)
          sum += (d == e ? 0.5 : 1.) * (a[m] + b[m]) * (a[d] - b[d]) * (a[e] - b[e]);
      return sum;
    }
  };

  /**
   * The points of the rows of @p A and behind each a metric M, in which distances are short where the matrix couples. As
   * sum_j A_ij q(x_j) = -div K grad q integral(phi_i) for quadratic q, of linear elements, K is -1/2 sum_j tr(A_ij) d d^T
   * with d = x_j - x_i to a factor, and M = lambda_max(K) K^-1. It is the identity where eigenvalues of K are within a
   * factor of 4, and where terms along the strong direction cancel by more than the half: there cells are stretched, and
   * what remains beside hanging nodes is of the elements. Rows that are not 0 in sum have lost columns to Dirichlet
   * values, and those that are not 0 for linear functions are of boundaries, at whose edges K has terms that are not of
   * the operator: such nodes have the mean metric of their neighbours if most of these have one.
   * @p at is of columns; @p n_anisotropic counts the other nodes.
   */
  template <typename Number, typename Where>
  Array<double>
  with_metric(Where, const SlicedEllpackMatrix<Number> &A, const NodePoints &at, std::int64_t &n_anisotropic);

  /** False where with_metric() would count few nodes, if any: of a large matrix some rows tell. */
  template <typename Number, typename Where>
  bool may_be_anisotropic(Where, const SlicedEllpackMatrix<Number> &A, const NodePoints &at);

  /** The graph of @p rows (see matrix_rows.h) as in Adjacency::reinit(). */
  template <typename Rows, typename Where>
  Adjacency read_rows(Where, const Backend &place, const Rows &rows, double threshold);

  /** [row], whether it couples to others (see matrix_rows.h). */
  template <typename Number, typename Where>
  Array<int> coupled_rows(Where, const SlicedEllpackMatrix<Number> &A);

  /** [row], Frobenius norms of diagonal blocks. */
  template <typename Number, typename Where>
  Array<double> diagonal_norms(Where, const SlicedEllpackMatrix<Number> &A);

  /**
   * Edges of rows of @p A that couple to columns behind those of rows that do, of other ranks; @p coupled and, unless
   * @p threshold is 0 (see Adjacency), @p norms are [column].
   */
  template <typename Number, typename Where>
  Adjacency edges_across(Where,
                         const SlicedEllpackMatrix<Number> &A,
                         const Array<int>                  &coupled,
                         const Array<double>               &norms,
                         double                             threshold);

  /** Nodes whose edges all lead to nodes of other ranks. */
  template <typename Where>
  int n_cut(Where, const Adjacency &own, const Adjacency &across);

  /**
   * What groups of nodes, @p nodes from offsets[g] on, touch: the groups, below @p n_values or -1 for none, that @p edges
   * lead to; they weigh what these do together. group[node] is of nodes and of ghosts behind them.
   */
  template <typename Where>
  Adjacency between_groups(Where,
                           const Adjacency  &edges,
                           const Array<int> &offsets,
                           const Array<int> &nodes,
                           const Array<int> &group,
                           int               n_values);

  // The steps of find_short_edges(). Neighbours behind the nodes of a graph are ghosts. Distances are squared.

  /// A graph in which fewer nodes than this share have cells that are stretched is used as it is.
  constexpr double least_stretched_share = 0.05;

  /** False where nearest_neighbours() would count few nodes, if any: of a large graph some tell. */
  template <typename Where>
  bool may_be_stretched(Where, const Adjacency &graph, const Adjacency *across, const NodePoints &at, double factor);

  /**
   * The distance to the nearest neighbour in @p graph and in @p across, if there is one, 0 without any; how many nodes
   * have most neighbours @p factor times as far.
   */
  template <typename Where>
  std::int64_t nearest_neighbours(Where,
                                  const Adjacency  &graph,
                                  const Adjacency  *across,
                                  const NodePoints &at,
                                  double            factor,
                                  Array<double>    &nearest);

  /**
   * The distance to the nearest; of a node that lacks near neighbours where its neighbours have some, which are more
   * than three times as near, the smallest of theirs. Such a node is the end of a line or a part of one, as above a
   * hanging node; it has to stay by itself until its neighbours have as few.
   */
  template <typename Where>
  Array<double> reaches(Where, const Adjacency &graph, const Adjacency *across, const Array<double> &nearest);

  template <typename Where>
  Adjacency
  short_edges(Where, const Adjacency &graph, const NodePoints &at, double factor, const Array<double> &reaches);

  /** The independent set of adjacency.h. */
  template <typename Where>
  int maximal_independent_set(Where, const Adjacency &graph, int k, Array<int> &members);

  // Jumps of the coefficient. A piece of stiff material around which all is soft moves by itself: a motion of its own has
  // the energy of what is soft, and relaxation, which weighs with the diagonal, does not see it.

  /// Of the rows that are looked at more than this share has to see a jump: among 50 million tetrahedra at random some are
  /// so flat that 8 of 10 million rows do, and a single inclusion is few modes, which conjugate gradients find.
  constexpr double least_share_of_jumps = 1e-5;

  /**
   * How many rows of @p A see jumps of the coefficient, and how many were looked at, one in eight or some 260 thousand,
   * so that meshes without any pay for no more: what is stiff has several nodes. At least a quarter of the edges of one
   * have to cross jumps: edges of odd cells may be weak. Looking ends soon after enough have been found, so that the number then
   * depends on the order in which rows are looked at.
   */
  template <typename Number, typename Where>
  std::array<std::int64_t, 2>
  rows_at_jumps(Where, const SlicedEllpackMatrix<Number> &A, const Adjacency &edges, const NodePoints &at);

  /** Whether there are jumps, from the rows_at_jumps() of all ranks. */
  inline bool may_jump(const std::array<std::int64_t, 2> &rows)
  {
    return static_cast<double>(rows[0]) > least_share_of_jumps * static_cast<double>(rows[1]);
  }

  /** [edge of @p groups], see between_groups(): the sum of @p weights of the edges between them. */
  template <typename Where>
  Array<double> sums_between_groups(Where,
                                    const Adjacency     &edges,
                                    const Array<double> &weights,
                                    const Array<int>    &offsets,
                                    const Array<int>    &nodes,
                                    const Array<int>    &group,
                                    const Adjacency     &groups);

  /** [node], the largest of its edges, those to nodes of other ranks, too, if there are such. */
  template <typename Where>
  Array<double> largest_couplings(Where,
                                  const Adjacency     &edges,
                                  const Array<double> &couplings,
                                  const Adjacency     *across,
                                  const Array<double> &couplings_across);

  // Strength of connection by traces, see CouplingAggregation.

  /**
   * [edge], -tr A_ij where that is positive; and tr A_ij where it is more than four times the largest -tr A_ij of the
   * row, as along films and supports that are much stiffer than what they hold, else 0.
   */
  template <typename Number, typename Where>
  Array<double> trace_weights(Where, const SlicedEllpackMatrix<Number> &A, const Adjacency &edges);

  /** The edges of w_ij >= threshold sqrt(m_i m_j), m = @p largest [node], which weigh 1024 w_ij / sqrt(m_i m_j). */
  template <typename Where>
  Adjacency strong_edges(
      Where, const Adjacency &edges, const Array<double> &weights, const Array<double> &largest, double threshold);

  /**
   * Adds to @p strong and, of several ranks, to @p strong_across those of the edges @p all and @p across whose ends have
   * strong edges to a third node; of two that a rank does not own it knows no edge.
   */
  template <typename Where>
  void
  close_triangles(Where, const Adjacency &all, const Adjacency &across, Adjacency &strong, Adjacency &strong_across);

  /**
   * counts[0] = how many of a sample of @p aggregates do not hold together, counts[1] = how many strong dependences their
   * nodes have, see AggregateFit; returns how many aggregates were looked at. Does not wait for the back end.
   */
  template <typename Number, typename Where>
  int count_dependences(Where, const SlicedEllpackMatrix<Number> &A, const AggregateLists &aggregates, int *counts);

  /// What a node counts in the sizes of aggregates, unless fewer are enough: many divide it.
  constexpr int whole_node = 12;

  struct LineSizes
  {
    int    least, most;
    double share;
  };

  /**
   * What nodes count in the sizes of aggregates. A node is of a line if it and its neighbours have two short edges at
   * most. With r = its shortest long edge over its longer short one, cells are round again when r of its nodes are one;
   * share r nodes are enough for an aggregate there, rounded, at least least and at most most; least if no
   * edge is long or positions are not known (dim = 0). Other nodes need most. Where k are enough, each counts
   * whole_node most / k, rounded up.
   */
  template <typename Where>
  Array<std::int64_t>
  line_weights(Where, const Adjacency &all, const Adjacency &shorts, const NodePoints &at, const LineSizes &sizes);

  /** Means of the positions of the nodes of each group, in their order: [group][dim]. */
  template <typename Where>
  Array<double> find_centroids(Where, const Array<int> &offsets, const Array<int> &nodes, const NodePoints &at);
} // namespace PatchFEM::graph_tools
