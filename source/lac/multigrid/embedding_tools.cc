// SPDX-License-Identifier: LGPL-2.1-or-later
#include "embedding_tools.h"

#include "lac/graph/graph_tools.h"
#include "lac/graph/rank_edges.h"
#include "multigrid_tools.h"

#include <cmath>

namespace PatchFEM::multigrid
{
  namespace
  {
    void sum_over_ranks(const std::shared_ptr<const Partitioner> &nodes, double *values, const int n)
    {
      if (nodes != nullptr)
        nodes->communicator().sum(values, n);
    }
  } // namespace

  template <typename Number>
  std::shared_ptr<const LinearEmbedding> usable_embedding(const SlicedEllpackMatrix<Number> &A,
                                                          const NearNullSpace               &near_null,
                                                          const AMGParameters               &parameters,
                                                          const std::vector<Array<double>>  &null_vectors)
  {
    const auto &embedding = near_null.embedding();
    if (embedding == nullptr || parameters.smoother == AMGSmoother::patch || !parameters.has(AMGRule::p_coarsening))
      return nullptr;
    const auto &nodes       = A.partitioner();
    const int   n_c         = A.block_rows();
    const auto  with_ghosts = [&](const std::shared_ptr<const Partitioner> &ranks, const Array<double> &values,
                                 const int width, Array<double> &all) -> const Array<double>  &{
      if (ranks == nullptr)
        return values;
      all = rank_edges::with_ghosts(A.backend(), *ranks, values, width);
      return all;
    };
    double sums[2] = {double(embedding->n_vertices()), double(A.n_rows() > 0 && near_null.points().empty())};
    sum_over_ranks(nodes, sums, 2);
    if (sums[0] == 0. || sums[1] > 0.)
      return nullptr;
    for (const Array<double> &v : null_vectors) // a rotation is not of degree 1 on curved cells
    {
      double square = dispatch(A.backend(), [&](auto where) {
        Array<double>       all;
        const Array<double> w = at_nodes(where, embedding->nodes, n_c, v);
        return embedded_difference(where, *embedding, n_c, with_ghosts(embedding->partitioner, w, n_c, all), v)
            .norm_sqr();
      });
      sum_over_ranks(nodes, &square, 1);
      if (!(std::sqrt(square) < 1e-6))
        return nullptr;
    }
    const int     dim           = near_null.dim();
    std::int64_t  n_anisotropic = 0; // which a smoother of points cannot leave to degree 1
    Array<double> here;
    const auto   &points = with_ghosts(nodes, near_null.points(), dim, here);
    dispatch(A.backend(), [&](auto where) {
      graph_tools::with_metric(where, A, {points.data(), dim, dim}, n_anisotropic);
    });
    double shares[2] = {double(n_anisotropic), double(embedding->pattern.n_rows)};
    sum_over_ranks(nodes, shares, 2);
    return shares[0] > graph_tools::least_stretched_share * shares[1] ? nullptr : embedding;
  }

  Array<double> restrict_to_vertices(const LinearEmbedding      &embedding,
                                     const NearNullSpace        &near_null,
                                     const int                   n_components,
                                     Array<double>              &modes,
                                     std::vector<Array<double>> &null_vectors)
  {
    const Backend place       = embedding.nodes.backend();
    const auto    at_vertices = [&](const int n_values, const Array<double> &values) {
      return dispatch(place, [&](auto where) { return at_nodes(where, embedding.nodes, n_values, values); });
    };
    const auto dot = [&](const Vector<double> &u, const Vector<double> &v) {
      double result = u.dot(v);
      sum_over_ranks(embedding.partitioner, &result, 1);
      return result;
    };
    for (auto v = null_vectors.begin(); v != null_vectors.end(); ++v)
    {
      Vector<double> w(place);
      w.array() = at_vertices(n_components, *v);
      for (auto other = null_vectors.begin(); other != v; ++other)
      {
        Vector<double> u(place);
        u.array().copy_from(place, *other);
        w.add(-dot(w, u), u);
      }
      w *= 1. / std::sqrt(dot(w, w));
      *v = std::move(w.array());
    }
    modes = at_vertices(n_components * near_null.n_modes(), modes);
    return at_vertices(near_null.dim(), near_null.points());
  }

  template std::shared_ptr<const LinearEmbedding> usable_embedding(const SlicedEllpackMatrix<float> &,
                                                                   const NearNullSpace &,
                                                                   const AMGParameters &,
                                                                   const std::vector<Array<double>> &);
  template std::shared_ptr<const LinearEmbedding> usable_embedding(const SlicedEllpackMatrix<double> &,
                                                                   const NearNullSpace &,
                                                                   const AMGParameters &,
                                                                   const std::vector<Array<double>> &);
} // namespace PatchFEM::multigrid
