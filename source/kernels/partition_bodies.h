// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_kernels_partition_bodies_h
#define patchfem_source_kernels_partition_bodies_h

#include "kernels/graph_bodies.h"
#include "kernels/unique_rows.h"

/**
 * @file
 * Bodies (see parallel_for.h) that group the nodes of a graph around the members of an independent set and build the
 * graph of the groups. The group of a node is a number or -1.
 */
namespace PatchFEM
{
  namespace kernels
  {
    /**
     * visit(group, weight) for the different groups among the neighbours of @p node, in ascending order, with the sum
     * of the weights of the edges there. Neighbours without a group are passed over.
     */
    template <typename Visitor>
    PATCHFEM_INLINE void
    for_each_group(const AdjacencyView &graph, const std::int64_t node, const int *group, const Visitor &visit)
    {
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

    /** Members found one group each, numbered in the order of the nodes. */
    struct FoundGroupsBody
    {
      const int          *flags;
      const std::int64_t *positions; ///< scan of flags
      int                *group;     ///< [node]

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        group[i] = flags[i] ? static_cast<int>(positions[i]) : -1;
      }
    };

    /** A node without a group joins the one it touches most, the lowest of those that tie. */
    struct JoinGroupBody
    {
      AdjacencyView graph;
      const int    *group;
      int          *next;
      int          *flags; ///< [0]: a node with neighbours found none to join; [1]: a node joined one

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        int best = group[i];
        if (best < 0 && !graph.is_isolated(i))
        {
          int most = 0;
          for_each_group(graph, i, group, [&](const int g, const int weight) {
            if (weight > most)
            {
              most = weight;
              best = g;
            }
          });
          raise_flag(flags + (best < 0 ? 0 : 1));
        }
        next[i] = best;
      }
    };

    /**
     * centres[g] = the node of group g with most edges into it, by weight, the lowest of those that tie: the weight comes
     * before the complement of the number, so that the largest word wins.
     */
    struct CentreBody
    {
      AdjacencyView  graph;
      const int     *group;
      std::uint64_t *centres; ///< [group], 0 before

      static PATCHFEM_INLINE std::uint64_t word(const int weight, const std::int64_t node)
      {
        return (static_cast<std::uint64_t>(weight) << 32) | ~static_cast<std::uint32_t>(node);
      }

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int g      = group[i];
        int       inside = 0;
        if (g < 0)
          return;
        for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
          inside += group[graph.neighbours[e]] == g ? graph.weight(e) : 0;
        atomic_max(centres + g, word(inside, i));
      }
    };

    /** Takes all nodes but the centres out of their groups. */
    struct KeepCentreBody
    {
      const int           *group;
      const std::uint64_t *centres; ///< [group], see CentreBody
      int                 *roots;   ///< [node]: group or -1

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int g = group[i];
        roots[i]    = g >= 0 && static_cast<std::uint32_t>(centres[g]) == ~static_cast<std::uint32_t>(i) ? g : -1;
      }
    };

    /** group[i] = new_number[group[i]], where that is not -1. */
    struct RenumberGroupsBody
    {
      const int *new_number;
      int       *group;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        if (group[i] >= 0)
          group[i] = new_number[group[i]];
      }
    };

    /** Sort key of node @p i: its group, those without one last. */
    struct GroupKeyBody
    {
      const int     *group;
      int            n_groups;
      std::uint64_t *keys;
      int           *nodes;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        keys[i]  = static_cast<std::uint64_t>(group[i] >= 0 ? group[i] : n_groups);
        nodes[i] = static_cast<int>(i);
      }
    };

    /** Where group @p i starts among the sorted keys. */
    struct GroupOffsetsBody
    {
      const std::uint64_t *keys;
      std::int64_t         n_keys;
      int                 *offsets; ///< [group + 1]

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        offsets[i] = static_cast<int>(lower_bound(keys, keys + n_keys, static_cast<std::uint64_t>(i)) - keys);
      }
    };

    /** List g: the groups that the neighbours of the nodes of group g belong to, other than g. */
    struct TouchedGroups
    {
      static constexpr int team_size = 32, table_size = 256, n_kept = 32;

      AdjacencyView graph;
      const int    *offsets; ///< [group + 1]
      const int    *nodes;   ///< by group
      const int    *group;   ///< [node]

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
        const RowShare share(rank, size, 8);
        for (int k = offsets[i] + share.row; k < offsets[i + 1]; k += share.n_rows)
          for (std::int64_t e = graph.offsets[nodes[k]] + share.entry; e < graph.offsets[nodes[k] + 1];
               e += share.width)
            call(group[graph.neighbours[e]], e);
      }
    };

    /** to[i] = from[indices[i]]. */
    template <typename T>
    struct GatherBody
    {
      const int *indices;
      const T   *from;
      T         *to;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { to[i] = from[indices[i]]; }
    };

    /** The weights of the edges from one group, by a team (see team.h). */
    struct GroupWeightsBody
    {
      static constexpr int team_size = 32, room = 256;

      struct Scratch
      {
        int weights[room];
      };

      TouchedGroups       touched;
      const std::int64_t *group_offsets; ///< the graph of the groups
      const int          *group_neighbours;
      int                *group_weights;
      std::int64_t       *inside; ///< [group]; edges inside, each from both ends

      template <typename Team>
      PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t index, Scratch &scratch) const
      {
        const int          i     = static_cast<int>(index);
        const std::int64_t begin = group_offsets[i], n = group_offsets[i + 1] - begin;
        const int *const   neighbours = group_neighbours + begin;
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

    /** What the size control of groups weighs: weight of nodes and weight of edges inside, or the number of nodes. */
    struct SizeMeasure
    {
      const std::int64_t *node_weights; ///< [node]; nullptr: all are node_weight
      std::int64_t        node_weight;
      std::int64_t        edge_weight; ///< of an edge with weight 1

      PATCHFEM_INLINE std::int64_t node(const std::int64_t i) const
      {
        return node_weights != nullptr ? node_weights[i] : node_weight;
      }
    };

    /** The size of group @p i. */
    struct GroupSizeBody
    {
      SizeMeasure         measure;
      const int          *offsets; ///< [group + 1]
      const int          *nodes;   ///< by group
      const std::int64_t *inside;  ///< [group], edges from both ends; not read if edges weigh nothing
      std::int64_t       *sizes;   ///< [group]

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        std::int64_t sum = measure.edge_weight != 0 ? inside[i] / 2 * measure.edge_weight : 0;
        for (int k = offsets[i]; k < offsets[i + 1]; ++k)
          sum += measure.node(nodes[k]);
        sizes[i] = sum;
      }
    };

    /**
     * Which small groups are dissolved is an independent set in the graph of groups: those that are large enough, or
     * have no neighbour, stay from the start; a small one that touches one that stays is dissolved; of small ones among
     * themselves the larger stay. So each group that is dissolved touches one that its nodes can join, and no chain of
     * small groups falls to a distant one.
     */
    struct SizeTupleBody
    {
      AdjacencyView       groups;
      const std::int64_t *sizes;
      std::int64_t        least;     ///< smallest size that may stay
      std::uint64_t      *tuples;    ///< [group]
      int                *undecided; ///< flag: there is a small group

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const bool stays = sizes[i] >= least || groups.is_isolated(i);
        // 8 bits of size before the hash.
        const std::uint64_t size = stays ? 0 : static_cast<std::uint64_t>(sizes[i] * 255 / least);
        tuples[i]                = tuple::make(stays ? tuple::member : tuple::undecided,
                                (size << 22) | (hash(i) & ((std::uint64_t(1) << 22) - 1)), static_cast<int>(i));
        if (!stays)
          raise_flag(undecided);
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
