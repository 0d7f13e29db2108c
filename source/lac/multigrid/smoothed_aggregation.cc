// SPDX-License-Identifier: LGPL-2.1-or-later
#include "of_ranks.h"

#include "kernels/coarsening.h"

#include <algorithm>
#include <climits>

namespace PatchFEM
{
  namespace
  {
    /** A column of an aggregate's modes that is shorter than this part of what it was depends on the others. */
    constexpr double drop_tolerance = 1e-10;
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
    require(n_modes >= 1 && n_modes <= kernels::max_block_size, "A near-null space has ", n_modes, " modes; 1 to ",
            kernels::max_block_size, " are supported.");
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
    launch(place, [&](auto where) { kernels::team_for(where, n_aggregates, body); });
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
    require(A.block_columns() == n_components && (A.n_columns() == A.n_rows() || A.partitioner() != nullptr),
            "A hierarchy needs a square matrix.");
    require(aggregates.aggregate_of_node().size() == std::size_t(n_nodes), "Aggregates of ",
            aggregates.aggregate_of_node().size(), " nodes do not fit a matrix of ", n_nodes, " block rows.");
    of_ranks.reset();
    omega.reinit(place, 1);
    by_rows  = place.kind() != BackendKind::cuda && n_components == 1 && n_modes == 1;
    complete = false;
    if (A.partitioner() != nullptr)
      return reinit_on_ranks(A, aggregates, n_modes);
    const int *aggregate_of_node = aggregates.aggregate_of_node().data();
    if (aggregates.has_short_edges())
    {
      require(aggregates.short_edges().n_nodes() == n_nodes, "Short edges of ", aggregates.short_edges().n_nodes(),
              " nodes do not fit a matrix of ", n_nodes, " block rows.");
      P_pattern = compress(place, n_nodes, n_aggregates,
                           kernels::ShortProlongatorRows{aggregates.short_edges().view(), {}, aggregate_of_node});
    }
    else
      P_pattern = compress(place, n_nodes, n_aggregates, kernels::ProlongatorRows{A.view(), aggregate_of_node});
    plan_products(A, n_modes);
  }

  template <typename Number>
  void SmoothedAggregation<Number>::reinit(const SlicedEllpackMatrix<Number> &A, const LinearEmbedding &embedding)
  {
    const Backend &place = A.backend();
    require((A.partitioner() == nullptr) == (embedding.partitioner == nullptr) && A.block_columns() == A.block_rows() &&
                embedding.pattern.n_rows * A.block_rows() == A.n_rows(),
            "An embedding of ", embedding.pattern.n_rows, " nodes does not fit a matrix of ", A.n_rows(), " rows.");
    of_ranks.reset();
    omega.reinit(place, 0);
    by_rows             = place.kind() != BackendKind::cuda && A.block_rows() == 1;
    complete            = false;
    P_pattern.n_rows    = embedding.pattern.n_rows;
    P_pattern.n_columns = embedding.pattern.n_columns;
    P_pattern.width     = embedding.pattern.width;
    P_pattern.offsets.copy_from(place, embedding.pattern.offsets);
    P_pattern.columns.copy_from(place, embedding.pattern.columns);
    if (A.partitioner() == nullptr)
      return plan_products(A, A.block_rows());
    of_ranks = std::make_shared<OfRanks>(A.partitioner()->communicator(), embedding.n_vertices());
    std::vector<std::int64_t> others;
    for (int vertex = embedding.n_vertices(); vertex < embedding.partitioner->n_local(); ++vertex)
      others.push_back(embedding.partitioner->global(vertex));
    of_ranks->numbers.add(std::move(others)); // which then are those of the pattern
    plan_products_of_ranks(A, A.block_rows(), false, [](const Array<int> &) {});
  }

  template <typename Number>
  template <typename OtherNumber>
  void SmoothedAggregation<Number>::reinit(const SlicedEllpackMatrix<Number> &A,
                                           SmoothedAggregation<OtherNumber> &&other)
  {
    static_cast<internal::CoarseningPatterns &>(*this) = std::move(other);
    R.share_pattern(other.R);
    P.share_pattern(other.P, false);
    coarse.share_pattern(other.coarse);
    plan_stretches(A);
  }

  template <typename Number>
  void SmoothedAggregation<Number>::release_values()
  {
    for (SlicedEllpackMatrix<Number> *matrix : {&P, &R, &coarse})
      matrix->release_values();
  }

  /** The patterns of R, A P and the coarse matrix from that of P. */
  template <typename Number>
  void SmoothedAggregation<Number>::plan_products(const SlicedEllpackMatrix<Number> &A, const int n_modes)
  {
    const Backend &place        = A.backend();
    const int      n_components = A.block_rows(), n_nodes = P_pattern.n_rows, n_coarse = P_pattern.n_columns;
    n_in_stretches  = n_nodes;
    product_pattern = compress(place, n_nodes, n_coarse, product_rows(A));
    {
      const CompressedPattern transposed =
          dispatch(place, [&](auto where) { return multigrid::transpose(where, P_pattern); });
      R.reinit(place, transposed.view(), n_modes, n_components);
      R_width = transposed.width;
    }
    finish_patterns(A);
  }

  /** Without the rows that nobody reads. */
  template <typename Number>
  kernels::ProductRows SmoothedAggregation<Number>::product_rows(const SlicedEllpackMatrix<Number> &A) const
  {
    return {{A.view(), P_pattern.view()}, by_rows ? n_in_stretches : 0};
  }

  /** Once those of R and A P are there. */
  template <typename Number>
  void SmoothedAggregation<Number>::finish_patterns(const SlicedEllpackMatrix<Number> &A)
  {
    const Backend &place = A.backend();
    plan_stretches(A);
    if (!by_rows)
    {
      coarse_pattern = compress(place, R.n_rows() / R.block_rows(), P_pattern.n_columns,
                                kernels::CoarseRows{R.view(), product_pattern.view()});
      make_coarse(A, coarse_pattern);
    }
    place.synchronize();
  }

  /** P and the coarse matrix, whose @p pattern has the numbers of the others for columns. */
  template <typename Number>
  void SmoothedAggregation<Number>::make_coarse(const SlicedEllpackMatrix<Number> &A, const CompressedPattern &pattern)
  {
    const Backend &place = A.backend();
    const auto     check = [&] {
      // By rows a coarse matrix is made of half of that matrix, and then is symmetric itself.
      const int first_row = dispatch(place, [&](auto where) {
        return by_rows ? multigrid::some_unsymmetric_row(where, place, A.view(), n_in_stretches)
                           : multigrid::first_unsymmetric_row(where, pattern);
      });
      require(first_row == INT_MAX,
                  "The pattern of the coarse matrix is not symmetric, as that of the matrix it comes from is not.");
    };
    const int n_components = R.block_columns(), n_modes = R.block_rows();
    complete = true;
    C_width  = pattern.width;
    if (of_ranks == nullptr)
    {
      check();
      P.reinit(place, P_pattern.view(), n_components, n_modes);
      P_size = P.n_stored_elements();
      coarse.reinit(place, pattern.view(), n_modes, n_modes);
      return;
    }
    // Of coarse nodes elsewhere those remain that P and the coarse matrix have in rows of this rank.
    const Partitioner &nodes = *A.partitioner();
    nodes.communicator().defer_errors(check);
    const std::int64_t              n_blocks = of_ranks->rows_of_P.n_own();
    std::vector<Partitioner::Ghost> ghosts;
    const Array<int>                final_numbers(place,
                                                  OfRanks::used_numbers(of_ranks->numbers, n_blocks, P_pattern, pattern, ghosts));
    const int  n_own = of_ranks->numbers.n_own(), n_columns = n_own + static_cast<int>(ghosts.size());
    const auto coarse_nodes =
        std::make_shared<const Partitioner>(nodes.shared_communicator(), pattern.n_rows, std::move(ghosts));
    P.reinit(place, renumbered(P_pattern, nodes.n_owned(), n_blocks, n_own, final_numbers, n_columns).view(),
             n_components, n_modes);
    P_size = P.n_stored_elements();
    coarse.reinit(place,
                  renumbered(pattern, pattern.n_rows, pattern.columns.size(), n_own, final_numbers, n_columns).view(),
                  n_modes, n_modes);
    P.set_partitioner(coarse_nodes);
    coarse.set_partitioner(coarse_nodes);
  }

  template <typename Number>
  void SmoothedAggregation<Number>::reinit_on_ranks(const SlicedEllpackMatrix<Number> &A,
                                                    const AggregateLists              &aggregates,
                                                    const int                          n_modes)
  {
    const Backend     &place    = A.backend();
    const Partitioner &nodes    = *A.partitioner();
    const int          n_nodes  = nodes.n_owned();
    const bool         filtered = aggregates.has_short_edges();
    of_ranks                    = std::make_shared<OfRanks>(place, nodes, aggregates);
    CoarseNumbers &numbers      = of_ranks->numbers;

    // Patterns; the columns of each know more coarse nodes of others than the ones before.
    const int *aggregate = of_ranks->aggregate_of_node.data();
    P_pattern            = filtered ? compress(place, n_nodes, numbers.n(),
                                               kernels::ShortProlongatorRows{aggregates.short_edges().view(),
                                                                  aggregates.short_edges_across().view(), aggregate})
                                    : compress(place, n_nodes, numbers.n(), kernels::ProlongatorRows{A.view(), aggregate});
    // Where a row of P is empty that of A P mostly is, too, unless P leaves blocks out.
    plan_products_of_ranks(A, n_modes, !filtered,
                           [&](const Array<int> &new_numbers) { of_ranks->renumber(nodes, new_numbers); });
  }

  /**
   * As plan_products(); @p renumber gets new numbers of coarse nodes for what else has them, and rows of A P are
   * expected to be empty where those of P are if @p empty_as_P.
   */
  template <typename Number>
  template <typename Renumber>
  void SmoothedAggregation<Number>::plan_products_of_ranks(const SlicedEllpackMatrix<Number> &A,
                                                           const int                          n_modes,
                                                           const bool                         empty_as_P,
                                                           const Renumber                    &renumber)
  {
    const Backend     &place   = A.backend();
    const Partitioner &nodes   = *A.partitioner();
    CoarseNumbers     &numbers = of_ranks->numbers;
    renumber(of_ranks->rows_of_P.append(nodes, numbers, P_pattern));
    n_in_stretches = empty_as_P ? of_ranks->rows_of_P.first() : first_sent(nodes);
    if (!by_rows)
    {
      const Array<int> &sent = nodes.sent(place);
      of_ranks->is_sent.reinit(place, nodes.n_owned());
      of_ranks->is_sent.set_zero();
      dispatch(place, [&](auto where) {
        PatchFEM::of_ranks::mark(where, static_cast<std::int64_t>(sent.size()), sent, 0, of_ranks->is_sent);
      });
    }
    product_pattern              = compress(place, nodes.n_owned(), numbers.n(), product_rows(A));
    const Array<int> new_numbers = of_ranks->rows_of_product.append(nodes, numbers, product_pattern);
    n_in_stretches               = std::min(n_in_stretches, of_ranks->rows_of_product.first());
    renumber(new_numbers);
    PatchFEM::renumber(P_pattern, numbers.n_own(), new_numbers, numbers.n());
    {
      CompressedPattern transposed =
          dispatch(place, [&](auto where) { return multigrid::transpose(where, P_pattern); });
      transposed.n_rows = numbers.n_own(); // those of others are behind
      R.reinit(place, transposed.view(), n_modes, A.block_rows());
      R.set_partitioner(A.partitioner());
      R_width = transposed.width;
    }
    finish_patterns(A);
  }

  template <typename Number>
  Array<Number> SmoothedAggregation<Number>::memory_of_P()
  {
    const Backend    &place  = R.backend();
    const std::size_t n_rows = P_pattern.columns.size() * R.block_rows() * R.block_columns();
    Array<Number>     result(place);
    if (complete)
      P.swap_values(result);
    if (result.size() < std::max(n_rows, P_size))
      result.reinit(place, std::max(n_rows, P_size));
    return result;
  }

  template <typename Number>
  void SmoothedAggregation<Number>::plan_stretches(const SlicedEllpackMatrix<Number> &A)
  {
    const std::int64_t limit       = stretch_bytes(A.n_stored_elements() * sizeof(Number));
    const std::int64_t n_blocks    = product_pattern.columns.size();
    const std::int64_t bytes       = n_blocks * R.block_rows() * R.block_columns() * std::int64_t(sizeof(Number));
    const std::int64_t n_stretches = bytes / limit + 1;
    stretch_rows = static_cast<int>(std::max<std::int64_t>((n_in_stretches + n_stretches - 1) / n_stretches, 1));
    if (stretch > 0)
      stretch_rows = stretch;
    stretch_entries    = 0;
    std::int64_t begin = 0;
    const auto   until = [&](const int row) {
      const std::int64_t end = product_pattern.offsets.read(row);
      stretch_entries        = std::max(stretch_entries, end - begin);
      begin                  = end;
    };
    for (int first = 0; first < n_in_stretches; first += stretch_rows)
      until(std::min(n_in_stretches, first + stretch_rows));
    until(product_pattern.n_rows);
  }

  template <typename Number>
  kernels::CoarseningView<Number> SmoothedAggregation<Number>::view(const SlicedEllpackMatrix<Number> &A,
                                                                    Number                            *P_values) const
  {
    return {A.view(),
            R.block_columns(),
            R.block_rows(),
            P_pattern.view(),
            P_values,
            R.view(),
            product_pattern.view(),
            coarse_pattern.view(),
            coarse.view(),
            P_pattern.width,
            product_pattern.width,
            C_width,
            n_in_stretches,
            of_ranks ? of_ranks->is_sent.data() : nullptr};
  }

  /** The coarse matrix row by row, and its pattern if there is none; @p rows are those of A P that are not formed here. */
  template <typename Number>
  void SmoothedAggregation<Number>::compute_rows(const SlicedEllpackMatrix<Number>     &A,
                                                 const kernels::CoarseningView<Number> &view,
                                                 const kernels::ProductStretch<Number> &rows)
  {
    const Backend    &place     = A.backend();
    const int         n_columns = P_pattern.n_columns;
    CompressedPattern half, pattern;
    Array<double>     half_values;
    Array<Number>     values;
    {
      const KernelScope scope(place);
      half = kernels::unique_rows(
          Host(), place, R.n_rows(), 2 * n_columns,
          kernels::CoarseScalarRows<Number>{view.A, R.view(), view.P, view.AP, view.P_values, rows.values, rows.first},
          &half_values);
    }
    const CompressedPattern transposed = multigrid::transpose(Host(), half);
    {
      const KernelScope scope(place);
      pattern = kernels::unique_rows(
          Host(), place, R.n_rows(), n_columns,
          kernels::CoarseSumRows<Number>{half.view(), transposed.view(), half_values.data(), n_columns}, &values);
    }
    if (!complete)
      make_coarse(A, pattern);
    launch(place, pattern.n_rows,
           [C = coarse.view(), offsets = pattern.offsets.data(), values = values.data()](const std::int64_t i) {
             for (int p = 0; p < C.row_lengths[i]; ++p)
               C.values[C.value_index(static_cast<int>(i), p, 0, 0)] = values[offsets[i] + p];
           });
  }

  template <typename Number>
  void SmoothedAggregation<Number>::compute(const SlicedEllpackMatrix<Number>     &A,
                                            const AggregateLists                  &aggregates,
                                            const TentativeProlongator            &tentative,
                                            const PreconditionBlockJacobi<Number> &D_inverse,
                                            const LargestEigenvalue<Number>       &lambda)
  {
    require(tentative.dropped().size() == std::size_t(aggregates.n_aggregates()),
            "A tentative prolongator does not belong to these aggregates.");
    require((!aggregates.has_short_edges() && of_ranks == nullptr) ||
                tentative.coarse_modes().size() ==
                    std::size_t(aggregates.n_aggregates()) * R.block_rows() * R.block_rows(),
            "A prolongator along short edges needs the modes of the next level.");
    dispatch(A.backend(), [&](auto where) { compute_on(where, A, aggregates, tentative, D_inverse, lambda); });
  }

  template <typename Number>
  void SmoothedAggregation<Number>::compute(const SlicedEllpackMatrix<Number> &A, const LinearEmbedding &embedding)
  {
    dispatch(A.backend(), [&](auto where) { compute_on(where, A, embedding); });
  }

  template <typename Number>
  std::size_t SmoothedAggregation<Number>::memory_consumption() const
  {
    return memory_consumption_of(P, R, coarse, P_pattern, product_pattern, coarse_pattern, omega) +
           (of_ranks ? of_ranks->memory_consumption() : 0);
  }

  template class SmoothedAggregation<float>;
  template class SmoothedAggregation<double>;
  template void SmoothedAggregation<double>::reinit(const SlicedEllpackMatrix<double> &, SmoothedAggregation<float> &&);
} // namespace PatchFEM
