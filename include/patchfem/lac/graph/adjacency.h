// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/array.h>
#include <patchfem/kernels/matrix_views.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

namespace PatchFEM
{
  /**
   * The graph of the nodes (block rows) of a matrix, on its back end. Neighbours share a block of the pattern, which
   * has to be symmetric. A row that holds only its diagonal or, where values are known, only zeros beside it, such as
   * that of a Dirichlet node, has no neighbours: neither it nor its column makes edges.
   */
  class Adjacency
  {
  public:
    /** From a pattern, whose arrays are memory of @p backend. Columns from n_rows on, of ghosts, are left out. */
    void reinit(const Backend &backend, const SparsityView &pattern);

    /**
     * From a matrix. With @p threshold = 0 every block of the pattern is an edge, so that the graph only depends on the
     * mesh; with a larger one blocks must satisfy |A_ij| > threshold sqrt(|A_ii| |A_jj|) in Frobenius norms (Vanek,
     * Mandel, Brezina, Computing 56, 1996, section 5.1, for scalars). The blocks of a CSRMatrix are those it was given
     * at reinit(). Throws Error for a negative threshold or blocks that are not square.
     */
    template <typename Number>
    void reinit(const SlicedEllpackMatrix<Number> &matrix, double threshold = 0.);
    template <typename Number>
    void reinit(const CSRMatrix<Number> &matrix, double threshold = 0.);

    /** From arrays of one back end, in the form of AdjacencyView; without @p weights all edges weigh 1. */
    void reinit(Array<std::int64_t> &&offsets, Array<int> &&neighbours, Array<int> &&weights = Array<int>());

    /** Weighs the edges: @p weights is like neighbours(). */
    void set_weights(Array<int> &&weights);

    const Backend &backend() const { return node_offsets.backend(); }
    int            n_nodes() const { return static_cast<int>(node_offsets.size()) - 1; }
    std::int64_t   n_ends() const { return static_cast<std::int64_t>(node_neighbours.size()); }
    std::int64_t   n_edges() const { return n_ends() / 2; } ///< of a graph that has each from both ends
    std::size_t    memory_consumption() const
    {
      return memory_consumption_of(node_offsets, node_neighbours, edge_weights);
    }

    const Array<std::int64_t> &offsets() const { return node_offsets; }       ///< [node + 1]
    const Array<int>          &neighbours() const { return node_neighbours; } ///< ascending for each node
    const Array<int>          &weights() const { return edge_weights; }       ///< like neighbours, or empty

    AdjacencyView view() const
    {
      return {n_nodes(), node_offsets.data(), node_neighbours.data(),
              edge_weights.empty() ? nullptr : edge_weights.data()};
    }

  private:
    Array<std::int64_t> node_offsets;
    Array<int>          node_neighbours, edge_weights;
  };

  /**
   * The short edges of @p graph, with their weights: d_ij <= @p factor max(reach_i, reach_j), d the distance of nodes
   * at @p points, [node][dim], and reach that to the nearest neighbour, or less at ends of lines. Entries of a matrix
   * may tell nothing of the shape of stretched cells, as of needles of trilinear hexahedra; positions always do. Behind
   * each position may stand the upper triangle of the metric M of distances, d_ij^2 = d^T (M_i + M_j) / 2 d.
   *
   * Returns false, and leaves @p result alone, if these are all edges, or if less than 5 % of the nodes have most of
   * their neighbours farther away than @p factor times the nearest: cells of random shape leave no edges out.
   */
  bool find_short_edges(const Adjacency &graph, int dim, const Array<double> &points, double factor, Adjacency &result);

  /**
   * A k-MIS: a maximal set of nodes of which no two are joined by a path of @p k edges or fewer. members[node] is 1 in
   * the set and 0 outside; nodes without neighbours are outside. Random priorities spread over @p k hops, and a node
   * that comes first within reach joins, until all are decided (Bell, Dalton, Olson, SIAM J. Sci. Comput. 34, 2012,
   * section 4.2). The priorities are a hash of the node's number, so the set is the same on every back end for any
   * number of threads. Returns the number of rounds. Throws Error for k < 1.
   */
  int maximal_independent_set(const Adjacency &graph, int k, Array<int> &members);
} // namespace PatchFEM
