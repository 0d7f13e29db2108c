// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "unique_rows.cuh"

#include "kernels/coarsening.h"

// What of the set-up of smoothed aggregation is the work of teams.
namespace PatchFEM
{
  namespace kernels
  {
    template void team_for(Cuda, std::int64_t, const AggregateQRBody &);

    PATCHFEM_INSTANTIATE_UNIQUE_ROWS(ProlongatorRows);
    PATCHFEM_INSTANTIATE_UNIQUE_ROWS(ShortProlongatorRows);
    PATCHFEM_INSTANTIATE_UNIQUE_ROWS(ProductRows);
    PATCHFEM_INSTANTIATE_UNIQUE_ROWS(CoarseRows);
    PATCHFEM_INSTANTIATE_UNIQUE_ROWS(BlockedRows);

    template <typename Number>
    void prolongator(Cuda                             where,
                     const CoarseningView<Number>    &view,
                     const int                       *aggregate_of_node,
                     const Number                    *tentative,
                     const BlockDiagonalView<Number> &D,
                     const double                    *omega,
                     Number                          *P_values)
    {
      prolongator_by_teams(where, view, aggregate_of_node, tentative, D, omega, P_values);
    }

    template <typename Number>
    void matrix_prolongator(Cuda                          where,
                            const CoarseningView<Number> &view,
                            const Number                 *P_values,
                            const int                     first,
                            const int                     last,
                            Number                       *values)
    {
      matrix_prolongator_by_teams(where, view, P_values, first, last, values);
    }

    template <typename Number>
    void coarse_matrix(Cuda                          where,
                       const CoarseningView<Number> &view,
                       const Number                 *P_values,
                       const int                     first,
                       const int                     last,
                       const Number                 *values,
                       const int                     n_parts,
                       double                       *partial)
    {
      coarse_matrix_by_teams(where, view, P_values, first, last, values, n_parts, partial);
    }

#define INSTANTIATE_COARSENING(Number)                                                                             \
  template void prolongator(Cuda, const CoarseningView<Number> &, const int *, const Number *,                     \
                            const BlockDiagonalView<Number> &, const double *, Number *);                          \
  template void matrix_prolongator(Cuda, const CoarseningView<Number> &, const Number *, int, int, Number *);      \
  template void coarse_matrix(Cuda, const CoarseningView<Number> &, const Number *, int, int, const Number *, int, \
                              double *)
    INSTANTIATE_COARSENING(float);
    INSTANTIATE_COARSENING(double);
  } // namespace kernels
} // namespace PatchFEM
