// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "independent_sets.h"

#include "kernels/ordering.h"
#include "kernels/touched_groups.h"
#include <patchfem/lac/graph/aggregation.h>

#include <algorithm>
#include <climits>
#include <vector>

/** @file The steps (see launch.h) of Aggregation. The group of a node is a number or -1. */
namespace PatchFEM
{
  namespace
  {
    using namespace graph_tools;

    struct Groups
    {
      int        n_groups = 0;
      Array<int> group;   ///< [node], or -1
      Array<int> offsets; ///< [group + 1], into nodes
      Array<int> nodes;   ///< [node]: by group, ascending in each; then those without a group
    };

    /** The graph of groups: edges between groups weigh what the edges between their nodes weigh together. */
    struct GroupGraph
    {
      Adjacency           graph;
      Array<std::int64_t> inside; ///< [group], weight of the edges inside, each from both ends
    };

    /** What the size control of groups weighs: weight of nodes and weight of edges inside, or the number of nodes. */
    struct SizeMeasure
    {
      const std::int64_t *node_weights; ///< [node]; nullptr: all are node_weight
      std::int64_t        node_weight;
      std::int64_t        edge_weight; ///< of an edge with weight 1
    };

    /** [i] = from[indices[i]] */
    Array<int> gather(const Array<int> &indices, const Array<int> &from)
    {
      Array<int> result(indices.backend(), indices.size());
      launch(indices.backend(), indices.size(),
             [indices = indices.data(), from = from.data(), to = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               to[i] = from[indices[i]];
             });
      return result;
    }

    Array<int> inverse_of(const Array<int> &permutation)
    {
      Array<int> result(permutation.backend(), permutation.size());
      launch(result.backend(), result.size(),
             [from = permutation.data(), to = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               to[from[i]] = static_cast<int>(i);
             });
      return result;
    }

    /** group[i] = new_number[group[i]], where that is not -1. */
    void renumber(const Array<int> &new_numbers, Array<int> &groups)
    {
      launch(groups.backend(), groups.size(),
             [new_number = new_numbers.data(), group = groups.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               if (group[i] >= 0)
                 group[i] = new_number[group[i]];
             });
    }

    /** numbers[i] = how many flags before i are 1, or -1 if that of i is not; returns how many are. */
    int number_flagged(const Array<int> &flags, Array<int> &numbers)
    {
      Array<std::int64_t> positions;
      const int           n    = static_cast<int>(scan(flags, positions));
      const int *const    flag = flags.data();
      numbers.reinit(flags.backend(), flags.size());
      launch(flags.backend(), flags.size(),
             [=, before = positions.data(), numbers = numbers.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               numbers[i] = flag[i] ? static_cast<int>(before[i]) : -1;
             });
      return n;
    }

    /** Numbers the groups whose flag is 1 anew, in their order, and takes the others' nodes out. */
    void keep(const Array<int> &flags, Groups &groups)
    {
      Array<int> new_numbers;
      groups.n_groups = number_flagged(flags, new_numbers);
      renumber(new_numbers, groups.group);
    }

    /** Sets offsets and nodes from group and n_groups. */
    void list_nodes(Groups &groups)
    {
      sort_by_group(groups.group, groups.n_groups, groups.offsets, groups.nodes);
    }

    kernels::TouchedGroups touched_groups(const AdjacencyView &graph, const Groups &groups)
    {
      return {graph, groups.offsets.data(), groups.nodes.data(), groups.group.data()};
    }

    /**
     * Which of @p n_groups groups touch which of @p n_values: on the device without weights, and nothing inside, on the
     * host with all of it.
     */
    void find_group_graph(const Backend                &place,
                          const kernels::TouchedGroups &touched,
                          const int                     n_groups,
                          const int                     n_values,
                          GroupGraph                   &result)
    {
      CompressedPattern pattern;
      Array<int>        weights;
#if defined(__CUDACC__)
      launch(place,
             [&](const Here where) { pattern = kernels::unique_rows(where, place, n_groups, n_values, touched); });
      result.inside.release();
#else
      result.inside.reinit(place, n_groups);
      launch(place, [&](const Here where) {
        const kernels::WeighedGroups rows{touched, n_values, result.inside.data()};
        pattern = kernels::unique_rows(where, place, n_groups, n_values, rows, &weights);
      });
#endif
      result.graph.reinit(std::move(pattern.offsets), std::move(pattern.columns), std::move(weights));
    }

    /** The weights of that graph, and what is inside of groups. */
    void weigh_group_graph([[maybe_unused]] const kernels::TouchedGroups &touched, [[maybe_unused]] GroupGraph &result)
    {
#if defined(__CUDACC__)
      const Backend &place = result.graph.backend();
      Array<int>     weights(place, result.graph.neighbours().size());
      result.inside.reinit(place, result.graph.n_nodes());
      kernels::GroupWeightsBody body{touched, result.graph.view(), weights.data(), result.inside.data()};
      launch(place, [&](const Here where) { kernels::team_for(where, result.graph.n_nodes(), body); });
      result.graph.set_weights(std::move(weights));
#endif
    }

    void build_group_graph(const AdjacencyView &graph, const Groups &groups, GroupGraph &result)
    {
      const kernels::TouchedGroups touched = touched_groups(graph, groups);
      find_group_graph(groups.group.backend(), touched, groups.n_groups, groups.n_groups, result);
      if (groups.n_groups > 0)
        weigh_group_graph(touched, result);
    }

    /** Sizes of groups; what is inside of them is not read if edges weigh nothing. */
    Array<std::int64_t> measure_groups(const SizeMeasure &measure, const Groups &groups, const GroupGraph &group_graph)
    {
      Array<std::int64_t> result(groups.group.backend(), groups.n_groups);
      launch(result.backend(), groups.n_groups,
             [measure, offsets = groups.offsets.data(), nodes = groups.nodes.data(), inside = group_graph.inside.data(),
              sizes = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               std::int64_t sum = measure.edge_weight != 0 ? inside[i] / 2 * measure.edge_weight : 0;
               for (int k = offsets[i]; k < offsets[i + 1]; ++k)
                 sum += measure.node_weights != nullptr ? measure.node_weights[nodes[k]] : measure.node_weight;
               sizes[i] = sum;
             });
      return result;
    }

    /** Nodes without a group join, layer by layer, the one they touch most, the lowest of those that tie. */
    void grow(const AdjacencyView &graph, Groups &groups)
    {
      const Backend &place = groups.group.backend();
      Array<int>     next(place, groups.group.size());
      Array<int>     found(place, 2); // [0]: a node with neighbours found none to join; [1]: a node joined one
      for (bool more = true; more;)
      {
        found.set_zero();
        const int *const group = groups.group.data();
        launch(place, graph.n_nodes,
               [=, next = next.data(), found = found.data()] PATCHFEM_DEVICE(const std::int64_t i) {
                 int best = group[i];
                 if (best < 0 && !graph.is_isolated(i))
                 {
                   int most = 0;
                   kernels::for_each_group(graph, i, group, [&](const int g, const int weight) {
                     if (weight > most)
                     {
                       most = weight;
                       best = g;
                     }
                   });
                   raise_flag(found + (best < 0 ? 0 : 1));
                 }
                 next[i] = best;
               });
        groups.group.swap(next);
        const std::vector<int> flags = found.to_vector();
        more                         = flags[0] != 0 && flags[1] != 0;
      }
    }

    /** Leaves of each group the node with most edges into it, by weight, the lowest of those that tie. */
    void recentre(const AdjacencyView &graph, Groups &groups)
    {
      const Backend       &place = groups.group.backend();
      Array<std::uint64_t> words(place, groups.n_groups);
      Array<int>           roots(place, groups.group.size());
      words.set_zero();
      const int *const group = groups.group.data();
      // The weight comes before the complement of the number, so that the largest word wins.
      launch(place, graph.n_nodes, [=, centres = words.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        const int g      = group[i];
        int       inside = 0;
        if (g < 0)
          return;
        for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
          inside += group[graph.neighbours[e]] == g ? graph.weight(e) : 0;
        kernels::atomic_max(centres + g, (static_cast<std::uint64_t>(inside) << 32) | ~static_cast<std::uint32_t>(i));
      });
      launch(place, graph.n_nodes,
             [=, centres = words.data(), roots = roots.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               const int g = group[i];
               roots[i] = g >= 0 && static_cast<std::uint32_t>(centres[g]) == ~static_cast<std::uint32_t>(i) ? g : -1;
             });
      groups.group.swap(roots);
    }

    /**
     * Dissolves groups smaller than @p least while they touch others. An independent set in the graph of groups stays:
     * first those that are large enough or have no neighbour, then of small ones among themselves the larger. So each
     * group that is dissolved touches one that its nodes can join, and no chain of small groups falls to a distant one.
     * In the end @p groups has its lists.
     */
    void
    dissolve_small(const AdjacencyView &graph, const SizeMeasure &measure, const std::int64_t least, Groups &groups)
    {
      const Backend &place = groups.group.backend();
      while (true)
      {
        grow(graph, groups);
        list_nodes(groups);
        const int n = groups.n_groups;
        if (n == 0)
          return;

        GroupGraph group_graph;
        if (measure.edge_weight != 0)
          build_group_graph(graph, groups, group_graph);
        const Array<std::int64_t> sizes = measure_groups(measure, groups, group_graph);
        Array<int>                small(place, n), undecided(place, 1); // there is a small group
        launch(place, n, [=, sizes = sizes.data(), small = small.data()] PATCHFEM_DEVICE(const std::int64_t i) {
          small[i] = sizes[i] < least;
        });
        if (measure.edge_weight == 0) // only small groups look at others
        {
          kernels::TouchedGroups touched = touched_groups(graph, groups);
          touched.wanted                 = small.data();
          find_group_graph(place, touched, n, n, group_graph);
        }
        Array<std::uint64_t> tuples(place, n);
        undecided.set_zero();
        launch(place, n,
               [least, touching = group_graph.graph.view(), sizes = sizes.data(), small = small.data(),
                tuples = tuples.data(), undecided = undecided.data()] PATCHFEM_DEVICE(const std::int64_t i) {
                 const bool stays = !small[i] || touching.is_isolated(i);
                 // 8 bits of size before the hash.
                 const std::uint64_t size = stays ? 0 : static_cast<std::uint64_t>(sizes[i] * 255 / least);
                 tuples[i]                = tuple::make(stays ? tuple::member : tuple::undecided,
                                         (size << 22) | (kernels::hash(i) & ((std::uint64_t(1) << 22) - 1)),
                                         static_cast<int>(i));
                 if (!stays)
                   raise_flag(undecided);
               });
        if (undecided.read(0) == 0)
          return;
        // Of small groups that touch each other or others at least one is dissolved, so this ends.
        decide_members(group_graph.graph.view(), 1, tuples);
        keep(flag_members(tuples), groups);
      }
    }

    /**
     * P3, section 5.2: groups around the members of a k-MIS, grown again from their centres @p n_recentrings times;
     * those smaller than @p least are dissolved as long as their nodes touch others, so that components of @p graph
     * that are smaller are groups. @p result has its lists, @p group_graph its graph in @p all. Nodes that are isolated
     * in @p all, and in @p across if that has nodes, become groups of one node if @p with_isolated, else they have none.
     */
    void partition(const Backend       &place,
                   const AdjacencyView &graph,
                   const AdjacencyView &all,
                   const AdjacencyView &across,
                   const int            k,
                   const int            n_recentrings,
                   const bool           with_isolated,
                   const SizeMeasure   &measure,
                   const std::int64_t   least,
                   Groups              &result,
                   GroupGraph          &group_graph)
    {
      {
        Array<std::uint64_t> tuples = draw_tuples(place, all, with_isolated, across);
        decide_members(graph, k, tuples);
        result.n_groups = number_flagged(flag_members(tuples), result.group); // members found one group each
      }
      for (int round = 0; round < n_recentrings; ++round)
      {
        grow(graph, result);
        recentre(graph, result);
      }
      // What is small joins along edges of the graph only; the graph of groups is that of all edges.
      dissolve_small(graph, measure, least, result);
      build_group_graph(all, result, group_graph);
    }

    /** The aggregates, their graph and what the matrix block A_kk of a patch k takes. */
    struct PatchBytes
    {
      AdjacencyView       graph;      ///< of the aggregates
      const std::int64_t *own;        ///< [aggregate], bytes of the entries inside
      std::int64_t        edge_bytes; ///< bytes of one entry between aggregates
      std::int64_t        limit;      ///< largest patch
    };

    /** High half: a priority; low half: an aggregate, the lowest first. Never 0. */
    PATCHFEM_INLINE std::uint64_t ranked(const std::int64_t priority, const std::int64_t aggregate)
    {
      return (static_cast<std::uint64_t>(priority) << 32) |
             static_cast<std::uint32_t>(~static_cast<std::uint32_t>(aggregate));
    }
    PATCHFEM_INLINE int aggregate_of(const std::uint64_t ranked)
    {
      return static_cast<int>(~static_cast<std::uint32_t>(ranked));
    }

    /** Exchanges aggregates until no patch of several is above the limit; one of its own, the root, never leaves it. */
    void exchange(const PatchBytes &measure, Groups &patches)
    {
      const Backend      &place = patches.group.backend();
      const AdjacencyView graph = measure.graph;
      const int           n     = graph.n_nodes;

      Array<std::uint64_t> all_offers(place, n), all_accepted(place, n);
      Array<std::int64_t>  patch_bytes(place, n);
      Array<int>           targets(place, n), flags(place, n), n_moved(place, 1);
      int *const           patch    = patches.group.data(); // [aggregate]
      std::int64_t *const  bytes    = patch_bytes.data();   // [root]
      int *const           target   = targets.data();       // [aggregate], a root, or the aggregate itself
      std::uint64_t *const offers   = all_offers.data();    // [root]
      std::uint64_t *const accepted = all_accepted.data();  // [root]

      // The aggregate that is tied most to the others of its patch becomes its root.
      all_offers.set_zero();
      launch(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) {
        std::int64_t inside = 0;
        for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
          if (patch[graph.neighbours[e]] == patch[i])
            inside += graph.weight(e);
        kernels::atomic_max(offers + patch[i], ranked(inside < INT_MAX ? inside : INT_MAX, i));
      });
      launch(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) { patch[i] = aggregate_of(offers[patch[i]]); });
      // A move makes a patch that is too large smaller, and none too large, so this ends.
      do
      {
        patch_bytes.set_zero();
        all_offers.set_zero();
        all_accepted.set_zero();
        n_moved.set_zero();
        launch(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) {
          std::int64_t edges = 0; // those to later aggregates, so that each counts once
          for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
            if (graph.neighbours[e] > i && patch[graph.neighbours[e]] == patch[i])
              edges += graph.weight(e);
          kernels::atomic_add(bytes + patch[i], measure.own[i] + edges * measure.edge_bytes);
        });
        // Where an aggregate of a patch that is too large would best go: to the neighbouring patch that has room and to
        // which the cut falls most, else, if none has room, into a patch of its own. Each patch gives one aggregate at
        // a time, its best, so that sizes do not swing.
        launch(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) {
          const int own = patch[i];
          target[i]     = static_cast<int>(i);
          if (bytes[own] <= measure.limit || own == i)
            return;
          std::int64_t inside = 0, most = -1;
          kernels::for_each_group(graph, i, patch, [&](const int p, const int weight) {
            if (p == own)
              inside = weight;
            else if (weight > most && bytes[p] + measure.own[i] + weight * measure.edge_bytes <= measure.limit)
            {
              most      = weight;
              target[i] = p;
            }
          });
          // 29 bits of gain; every patch that has room comes before a new one.
          constexpr std::int64_t bound = std::int64_t(1) << 28;
          const std::int64_t     gain  = (most > 0 ? most : 0) - inside;
          const std::int64_t     cut   = gain < -bound ? -bound : (gain >= bound ? bound - 1 : gain);
          kernels::atomic_max(offers + own, ranked((std::int64_t(most >= 0) << 30) | (cut + bound), i));
        });
        // A patch takes one aggregate at a time, the best that is offered to it.
        launch(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) {
          if (offers[i] != 0)
            kernels::atomic_max(accepted + target[aggregate_of(offers[i])], offers[i]);
        });
        launch(place, n, [=, n_moved = n_moved.data()] PATCHFEM_DEVICE(const std::int64_t i) {
          if (accepted[i] == 0)
            return;
          patch[aggregate_of(accepted[i])] = static_cast<int>(i);
          kernels::atomic_increment(n_moved);
        });
      } while (n_moved.read(0) > 0);

      launch(place, n, [=, flags = flags.data()] PATCHFEM_DEVICE(const std::int64_t i) { flags[i] = patch[i] == i; });
      patches.n_groups = n;
      keep(flags, patches);
    }

    /** Unites pairs of neighbouring patches that fit one until there are none; their bytes. */
    Array<std::int64_t> unite(const PatchBytes &measure, Groups &patches)
    {
      const Backend &place = patches.group.backend();
      while (true)
      {
        list_nodes(patches);
        GroupGraph patch_graph;
        build_group_graph(measure.graph, patches, patch_graph);
        Array<std::int64_t> sizes = measure_groups({measure.own, 0, measure.edge_bytes}, patches, patch_graph);

        const int           n = patches.n_groups;
        Array<int>          partners(place, n), kept(place, n), new_number(place, n);
        Array<std::int64_t> positions;
        int *const partner = partners.data(), *const flags = kept.data();
        // The neighbouring patch that a patch would unite with, or -1: of those with which it stays within the limit
        // the one it shares most edges with. Ties are broken by a hash of the pair, the same from both ends, so that
        // pairs that choose each other are found everywhere at once.
        launch(place, n,
               [=, graph = patch_graph.graph.view(), bytes = sizes.data()] PATCHFEM_DEVICE(const std::int64_t i) {
                 std::uint64_t best = 0;
                 int           with = -1;
                 for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
                 {
                   const std::int64_t j = graph.neighbours[e], weight = graph.weight(e);
                   if (bytes[i] + bytes[j] + weight * measure.edge_bytes > measure.limit)
                     continue;
                   const std::uint64_t low  = static_cast<std::uint64_t>(i < j ? i : j),
                                       high = static_cast<std::uint64_t>(i ^ j ^ low);
                   const std::uint64_t rank =
                       (static_cast<std::uint64_t>(weight) << 32) | (kernels::hash((high << 32) | low) >> 32);
                   if (with < 0 || rank > best)
                   {
                     best = rank;
                     with = static_cast<int>(j);
                   }
                 }
                 partner[i] = with;
               });
        // All stay but the later one of two that chose each other.
        launch(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) {
          const int p = partner[i];
          flags[i]    = !(p >= 0 && p < i && partner[p] == i);
        });
        const int n_left = static_cast<int>(scan(kept, positions));
        if (n_left == n)
          return sizes;
        launch(place, n,
               [=, positions = positions.data(), to = new_number.data()] PATCHFEM_DEVICE(const std::int64_t i) {
                 to[i] = static_cast<int>(positions[flags[i] ? i : partner[i]]);
               });
        renumber(new_number, patches.group);
        patches.n_groups = n_left;
      }
    }

    /** Smallest, largest and mean of the lengths of n segments. */
    Aggregation::Sizes sizes_of(const Array<int> &starts)
    {
      const int n = static_cast<int>(starts.size()) - 1;
      if (n == 0)
        return {};
      Array<int> sizes(starts.backend(), n);
      const auto largest = [&](const int sign, const int shift) {
        launch(starts.backend(), n,
               [=, offsets = starts.data(), to = sizes.data()] PATCHFEM_DEVICE(const std::int64_t i) {
                 to[i] = sign * (offsets[i + 1] - offsets[i]) + shift;
               });
        return maximum(sizes);
      };
      const int most = largest(1, 0);
      return {most - largest(-1, most), most, static_cast<double>(starts.read(n)) / n};
    }

    /** Edges between groups; without them, all. */
    std::int64_t cut(const Adjacency &adjacency, const int *group = nullptr)
    {
      const AdjacencyView graph = adjacency.view();
      Array<int>          counts(adjacency.backend(), graph.n_nodes);
      Array<std::int64_t> offsets;
      launch(adjacency.backend(), graph.n_nodes, [=, cut = counts.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        int sum = 0;
        for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
          if (group == nullptr || group[graph.neighbours[e]] != group[i])
            sum += graph.weight(e);
        cut[i] = sum;
      });
      return scan(counts, offsets) / 2;
    }

    /** Values that do not fit 32 bits become the largest number; returns their sum. */
    std::int64_t clamp(const Array<std::int64_t> &values, Array<int> &result)
    {
      Array<std::int64_t> sums;
      result.reinit(values.backend(), values.size());
      launch(values.backend(), values.size(),
             [from = values.data(), to = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               to[i] = static_cast<int>(from[i] < INT_MAX ? from[i] : INT_MAX);
             });
      return scan(result, sums);
    }

    /** From sums over aggregates that are there anyway: reads no edge between nodes again. */
    void count_edges(const GroupGraph &aggregates, Aggregation::Statistics &stats)
    {
      Array<int> inside;
      stats.cut_by_aggregates = cut(aggregates.graph);
      stats.n_edges           = clamp(aggregates.inside, inside) / 2 + stats.cut_by_aggregates;
    }
  } // namespace

  namespace graph_tools
  {
    template <>
    Adjacency between_groups(Here,
                             const Adjacency  &edges,
                             const Array<int> &offsets,
                             const Array<int> &nodes,
                             const Array<int> &group,
                             const int         n_values)
    {
      const kernels::TouchedGroups touched{edges.view(), offsets.data(), nodes.data(), group.data()};
      GroupGraph                   result;
      find_group_graph(edges.backend(), touched, static_cast<int>(offsets.size()) - 1, n_values, result);
      weigh_group_graph(touched, result);
      edges.backend().synchronize();
      return std::move(result.graph);
    }
  } // namespace graph_tools

  template <>
  void Aggregation::build(
      Here, const Graphs &graphs, const int block_size, const AdditionalData &data, const Array<std::int64_t> &weights)
  {
    const auto &[pattern, all, strong, across] = graphs;
    const Backend &place                       = pattern.backend();
    const int recentrings = data.recentrings == AdditionalData::automatic ? (block_size > 1 ? 1 : 0) : data.recentrings;

    const auto take = [&](Groups &groups, Adjacency &graph) {
      stats.n_isolated          = stats.n_nodes - groups.offsets.read(groups.n_groups);
      aggregate_starts          = std::move(groups.offsets);
      node_aggregates           = std::move(groups.group);
      nodes_by_aggregate        = std::move(groups.nodes);
      graph_of_aggregates       = std::move(graph);
      stats.nodes_per_aggregate = sizes_of(aggregate_starts);
      stats.ratio               = stats.nodes_per_aggregate.mean;
    };

    Groups     aggregates, patches;
    GroupGraph joint_graph, pattern_graph, patch_graph;
    partition(place, strong.view(), all.view(), across != nullptr ? across->view() : AdjacencyView(),
              data.aggregate_distance, recentrings, false, {weights.empty() ? nullptr : weights.data(), 1, 0},
              std::int64_t(data.min_aggregate_size) * (weights.empty() ? 1 : whole_node), aggregates, joint_graph);
    stats              = Statistics();
    stats.n_nodes      = pattern.n_nodes();
    stats.n_aggregates = aggregates.n_groups;
    if (!data.patches)
    {
      for (Array<int> *array : {&aggregate_patches, &patch_aggregate_starts, &patch_node_starts})
        array->reinit(place, 0);
      if (stats.n_aggregates > 0)
        count_edges(joint_graph, stats);
      take(aggregates, joint_graph.graph);
      place.synchronize();
      return;
    }
    // What a matrix stores does not depend on the weights that its graph may have.
    const bool same = &pattern == &all && pattern.weights().empty();
    if (!same)
    {
      AdjacencyView blocks = pattern.view();
      blocks.weights       = nullptr;
      build_group_graph(blocks, aggregates, pattern_graph);
    }
    const GroupGraph &graph        = same ? joint_graph : pattern_graph;
    const int         n_aggregates = aggregates.n_groups;

    const std::int64_t block_bytes = kernels::patch_block_bytes(data.patch_storage, block_size, data.bytes_per_value);
    const std::int64_t edge_bytes  = kernels::patch_pair_bytes(data.patch_storage, block_size, data.bytes_per_value),
                       limit       = static_cast<std::int64_t>(data.patch_bytes);
    const Array<std::int64_t> own  = measure_groups({nullptr, block_bytes, edge_bytes}, aggregates, graph);
    Array<std::int64_t>       bytes;
    const PatchBytes          measure{graph.graph.view(), own.data(), edge_bytes, limit};
    const auto                least = static_cast<std::int64_t>(data.min_patch_share * static_cast<double>(limit));
    partition(place, graph.graph.view(), graph.graph.view(), AdjacencyView(), data.patch_distance, 0, true,
              {own.data(), 0, edge_bytes}, std::max<std::int64_t>(least, 1), patches, patch_graph);
    if (n_aggregates > 0)
    {
      exchange(measure, patches);
      bytes = unite(measure, patches);
    }

    // Aggregates by patch, then nodes by aggregate.
    aggregate_patches = gather(patches.nodes, patches.group);
    Groups renumbered;
    renumbered.n_groups = n_aggregates;
    renumbered.group    = inverse_of(patches.nodes);
    renumber(renumbered.group, aggregates.group);
    list_nodes(aggregates);
    list_nodes(renumbered);
    GroupGraph renumbered_graph;
    build_group_graph(joint_graph.graph.view(), renumbered, renumbered_graph);

    stats.n_patches        = patches.n_groups;
    patch_aggregate_starts = std::move(patches.offsets);
    take(aggregates, renumbered_graph.graph);
    patch_node_starts = gather(patch_aggregate_starts, aggregate_starts);

    if (n_aggregates > 0)
    {
      stats.nodes_per_patch      = sizes_of(patch_node_starts);
      stats.aggregates_per_patch = sizes_of(patch_aggregate_starts);

      Array<int> patch_bytes;
      stats.mean_patch_bytes    = static_cast<double>(clamp(bytes, patch_bytes)) / stats.n_patches;
      stats.largest_patch_bytes = maximum(patch_bytes);
      count_edges(graph, stats);
      stats.cut_by_patches = cut(graph.graph, patches.group.data());
    }
    place.synchronize();
  }
} // namespace PatchFEM
