// SPDX-License-Identifier: LGPL-2.1-or-later
#include "multigrid_pattern.h"

#include <patchfem/kernels/ordering.h>
#include <patchfem/lac/smoothed_aggregation.h>

#include <algorithm>
#include <climits>

namespace PatchFEM
{
  namespace
  {
    /** A column of an aggregate's modes that is shorter than this part of what it was depends on the others. */
    constexpr double drop_tolerance = 1e-10;

    /** omega = factor / lambda_max. */
    constexpr double omega_factor = 4. / 3.;

    /** Values of A P that may always be held at once, in bytes. */
    constexpr std::int64_t least_stretch_bytes = std::int64_t(1) << 26;
  } // namespace

  void TentativeProlongator::compute(const AggregateLists &aggregates,
                                     const Array<double>  &modes,
                                     const int             n_components,
                                     const int             n_modes)
  {
    const Backend    &place   = modes.backend();
    const std::size_t n_nodes = aggregates.aggregate_of_node().size();
    require(modes.size() == n_nodes * n_components * n_modes,
            "A near-null space does not have a row for every unknown of the level.");
    require(n_modes >= 1 && n_modes <= kernels::max_block_size,
            "A near-null space has " + std::to_string(n_modes) + " modes; 1 to " +
                std::to_string(kernels::max_block_size) + " are supported.");
    const int n_aggregates = aggregates.n_aggregates();
    tentative.reinit(place, modes.size());
    tentative.set_zero();
    coarse.reinit(place, std::size_t(n_aggregates) * n_modes * n_modes);
    dropped_modes.reinit(place, n_aggregates);
    Array<int> count(place, 1);
    count.set_zero();
    run(place, n_aggregates,
        kernels::AggregateQRBody{aggregates.aggregate_offsets().data(), aggregates.aggregate_nodes().data(),
                                 n_components, n_modes, modes.data(), tentative.data(), coarse.data(),
                                 dropped_modes.data(), count.data(), drop_tolerance});
    dropped_count = count.read(0);
  }

  template <typename Number>
  void SmoothedAggregation<Number>::reinit(const SlicedEllpackMatrix<Number> &A,
                                           const AggregateLists              &aggregates,
                                           const int                          n_modes)
  {
    const Backend &place        = A.backend();
    const int      n_components = A.block_rows(), n_nodes = A.n_rows() / n_components;
    const int      n_aggregates = aggregates.n_aggregates();
    require(A.block_columns() == n_components && A.n_columns() == A.n_rows(), "A hierarchy needs a square matrix.");
    require(aggregates.aggregate_of_node().size() == std::size_t(n_nodes),
            "Aggregates of " + std::to_string(aggregates.aggregate_of_node().size()) +
                " nodes do not fit a matrix of " + std::to_string(n_nodes) + " block rows.");
    CompressedPattern pattern =
        compress(place, n_nodes, n_aggregates,
                 kernels::ProlongatorRows{sliced_pattern(A), aggregates.aggregate_of_node().data()});
    P_width = pattern.width;
    P.reinit(place, pattern.view(), n_components, n_modes);
    R.reinit(place, transpose(place, pattern).view(), n_modes, n_components);

    pattern       = compress(place, n_nodes, n_aggregates, kernels::ProductRows{sliced_pattern(A), sliced_pattern(P)});
    product_width = pattern.width;
    product_offsets = std::move(pattern.offsets);
    product_columns = std::move(pattern.columns);

    const SparsityView product{n_nodes, n_aggregates, product_offsets.data(), product_columns.data()};
    pattern = compress(place, n_aggregates, n_aggregates, kernels::CoarseRows{sliced_pattern(R), product});
    Array<int> first_row(place, 1);
    run(place, 1, kernels::FillBody{first_row.data(), INT_MAX});
    run(place, n_aggregates, kernels::SymmetryBody{pattern.view(), first_row.data()});
    require(first_row.read(0) == INT_MAX,
            "The pattern of the coarse matrix is not symmetric, as that of the matrix it comes from is not.");
    coarse_width = pattern.width;
    coarse.reinit(place, pattern.view(), n_modes, n_modes);
    omega.reinit(place, 1);
    place.synchronize();
  }

  template <typename Number>
  kernels::CoarseningView<Number> SmoothedAggregation<Number>::view(const SlicedEllpackMatrix<Number> &A) const
  {
    const int n_nodes = A.n_rows() / A.block_rows(), n_coarse = coarse.n_rows() / coarse.block_rows();
    return {A.view(),
            A.row_lengths(),
            P.view(),
            P.row_lengths(),
            P_width,
            R.view(),
            R.row_lengths(),
            {n_nodes, n_coarse, product_offsets.data(), product_columns.data()},
            product_width,
            coarse.view(),
            coarse.row_lengths(),
            coarse_width};
  }

  template <typename Number>
  void SmoothedAggregation<Number>::compute(const SlicedEllpackMatrix<Number>     &A,
                                            const AggregateLists                  &aggregates,
                                            const TentativeProlongator            &tentative,
                                            const PreconditionBlockJacobi<Number> &D_inverse,
                                            const LargestEigenvalue<Number>       &lambda)
  {
    const Backend &place = A.backend();
    require(tentative.dropped().size() == std::size_t(aggregates.n_aggregates()),
            "A tentative prolongator does not belong to these aggregates.");
    run(place, 1, kernels::OmegaBody{lambda.scalars(), omega_factor, omega.data()});
    const kernels::CoarseningView<Number> all = view(A);
    dispatch(place, [&](auto where) {
      kernels::prolongator(where, all, aggregates.aggregate_of_node().data(), tentative.values().data(),
                           *D_inverse.block_diagonal(), omega.data());
    });
    const int n_nodes = all.A.n_rows;
    run(place, n_nodes, kernels::TransposeBody<Number>{P.view(), P.row_lengths(), R.view(), R.row_lengths()});
    compute_coarse_matrix(A, tentative.dropped());
  }

  template <typename Number>
  void SmoothedAggregation<Number>::compute_coarse_matrix(const SlicedEllpackMatrix<Number> &A,
                                                          const Array<int>                  &dropped)
  {
    const Backend     &place   = A.backend();
    const int          n_nodes = A.n_rows() / A.block_rows(), n_coarse = coarse.n_rows() / coarse.block_rows();
    const std::int64_t row_values = std::int64_t(product_width) * P.block_rows() * P.block_columns();
    if (n_nodes == 0 || row_values == 0)
      return;
    const std::int64_t bytes  = std::max(least_stretch_bytes, std::int64_t(A.n_stored_elements() * sizeof(Number) / 8));
    const int          n_rows = stretch > 0 ? std::min(stretch, n_nodes)
                                            : static_cast<int>(std::min<std::int64_t>(
                                         n_nodes, bytes / (row_values * std::int64_t(sizeof(Number))) + 1));
    Array<Number>      product(place, n_rows * row_values);
    const kernels::CoarseningView<Number> all = view(A);
    coarse                                    = Number(0);
    for (int first = 0; first < n_nodes; first += n_rows)
    {
      const int last = std::min(n_nodes, first + n_rows);
      dispatch(place, [&](auto where) {
        kernels::matrix_prolongator(where, all, first, last, product.data());
        kernels::coarse_matrix(where, all, first, last, static_cast<const Number *>(product.data()));
      });
    }
    run(place, std::int64_t(n_coarse) * coarse_width,
        kernels::MirrorBody<Number>{coarse.view(), coarse.row_lengths(), dropped.data(), coarse_width});
  }

  template <typename Number>
  std::size_t SmoothedAggregation<Number>::memory_consumption() const
  {
    return P.memory_consumption() + R.memory_consumption() + coarse.memory_consumption() +
           product_offsets.memory_consumption() + product_columns.memory_consumption() + omega.memory_consumption();
  }

  template class SmoothedAggregation<float>;
  template class SmoothedAggregation<double>;
} // namespace PatchFEM
