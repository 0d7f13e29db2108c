// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/coarsening.h"
#include "kernels/smoother_bodies.h"
#include "multigrid_pattern.h"

#include <patchfem/kernels/blas1.h>
#include <patchfem/lac/multigrid/smoothed_aggregation.h>

#include <algorithm>
#include <climits>
#include <type_traits>

namespace PatchFEM
{
  namespace
  {
    /** A column of an aggregate's modes that is shorter than this part of what it was depends on the others. */
    constexpr double drop_tolerance = 1e-10;

    /**
     * omega = factor / lambda_max. 4/3, the choice of Vanek, Mandel and Brezina, takes 2 to 4 % more steps of conjugate
     * gradients for elasticity and Laplace on hexahedra and tetrahedra, 1.65 up to 3 % more on tetrahedra.
     */
    constexpr double omega_factor = 1.5;

    /** Values of A P that may always be held at once, in bytes. */
    constexpr std::int64_t least_stretch_bytes = std::int64_t(1) << 26;

    /** Blocks of a sliced matrix if all its rows were as long as the longest. */
    template <typename Number>
    std::int64_t slots(const SlicedEllpackMatrix<Number> &matrix, const int width)
    {
      const SlicedEllpackView<Number> view = matrix.view();
      return std::int64_t(view.n_slices()) * view.slice_height * width;
    }
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
    const kernels::AggregateQRBody body{aggregates.aggregate_offsets().data(),
                                        aggregates.aggregate_nodes().data(),
                                        n_components,
                                        n_modes,
                                        modes.data(),
                                        tentative.data(),
                                        coarse.data(),
                                        dropped_modes.data(),
                                        count.data(),
                                        drop_tolerance};
    dispatch(place, [&](auto where) { kernels::team_for(where, n_aggregates, body); });
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
    const int *aggregate_of_node = aggregates.aggregate_of_node().data();
    P_pattern = compress(place, n_nodes, n_aggregates, kernels::ProlongatorRows{sliced_pattern(A), aggregate_of_node});
    whole_pattern = CompressedPattern();
    if (aggregates.stretched())
    {
      require(aggregates.short_edges().n_nodes() == n_nodes,
              "Short edges of " + std::to_string(aggregates.short_edges().n_nodes()) +
                  " nodes do not fit a matrix of " + std::to_string(n_nodes) + " block rows.");
      whole_pattern = std::move(P_pattern);
      P_pattern     = compress(place, n_nodes, n_aggregates,
                               kernels::ShortProlongatorRows{aggregates.short_edges().view(), aggregate_of_node});
    }
    P.reinit(place, P_pattern.view(), n_components, n_modes);
    product_pattern = compress(place, n_nodes, n_aggregates, kernels::ProductRows{sliced_pattern(A), P_pattern.view()});
    {
      const CompressedPattern transposed = transpose(place, P_pattern);
      R.reinit(place, transposed.view(), n_modes, n_components);
      R_width = transposed.width;
    }
    coarse_pattern =
        compress(place, n_aggregates, n_aggregates, kernels::CoarseRows{sliced_pattern(R), product_pattern.view()});
    Array<int> first_row(place, std::vector<int>{INT_MAX});
    run(place, n_aggregates, kernels::SymmetryBody{coarse_pattern.view(), first_row.data()});
    require(first_row.read(0) == INT_MAX,
            "The pattern of the coarse matrix is not symmetric, as that of the matrix it comes from is not.");
    coarse.reinit(place, coarse_pattern.view(), n_modes, n_modes);
    plan_stretches(A);
    omega.reinit(place, 1);
    place.synchronize();
  }

  template <typename Number>
  void SmoothedAggregation<Number>::plan_stretches(const SlicedEllpackMatrix<Number> &A)
  {
    const std::int64_t n = product_pattern.n_rows, n_blocks = product_pattern.columns.size();
    const std::int64_t limit = std::max(least_stretch_bytes, std::int64_t(A.n_stored_elements() * sizeof(Number) / 3));
    const std::int64_t bytes = n_blocks * P.block_rows() * P.block_columns() * std::int64_t(sizeof(Number));
    const std::int64_t n_stretches = bytes / limit + 1;
    stretch_rows                   = static_cast<int>(std::max<std::int64_t>((n + n_stretches - 1) / n_stretches, 1));
    if (stretch > 0)
      stretch_rows = stretch;
    stretch_entries = 0;
    for (std::int64_t first = 0, begin = 0; first < n; first += stretch_rows)
    {
      const std::int64_t end = product_pattern.offsets.read(std::min(n, first + stretch_rows));
      stretch_entries        = std::max(stretch_entries, end - begin);
      begin                  = end;
    }
  }

  template <typename Number>
  kernels::CoarseningView<Number> SmoothedAggregation<Number>::view(const SlicedEllpackMatrix<Number> &A,
                                                                    Number                            *P_values) const
  {
    return {A.view(),        A.row_lengths(),       P.block_rows(),         P.block_columns(),     P_pattern.view(),
            P_values,        sliced_pattern(R),     product_pattern.view(), coarse_pattern.view(), coarse.view(),
            P_pattern.width, product_pattern.width, coarse_pattern.width};
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
    const bool                      folded  = aggregates.stretched();
    kernels::CoarseningView<Number> all     = view(A, nullptr);
    const CompressedPattern        &pattern = folded ? whole_pattern : P_pattern;
    Array<Number>                   P_values(place, pattern.columns.size() * P.block_rows() * P.block_columns());
    // Half as many bytes to read 27 times where Q comes in single precision.
    Array<Number> single;
    const Number *Q = nullptr;
    if constexpr (std::is_same<Number, double>::value)
      Q = tentative.values().data();
    else
    {
      const std::size_t n = tentative.values().size();
      single.reinit(place, n);
      dispatch(place, [&](auto where) { kernels::convert(where, n, tentative.values().data(), single.data()); });
      Q = single.data();
    }
    all.P        = pattern.view();
    all.P_values = P_values.data();
    all.P_width  = pattern.width;
    const kernels::TentativeView<Number> tentative_view{aggregates.aggregate_of_node().data(), Q,
                                                        *D_inverse.block_diagonal(), omega.data()};
    dispatch(place, [&](auto where) { kernels::prolongator(where, all, tentative_view); });
    single.release();
    if (folded)
    {
      require(tentative.coarse_modes().size() ==
                  std::size_t(aggregates.n_aggregates()) * P.block_columns() * P.block_columns(),
              "A prolongator along short edges needs the modes of the next level.");
      Array<Number> kept(place, P_pattern.columns.size() * P.block_rows() * P.block_columns());
      run(place, A.n_rows(),
          kernels::FoldBlocksBody<Number>{whole_pattern.view(), P_pattern.view(), P_values.data(),
                                          aggregates.aggregate_of_node().data(), tentative.coarse_modes().data(),
                                          P.block_rows(), P.block_columns(), kept.data()});
      P_values.swap(kept);
      place.synchronize();
    }
    all = view(A, P_values.data());
    run(place, slots(P, P_pattern.width),
        kernels::FillProlongatorBody<Number>{all.P, P_values.data(), P.view(), P_pattern.width});
    run(place, slots(R, R_width),
        kernels::FillRestrictorBody<Number>{all.P, P_values.data(), R.view(), R.row_lengths(), R_width});
    compute_coarse_matrix(all, tentative.dropped());
  }

  template <typename Number>
  void SmoothedAggregation<Number>::compute_coarse_matrix(const kernels::CoarseningView<Number> &all,
                                                          const Array<int>                      &dropped)
  {
    const Backend &place = coarse.backend();
    if (stretch_entries == 0)
      return;
    Array<Number> product(place, stretch_entries * P.block_rows() * P.block_columns());
    coarse      = Number(0);
    int n_parts = 1;
    dispatch(place, [&](auto where) { n_parts = kernels::n_coarse_parts(where, all.C.n_rows); });
    Array<double> partial(place,
                          n_parts == 1 ? 0 : n_parts * coarse_pattern.columns.size() * std::size_t(all.n_m) * all.n_m);
    for (int first = 0; first < all.P.n_rows; first += stretch_rows)
    {
      const kernels::ProductStretch<Number> rows{first, std::min(all.P.n_rows, first + stretch_rows), product.data(),
                                                 n_parts, partial.data()};
      dispatch(place, [&](auto where) {
        kernels::matrix_prolongator(where, all, rows);
        kernels::coarse_matrix(where, all, rows);
      });
    }
    run(place, slots(coarse, coarse_pattern.width),
        kernels::MirrorBody<Number>{coarse.view(), coarse.row_lengths(), dropped.data(), coarse_pattern.width});
  }

  template class SmoothedAggregation<float>;
  template class SmoothedAggregation<double>;
} // namespace PatchFEM
