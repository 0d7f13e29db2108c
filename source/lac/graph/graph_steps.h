// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "independent_sets.h"
#include "kernels/diagonalise.h"

#include "kernels/matrix_rows.h"

#include <cmath>

/** @file The steps (see launch.h) of graph_tools.h. */
namespace PatchFEM::graph_tools
{
  /**
   * Which blocks of a matrix are edges: those between two rows that couple, of owned columns, and with threshold > 0
   * those with |A_ij| > threshold sqrt(|A_ii| |A_jj|) in Frobenius norms. Of A_ij and A_ji the larger one counts, so
   * that rounding does not make the graph unsymmetric; and blocks within 1e-6 of the threshold count as weak, so that
   * on a regular mesh, where many blocks equal it, rounding does not decide.
   */
  template <typename Rows>
  struct EdgeCriterion
  {
    Rows          rows;
    const int    *coupled;   ///< [row]
    const double *norms;     ///< [row], of diagonal blocks; nullptr if threshold is 0
    double        threshold; ///< theta

    PATCHFEM_INLINE bool operator()(const int i, const int j) const
    {
      // Without branches, as far as it goes: to count takes half as long.
      const bool inside = j < rows.n_rows(), couple = (j != i) & inside & (coupled[inside ? j : i] != 0);
      if (threshold == 0. || !couple)
        return couple;
      const double a = rows.squared_norm(i, j), b = rows.squared_norm(j, i);
      return (a > b ? a : b) > threshold * threshold * (1. + 1e-6) * (norms[i] * norms[j]);
    }
  };

  /** Which edges are short: d_ij <= factor max(reach_i, reach_j). */
  struct ShortEdges
  {
    NodePoints    at;
    const double *reach;  ///< [node], squared
    double        factor; ///< squared

    PATCHFEM_INLINE bool operator()(const std::int64_t i, const int j) const
    {
      return at.squared_distance(i, j) <= factor * (reach[i] > reach[j] ? reach[i] : reach[j]);
    }
  };

  namespace
  {
    /// Blocks that equal a threshold, as many of a regular mesh do, are below it however they are rounded.
    constexpr double no_tie = 1. + 1e-6;

    /// How many times as near the nearest neighbours of a node's neighbours are, for it to wait: between the factor 2
    /// of cells that are refined once, and that of cells stretched enough to matter; 2.5 to 4 do alike.
    constexpr double reach_jump = 3.;

    /// Of how many rows one is looked at to see whether there is something of which there would be many.
    constexpr int one_of = 8;

    /**
     * Whether @p is(row) for any of @p n rows; of many only for one in eight, in groups of neighbours that share lines of
     * memory: of 65,536 rows 512 groups, which miss what is in every twentieth once in 1e11 times.
     */
    template <typename Is>
    bool any_of_some(const Backend &place, const int n, const Is &is)
    {
      constexpr int neighbours = 16;
      const int     step       = n < 1 << 16 ? 1 : one_of;
      Array<int>    found(place, 1);
      found.set_zero();
      launch(place, std::int64_t(n / (neighbours * step) + 1) * neighbours,
             [=, found = found.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               const int group = static_cast<int>(i) / neighbours;
               const int row   = (group * step + static_cast<int>(kernels::hash(group) % step)) * neighbours +
                               static_cast<int>(i) % neighbours;
               if (row < n && is(row))
                 raise_flag(found);
             });
      return found.read(0) != 0;
    }

    /** The graph of @p n nodes with the edges that visit(node, keep) keeps by keep(neighbour, weight), twice the same. */
    template <typename Visit>
    Adjacency kept(const Backend &place, const int n, const Visit &visit)
    {
      Array<int>          counts(place, n);
      Array<std::int64_t> offsets;
      launch(place, n, [=, counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        int n_kept = 0;
        visit(i, [&](int, int) { ++n_kept; });
        counts[i] = n_kept;
      });
      const std::int64_t n_edges = scan(counts, offsets);
      Array<int>         neighbours(place, n_edges), weights(place, n_edges);
      launch(place, n,
             [=, offsets = offsets.data(), neighbours = neighbours.data(),
              weights = weights.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               std::int64_t out = offsets[i];
               visit(i, [&](const int neighbour, const int weight) {
                 neighbours[out] = neighbour;
                 weights[out++]  = weight;
               });
             });
      place.synchronize();
      Adjacency result;
      result.reinit(std::move(offsets), std::move(neighbours), std::move(weights));
      return result;
    }
  } // namespace

#if !defined(__CUDACC__)
  namespace
  {
    /**
     * On the host: the graph of all owned columns of rows that couple, in one sweep over them. Returns false where one of
     * these columns is of a row that does not, or a row lacks its diagonal.
     */
    template <typename Number>
    bool read_all(const Backend                            &place,
                  const kernels::SlicedEllpackRows<Number> &rows,
                  const Array<int>                         &coupled,
                  Adjacency                                &result)
    {
      const int  n = rows.n_rows();
      Array<int> counts(place, n), found(place, 1); // such a row
      found.set_zero();
      launch(place, n, [rows, coupled = coupled.data(), counts = counts.data()](const std::int64_t i) {
        counts[i] = coupled[i] ? rows.n_others(static_cast<int>(i)) : 0;
      });
      Array<std::int64_t> offsets;
      Array<int>          neighbours(place, scan(counts, offsets));
      launch(place, n,
             [rows, coupled = coupled.data(), offsets = offsets.data(), neighbours = neighbours.data(),
              found = found.data()](const std::int64_t i) {
               const int  row = static_cast<int>(i), n_others = static_cast<int>(offsets[i + 1] - offsets[i]);
               const int *columns = rows.A.columns + rows.A.block_index(row, 0);
               int *const out     = neighbours + offsets[i];
               int        all = 1, n_before = 0;
               for (int k = 0; k < n_others; ++k, columns += rows.A.slice_height)
               {
                 const int column = columns[0], next = columns[rows.A.slice_height];
                 out[k] = column < row ? column : next; // without the diagonal
                 n_before += column < row;
                 all &= coupled[out[k]];
               }
               if (coupled[row] && (all == 0 || rows.A.column(row, n_before) != row))
                 raise_flag(found);
             });
      if (found.read(0) != 0)
        return false;
      result.reinit(std::move(offsets), std::move(neighbours));
      return true;
    }

    template <typename Rows>
    bool read_all(const Backend &, const Rows &, const Array<int> &, Adjacency &)
    {
      return false;
    }
  } // namespace
#endif

  template <typename Rows, typename Where>
  Adjacency read_rows(Where, const Backend &place, const Rows &rows, const double threshold)
  {
    const int  n = rows.n_rows();
    Array<int> coupled(place, n);
    launch(place, n, [rows, coupled = coupled.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      coupled[i] = rows.couples(static_cast<int>(i));
    });
    Adjacency result;
#if !defined(__CUDACC__)
    if (threshold == 0. && read_all(place, rows, coupled, result))
      return result;
#endif
    Array<int>    counts(place, n);
    Array<double> norms(place, threshold > 0. ? n : 0);
    if (threshold > 0.)
      launch(place, n, [rows, norms = norms.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        norms[i] = std::sqrt(rows.squared_norm(static_cast<int>(i), static_cast<int>(i)));
      });

    const EdgeCriterion<Rows> is_edge{rows, coupled.data(), norms.data(), threshold};
    launch(place, n, [is_edge, counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      const int row     = static_cast<int>(i);
      int       n_edges = 0;
      if (is_edge.coupled[row])
        is_edge.rows.for_each_column(row, [&](const int column) { n_edges += is_edge(row, column); });
      counts[row] = n_edges;
    });
    Array<std::int64_t> offsets;
    Array<int>          neighbours(place, scan(counts, offsets));
    launch(place, n,
           [is_edge, offsets = offsets.data(), neighbours = neighbours.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const int row = static_cast<int>(i);
             int      *out = neighbours + offsets[i];
             if (is_edge.coupled[row])
               is_edge.rows.for_each_column(row, [&](const int column) {
                 if (is_edge(row, column))
                   *out++ = column;
               });
           });
    place.synchronize();
    result.reinit(std::move(offsets), std::move(neighbours));
    return result;
  }

  template <typename Number, typename Where>
  Array<int> coupled_rows(Where, const SlicedEllpackMatrix<Number> &A)
  {
    const kernels::SlicedEllpackRows<Number> rows{A.view()};
    Array<int>                               result(A.backend(), rows.n_rows());
    launch(A.backend(), rows.n_rows(), [rows, coupled = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      coupled[i] = rows.couples(static_cast<int>(i));
    });
    return result;
  }

  template <typename Number, typename Where>
  Array<double> diagonal_norms(Where, const SlicedEllpackMatrix<Number> &A)
  {
    const kernels::SlicedEllpackRows<Number> rows{A.view()};
    Array<double>                            result(A.backend(), rows.n_rows());
    launch(A.backend(), rows.n_rows(), [rows, norms = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      norms[i] = std::sqrt(rows.squared_norm(static_cast<int>(i), static_cast<int>(i)));
    });
    return result;
  }

  template <typename Number, typename Where>
  Adjacency edges_across(Where,
                         const SlicedEllpackMatrix<Number> &A,
                         const Array<int>                  &coupled,
                         const Array<double>               &norms,
                         const double                       threshold)
  {
    return kept(A.backend(), A.n_rows() / A.block_rows(),
                [rows = kernels::SlicedEllpackRows<Number>{A.view()}, coupled = coupled.data(), norms = norms.data(),
                 square = threshold * threshold * no_tie,
                 first  = A.extents().n_interior] PATCHFEM_DEVICE(const std::int64_t i, const auto &keep) {
                  const int row = static_cast<int>(i);
                  if (row < first) // reads no ghost
                    return;
                  for (int k = rows.A.lower_bound(row, rows.A.n_rows); coupled[i] && k < rows.A.row_lengths[row]; ++k)
                  {
                    const int j = rows.A.column(row, k);
                    if (coupled[j] && (square == 0. || rows.squared_norm(row, j) > square * (norms[i] * norms[j])))
                      keep(j, 1);
                  }
                });
  }

  template <>
  int n_cut(Here, const Adjacency &own, const Adjacency &across)
  {
    if (own.n_nodes() == 0)
      return 0;
    Array<int>          counts(own.backend(), own.n_nodes());
    Array<std::int64_t> sums;
    launch(own.backend(), own.n_nodes(),
           [inside = own.view(), outside = across.view(), counts = counts.data()] PATCHFEM_DEVICE(
               const std::int64_t i) { counts[i] = inside.is_isolated(i) && !outside.is_isolated(i); });
    return static_cast<int>(scan(counts, sums));
  }

  /** Of the edges of a node. */
  struct NearestNeighbour
  {
    AdjacencyView inside, outside; ///< the second without offsets if there is none
    NodePoints    at;
    double        factor; ///< squared

    /** The squared length of the shortest; whether most are longer by the factor. */
    PATCHFEM_INLINE bool operator()(const std::int64_t i, double &nearest) const
    {
      const auto visit = [&](const auto &use) { // use(squared length of an edge)
        for (std::int64_t e = inside.offsets[i]; e < inside.offsets[i + 1]; ++e)
          use(at.squared_distance(i, inside.neighbours[e]));
        if (outside.offsets != nullptr)
          for (std::int64_t e = outside.offsets[i]; e < outside.offsets[i + 1]; ++e)
            use(at.squared_distance(i, outside.neighbours[e]));
      };
      double farthest = 0.;
      int    n = 0, n_far = 0;
      nearest = 0.;
      visit([&](const double d) {
        nearest  = n++ == 0 || d < nearest ? d : nearest;
        farthest = d > farthest ? d : farthest;
      });
      if (farthest > factor * nearest)
        visit([&](const double d) { n_far += d > factor * nearest; });
      return 2 * n_far > n;
    }
  };

  namespace
  {
    NearestNeighbour
    nearest_neighbour(const Adjacency &edges, const Adjacency *across, const NodePoints &at, const double length_factor)
    {
      return {edges.view(), across != nullptr ? across->view() : AdjacencyView(), at, length_factor * length_factor};
    }
  } // namespace

  template <>
  bool may_be_stretched(
      Here, const Adjacency &edges, const Adjacency *across, const NodePoints &at, const double length_factor)
  {
    return any_of_some(
        edges.backend(), edges.n_nodes(),
        [is_stretched = nearest_neighbour(edges, across, at, length_factor)] PATCHFEM_DEVICE(const int i) {
          double nearest;
          return is_stretched(i, nearest);
        });
  }

  template <>
  std::int64_t nearest_neighbours(Here,
                                  const Adjacency  &edges,
                                  const Adjacency  *across,
                                  const NodePoints &at,
                                  const double      length_factor,
                                  Array<double>    &least)
  {
    Array<int>          counts(edges.backend(), edges.n_nodes());
    Array<std::int64_t> offsets;
    least.reinit(edges.backend(), edges.n_nodes());
    launch(edges.backend(), edges.n_nodes(),
           [is_stretched = nearest_neighbour(edges, across, at, length_factor), least = least.data(),
            stretched = counts.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             double nearest;
             stretched[i] = is_stretched(i, nearest);
             least[i]     = nearest;
           });
    return scan(counts, offsets);
  }

  template <>
  Array<double> reaches(Here, const Adjacency &edges, const Adjacency *across, const Array<double> &nearest)
  {
    const AdjacencyView inside = edges.view(), outside = across != nullptr ? across->view() : AdjacencyView();
    const double        jump = reach_jump * reach_jump;
    Array<double>       result(edges.backend(), inside.n_nodes);
    launch(edges.backend(), inside.n_nodes,
           [=, least = nearest.data(), reach = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             double     smallest = least[i];
             const auto visit    = [&](const AdjacencyView &graph) {
               for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
               {
                 const double other = least[graph.neighbours[e]];
                 smallest           = other < smallest ? other : smallest;
               }
             };
             visit(inside);
             if (outside.offsets != nullptr)
               visit(outside);
             reach[i] = least[i] > jump * smallest ? smallest : least[i];
           });
    return result;
  }

  template <>
  Adjacency
  short_edges(Here, const Adjacency &edges, const NodePoints &at, const double factor, const Array<double> &reach)
  {
    return kept(edges.backend(), edges.n_nodes(),
                [graph = edges.view(), is_short = ShortEdges{at, reach.data(), factor * factor}] PATCHFEM_DEVICE(
                    const std::int64_t i, const auto &keep) {
                  for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
                    if (is_short(i, graph.neighbours[e]))
                      keep(graph.neighbours[e], graph.weight(e));
                });
  }

  template <>
  int maximal_independent_set(Here, const Adjacency &graph, const int k, Array<int> &members)
  {
    Array<std::uint64_t> tuples   = draw_tuples(graph.backend(), graph.view(), false);
    const int            n_rounds = decide_members(graph.view(), k, tuples);
    members                       = flag_members(tuples);
    graph.backend().synchronize();
    return n_rounds;
  }

  template <>
  Array<std::int64_t> line_weights(
      Here, const Adjacency &all_edges, const Adjacency &short_edges, const NodePoints &at, const LineSizes &sizes)
  {
    const AdjacencyView all = all_edges.view(), shorts = short_edges.view();
    Array<std::int64_t> weights(all_edges.backend(), all.n_nodes);
    launch(weights.backend(), all.n_nodes, [=, weights = weights.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      const auto has_two_at_most = [&](const int j) { return shorts.offsets[j + 1] - shorts.offsets[j] <= 2; };

      const std::int64_t begin = shorts.offsets[i], end = shorts.offsets[i + 1];
      int                size = sizes.most;
      if (end > begin && end - begin <= 2 && has_two_at_most(shorts.neighbours[begin]) &&
          has_two_at_most(shorts.neighbours[end - 1]))
      {
        double near = 0., far = 0.; // squared: the longer short edge, the shortest long one
        for (std::int64_t e = all.offsets[i]; e < all.offsets[i + 1]; ++e)
        {
          const int    j = all.neighbours[e];
          const double d = at.squared_distance(i, j);
          if (j == shorts.neighbours[begin] || j == shorts.neighbours[end - 1])
            near = d > near ? d : near;
          else
            far = far == 0. || d < far ? d : far;
        }
        constexpr double no_tie = 1. - 1e-6; // edges of round ratios, whose last bits differ, are not to decide
        size                    = sizes.least;
        while (size < sizes.most && (size + 0.5) * (size + 0.5) * near < no_tie * sizes.share * sizes.share * far)
          ++size;
      }
      weights[i] = (std::int64_t(whole_node) * sizes.most + size - 1) / size;
    });
    return weights;
  }

  template <>
  Array<double>
  find_centroids(Here, const Array<int> &group_offsets, const Array<int> &group_nodes, const NodePoints &at)
  {
    const std::size_t n = group_offsets.size() - 1;
    Array<double>     centroids(group_nodes.backend(), n * at.width);
    launch(centroids.backend(), n,
           [at, offsets = group_offsets.data(), nodes = group_nodes.data(),
            centroids = centroids.data()] PATCHFEM_DEVICE(const std::int64_t g) {
             for (int d = 0; d < at.width; ++d)
             {
               double sum = 0.;
               for (int k = offsets[g]; k < offsets[g + 1]; ++k)
                 sum += at.points[std::int64_t(nodes[k]) * at.width + d];
               centroids[g * at.width + d] = sum / (offsets[g + 1] - offsets[g]);
             }
           });
    centroids.backend().synchronize();
    return centroids;
  }

  namespace
  {
    /// Of an ellipsoid with axes 2 : 1, and of eigenvalues that are not to be negative by more than rounding.
    constexpr double least_anisotropy = 4., most_anisotropy = 1e8;
  } // namespace

  /** What the tensor of a row tells of directions, see with_metric(). */
  template <typename Number>
  struct RowTensor
  {
    static constexpr int isotropic = 0, anisotropic = 1, silent = 2;

    SlicedEllpackView<Number> A;
    NodePoints                at;

    /** Of an anisotropic row @p K has the eigenvalues, of which @p most is the largest, and @p V the eigenvectors. */
    PATCHFEM_INLINE int operator()(const int row, double (&K)[3][3], double (&V)[3][3], double &most) const
    {
      const int           dim        = at.dim;
      const double *const x          = at.points + std::int64_t(row) * at.width;
      double              sum_of_row = 0., size = 0., trace = 0.;
      double              first[3] = {}, first_size[3] = {};
      // function(coupling, vector to the neighbour)
      const auto for_neighbours = [&](const auto &function) {
        for (int k = 0; k < A.row_lengths[row]; ++k)
        {
          const double *const y        = at.points + std::int64_t(A.column(row, k)) * at.width;
          double              coupling = 0.;
          for (int c = 0; c < A.block_rows; ++c)
            coupling -= 0.5 * static_cast<double>(A.values[A.value_index(row, k, c, c)]);
          function(coupling, y[0] - x[0], dim > 1 ? y[1] - x[1] : 0., dim > 2 ? y[2] - x[2] : 0.);
        }
      };
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
          K[a][b] = 0.;
      for_neighbours([&](const double coupling, const double r_0, const double r_1, const double r_2) {
        const double r[3] = {r_0, r_1, r_2};
        sum_of_row += coupling;
        size += std::fabs(coupling);
        for (int a = 0; a < 3; ++a)
        {
          const double moment = coupling * r[a];
          first[a] += moment;
          first_size[a] += std::fabs(moment);
          for (int b = 0; b <= a; ++b)
            K[a][b] += moment * r[b];
        }
      });
      for (int a = 0; a < dim; ++a)
        trace += K[a][a];
      for (int a = 0; a < dim; ++a)
        for (int b = 0; b <= a; ++b)
          K[a][b] = K[b][a] = trace < 0. ? -K[a][b] : K[a][b];
      bool tells = std::fabs(sum_of_row) < 1e-2 * size;
      for (int a = 0; a < dim; ++a)
        tells = tells && std::fabs(first[a]) <= 0.1 * first_size[a];
      if (!tells)
        return silent;
      // Of most rows Gershgorin's discs tell that eigenvalues are alike.
      double from_disc = K[0][0], to_disc = 0.;
      for (int a = 0; a < dim; ++a)
      {
        double radius = 0.;
        for (int b = 0; b < dim; ++b)
          radius += a == b ? 0. : std::fabs(K[a][b]);
        from_disc = K[a][a] - radius < from_disc ? K[a][a] - radius : from_disc;
        to_disc   = K[a][a] + radius > to_disc ? K[a][a] + radius : to_disc;
      }
      if (!(to_disc > least_anisotropy * from_disc))
        return isotropic;
      kernels::diagonalise(dim, K, V);
      int    strong = 0;
      double least  = K[0][0];
      for (int a = 1; a < dim; ++a)
      {
        least  = K[a][a] < least ? K[a][a] : least;
        strong = K[a][a] > K[strong][strong] ? a : strong;
      }
      most                = K[strong][strong];
      double of_all_signs = 0.; // what K is along its strong direction if nothing cancels
      for_neighbours([&](const double coupling, const double r_0, const double r_1, const double r_2) {
        double along = V[0][strong] * r_0;
        along += dim > 1 ? V[1][strong] * r_1 : 0.;
        along += dim > 2 ? V[2][strong] * r_2 : 0.;
        of_all_signs += std::fabs(coupling) * along * along;
      });
      return most > 0.5 * of_all_signs && least > -1e-2 * most && most > least_anisotropy * least ? anisotropic
                                                                                                  : isotropic;
    }
  };

  template <typename Number, typename Where>
  bool may_be_anisotropic(Where, const SlicedEllpackMatrix<Number> &matrix, const NodePoints &at)
  {
    return any_of_some(matrix.backend(), matrix.n_rows() / matrix.block_rows(),
                       [tensor = RowTensor<Number>{matrix.view(), at}] PATCHFEM_DEVICE(const int row) {
                         double K[3][3], V[3][3], most;
                         return tensor(row, K, V, most) == RowTensor<Number>::anisotropic;
                       });
  }

  template <typename Number, typename Where>
  Array<double>
  with_metric(Where, const SlicedEllpackMatrix<Number> &matrix, const NodePoints &at, std::int64_t &n_anisotropic)
  {
    using Tensor          = RowTensor<Number>;
    const int           n = matrix.n_rows() / matrix.block_rows(), dim = at.dim, width = dim + dim * (dim + 1) / 2;
    Array<double>       result(matrix.backend(), std::size_t(n) * width);
    Array<int>          counts(matrix.backend(), n), flags(matrix.backend(), n);
    Array<std::int64_t> offsets;
    constexpr int       isotropic = Tensor::isotropic, anisotropic = Tensor::anisotropic, silent = Tensor::silent;
    launch(matrix.backend(), n,
           [=, tensor = Tensor{matrix.view(), at}, result = result.data(),
            counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             double        K[3][3], V[3][3], most = 0.;
             const double *x  = at.points + i * at.width;
             double *const to = result + i * width;
             counts[i]        = tensor(static_cast<int>(i), K, V, most);
             for (int a = 0; a < dim; ++a)
               to[a] = x[a];
             int m = dim;
             for (int a = 0; a < dim; ++a)
               for (int b = a; b < dim; ++b, ++m)
               {
                 double sum = a == b;
                 if (counts[i] == anisotropic)
                 {
                   sum = 0.;
                   for (int e = 0; e < dim; ++e)
                   {
                     const double floor = most / most_anisotropy;
                     sum += V[a][e] * V[b][e] * most / (K[e][e] > floor ? K[e][e] : floor);
                   }
                 }
                 to[m] = sum;
               }
           });
    // Silent nodes are like most of their neighbours.
    launch(matrix.backend(), n,
           [=, A = matrix.view(), result = result.data(), counts = counts.data(),
            flags = flags.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const int row     = static_cast<int>(i);
             double    sum[6]  = {};
             int       n_alike = 0, n_others = 0;
             for (int k = 0; counts[i] == silent && k < A.row_lengths[row]; ++k)
             {
               const int j = A.column(row, k);
               if (j >= n || counts[j] == silent)
                 continue;
               n_others += counts[j] == isotropic;
               n_alike += counts[j] == anisotropic;
               for (int m = dim; m < width && counts[j] == anisotropic; ++m)
                 sum[m - dim] += result[std::int64_t(j) * width + m];
             }
             const bool adopts = n_alike > n_others;
             for (int m = dim; m < width && adopts; ++m)
               result[i * width + m] = sum[m - dim] / n_alike;
             flags[i] = counts[i] == anisotropic || adopts;
           });
    n_anisotropic = scan(flags, offsets);
    return result;
  }

#define INSTANTIATE(Number)                                                                                          \
  template Array<double> with_metric(Here, const SlicedEllpackMatrix<Number> &, const NodePoints &, std::int64_t &); \
  template bool          may_be_anisotropic(Here, const SlicedEllpackMatrix<Number> &, const NodePoints &);          \
  template Array<int>    coupled_rows(Here, const SlicedEllpackMatrix<Number> &);                                    \
  template Array<double> diagonal_norms(Here, const SlicedEllpackMatrix<Number> &);                                  \
  template Adjacency     edges_across(Here, const SlicedEllpackMatrix<Number> &, const Array<int> &,                 \
                                      const Array<double> &, double);
  INSTANTIATE(float)
  INSTANTIATE(double)
#undef INSTANTIATE
#define INSTANTIATE(Rows) template Adjacency read_rows(Here, const Backend &, const Rows &, double)
  INSTANTIATE(kernels::PatternRows);
  INSTANTIATE(kernels::SlicedEllpackRows<float>);
  INSTANTIATE(kernels::SlicedEllpackRows<double>);
  INSTANTIATE(kernels::CSRRows<float>);
  INSTANTIATE(kernels::CSRRows<double>);
#undef INSTANTIATE
} // namespace PatchFEM::graph_tools
