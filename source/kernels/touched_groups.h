// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/structure_bodies.h"
#include "kernels/unique_rows.h"
#include <patchfem/kernels/matrix_views.h>

#include <algorithm>
#include <climits>
#include <utility>

/** @file What nodes and groups of nodes touch in a graph. The group of a node is a number or -1. */
namespace PatchFEM::kernels
{
  /** visit(group, sum of the weights of the edges there) for the groups (>= 0) of neighbours of @p node, ascending. */
  template <typename Visitor>
  PATCHFEM_INLINE void
  for_each_group(const AdjacencyView &graph, const std::int64_t node, const int *group, const Visitor &visit)
  {
#if !defined(__CUDACC__)
    // Without branches on what groups there are, which follow no rule: those that count are put together, and the smallest
    // is looked for until none is left.
    constexpr int      most  = 64;
    const std::int64_t begin = graph.offsets[node], degree = graph.offsets[node + 1] - begin;
    if (degree <= most)
    {
      int list[most], edge_weights[most];
      int n = 0;
      for (std::int64_t e = begin; e < begin + degree; ++e)
      {
        list[n]         = group[graph.neighbours[e]];
        edge_weights[n] = graph.weight(e);
        n += list[n] >= 0;
      }
      for (int left = n; left > 0;)
      {
        int smallest = INT_MAX, weight = 0, n_equal = 0;
        for (int p = 0; p < n; ++p)
          smallest = list[p] < smallest ? list[p] : smallest;
        for (int p = 0; p < n; ++p)
        {
          const bool equal = list[p] == smallest;
          weight += equal ? edge_weights[p] : 0;
          n_equal += equal;
          list[p] = equal ? INT_MAX : list[p];
        }
        visit(smallest, weight);
        left -= n_equal;
      }
      return;
    }
#endif
    // The table holds the smallest groups that were not visited; few nodes touch more than it has room for.
    constexpr int room = 16;
    int           table[room], weights[room];
    int           visited = -1;
    for (bool more = true; more;)
    {
      int n = 0;
      more  = false;
      for (std::int64_t e = graph.offsets[node]; e < graph.offsets[node + 1]; ++e)
      {
        const int g = group[graph.neighbours[e]];
        if (g <= visited)
          continue;
        int p = n;
        while (p > 0 && table[p - 1] >= g)
          --p;
        if (p < n && table[p] == g)
        {
          weights[p] += graph.weight(e);
          continue;
        }
        if (n == room)
          more = true;
        if (p == room)
          continue;
        for (int q = n < room ? n++ : room - 1; q > p; --q)
        {
          table[q]   = table[q - 1];
          weights[q] = weights[q - 1];
        }
        table[p]   = g;
        weights[p] = graph.weight(e);
      }
      for (int p = 0; p < n; ++p)
        visit(table[p], weights[p]);
      visited = n > 0 ? table[n - 1] : visited;
    }
  }

  /** List g: the groups that the neighbours of the nodes of group g belong to, other than g. */
  struct TouchedGroups
  {
    static constexpr int team_size = 32, table_size = 256, n_kept = 32;

    AdjacencyView graph;
    const int    *offsets;          ///< [group + 1]
    const int    *nodes;            ///< by group
    const int    *group;            ///< [node]
    const int    *wanted = nullptr; ///< [group]: of the others lists are empty; nullptr: all are wanted

    template <typename Emit>
    PATCHFEM_INLINE void visit(const int i, const int rank, const int size, const Emit &emit) const
    {
      for_each_edge(i, rank, size, [&](const int g, std::int64_t) {
        if (g != i)
          emit(g);
      });
    }

    /** call(group of the neighbour, edge) for the share of @p rank in the edges from nodes of group @p i. */
    template <typename Call>
    PATCHFEM_INLINE void for_each_edge(const int i, const int rank, const int size, const Call &call) const
    {
      if (wanted != nullptr && !wanted[i])
        return;
      const RowShare share(rank, size, 8);
      for (int k = offsets[i] + share.row; k < offsets[i + 1]; k += share.n_rows)
        for (std::int64_t e = graph.offsets[nodes[k]] + share.entry; e < graph.offsets[nodes[k] + 1]; e += share.width)
          call(group[graph.neighbours[e]], e);
    }
  };

  /** The weights of the edges from one group, by a team (see team.h). */
  struct GroupWeightsBody
  {
    static constexpr int team_size = 32, room = 256;

    struct Scratch
    {
      int weights[room];
    };

    TouchedGroups touched;
    AdjacencyView groups; ///< their graph
    int          *group_weights;
    std::int64_t *inside; ///< [group]; edges inside, each from both ends

    template <typename Team>
    PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t index, Scratch &scratch) const
    {
      const int          i     = static_cast<int>(index);
      const std::int64_t begin = groups.offsets[i], n = groups.offsets[i + 1] - begin;
      const int *const   neighbours = groups.neighbours + begin;
      int *const         sums       = n <= room ? scratch.weights : group_weights + begin;
      std::int64_t       own        = 0;
      team.sync();
      for (std::int64_t e = team.rank(); e < n; e += Team::size)
        sums[e] = 0;
      team.sync();
      // Edges of one node often lead to one group.
      int last = -1, place = 0;
      touched.for_each_edge(i, team.rank(), Team::size, [&](const int g, const std::int64_t e) {
        const int weight = touched.graph.weight(e);
        if (g == i)
          own += weight;
        else if (g >= 0)
        {
          if (g != last)
            place = static_cast<int>(lower_bound(neighbours, neighbours + n, g) - neighbours);
          last = g;
          atomic_add(sums + place, weight);
        }
      });
      own = team.sum(own);
      team.sync();
      if (n <= room)
        for (std::int64_t e = team.rank(); e < n; e += Team::size)
          group_weights[begin + e] = sums[e];
      if (team.rank() == 0)
        inside[i] = own;
    }
  };

  /** On the host: TouchedGroups with the weights of the edges that lead there. */
  struct WeighedGroups : TouchedGroups
  {
    int            n_groups;
    std::int64_t  *inside; ///< [group]; as above
    Workspace<int> sums = {};

    /** [group], of the edges of a group to it; at -1 to nodes without one. */
    int *sum() const { return sums(std::size_t(n_groups) + 1) + 1; }

    template <typename Emit>
    void visit(const int i, int, int, const Emit &emit) const
    {
      // Most edges of large groups are inside: to add all to one place would wait for each.
      constexpr int most = 64;
      int *const    sum  = this->sum();
      std::int64_t  own  = 0;
      sum[-1]            = 0;
      for (int k = offsets[i]; k < offsets[i + 1] && (wanted == nullptr || wanted[i]); ++k)
        for (std::int64_t e = graph.offsets[nodes[k]], end = graph.offsets[nodes[k] + 1]; e < end;)
        {
          int groups[most], weights[most], n = 0;
          for (const std::int64_t stop = std::min(end, e + most); e < stop; ++e)
          {
            groups[n]  = group[graph.neighbours[e]];
            weights[n] = graph.weight(e);
            own += groups[n] == i ? weights[n] : 0;
            n += groups[n] != i;
          }
          for (int p = 0; p < n; ++p)
          {
            sum[groups[p]] += weights[p];
            emit(groups[p]);
          }
        }
      inside[i] = own;
    }

    int take(const int g) const { return std::exchange(sum()[g], 0); }
  };
} // namespace PatchFEM::kernels
