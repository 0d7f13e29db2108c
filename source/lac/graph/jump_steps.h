// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "graph_steps.h"

#include <patchfem/kernels/team.h>

/** @file The steps (see launch.h) of graph_tools.h that tell whether the coefficient jumps. */
namespace PatchFEM::graph_tools
{
  namespace
  {
    /// Of the largest coupling of either end, where the material between two nodes is not so much softer than the stiffest around
    /// them that distances would need more time than couplings: at a contrast of 1e3 they take about as long.
    constexpr double least_coupling = 0.005;

    /// Edges are about as long as another, in squares: those of a cube are, at most 3, and those of cells 2 : 1 are not.
    constexpr double alike = 3.5;

    /// The share of edges of a node that are to cross a jump: where stiff material ends in a plane a third do, and an edge
    /// of odd cells may be weak by itself.
    constexpr double share_crosses = 0.25;

    /// Rows that are looked at, about, where one in eight would be more: each reads those of its neighbours.
    constexpr int most_looked_at = 1 << 18;

    /** A block row, whose place is computed once. */
    template <typename Number>
    struct BlockRow
    {
      int           length, stride, n_entries;
      const int    *columns;
      const Number *values;

      PATCHFEM_INLINE BlockRow(const SlicedEllpackView<Number> &A, const int row)
          : length(A.row_lengths[row]), stride(A.slice_height), n_entries(A.block_rows * A.block_columns),
            columns(A.columns + A.block_index(row, 0)), values(A.values + A.value_index(row, 0, 0, 0))
      {}

      PATCHFEM_INLINE int column(const int k) const { return columns[std::int64_t(k) * stride]; }

      /** -tr A_ij of block @p k, of @p n_c unknowns of a node. */
      PATCHFEM_INLINE double negative_trace(const int k, const int n_c) const
      {
        const Number *value = values + std::int64_t(k) * n_entries * stride;
        double        trace = 0.;
        for (int a = 0; a < n_c; ++a, value += (n_c + 1) * stride)
          trace -= static_cast<double>(*value);
        return trace;
      }

      /** The larger one of @p least and what block @p k couples. */
      PATCHFEM_INLINE double largest(const int k, double least) const
      {
        const Number *value = values + std::int64_t(k) * n_entries * stride;
        for (int e = 0; e < n_entries; ++e, value += stride)
          least = std::fabs(static_cast<double>(*value)) > least ? std::fabs(static_cast<double>(*value)) : least;
        return least;
      }

      PATCHFEM_INLINE bool exceeds(const int k, const double limit) const
      {
        const Number *value = values + std::int64_t(k) * n_entries * stride;
        for (int e = 0; e < n_entries; ++e, value += stride)
          if (std::fabs(static_cast<double>(*value)) > limit)
            return true;
        return false;
      }
    };

    /**
     * Whether many of the edges of a row couple much less than others, and what they lead to is not tied otherwise; by a team (see
     * team.h), whose members share the edges that read rows of neighbours.
     */
    template <typename Number>
    struct SeesJump
    {
      using Row = BlockRow<Number>;

      static constexpr int team_size = 8;

      struct Scratch
      {};

      SlicedEllpackView<Number> A;
      AdjacencyView             graph;
      NodePoints                at;
      int                       stride, enough; ///< every so manieth row is looked at, until so many have been found
      int                      *found;

      /** Whether both couple more than @p limit with a third node. */
      PATCHFEM_INLINE static bool joined(const Row &a, const Row &b, const double limit)
      {
        for (int k = 0, l = 0; k < a.length; ++k)
          if (a.exceeds(k, limit))
          {
            const int p = a.column(k);
            while (l < b.length && b.column(l) < p) // both ascend
              ++l;
            if (l < b.length && b.column(l) == p && b.exceeds(l, limit))
              return true;
          }
        return false;
      }

      /** The largest coupling of edges about as long as @p d. */
      PATCHFEM_INLINE double largest_alike(const Row &row, const int i, const double d) const
      {
        double result = 0.;
        for (int k = 0; k < row.length; ++k)
        {
          const int    j     = row.column(k);
          const double other = j < A.n_rows ? at.squared_distance(i, j) : 0.;
          if (other > 0. && other <= alike * d && d <= alike * other)
            result = row.largest(k, result);
        }
        return result;
      }

      template <typename Team>
      PATCHFEM_INLINE bool sees(const Team &team, const int i) const
      {
        const Row  row(A, i);
        const auto is_edge = [&](const int j) { return j != i && j < A.n_rows && !graph.is_isolated(j); };
        double     largest = 0.;
        for (int k = 0; k < row.length; ++k)
          if (row.column(k) != i)
            largest = row.largest(k, largest);
        // Of those that may cross jumps all are taken out that do not, until there are too few.
        const double limit = least_coupling * largest;
        const double few   = share_crosses * static_cast<double>(graph.offsets[i + 1] - graph.offsets[i]);
        int          n     = 0;
        for (int k = 0; k < row.length; ++k)
          n += !row.exceeds(k, limit) && is_edge(row.column(k));
        if (n <= few)
          return false;
        double nearest = 0., farthest = 0., d = 0., limit_of_d = 0.;
        for (int k = 0; k < row.length; ++k)
          if (is_edge(row.column(k)))
          {
            const double other = at.squared_distance(i, row.column(k));
            nearest            = nearest == 0. || other < nearest ? other : nearest;
            farthest           = other > farthest ? other : farthest;
          }
        // Along the shortest edges by themselves, which are few where cells are flat.
        const bool round   = farthest <= alike * nearest;
        int        n_short = 0, n_cross = 0;
        for (int k = team.rank(); k < row.length && !round; k += Team::size)
        {
          const int j = row.column(k);
          if (!is_edge(j) || at.squared_distance(i, j) > alike * nearest)
            continue;
          ++n_short;
          n_cross += !row.exceeds(k, limit) && !joined(row, Row(A, j), limit);
        }
        if (team.sum(n_cross) > share_crosses * team.sum(n_short))
          return true;
        int n_tied = 0;
        for (int k = team.rank(); k < row.length && n - n_tied > few; k += Team::size)
        {
          const int j = row.column(k);
          if (row.exceeds(k, limit) || !is_edge(j))
            continue;
          const double other = at.squared_distance(i, j);
          if (!round && d != std::exp2(std::round(8. * std::log2(other)) / 8.)) // edges about as long are alike
          {
            d          = std::exp2(std::round(8. * std::log2(other)) / 8.);
            limit_of_d = least_coupling * largest_alike(row, i, d);
          }
          n_tied += row.exceeds(k, round ? limit : limit_of_d) || joined(row, Row(A, j), round ? limit : limit_of_d);
        }
        return n - team.sum(n_tied) > few;
      }

      template <typename Team>
      PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t item, Scratch &) const
      {
        const int  i = static_cast<int>(item) * stride + static_cast<int>(kernels::hash(item) % stride);
        const bool asks =
            i < graph.n_nodes && !graph.is_isolated(i) && team.sum(kernels::atomic_load(found)) < Team::size * enough;
        if (asks && sees(team, i) && team.rank() == 0)
          kernels::atomic_increment(found);
      }
    };
  } // namespace

  template <typename Number, typename Where>
  std::array<std::int64_t, 2>
  rows_at_jumps(Where, const SlicedEllpackMatrix<Number> &A, const Adjacency &edges, const NodePoints &at)
  {
    Array<int> found(A.backend(), 1);
    found.set_zero();
    const int stride      = std::max(one_of, edges.n_nodes() / most_looked_at);
    const int n_looked_at = (edges.n_nodes() + stride - 1) / stride;
    const int enough      = n_looked_at / 256 + 64; // also for many ranks, see may_jump()
    launch(A.backend(), [&](const Here where) {
      kernels::team_for(where, n_looked_at, SeesJump<Number>{A.view(), edges.view(), at, stride, enough, found.data()});
    });
    return {found.read(0), n_looked_at};
  }

#define INSTANTIATE(Number)                                                                                        \
  template std::array<std::int64_t, 2> rows_at_jumps(Here, const SlicedEllpackMatrix<Number> &, const Adjacency &, \
                                                     const NodePoints &)
  INSTANTIATE(float);
  INSTANTIATE(double);
#undef INSTANTIATE
} // namespace PatchFEM::graph_tools
