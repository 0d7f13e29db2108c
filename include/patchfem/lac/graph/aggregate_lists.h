// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/graph/adjacency.h>
#include <patchfem/lac/multigrid/amg_parameters.h>

#include <memory>
#include <utility>
#include <vector>

namespace PatchFEM
{
  class CoarseNumbers;

  /** A partition of some of the nodes of a level into aggregates, each of which is a node of the next level. */
  class AggregateLists
  {
  public:
    AggregateLists() = default;

    /** From host memory: the aggregate of each node, -1 where none; every aggregate must have a node. */
    AggregateLists(const Backend &backend, const std::vector<int> &aggregate_of_node);

    /** From arrays of one back end, in the form of the functions below. */
    AggregateLists(Array<int> &&aggregate_of_node, Array<int> &&aggregate_offsets, Array<int> &&aggregate_nodes)
        : of_node(std::move(aggregate_of_node)), offsets(std::move(aggregate_offsets)),
          nodes(std::move(aggregate_nodes))
    {}

    /** [node], -1 where none. */
    const Array<int> &aggregate_of_node() const { return of_node; }

    /** The blocks of a relaxation: @p patch_nodes has each node of the level once, by patch, those without one last. */
    void set_patches(Array<int> &&patch_offsets, Array<int> &&patch_nodes)
    {
      offsets_of_patches = std::move(patch_offsets);
      nodes_of_patches   = std::move(patch_nodes);
    }

    bool has_patches() const { return !offsets_of_patches.empty(); }

    /** [patch + 1], and [node] by patch */
    const Array<int> &patch_offsets() const { return offsets_of_patches; }
    const Array<int> &patch_nodes() const { return nodes_of_patches; }

    /**
     * Of a level with stretched cells: along them alone aggregates grow and the prolongator is smoothed, along those
     * @p across to nodes of other ranks too.
     */
    void set_short_edges(Adjacency &&graph, Adjacency &&across = Adjacency())
    {
      edges        = std::move(graph);
      edges_across = std::move(across);
    }
    bool has_short_edges() const { return !edges.offsets().empty(); }

    /** Of a level whose short edges, if they are given as well, are the strong ones of a CouplingAggregation. */
    void set_by_couplings() { is_by_couplings = true; }
    bool by_couplings() const { return is_by_couplings; }

    const Adjacency &short_edges() const { return edges; }
    const Adjacency &short_edges_across() const { return edges_across; } ///< empty if there is one rank

    /** Of a level with stretched cells, whose prolongator is smoothed along all edges unless they are given as well. */
    void set_stretched() { is_stretched = true; }
    bool stretched() const { return is_stretched || (has_short_edges() && !is_by_couplings); }

    /**
     * Of several ranks whose aggregates know those of ghosts: their @p numbers on this rank, and of each ghost that of its
     * aggregate, -1 where none. Without them they are found when they are needed. On all ranks or on none.
     */
    void set_ghosts(std::shared_ptr<const CoarseNumbers> numbers, Array<int> &&aggregate_of_ghost)
    {
      numbers_of_ranks = std::move(numbers);
      of_ghost         = std::move(aggregate_of_ghost);
    }
    const CoarseNumbers *numbers() const { return numbers_of_ranks.get(); } ///< null without them
    const Array<int>    &aggregate_of_ghost() const { return of_ghost; }

    void                    set_facts(AggregationFacts facts) { known_facts = std::move(facts); }
    const AggregationFacts &facts() const { return known_facts; } ///< empty where nobody tells

    int n_aggregates() const { return offsets.empty() ? 0 : static_cast<int>(offsets.size()) - 1; }

    /** [aggregate + 1], and nodes by aggregate, ascending in each */
    const Array<int> &aggregate_offsets() const { return offsets; }
    const Array<int> &aggregate_nodes() const { return nodes; }

    std::size_t memory_consumption() const
    {
      return memory_consumption_of(edges, edges_across, of_node, of_ghost, offsets, nodes, offsets_of_patches,
                                   nodes_of_patches);
    }

  private:
    Array<int> of_node, of_ghost, offsets, nodes, offsets_of_patches, nodes_of_patches;
    Adjacency  edges, edges_across;
    bool       is_stretched = false, is_by_couplings = false;

    AggregationFacts known_facts;

    std::shared_ptr<const CoarseNumbers> numbers_of_ranks;
  };
} // namespace PatchFEM
