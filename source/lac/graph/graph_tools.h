// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_lac_graph_graph_tools_h
#define patchfem_source_lac_graph_graph_tools_h

#include "kernels/run.h"

#include "kernels/ordering.h"
#include "kernels/partition_bodies.h"
#include <patchfem/kernels/primitives.h>
#include <patchfem/lac/graph/adjacency.h>

namespace PatchFEM
{
  namespace graph_tools
  {
    /** offsets[i] = sum of counts[0..i); returns the sum of all. */
    inline std::int64_t scan(const Array<int> &counts, Array<std::int64_t> &offsets)
    {
      offsets.reinit(counts.backend(), counts.size() + 1);
      dispatch(counts.backend(), [&](auto where) {
        kernels::exclusive_scan(where, static_cast<std::int64_t>(counts.size()), counts.data(), offsets.data());
      });
      return offsets.read(counts.size());
    }

    inline int maximum(const Array<int> &values)
    {
      int result = 0;
      dispatch(values.backend(), [&](auto where) {
        result = kernels::maximum(where, static_cast<std::int64_t>(values.size()), values.data());
      });
      return result;
    }

    /** Decides all undecided @p tuples (see kernels::tuple), so that members are more than @p k hops apart. */
    int decide_members(const AdjacencyView &graph, int k, Array<std::uint64_t> &tuples);

    /** Groups of the nodes of a graph. */
    struct Groups
    {
      int        n_groups = 0;
      Array<int> group;   ///< [node], or -1
      Array<int> offsets; ///< [group + 1], into nodes
      Array<int> nodes;   ///< [node]: by group, ascending in each; then those without a group

      /** Sets offsets and nodes from group and n_groups. */
      void list_nodes();

      /** Numbers the groups whose flag is 1 anew, in their order, and takes the others' nodes out. */
      void keep(const Array<int> &flags);
    };

    /** The graph of groups: edges between groups weigh what the edges between their nodes weigh together. */
    struct GroupGraph
    {
      Adjacency           graph;
      Array<std::int64_t> inside; ///< [group], weight of the edges inside, each from both ends
    };

    /** Which groups touch which: the graph without weights, and nothing inside. */
    void find_group_graph(const AdjacencyView &graph, const Groups &groups, GroupGraph &result);

    /** The weights of that graph, and what is inside of groups. */
    void weigh_group_graph(const AdjacencyView &graph, const Groups &groups, GroupGraph &result);

    /** Both. */
    void build_group_graph(const AdjacencyView &graph, const Groups &groups, GroupGraph &result);

    /** Sizes of groups. */
    void measure_groups(const kernels::SizeMeasure &measure,
                        const Groups               &groups,
                        const GroupGraph           &group_graph,
                        Array<std::int64_t>        &sizes);

    /**
     * P3, section 5.2: groups around the members of a k-MIS, grown again from their centres @p n_recentrings times; those
     * smaller than @p least are dissolved as long as their nodes touch others, so that components of @p graph that are
     * smaller are groups. @p result has its lists, @p group_graph its graph in @p all. Nodes that are isolated in @p all
     * become groups of one node if @p with_isolated, else they have none.
     */
    void partition(const Backend              &backend,
                   const AdjacencyView        &graph,
                   const AdjacencyView        &all,
                   int                         k,
                   int                         n_recentrings,
                   bool                        with_isolated,
                   const kernels::SizeMeasure &measure,
                   std::int64_t                least,
                   Groups                     &result,
                   GroupGraph                 &group_graph);
  } // namespace graph_tools
} // namespace PatchFEM

#endif
