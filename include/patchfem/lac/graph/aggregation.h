// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/patch_relaxation.h>
#include <patchfem/lac/graph/adjacency.h>

namespace PatchFEM
{
  /**
   * The bottom-up double partition of P3, section 5.2.1: the nodes of a matrix in aggregates, the coarse unknowns of
   * smoothed aggregation, and the aggregates in patches, the blocks of its relaxation.
   *
   * Aggregates: the members of a k-MIS are their roots; layer by layer every other node joins the aggregate it touches
   * most, the lowest of those that tie. Aggregates of vector problems then grow again, each from the node that touches
   * most of it, a step of Lloyd's iteration: a root may be near the edge of what grew around it. Aggregates that are
   * too small are dissolved, and their nodes join others; to keep that local one of two small neighbours stays, the
   * larger one. In the end an aggregate is connected, and either large enough or a whole component of the graph.
   *
   * Patches: the same with a 1-MIS in the graph of the aggregates, where sizes are bytes of the diagonal block A_kk as
   * the relaxation stores it (PatchMatrix): a block and a 16-bit column for each node and each of its neighbours. A
   * patch above the limit gives one aggregate after the other to the neighbour that has room for it and shares most
   * edges with it, or, if none has room, to a new patch. Last, neighbours that fit one patch are united. A patch is
   * above the limit only if it is one aggregate.
   *
   * Aggregates are numbered by patch, and nodes by aggregate; isolated nodes, which have no aggregate, come last.
   * Without patches aggregates are numbered in the order of their first roots. All of it runs on the back end, and is
   * the same on each and for any number of threads.
   */
  class Aggregation
  {
  public:
    /** What tells strong edges of a level where no threshold of entries does: see MISAggregation. */
    enum class Strength
    {
      automatic,
      distances,
      couplings
    };

    struct AdditionalData
    {
      static constexpr int automatic = -1;

      /// Whether patches are made. They take about as long as the aggregates, and only some smoothers use them.
      bool patches = true;
      /// k of the MIS whose members are the roots of aggregates.
      int aggregate_distance = 2;
      /// How often aggregates grow again from their centres. Once saves elasticity 4 % of the steps of conjugate
      /// gradients and Laplace none, twice saves no more. Automatic: once where nodes have several unknowns.
      int recentrings = automatic;
      /// k of the MIS among aggregates whose members are the roots of patches.
      int patch_distance = 1;
      /// Blocks with |A_ij| <= threshold sqrt(|A_ii| |A_jj|) do not make nodes neighbours; 0: every block does.
      double   strength_threshold = 0.;
      Strength strength           = Strength::automatic;
      /// Of CouplingAggregation, between 0 and 1.
      double coupling_threshold = 0.3;
      /// Factor of find_short_edges() where positions of nodes are known. On stretched cells it coarsens along short
      /// edges until cells are round; edges of cubes, at most 1.74, all stay. 0: every edge does.
      double distance_factor = 2.;
      /// Aggregates of fewer nodes are dissolved.
      int min_aggregate_size = 9;
      /// Most bytes of fast memory for A_kk, without padding: two or three patches share the 227 KiB of an H200's
      /// multiprocessor, vectors included (P3: 48 KiB). The same on every back end, so that all build one hierarchy.
      std::size_t patch_bytes = 65536;
      /// Patches with an A_kk of less than this share of patch_bytes are dissolved before the exchange.
      double min_patch_share = 0.25;
      /// Bytes of a value in A_kk. MISAggregation knows it from the matrix.
      int bytes_per_value = 4;
      /// What is stored of A_kk. MISAggregation is told by the hierarchy.
      PatchStorage patch_storage = PatchStorage::both;
    };

    struct Sizes
    {
      int    minimum = 0, maximum = 0;
      double mean = 0.;
    };

    /**
     * Without patches what is about them stays 0. Edges are those between nodes that have an aggregate, in the pattern
     * if there are patches and else in the graph that aggregates grow in; on coarse levels of MISAggregation each of
     * those counts as many as those of the finest level between its two ends.
     */
    struct Statistics
    {
      int          n_nodes = 0, n_isolated = 0, n_aggregates = 0, n_patches = 0;
      Sizes        nodes_per_aggregate, nodes_per_patch, aggregates_per_patch;
      int          largest_patch_bytes = 0; ///< of A_kk
      double       mean_patch_bytes    = 0.;
      double       ratio               = 0.; ///< nodes that are not isolated per aggregate
      std::int64_t n_edges             = 0;
      std::int64_t cut_by_aggregates   = 0; ///< those between aggregates
      std::int64_t cut_by_patches      = 0; ///< those between patches
    };

    /** From a SlicedEllpackMatrix or CSRMatrix of floats or doubles. Throws Error for parameters out of range. */
    template <typename Matrix>
    void reinit(const Matrix &matrix, const AdditionalData &additional_data);
    template <typename Matrix>
    void reinit(const Matrix &matrix)
    {
      reinit(matrix, AdditionalData());
    }

    /** Of the same nodes. On coarse levels, where A is wider, P3 takes the last level's aggregate graph for @p all. */
    struct Graphs
    {
      const Adjacency &pattern;          ///< which blocks a matrix has and so what patches take
      const Adjacency &all;              ///< what aggregate_graph() is made of; nodes isolated there have no aggregate
      const Adjacency &strong;           ///< those edges of it along which aggregates grow
      const Adjacency *across = nullptr; ///< to nodes of other ranks: a node that has such is not isolated
    };

    /** With @p weights [node] aggregates are large enough at a sum of min_aggregate_size graph_tools::whole_node. */
    void reinit(const Graphs              &graphs,
                int                        block_size,
                const AdditionalData      &additional_data,
                const Array<std::int64_t> &weights = {});

    const Backend &backend() const { return node_aggregates.backend(); }
    int            n_nodes() const { return static_cast<int>(node_aggregates.size()); }
    int            n_aggregates() const { return stats.n_aggregates; }
    int            n_patches() const { return stats.n_patches; }

    const Array<int> &aggregate_of_node() const { return node_aggregates; }  ///< [node], -1 for isolated nodes
    const Array<int> &aggregate_offsets() const { return aggregate_starts; } ///< [aggregate + 1]

    /** Nodes by aggregate, ascending in each, isolated ones last: the order by patch and aggregate; [node]. */
    const Array<int> &permutation() const { return nodes_by_aggregate; }

    /** [aggregate], ascending; empty without patches, as are the next two. */
    const Array<int> &patch_of_aggregate() const { return aggregate_patches; }

    /** [patch + 1]: the first aggregate of each patch, and the first of its nodes in permutation(). */
    const Array<int> &patch_aggregate_offsets() const { return patch_aggregate_starts; }
    const Array<int> &patch_offsets() const { return patch_node_starts; }

    /** The graph of the aggregates in that of the nodes (@p all); edges weigh what those between their nodes do. */
    const Adjacency &aggregate_graph() const { return graph_of_aggregates; }

    const Statistics &statistics() const { return stats; }

  private:
    template <typename Where>
    void build(Where, const Graphs &graphs, int block_size, const AdditionalData &, const Array<std::int64_t> &weights);

    Array<int> node_aggregates, aggregate_starts, nodes_by_aggregate, aggregate_patches, patch_aggregate_starts,
        patch_node_starts;
    Adjacency  graph_of_aggregates;
    Statistics stats;
  };
} // namespace PatchFEM
