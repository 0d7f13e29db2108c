// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "graph_tools.h"

#include "kernels/hash.h"
#include <patchfem/base/threads.h>

#include <algorithm>
#include <vector>

/** @file Maximal independent sets in graphs, for the steps (see launch.h) that need them. */
namespace PatchFEM::graph_tools
{
  /**
   * Status, priority and number of a node in one word while an independent set grows: the largest word within reach
   * tells first whether there is a member, and else which undecided node comes first.
   */
  namespace tuple
  {
    constexpr std::uint64_t outside = 0, undecided = 1, member = 2;
    constexpr int           priority_bits = 30;

    PATCHFEM_INLINE std::uint64_t make(const std::uint64_t status, const std::uint64_t priority, const int node)
    {
      return (status << 62) | ((priority & ((std::uint64_t(1) << priority_bits) - 1)) << 32) |
             static_cast<std::uint32_t>(node);
    }
    PATCHFEM_INLINE std::uint64_t status(const std::uint64_t word)
    {
      return word >> 62;
    }
  } // namespace tuple

  /** *flag = 1. Once it is, threads only read it, while a count of many would be fought for by all of them. */
  PATCHFEM_INLINE void raise_flag(int *flag)
  {
    if (kernels::atomic_load(flag) == 0)
      kernels::atomic_store(flag, 1);
  }

  namespace
  {
    /** Random priorities. Nodes that are isolated in @p all and, if given, in @p also stay outside unless wanted. */
    Array<std::uint64_t> draw_tuples(const Backend       &place,
                                     const AdjacencyView &all,
                                     const bool           with_isolated,
                                     const AdjacencyView &also = {})
    {
      Array<std::uint64_t> result(place, all.n_nodes);
      launch(place, all.n_nodes, [=, tuples = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        const bool out = all.is_isolated(i) && !with_isolated && (also.n_nodes == 0 || also.is_isolated(i));
        tuples[i]      = tuple::make(out ? tuple::outside : tuple::undecided, kernels::hash(i), static_cast<int>(i));
      });
      return result;
    }

#if !defined(__CUDACC__)
    /** Calls @p visit(node) for what @p hops edges from @p i reach, until it returns false; whether it never did. */
    template <typename Visit>
    bool all_within(const AdjacencyView &graph, const std::int64_t i, const int hops, const Visit &visit)
    {
      for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
        if (!visit(graph.neighbours[e]))
          return false;
      for (std::int64_t e = graph.offsets[i]; hops > 1 && e < graph.offsets[i + 1]; ++e)
        if (!all_within(graph, graph.neighbours[e], hops - 1, visit))
          return false;
      return true;
    }
#endif

    /**
     * Decides all undecided @p tuples, so that members are more than @p k hops apart: those that a greedy choice from the
     * largest word down would take, however they are found. Returns the number of rounds. Where neighbourhood is not
     * mutual, as in a graph without the rows of nodes that are decided, k has to be 1.
     */
    int decide_members(const AdjacencyView &graph, const int k, Array<std::uint64_t> &tuples)
    {
      const Backend       &place = tuples.backend();
      const std::int64_t   n     = graph.n_nodes;
      std::uint64_t *const own   = tuples.data();
#if defined(__CUDACC__)
      Array<std::uint64_t> reached(place, n * k);
      Array<int>           undecided(place, 1);
      std::uint64_t *const hops = reached.data();
      launch(place, n * k,
             [=] PATCHFEM_DEVICE(const std::int64_t i) { hops[i] = tuple::make(tuple::undecided, 0, 0); });
      for (int round = 1;; ++round)
      {
        // to[i] = largest of from[] over i and its neighbours. A result that is not undecided is final: a member within
        // reach stays one, and if all within reach are outside, so do they.
        const std::uint64_t *from = own;
        for (int hop = 0; hop < k; ++hop)
        {
          std::uint64_t *const to = hops + hop * n;
          launch(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) {
            if (tuple::status(to[i]) != tuple::undecided)
              return;
            std::uint64_t largest = from[i];
            for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
            {
              const std::uint64_t other = from[graph.neighbours[e]];
              largest                   = other > largest ? other : largest;
            }
            to[i] = largest;
          });
          from = to;
        }
        // An undecided node that comes first within reach becomes a member; one that a member reaches is outside.
        undecided.set_zero();
        launch(place, n, [=, undecided = undecided.data()] PATCHFEM_DEVICE(const std::int64_t i) {
          if (tuple::status(own[i]) != tuple::undecided)
            return;
          if (from[i] == own[i])
            own[i] ^= std::uint64_t(3) << 62; // undecided 01 becomes member 10
          else if (tuple::status(from[i]) == tuple::member)
            own[i] = tuple::make(tuple::outside, 0, static_cast<int>(i));
          else
            raise_flag(undecided);
        });
        // The first of all that are undecided joins in each round, so this ends.
        if (undecided.read(0) == 0)
          return round;
      }
#else
      // A node looks around until it meets one that comes before it, after few of 340 on a mesh of hexahedra, and waits
      // for that one; members, one in fifty, tell all whom they reach.
      struct Waiting
      {
        int node, before;
      };
      struct Share // of the nodes
      {
        std::vector<Waiting> waiting;
        std::vector<int>     members, outside; ///< new ones
      };
      int n_rounds = 0;
      launch(place, [&](Here) {
        std::vector<Share> shares(max_threads());
        const std::int64_t n_shares = shares.size();
        parallel_for(n_shares, [&](const std::int64_t s) {
          for (std::int64_t i = n * s / n_shares; i < n * (s + 1) / n_shares; ++i)
            if (tuple::status(own[i]) == tuple::undecided)
              shares[s].waiting.push_back({static_cast<int>(i), static_cast<int>(i)});
        });
        for (bool more = true; more; ++n_rounds)
        {
          parallel_for(n_shares, [&](const std::int64_t s) {
            Share      &share  = shares[s];
            std::size_t n_left = 0;
            for (Waiting next : share.waiting)
            {
              const std::uint64_t mine = own[next.node];
              if (tuple::status(mine) != tuple::undecided)
                continue;
              if (!(own[next.before] > mine) && all_within(graph, next.node, k, [&](const int j) {
                    next.before = j;
                    return !(own[j] > mine);
                  }))
                share.members.push_back(next.node);
              else if (tuple::status(own[next.before]) == tuple::member)
                share.outside.push_back(next.node);
              else
                share.waiting[n_left++] = next;
            }
            share.waiting.resize(n_left);
          });
          // Several may say of a node that it is outside; nobody else does of a member.
          parallel_for(n_shares, [&](const std::int64_t s) {
            const auto reject = [=](const std::int64_t i) {
              if (tuple::status(__atomic_load_n(own + i, __ATOMIC_RELAXED)) == tuple::undecided)
                __atomic_store_n(own + i, tuple::make(tuple::outside, 0, static_cast<int>(i)), __ATOMIC_RELAXED);
            };
            for (const int i : shares[s].outside)
              reject(i);
            for (const int i : shares[s].members)
            {
              own[i] ^= std::uint64_t(3) << 62; // undecided 01 becomes member 10
              all_within(graph, i, k, [&](const int j) {
                reject(j); // i itself is none of them any more
                return true;
              });
            }
            shares[s].members.clear();
            shares[s].outside.clear();
          });
          more = std::any_of(shares.begin(), shares.end(), [](const Share &share) { return !share.waiting.empty(); });
        }
      });
      return n_rounds;
#endif
    }

    /** [node], 1 for members, 0 for others. */
    Array<int> flag_members(const Array<std::uint64_t> &tuples)
    {
      Array<int> result(tuples.backend(), tuples.size());
      launch(tuples.backend(), tuples.size(),
             [tuples = tuples.data(), flags = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               flags[i] = tuple::status(tuples[i]) == tuple::member;
             });
      return result;
    }
  } // namespace
} // namespace PatchFEM::graph_tools
