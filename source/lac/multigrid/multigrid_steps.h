// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "filtered_rows_steps.h"
#include "of_ranks.h"

#include "kernels/coarsening.h"
#include "kernels/dense_spd.h"
#include "kernels/list_by_key.h"
#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/polynomial.h>
#include <patchfem/lac/multigrid/dense_inverse.h>

#include <climits>

/** @file The steps (see launch.h) of multigrid_tools.h, of coarsening and of the inverse on the last level. */
namespace PatchFEM::multigrid
{
  using kernels::LanczosScalars;

  template <>
  void constant_modes(Here, const int n_c, Array<double> &modes)
  {
    launch(modes.backend(), modes.size(), [=, modes = modes.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      modes[i] = i / n_c % n_c == i % n_c ? 1. : 0.;
    });
  }

  template <>
  void rigid_body_modes(
      Here, const int dim, const Array<double> &points, const Communicator *const ranks, Array<double> &modes)
  {
    const Backend     &place   = points.backend();
    const std::int64_t n_nodes = points.size() / dim;
    const int          n_modes = dim == 2 ? 3 : 6;
    Array<double>      coordinate(place, n_nodes), one(place, n_nodes), sums(place, dim),
        partials(place, kernels::reduction::max_parts);
    for (int d = 0; d < dim; ++d)
    {
      launch(place, n_nodes,
             [=, points = points.data(), coordinate = coordinate.data(),
              one = one.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               coordinate[i] = points[i * dim + d];
               one[i]        = 1.;
             });
      launch(place, [&](const Here where) {
        kernels::dot(where, n_nodes, coordinate.data(), one.data(), partials.data(), sums.data() + d);
      });
    }
    if (ranks != nullptr)
    {
      std::vector<double> of_all = sums.to_vector();
      of_all.push_back(static_cast<double>(n_nodes));
      ranks->sum(of_all.data(), dim + 1);
      for (int d = 0; d < dim; ++d)
        of_all[d] *= static_cast<double>(n_nodes) / of_all[dim];
      sums.copy_from(of_all.data(), dim);
    }
    modes.reinit(place, points.size() * n_modes);
    launch(place, n_nodes,
           [=, points = points.data(), sums = sums.data(), modes = modes.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             double x[3];
             for (int d = 0; d < dim; ++d)
               x[d] = points[i * dim + d] - sums[d] / static_cast<double>(n_nodes);
             double *const out = modes + i * dim * n_modes;
             for (int e = 0; e < dim * n_modes; ++e)
               out[e] = 0.;
             for (int d = 0; d < dim; ++d)
               out[d * n_modes + d] = 1.;
             for (int r = 3 - n_modes / 2; r < 3; ++r) // in 2D about the third axis alone
             {
               const int a = (r + 1) % 3, b = (r + 2) % 3, mode = n_modes - 3 + r; // the plane that turns
               out[a * n_modes + mode] = -x[b];
               out[b * n_modes + mode] = x[a];
             }
           });
  }

  template <typename Number, typename Where>
  void mask_decoupled(Where, const SlicedEllpackMatrix<Number> &matrix, const int n_m, Array<double> &modes)
  {
    launch(matrix.backend(), matrix.n_rows(),
           [=, A = matrix.view(), modes = modes.data()] PATCHFEM_DEVICE(const std::int64_t unknown) {
             const int row = static_cast<int>(unknown / A.block_rows), a = static_cast<int>(unknown % A.block_rows);
             for (int k = 0; k < A.row_lengths[row]; ++k)
             {
               const bool diagonal = A.column(row, k) == row;
               for (int b = 0; b < A.block_columns; ++b)
                 if (!(diagonal && a == b) && A.values[A.value_index(row, k, a, b)] != Number(0))
                   return;
             }
             for (int m = 0; m < n_m; ++m)
               modes[unknown * n_m + m] = 0.;
           });
  }

  template <>
  Vector<double> restricted(Here,
                            const AggregateLists &aggregates,
                            const Array<double>  &tentative,
                            const int             n_c,
                            const int             n_m,
                            const bool            weights,
                            const Array<double>  &vector)
  {
    const Backend &place = tentative.backend();
    Vector<double> result(place, std::size_t(aggregates.n_aggregates()) * n_m);
    launch(place, result.size(),
           [=, offsets = aggregates.aggregate_offsets().data(), nodes = aggregates.aggregate_nodes().data(),
            Q = tentative.data(), v = vector.data(), w = result.data()] PATCHFEM_DEVICE(const std::int64_t index) {
             const int i = static_cast<int>(index / n_m), m = static_cast<int>(index % n_m);
             double    sum = 0.;
             for (int k = offsets[i]; k < offsets[i + 1]; ++k)
               for (int a = 0; a < n_c; ++a)
               {
                 const std::int64_t unknown = std::int64_t(nodes[k]) * n_c + a;
                 const double       q       = Q[unknown * n_m + m];
                 sum += (weights ? q * q : q) * v[unknown];
               }
             w[index] = sum;
           });
    return result;
  }

  template <>
  Array<double> at_nodes(Here, const Array<int> &nodes, const int n_values, const Array<double> &values)
  {
    Array<double> result(nodes.backend(), nodes.size() * n_values);
    launch(nodes.backend(), result.size(),
           [=, nodes = nodes.data(), from = values.data(), to = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             to[i] = from[std::int64_t(nodes[i / n_values]) * n_values + i % n_values];
           });
    return result;
  }

  template <>
  Vector<double> embedded_difference(
      Here, const LinearEmbedding &embedding, const int n_c, const Array<double> &coarse, const Array<double> &fine)
  {
    Vector<double> result(fine.backend(), std::size_t(embedding.pattern.n_rows) * n_c);
    launch(fine.backend(), result.size(),
           [=, P = embedding.pattern.view(), values = embedding.values.data(), w = coarse.data(), v = fine.data(),
            to = result.data()] PATCHFEM_DEVICE(const std::int64_t unknown) {
             const std::int64_t i = unknown / n_c, a = unknown % n_c, begin = P.row_offsets[i];
             const std::int64_t length = P.row_offsets[i + 1] - begin;
             double             sum    = -v[unknown];
             for (std::int64_t p = 0; p < length; ++p)
               for (int b = 0; b < n_c; ++b)
                 sum +=
                     values[(begin * n_c + a * length + p) * n_c + b] * w[std::int64_t(P.columns[begin + p]) * n_c + b];
             to[unknown] = sum;
           });
    return result;
  }

  template <typename Number, typename Where>
  bool couples(Where, const SlicedEllpackMatrix<Number> &A, const Array<double> &vector)
  {
    const Backend &place = A.backend();
    const int      n_c   = A.block_rows();
    Array<int>     n_coupled(place, 1);
    n_coupled.set_zero();
    launch(place, A.n_rows() / n_c,
           [=, lengths = A.view().row_lengths, v = vector.data(),
            n_coupled = n_coupled.data()] PATCHFEM_DEVICE(const std::int64_t node) {
             bool zero = true;
             for (int a = 0; a < n_c; ++a)
               zero = zero && v[node * n_c + a] == 0.;
             if (!zero && lengths[node] > 1)
               kernels::atomic_increment(n_coupled);
           });
    return n_coupled.read(0) > 0;
  }

  template <typename Number, typename Where>
  void add_node_product(Where, const double s, const Array<double> &vector, SlicedEllpackMatrix<Number> &matrix)
  {
    const int n = matrix.block_rows();
    launch(matrix.backend(), matrix.n_rows() / n,
           [=, A = matrix.view(), v = vector.data()] PATCHFEM_DEVICE(const std::int64_t node) {
             const int     i = static_cast<int>(node);
             const double *w = v + node * n;
             for (int a = 0; a < n && A.row_lengths[i] == 1; ++a)
               for (int b = 0; b < n; ++b)
               {
                 Number &entry = A.values[A.value_index(i, 0, a, b)];
                 entry         = static_cast<Number>(static_cast<double>(entry) + s * w[a] * w[b]);
               }
           });
  }

  template <>
  CompressedPattern transpose(Here, const CompressedPattern &pattern)
  {
    const Backend     &place = pattern.columns.backend();
    const std::int64_t n     = pattern.columns.size();
    CompressedPattern  result;
    result.n_rows    = pattern.n_columns;
    result.n_columns = pattern.n_rows;
    result.columns.reinit(place, n);
    result.offsets.reinit(place, std::size_t(result.n_rows) + 1);
#if defined(__CUDACC__)
    Array<int>           counts(place, result.n_rows);
    Array<std::uint64_t> keys(place, n);
    counts.set_zero();
    // Every (column, row), row by row, and the length of each column.
    launch(place, pattern.n_rows,
           [from = pattern.view(), keys = keys.data(), rows = result.columns.data(),
            counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             for (std::int64_t e = from.row_offsets[i]; e < from.row_offsets[i + 1]; ++e)
             {
               keys[e] = static_cast<std::uint64_t>(from.columns[e]);
               rows[e] = static_cast<int>(i);
               kernels::atomic_increment(counts + from.columns[e]);
             }
           });
    launch(place, [&](const Here where) {
      kernels::stable_sort_by_key(where, n, keys.data(), result.columns.data(), bits_for(result.n_rows));
      kernels::exclusive_scan(where, result.n_rows, counts.data(), result.offsets.data());
      result.width = kernels::maximum(where, result.n_rows, counts.data());
    });
#else
    launch(place, [&](Here) {
      const std::int64_t *const offsets = result.offsets.data();
      kernels::list_by_key(result.n_rows, result.offsets.data(), result.columns.data(),
                           [from = pattern.view()](const auto &use) {
                             for (int i = 0; i < from.n_rows; ++i)
                               for (std::int64_t e = from.row_offsets[i]; e < from.row_offsets[i + 1]; ++e)
                                 use(from.columns[e], i);
                           });
      for (int i = 0; i < result.n_rows; ++i)
        result.width = std::max(result.width, static_cast<int>(offsets[i + 1] - offsets[i]));
    });
#endif
    return result;
  }

  template <>
  int first_unsymmetric_row(Here, const CompressedPattern &pattern)
  {
    Array<int> first_row(pattern.columns.backend(), std::vector<int>{INT_MAX});
    launch(first_row.backend(), pattern.n_rows,
           [A = pattern.view(), first_row = first_row.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const auto has = [=](const int row, const int column) {
               const int *const end = A.columns + A.row_offsets[row + 1];
               const int *const at  = kernels::lower_bound(A.columns + A.row_offsets[row], end, column);
               return at != end && *at == column;
             };
             const int row  = static_cast<int>(i);
             bool      good = has(row, row);
             for (std::int64_t e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e)
               good = good && (A.columns[e] >= A.n_rows || has(A.columns[e], row));
             if (!good)
               kernels::atomic_min(first_row, row);
           });
    return first_row.read(0);
  }

  template <>
  int some_unsymmetric_row(Here, const Backend &place, const SlicedPatternView &A, const int n)
  {
    constexpr int step = 256;
    Array<int>    first_row(place, std::vector<int>{INT_MAX});
    launch(place, n / step + 1, [=, first_row = first_row.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      const int row = static_cast<int>(i) * step + static_cast<int>(i) % step; // all places in slices
      if (row >= n)
        return;
      bool good = A.find_block(row, row) >= 0;
      for (int k = 0; k < A.row_lengths[row] && A.column(row, k) < n; ++k)
        good = good && A.find_block(A.column(row, k), row) >= 0;
      if (!good)
        kernels::atomic_min(first_row, row);
    });
    return first_row.read(0);
  }

  template <typename Number, typename Where>
  void add_row_sums(Where, const SlicedEllpackMatrix<Number> &matrix, Array<Number> &blocks)
  {
    launch(matrix.backend(), matrix.n_rows(),
           [A = matrix.view(), blocks = blocks.data()] PATCHFEM_DEVICE(const std::int64_t unknown) {
             const int row = static_cast<int>(unknown / A.block_rows), a = static_cast<int>(unknown % A.block_rows);
             double    sum = 0.;
             A.for_each_entry(unknown, [&](const int column, const double value) {
               if (column / A.block_columns != row)
                 sum += value < 0. ? -value : value;
             });
             Number &entry = blocks[std::int64_t(a * A.block_rows + a) * A.n_rows + row];
             entry         = static_cast<Number>(static_cast<double>(entry) + sum);
           });
  }

  template <>
  void over_largest(Here, const LanczosScalars *lambda, const double factor, Array<double> &values, const int n)
  {
    launch(values.backend(), n,
           [=, values = values.data()] PATCHFEM_DEVICE(const std::int64_t i) { values[i] = factor / lambda->largest; });
  }

  template <>
  void chebyshev_steps(Here, const LanczosScalars *lambda, const double ratio, const int n_steps, Array<double> &c)
  {
    launch(c.backend(), 1, [=, c = c.data()] PATCHFEM_DEVICE(std::int64_t) {
      kernels::chebyshev_coefficients(lambda->largest / ratio, lambda->largest, n_steps, c);
    });
  }

  template <>
  void chebyshev_weights(Here,
                         const LanczosScalars *lambda,
                         const double          ratio,
                         const int             n_steps,
                         const int             first,
                         Array<double>        &weights)
  {
    launch(weights.backend(), n_steps, [=, omega = weights.data() + first] PATCHFEM_DEVICE(const std::int64_t k) {
      const double b = lambda->largest, a = b / ratio;
      omega[k] =
          2. /
          (b + a - (b - a) * std::cos(3.14159265358979323846 * (2. * static_cast<double>(k) + 1.) / (2. * n_steps)));
    });
  }

  template <typename From, typename To, typename Where>
  void
  convert_scaled(Where, const Vector<From> &source, const double *square, const bool multiply, Vector<To> &destination)
  {
    launch(source.backend(), source.size(),
           [=, from = source.data(), to = destination.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const double norm   = std::sqrt(square[0]);
             const double factor = multiply ? norm : (square[0] != 0. ? 1. / norm : 0.);
             to[i]               = static_cast<To>(factor * static_cast<double>(from[i]));
           });
  }

#define INSTANTIATE(Number)                                                                           \
  template void mask_decoupled(Here, const SlicedEllpackMatrix<Number> &, int, Array<double> &);      \
  template bool couples(Here, const SlicedEllpackMatrix<Number> &, const Array<double> &);            \
  template void add_node_product(Here, double, const Array<double> &, SlicedEllpackMatrix<Number> &); \
  template void add_row_sums(Here, const SlicedEllpackMatrix<Number> &, Array<Number> &);             \
  template void convert_scaled(Here, const Vector<float> &, const double *, bool, Vector<Number> &);

  INSTANTIATE(float)
  INSTANTIATE(double)
  template void convert_scaled(Here, const Vector<double> &, const double *, bool, Vector<float> &);
#undef INSTANTIATE
} // namespace PatchFEM::multigrid

namespace PatchFEM
{
  namespace
  {
    /// omega = factor / lambda_max. 4/3, the choice of Vanek, Mandel and Brezina, takes 2 to 4 % more steps of
    /// conjugate gradients for elasticity and Laplace on hexahedra and tetrahedra, 1.65 up to 3 % more on tetrahedra.
    constexpr double omega_factor = 1.5;

    /**
     * Calls @p body(row, p) for rows [first, end), on devices up to the end of their last slice of @p h rows, and
     * 0 <= p < width, neighbours of a slice side by side.
     */
    template <typename Body>
    void
    for_blocks(const Backend &place, const int first, const int end, const int h, const int width, const Body &body)
    {
#if defined(__CUDACC__)
      // Index (slice * width + p) * h + r is block p of row r of a slice of these.
      launch(place, std::int64_t((end - first + h - 1) / h) * h * width, [=] PATCHFEM_DEVICE(const std::int64_t index) {
        const std::int64_t in_slices = index / h;
        const int          row       = first + static_cast<int>(in_slices / width) * h;
        body(row + static_cast<int>(index - in_slices * h), static_cast<int>(in_slices % width));
      });
#else
      static_cast<void>(h);
      launch(place, end - first, [=](const std::int64_t row) {
        for (int p = 0; p < width; ++p)
          body(first + static_cast<int>(row), p);
      });
#endif
    }

    /** All blocks of the rows of @p A, which have @p width at most. */
    template <typename Body>
    void for_blocks(const Backend &place, const SlicedPatternView &A, const int width, const Body &body)
    {
      for_blocks(place, 0, A.n_rows, A.slice_height, width, [=] PATCHFEM_DEVICE(const int row, const int p) {
        if (row < A.n_rows && p < A.row_lengths[row])
          body(row, p);
      });
    }
  } // namespace

  template <typename Number>
  template <typename Where>
  void SmoothedAggregation<Number>::compute_on(Where                                  where,
                                               const SlicedEllpackMatrix<Number>     &A,
                                               const AggregateLists                  &aggregates,
                                               const TentativeProlongator            &tentative,
                                               const PreconditionBlockJacobi<Number> &D_inverse,
                                               const LargestEigenvalue<Number>       &lambda)
  {
    const Backend           &place    = A.backend();
    const bool               filtered = aggregates.has_short_edges();
    const int                nc = R.block_columns(), nm = R.block_rows();
    const Partitioner *const nodes      = of_ranks ? A.partitioner().get() : nullptr;
    const Array<int> &aggregate_of_node = of_ranks ? of_ranks->aggregate_of_node : aggregates.aggregate_of_node();
    multigrid::over_largest(where, lambda.scalars(), omega_factor, omega, 1);
    Array<double> modes;
    if (nodes != nullptr)
      modes = of_ranks->modes_of_aggregates(*nodes, tentative.coarse_modes(), nm, P_pattern.n_columns, filtered);
    Array<Number> P_values = memory_of_P();
    {
      // Half as many bytes to read 27 times where Q comes in single precision.
      Array<Number> copy;
      const Number *Q = nullptr;
      if (nodes != nullptr)
        copy = OfRanks::with_ghosts<Number>(*nodes, place, tentative.values(), nc * nm);
      else if constexpr (std::is_same<Number, double>::value)
        Q = tentative.values().data();
      else
      {
        copy.reinit(place, tentative.values().size());
        launch(place,
               [&](const Here here) { kernels::convert(here, copy.size(), tentative.values().data(), copy.data()); });
      }
      if (Q == nullptr)
        Q = copy.data();
      const kernels::TentativeView<Number> Q_view{aggregate_of_node.data(), Q, *D_inverse.block_diagonal(),
                                                  omega.data()};
      launch(place, [&](const Here here) { kernels::prolongator(here, view(A, P_values.data()), Q_view); });
      if (filtered)
        multigrid::project_rows(where, A, Q_view, P_pattern, nodes != nullptr ? modes : tentative.coarse_modes(), nm,
                                P_values);
    }
    if (nodes != nullptr)
      of_ranks->rows_of_P.update(*nodes, P_pattern, 0, nc, nm, P_values.data());
    multiply(where, A, P_values, tentative.dropped());
  }

  template <typename Number>
  template <typename Where>
  void SmoothedAggregation<Number>::compute_on(Where                              where,
                                               const SlicedEllpackMatrix<Number> &A,
                                               const LinearEmbedding             &embedding)
  {
    const Backend &place    = A.backend();
    const int      nc       = R.block_columns();
    Array<Number>  P_values = memory_of_P();               // with rows of ghosts behind
    Array<int>     dropped(place, embedding.n_vertices()); // constrained components of vertices
    const auto     n_own = static_cast<std::int64_t>(embedding.values.size());
    if constexpr (std::is_same<Number, double>::value)
    {
      if (n_own > 0)
        memory::copy(place, P_values.data(), place, embedding.values.data(), n_own * sizeof(double));
    }
    else
      launch(place, [&](const Here here) { kernels::convert(here, n_own, embedding.values.data(), P_values.data()); });
    // A vertex has the value of its own unknown; of a constrained one the row is zero.
    launch(place, dropped.size(),
           [=, pattern = P_pattern.view(), nodes = embedding.nodes.data(), values = embedding.values.data(),
            dropped = dropped.data()] PATCHFEM_DEVICE(const std::int64_t j) {
             const std::int64_t begin  = pattern.row_offsets[nodes[j]];
             const int          length = static_cast<int>(pattern.row_offsets[nodes[j] + 1] - begin);
             const int         *first  = pattern.columns + begin;
             const int          p      = static_cast<int>(kernels::lower_bound(first, first + length, int(j)) - first);
             dropped[j]                = 0;
             for (int a = 0; a < nc; ++a)
               if (values[(begin * nc + std::int64_t(a) * length + p) * nc + a] == 0.)
                 dropped[j] |= 1 << a;
           });
    if (of_ranks)
      of_ranks->rows_of_P.update(*A.partitioner(), P_pattern, 0, nc, nc, P_values.data());
    multiply(where, A, P_values, dropped);
  }

  template <typename Number>
  template <typename Where>
  void SmoothedAggregation<Number>::multiply(Where                              where,
                                             const SlicedEllpackMatrix<Number> &A,
                                             Array<Number>                     &P_values,
                                             const Array<int>                  &dropped_modes)
  {
    const Backend           &place = A.backend();
    const int                nc = R.block_columns(), nm = R.block_rows();
    const Partitioner *const nodes = of_ranks ? A.partitioner().get() : nullptr;

    kernels::CoarseningView<Number> all        = view(A, P_values.data());
    const SparsityView              pattern    = all.P;
    const SlicedEllpackView<Number> transposed = R.view();
    const Number *const             values     = P_values.data();
#if defined(__CUDACC__)
    kernels::with_prolongator_sizes(nc, nm, [&](auto c, auto m) {
      for_blocks(place, transposed, R_width,
                 kernels::RestrictorBlock<c, m, Number>{nc, nm, pattern, values, transposed});
    });
#else
    // As multigrid::transpose() lists the columns, row by row of P, where each thread looks for its share of those of R.
    launch(place, [&](Here) {
      for_shares(transposed.n_rows, [&](const std::int64_t first, const std::int64_t last) {
        std::vector<Number *> next; // block of each row
        for (auto row = static_cast<int>(first); row < last; ++row)
          next.push_back(transposed.values + transposed.value_index(row, 0, 0, 0));
        const std::int64_t h = transposed.slice_height;
        for (int j = 0; j < pattern.n_rows; ++j)
        {
          const std::int64_t begin = pattern.row_offsets[j], end = pattern.row_offsets[j + 1];
          const std::int64_t pitch = (end - begin) * nm;
          const Number      *block = values + begin * (nc * nm);
          for (std::int64_t e = begin; e < end; ++e, block += nm)
          {
            const int row = pattern.columns[e];
            if (row < first || row >= last)
              continue;
            Number *&to = next[row - first];
            for (int m = 0; m < nm; ++m)
              for (int a = 0; a < nc; ++a, to += h)
                *to = block[a * pitch + m];
          }
        }
      });
    });
#endif

    // The coarse matrix, or its upper half by stretches of A P.
    Array<Number>                   product(place, stretch_entries * nc * nm);
    const int                       n_parts = kernels::n_coarse_parts(where, R.n_rows() / nm);
    Array<double>                   partial;
    kernels::ProductStretch<Number> rows{n_in_stretches, n_in_stretches, product.data(), n_parts, nullptr};
    const auto                      fetch_product = [&] {
      rows.last = nodes->n_owned();
      launch(place, [&](const Here here) { kernels::matrix_prolongator(here, all, rows); });
      of_ranks->rows_of_product.update(*nodes, product_pattern, rows.first, nc, nm, rows.values);
      rows.last = nodes->n_local();
    };
    if (by_rows)
    {
      if (nodes != nullptr)
        fetch_product();
      compute_rows(A, all, rows);
    }
    if (!by_rows && (stretch_entries > 0 || nodes != nullptr))
    {
      coarse = Number(0);
      if (n_parts > 1)
        partial.reinit(place, n_parts * coarse_pattern.columns.size() * std::size_t(nm) * nm);
      for (int first = 0; first < n_in_stretches; first += stretch_rows)
      {
        const kernels::ProductStretch<Number> part{first, std::min(n_in_stretches, first + stretch_rows),
                                                   product.data(), n_parts, partial.data()};
        launch(place, [&](const Here here) {
          kernels::matrix_prolongator(here, all, part);
          kernels::coarse_matrix(here, all, part);
        });
      }
      if (nodes != nullptr)
      {
        rows.partial = partial.data();
        fetch_product();
        launch(place, [&](const Here here) { kernels::coarse_matrix(here, all, rows); });
      }
    }
    fill_prolongator(where, P_values, product);
    const SlicedEllpackView<Number> C = coarse.view();
    for_blocks(place, C, C_width, [=, dropped = dropped_modes.data()] PATCHFEM_DEVICE(const int i, const int p) {
      const int column = C.column(i, p);
      if (column == i)
        for (int m = 0; m < nm; ++m)
        {
          for (int c = 0; c < m; ++c)
            C.values[C.value_index(i, p, m, c)] = C.values[C.value_index(i, p, c, m)];
          if ((dropped[i] >> m) & 1)
            C.values[C.value_index(i, p, m, m)] = Number(1);
        }
      else if (column < i)
      {
        const int q = C.find_block(column, i);
        for (int m = 0; m < nm; ++m)
          for (int c = 0; c < nm; ++c)
            C.values[C.value_index(i, p, m, c)] = C.values[C.value_index(column, q, c, m)];
      }
    });
  }

  template <typename Number>
  template <typename Where>
  void SmoothedAggregation<Number>::fill_prolongator(Where, Array<Number> &P_values, Array<Number> &buffer)
  {
    const Backend &place = R.backend();
    const int      nc = R.block_columns(), nm = R.block_rows();
    const bool     in_place = P.n_stored_elements() == 0; // else P is new, made by rows, and has memory of its own
    if (in_place)
      P.swap_values(P_values);
    const SlicedEllpackView<Number> to   = P.view();
    const SparsityView              from = P_pattern.view();
    const int                       h = to.slice_height, width = P_pattern.width;
    // As many rows at once as the buffer holds, or an eighth of all.
    const std::int64_t fit = buffer.size() / std::max<std::size_t>(std::size_t(width) * nc * nm, 1) / h;
    const int step = static_cast<int>(std::clamp<std::int64_t>(fit, to.n_rows / 8 / h + 1, to.n_rows / h + 1)) * h;
    // Slices have room for their longest rows, so that none begins before its first row does: the last ones move first.
    for (int end = to.n_rows, first; end > 0; end = first)
    {
      first                    = (end - 1) / step * step;
      const std::int64_t begin = first > 0 && in_place ? P_pattern.offsets.read(first) : 0; // of the values
      if (in_place)
      {
        const bool        to_end = end == P_pattern.n_rows && of_ranks == nullptr;
        const std::size_t n      = (to_end ? P_pattern.columns.size() : P_pattern.offsets.read(end)) - begin;
        if (buffer.size() < n * nc * nm)
          buffer.reinit(place, n * nc * nm);
        memory::copy(place, buffer.data(), place, to.values + begin * nc * nm, n * nc * nm * sizeof(Number));
      }
      const Number *const values = in_place ? buffer.data() : P_values.data();
      kernels::with_prolongator_sizes(nc, nm, [&](auto c, auto m) {
        for_blocks(place, first, (end + h - 1) / h * h, h, width,
                   kernels::ProlongatorBlock<c, m, Number>{nc, nm, end, begin, from, values, to});
      });
    }
  }

  template <typename Number>
  template <typename Where>
  void DenseInverse<Number>::compute_on(Where,
                                        const SlicedEllpackMatrix<Number> &matrix,
                                        const std::vector<Array<double>>  &null_vectors,
                                        const double                       scale)
  {
    constexpr bool    host = std::is_same<Here, Host>::value, twice = std::is_same<Number, double>::value;
    constexpr int     n_i = host ? 8 : 4, strip = host ? 8 : 1;
    const Backend    &place = matrix.backend();
    const int         n = this->n = matrix.n_rows();
    const std::size_t n_all       = std::size_t(n) * n;
    require(matrix.n_columns() == n, "Only square matrices have an inverse.");
    Array<double> dense(place, n_all), diagonal(place, n), workspace(place, kernels::inverse_workspace(n, strip));
    Array<int>    failure(place, std::vector<int>(2, INT_MAX)); // of the factorisation; of its result
    double *const M = dense.data();
    inverse.reinit(place, n_all);
    dense.set_zero();
    launch(place, n, [=, A = matrix.view()] PATCHFEM_DEVICE(const std::int64_t unknown) {
      A.for_each_entry(unknown, [&](const int column, const double value) { M[unknown * n + column] = value; });
    });
    for (const Array<double> &vector : null_vectors)
    {
      require(vector.size() == std::size_t(n) && scale != 0.,
              "A null space does not have an entry for every row of the matrix, or no scale.");
      launch(place, n, [=, v = vector.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        const double factor = scale * v[i];
        for (int j = 0; j < n; ++j)
          M[i * n + j] += factor * v[j];
      });
    }
    launch(place, n,
           [=, diagonal = diagonal.data()] PATCHFEM_DEVICE(const std::int64_t i) { diagonal[i] = M[i * n + i]; });
    launch(place, [&](const Here where) {
      kernels::invert_dense_spd<n_i, strip>(where, n, M, workspace.data(), inverse.data(), failure.data());
    });
    // A_ii (A^-1)_ii = 1 / (1 - c), c the square of the cosine between unknown i and the span of the others in the
    // energy of A: however rows are scaled, at least 1, and the inverse of the rounding of A if A is singular, which
    // leaves 1e14 to 1e16. A matrix in single precision is not known well enough to tell that it is singular.
    if (twice)
      launch(place, n,
             [=, diagonal = diagonal.data(), inverse = inverse.data(),
              dependent = failure.data() + 1] PATCHFEM_DEVICE(const std::int64_t i) {
               if (!(diagonal[i] * static_cast<double>(inverse[i * n + i]) < 1e13))
                 kernels::atomic_min(dependent, static_cast<int>(i));
             });
    const std::vector<int> rows = failure.to_vector();
    const char *const      remedy =
        twice && null_vectors.empty() ? " Where nothing holds a constant or a motion, give its NullSpace." : "";
    if (rows[0] != INT_MAX)
      throw NotPositiveDefinite("The matrix is not positive definite: its Cholesky factorisation fails in row ",
                                rows[0], " of ", n, ".", remedy);
    if (rows[1] != INT_MAX)
      throw NotPositiveDefinite("The matrix is singular to rounding: row ", rows[1], " of ", n,
                                " depends on the others.", remedy);
  }

#define INSTANTIATE(Number)                                                                            \
  template void SmoothedAggregation<Number>::compute_on(                                               \
      Here, const SlicedEllpackMatrix<Number> &, const AggregateLists &, const TentativeProlongator &, \
      const PreconditionBlockJacobi<Number> &, const LargestEigenvalue<Number> &);                     \
  template void SmoothedAggregation<Number>::compute_on(Here, const SlicedEllpackMatrix<Number> &,     \
                                                        const LinearEmbedding &);                      \
  template void DenseInverse<Number>::compute_on(Here, const SlicedEllpackMatrix<Number> &,            \
                                                 const std::vector<Array<double>> &, double);

  INSTANTIATE(float)
  INSTANTIATE(double)
#undef INSTANTIATE
} // namespace PatchFEM
