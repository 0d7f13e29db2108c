// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/coarsening_bodies.h"

/**
 * @file
 * The three numeric steps of smoothed aggregation that cost something. The device gives every row of a result to a team
 * (coarsening_bodies.h). The host walks along rows and knows the place of each column from a table; it sums up in
 * double, the device in Number, both in the same order.
 *
 * P and A P are scalar rows, block row by block row: value (a, m) of block p of a block row of n blocks, before which
 * there are `begin` blocks, is values[(begin * n_c + a * n + p) * n_m + m].
 */
namespace PatchFEM::kernels
{
  /** P = (I - omega D^-1 A) Q */
  template <typename Number, typename Where>
  void prolongator(Where, const CoarseningView<Number> &view, const TentativeView<Number> &Q);

  /**
   * Rows of A P. Columns before the first one of the row of P are left out: the upper half of C has no use for them.
   */
  template <typename Number, typename Where>
  void matrix_prolongator(Where, const CoarseningView<Number> &view, const ProductStretch<Number> &rows);

  /** Adds what those rows contribute to the upper half of C. */
  template <typename Number, typename Where>
  void coarse_matrix(Where, const CoarseningView<Number> &view, const ProductStretch<Number> &rows);

  /** The device's way on either side: @p Body on @p n_items items, with what it works on. */
  template <template <int, int, typename> class Body, typename Where, typename Number, typename Arguments>
  void by_teams(const Where                   where,
                const std::int64_t            n_items,
                const CoarseningView<Number> &view,
                const Arguments              &arguments)
  {
    with_prolongator_sizes(view.n_c, view.n_m, [&](auto nc, auto nm) {
      team_for(where, n_items, Body<decltype(nc)::value, decltype(nm)::value, Number>{view, arguments});
    });
  }

  template <typename Where, typename Number>
  void coarse_matrix_by_teams(const Where where, const CoarseningView<Number> &view, const ProductStretch<Number> &rows)
  {
    by_teams<CoarseMatrixBody>(where, std::int64_t(view.C.n_rows) * rows.n_parts, view, rows);
    if (rows.partial != nullptr)
      parallel_for(where, std::int64_t(view.C.n_rows) * view.C_width * view.n_m * view.n_m,
                   AddPartsBody<Number>{view, rows});
  }

  /** Into how many parts the device cuts the rows of R: where coarse rows are few, their parts are as many teams as
   * fill 132 multiprocessors. */
  inline int n_coarse_parts(Cuda, const int n_coarse)
  {
    constexpr int wanted = 8192, most = 32;
    return n_coarse >= wanted ? 1 : std::min(most, wanted / std::max(n_coarse, 1));
  }
  inline int n_coarse_parts(Host, int)
  {
    return 1;
  }
} // namespace PatchFEM::kernels
