// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_kernels_coarsening_h
#define patchfem_source_kernels_coarsening_h

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
namespace PatchFEM
{
  namespace kernels
  {
    template <typename Number>
    struct CoarseningView
    {
      SlicedEllpackView<Number> A;
      const int                *A_lengths;
      int                       n_c, n_m;
      SparsityView              P;
      SlicedPattern             R;
      SparsityView              AP;
      SparsityView              C_pattern; ///< of R A P
      SlicedEllpackView<Number> C;
      int                       P_width, AP_width, C_width; ///< longest rows
    };

    /** The device's way on either side, by ProlongatorBody, MatrixProlongatorBody and CoarseMatrixBody. */
    template <typename Where, typename Number>
    void prolongator_by_teams(const Where                      where,
                              const CoarseningView<Number>    &view,
                              const int                       *aggregate_of_node,
                              const Number                    *tentative,
                              const BlockDiagonalView<Number> &D,
                              const double                    *omega,
                              Number                          *P_values)
    {
      with_prolongator_sizes(view.n_c, view.n_m, [&](auto nc, auto nm) {
        team_for(
            where, view.P.n_rows,
            ProlongatorBody<decltype(nc)::value, decltype(nm)::value, Number>{
                view.A, view.A_lengths, aggregate_of_node, tentative, D, omega, view.n_c, view.n_m, view.P, P_values});
      });
    }

    template <typename Where, typename Number>
    void matrix_prolongator_by_teams(const Where                   where,
                                     const CoarseningView<Number> &view,
                                     const Number                 *P_values,
                                     const int                     first,
                                     const int                     last,
                                     Number                       *values)
    {
      with_prolongator_sizes(view.n_c, view.n_m, [&](auto nc, auto nm) {
        team_for(where, last - first,
                 MatrixProlongatorBody<decltype(nc)::value, decltype(nm)::value, Number>{
                     view.A, view.A_lengths, view.n_c, view.n_m, view.P, P_values, view.AP, first, values});
      });
    }

    template <typename Where, typename Number>
    void coarse_matrix_by_teams(const Where                   where,
                                const CoarseningView<Number> &view,
                                const Number                 *P_values,
                                const int                     first,
                                const int                     last,
                                const Number                 *values,
                                const int                     n_parts,
                                double                       *partial)
    {
      with_prolongator_sizes(view.n_c, view.n_m, [&](auto nc, auto nm) {
        team_for(where, std::int64_t(view.C.n_rows) * n_parts,
                 CoarseMatrixBody<decltype(nc)::value, decltype(nm)::value, Number>{
                     view.R, view.n_c, view.n_m, view.P, P_values, view.AP, values, first, last, view.C_pattern, view.C,
                     n_parts, partial});
      });
      if (partial != nullptr)
        parallel_for(where, std::int64_t(view.C.n_rows) * view.C_width * view.n_m * view.n_m,
                     AddPartsBody<Number>{view.R, first, last, view.C_pattern, view.C, view.C_width, n_parts, partial});
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

    /** P = (I - omega D^-1 A) Q; Q is [node][component][mode], @p D the inverse, @p omega memory of the back end. */
    template <typename Number>
    void prolongator(Host,
                     const CoarseningView<Number>    &view,
                     const int                       *aggregate_of_node,
                     const Number                    *tentative,
                     const BlockDiagonalView<Number> &D,
                     const double                    *omega,
                     Number                          *P_values);
    template <typename Number>
    void prolongator(Cuda,
                     const CoarseningView<Number>    &view,
                     const int                       *aggregate_of_node,
                     const Number                    *tentative,
                     const BlockDiagonalView<Number> &D,
                     const double                    *omega,
                     Number                          *P_values);

    /**
     * Rows [first, last) of A P; the values start at the first entry of row @p first. Columns before the first one of
     * the row of P are left out: the upper half of C has no use for them.
     */
    template <typename Number>
    void matrix_prolongator(
        Host, const CoarseningView<Number> &view, const Number *P_values, int first, int last, Number *values);
    template <typename Number>
    void matrix_prolongator(
        Cuda, const CoarseningView<Number> &view, const Number *P_values, int first, int last, Number *values);

    /**
     * Adds what those rows contribute to the upper half of C. With n_coarse_parts() > 1 parts @p partial has
     * [part][entry of C_pattern][n_m][n_m] values, else it is nullptr.
     */
    template <typename Number>
    void coarse_matrix(Host,
                       const CoarseningView<Number> &view,
                       const Number                 *P_values,
                       int                           first,
                       int                           last,
                       const Number                 *values,
                       int                           n_parts,
                       double                       *partial);
    template <typename Number>
    void coarse_matrix(Cuda,
                       const CoarseningView<Number> &view,
                       const Number                 *P_values,
                       int                           first,
                       int                           last,
                       const Number                 *values,
                       int                           n_parts,
                       double                       *partial);
  } // namespace kernels
} // namespace PatchFEM

#endif
