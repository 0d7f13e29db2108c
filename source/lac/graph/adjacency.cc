// SPDX-License-Identifier: LGPL-2.1-or-later
#include "graph_tools.h"
#include "kernels/matrix_rows.h"

namespace PatchFEM
{
  namespace
  {
    template <typename Rows>
    Adjacency read_rows(const Backend &backend, const Rows &rows, const double threshold)
    {
      return dispatch(backend, [&](auto where) { return graph_tools::read_rows(where, backend, rows, threshold); });
    }

    template <typename Matrix>
    void check(const Matrix &matrix, const double threshold)
    {
      require(matrix.block_rows() == matrix.block_columns() && matrix.n_rows() <= matrix.n_columns(),
              "The graph of a matrix needs square blocks and as many columns as rows.");
      require(threshold >= 0., "The strength threshold must not be negative, but it is ", std::to_string(threshold),
              "; 0 takes every neighbour.");
    }
  } // namespace

  void Adjacency::reinit(const Backend &backend, const SparsityView &pattern)
  {
    *this = read_rows(backend, kernels::PatternRows{pattern}, 0.);
  }

  template <typename Number>
  void Adjacency::reinit(const SlicedEllpackMatrix<Number> &matrix, const double threshold)
  {
    check(matrix, threshold);
    *this = read_rows(matrix.backend(), kernels::SlicedEllpackRows<Number>{matrix.view()}, threshold);
  }

  template <typename Number>
  void Adjacency::reinit(const CSRMatrix<Number> &matrix, const double threshold)
  {
    check(matrix, threshold);
    require(matrix.n_rows() % matrix.block_rows() == 0 && matrix.block_rows() <= kernels::max_block_size,
            "A matrix of ", matrix.n_rows(), " rows has no nodes of ", matrix.block_rows(), " unknowns.");
    *this = read_rows(matrix.backend(), kernels::CSRRows<Number>{matrix.view(), matrix.block_rows()}, threshold);
  }

  void Adjacency::reinit(Array<std::int64_t> &&offsets, Array<int> &&neighbours, Array<int> &&weights)
  {
    require(!offsets.empty() && (weights.empty() || weights.size() == neighbours.size()),
            "The arrays of a graph do not fit each other.");
    node_offsets    = std::move(offsets);
    node_neighbours = std::move(neighbours);
    edge_weights.release();
    edge_weights = std::move(weights);
  }

  void Adjacency::set_weights(Array<int> &&weights)
  {
    require(weights.size() == node_neighbours.size(), "The arrays of a graph do not fit each other.");
    edge_weights = std::move(weights);
  }

  template void Adjacency::reinit(const SlicedEllpackMatrix<float> &, double);
  template void Adjacency::reinit(const SlicedEllpackMatrix<double> &, double);
  template void Adjacency::reinit(const CSRMatrix<float> &, double);
  template void Adjacency::reinit(const CSRMatrix<double> &, double);

  bool find_short_edges(
      const Adjacency &graph, const int dim, const Array<double> &points, const double factor, Adjacency &result)
  {
    const int width = graph.n_nodes() > 0 ? static_cast<int>(points.size() / graph.n_nodes()) : dim;
    require(points.size() == std::size_t(graph.n_nodes()) * width && points.backend() == graph.backend() &&
                (width == dim || width == dim + dim * (dim + 1) / 2),
            "The positions of nodes do not fit the nodes of a graph.");
    return dispatch(graph.backend(), [&](auto where) {
      using namespace graph_tools;
      const NodePoints at{points.data(), dim, width};
      Array<double>    nearest;
      if (!may_be_stretched(where, graph, nullptr, at, factor) ||
          static_cast<double>(nearest_neighbours(where, graph, nullptr, at, factor, nearest)) <
              least_stretched_share * graph.n_nodes())
        return false;
      Adjacency shorts = short_edges(where, graph, at, factor, reaches(where, graph, nullptr, nearest));
      if (shorts.n_edges() == graph.n_edges())
        return false;
      result = std::move(shorts);
      return true;
    });
  }

  int maximal_independent_set(const Adjacency &graph, const int k, Array<int> &members)
  {
    require(k >= 1, "A maximal independent set needs a distance k of at least 1, not ", k, ".");
    return dispatch(graph.backend(),
                    [&](auto where) { return graph_tools::maximal_independent_set(where, graph, k, members); });
  }
} // namespace PatchFEM
