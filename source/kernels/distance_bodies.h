// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_kernels_distance_bodies_h
#define patchfem_source_kernels_distance_bodies_h

#include "kernels/graph_bodies.h"

/** @file Bodies (see parallel_for.h) that leave the short edges of a graph whose nodes have positions. */
namespace PatchFEM
{
  namespace kernels
  {
    /** Where the nodes of a graph are. */
    struct NodePoints
    {
      const double *points; ///< [node][dim]
      int           dim;

      PATCHFEM_INLINE double squared_distance(const std::int64_t i, const std::int64_t j) const
      {
        double sum = 0.;
        for (int d = 0; d < dim; ++d)
        {
          const double step = points[i * dim + d] - points[j * dim + d];
          sum += step * step;
        }
        return sum;
      }
    };

    /**
     * least[i] = squared distance from node i to the nearest of its neighbours; 0 without any. stretched[i] = 1 if less than
     * half of them are within sqrt(factor) times that distance, else 0.
     */
    struct LeastDistanceBody
    {
      AdjacencyView graph;
      NodePoints    at;
      double        factor;    ///< squared
      double       *least;     ///< [node]
      int          *stretched; ///< [node]

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        double nearest = 0., farthest = 0.;
        for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
        {
          const double d = at.squared_distance(i, graph.neighbours[e]);
          nearest        = e == graph.offsets[i] || d < nearest ? d : nearest;
          farthest       = d > farthest ? d : farthest;
        }
        int n_far = 0;
        for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1] && farthest > factor * nearest; ++e)
          n_far += at.squared_distance(i, graph.neighbours[e]) > factor * nearest;
        least[i]     = nearest;
        stretched[i] = 2 * n_far > graph.offsets[i + 1] - graph.offsets[i];
      }
    };

    /**
     * reach[i] = least[i]; of a node that lacks near neighbours where its neighbours have some, whose least distances are
     * more than sqrt(jump) times as small, the smallest of those. Such a node is the end of a line or a part of one, as
     * above a hanging node; it has to stay by itself until its neighbours have as few.
     */
    struct ReachBody
    {
      AdjacencyView graph;
      const double *least; ///< [node], squared
      double        jump;  ///< squared
      double       *reach; ///< [node], squared

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        double smallest = least[i];
        for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
        {
          const double other = least[graph.neighbours[e]];
          smallest           = other < smallest ? other : smallest;
        }
        reach[i] = least[i] > jump * smallest ? smallest : least[i];
      }
    };

    /** Which edges are short: d_ij <= factor max(reach_i, reach_j). */
    struct ShortEdges
    {
      AdjacencyView graph;
      NodePoints    at;
      const double *reach;  ///< [node], squared
      double        factor; ///< squared

      PATCHFEM_INLINE bool operator()(const std::int64_t i, const int j) const
      {
        return at.squared_distance(i, j) <= factor * (reach[i] > reach[j] ? reach[i] : reach[j]);
      }
    };

    struct CountShortEdgesBody
    {
      ShortEdges is_short;
      int       *counts; ///< [node]

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        int n = 0;
        for (std::int64_t e = is_short.graph.offsets[i]; e < is_short.graph.offsets[i + 1]; ++e)
          n += is_short(i, is_short.graph.neighbours[e]);
        counts[i] = n;
      }
    };

    struct WriteShortEdgesBody
    {
      ShortEdges          is_short;
      const std::int64_t *offsets;    ///< [node + 1]
      int                *neighbours; ///< [offsets[n_nodes]]
      int                *weights;    ///< the same, those of the graph

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        std::int64_t out = offsets[i];
        for (std::int64_t e = is_short.graph.offsets[i]; e < is_short.graph.offsets[i + 1]; ++e)
          if (is_short(i, is_short.graph.neighbours[e]))
          {
            neighbours[out] = is_short.graph.neighbours[e];
            weights[out++]  = is_short.graph.weight(e);
          }
      }
    };

    /// What a node counts in the sizes of aggregates, unless fewer are enough: many divide it.
    constexpr int whole_node = 12;

    /**
     * What nodes count in the sizes of aggregates. A node is of a line if it and its neighbours have two short edges at
     * most. With r = its shortest long edge over its longer short one, cells are round again when r of its nodes are one;
     * @p share r nodes are enough for an aggregate there, rounded, at least @p least and at most @p most; @p least if no
     * edge is long or positions are not known (dim = 0). Other nodes need @p most. Where k are enough, each counts
     * whole_node most / k, rounded up.
     */
    struct LineWeightBody
    {
      AdjacencyView all, shorts;
      NodePoints    at;
      int           least, most;
      double        share;
      std::int64_t *weights; ///< [node]

      PATCHFEM_INLINE bool has_two_at_most(const std::int64_t i) const
      {
        return shorts.offsets[i + 1] - shorts.offsets[i] <= 2;
      }

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const std::int64_t begin = shorts.offsets[i], end = shorts.offsets[i + 1];
        int                size = most;
        if (end > begin && has_two_at_most(i) && has_two_at_most(shorts.neighbours[begin]) &&
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
          size                    = least;
          while (size < most && (size + 0.5) * (size + 0.5) * near < no_tie * share * share * far)
            ++size;
        }
        weights[i] = (std::int64_t(whole_node) * most + size - 1) / size;
      }
    };

    /** centroids[g] = mean of the positions of the nodes of group g, in their order. */
    struct CentroidBody
    {
      const int *offsets; ///< [group + 1]
      const int *nodes;   ///< by group
      NodePoints at;
      double    *centroids; ///< [group][dim]

      PATCHFEM_INLINE void operator()(const std::int64_t g) const
      {
        for (int d = 0; d < at.dim; ++d)
        {
          double sum = 0.;
          for (int k = offsets[g]; k < offsets[g + 1]; ++k)
            sum += at.points[std::int64_t(nodes[k]) * at.dim + d];
          centroids[g * at.dim + d] = sum / (offsets[g + 1] - offsets[g]);
        }
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
