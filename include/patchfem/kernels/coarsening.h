// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_coarsening_h
#define patchfem_kernels_coarsening_h

#include <patchfem/kernels/multigrid_value_bodies.h>

/**
 * @file
 * The three numeric steps of smoothed aggregation that cost something. The device gives every block of a result to a
 * thread, which searches for what adds to it (multigrid_value_bodies.h). The host walks along rows and knows the place
 * of each column from a table, so that it looks up every product once. Both add in the same order, in double.
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
      SlicedEllpackView<Number> P;
      const int                *P_lengths;
      int                       P_width; ///< longest row
      SlicedEllpackView<Number> R;
      const int                *R_lengths;
      SparsityView              AP;
      int                       AP_width;
      SlicedEllpackView<Number> C; ///< R A P
      const int                *C_lengths;
      int                       C_width;
    };

    /** The device's way on either side, by ProlongatorBody, MatrixProlongatorBody and CoarseMatrixBody. */
    template <typename Where, typename Number>
    void prolongator_by_blocks(const Where                      where,
                               const CoarseningView<Number>    &view,
                               const int                       *aggregate_of_node,
                               const double                    *tentative,
                               const BlockDiagonalView<Number> &D,
                               const double                    *omega)
    {
      with_prolongator_sizes(view.P.block_rows, view.P.block_columns, [&](auto nc, auto nm) {
        parallel_for(
            where, std::int64_t(view.P.n_rows) * view.P_width,
            ProlongatorBody<decltype(nc)::value, decltype(nm)::value, Number>{
                view.A, view.A_lengths, aggregate_of_node, tentative, D, omega, view.P, view.P_lengths, view.P_width});
      });
    }

    template <typename Where, typename Number>
    void matrix_prolongator_by_blocks(
        const Where where, const CoarseningView<Number> &view, const int first, const int last, Number *values)
    {
      with_prolongator_sizes(view.P.block_rows, view.P.block_columns, [&](auto nc, auto nm) {
        parallel_for(where, std::int64_t(last - first) * view.AP_width,
                     MatrixProlongatorBody<decltype(nc)::value, decltype(nm)::value, Number>{
                         view.A, view.A_lengths, view.P, view.P_lengths, view.AP, first, view.AP_width, values});
      });
    }

    template <typename Where, typename Number>
    void coarse_matrix_by_blocks(
        const Where where, const CoarseningView<Number> &view, const int first, const int last, const Number *values)
    {
      with_prolongator_sizes(view.P.block_rows, view.P.block_columns, [&](auto nc, auto nm) {
        parallel_for(where, std::int64_t(view.C.n_rows) * view.C_width,
                     CoarseMatrixBody<decltype(nc)::value, decltype(nm)::value, Number>{
                         view.R, view.R_lengths, view.AP, values, view.AP_width, first, last, view.C, view.C_lengths,
                         view.C_width});
      });
    }

    /** P = (I - omega D^-1 A) Q; Q is [node][component][mode], @p D the inverse, @p omega memory of the back end. */
    template <typename Number>
    void prolongator(Host,
                     const CoarseningView<Number>    &view,
                     const int                       *aggregate_of_node,
                     const double                    *tentative,
                     const BlockDiagonalView<Number> &D,
                     const double                    *omega);
    template <typename Number>
    void prolongator(Cuda,
                     const CoarseningView<Number>    &view,
                     const int                       *aggregate_of_node,
                     const double                    *tentative,
                     const BlockDiagonalView<Number> &D,
                     const double                    *omega);

    /** Rows [first, last) of A P into values[row - first][AP_width][n_c][n_m]. */
    template <typename Number>
    void matrix_prolongator(Host, const CoarseningView<Number> &view, int first, int last, Number *values);
    template <typename Number>
    void matrix_prolongator(Cuda, const CoarseningView<Number> &view, int first, int last, Number *values);

    /** Adds what those rows contribute to the upper half of C. */
    template <typename Number>
    void coarse_matrix(Host, const CoarseningView<Number> &view, int first, int last, const Number *values);
    template <typename Number>
    void coarse_matrix(Cuda, const CoarseningView<Number> &view, int first, int last, const Number *values);
  } // namespace kernels
} // namespace PatchFEM

#endif
