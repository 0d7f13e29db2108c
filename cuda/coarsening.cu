// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "unique_rows.cuh"

#include "kernels/coarsening.h"
#include "kernels/instantiate.h"

namespace PatchFEM::kernels
{
  template void team_for(Cuda, std::int64_t, const AggregateQRBody &);

  PATCHFEM_INSTANTIATE_UNIQUE_ROWS(ProlongatorRows);
  PATCHFEM_INSTANTIATE_UNIQUE_ROWS(ShortProlongatorRows);
  PATCHFEM_INSTANTIATE_UNIQUE_ROWS(ProductRows);
  PATCHFEM_INSTANTIATE_UNIQUE_ROWS(CoarseRows);
  PATCHFEM_INSTANTIATE_UNIQUE_ROWS(BlockedRows);

  template <typename Number, typename Where>
  void prolongator(Where where, const CoarseningView<Number> &view, const TentativeView<Number> &Q)
  {
    by_teams<ProlongatorBody>(where, view.A.n_rows, view, Q);
  }

  template <typename Number, typename Where>
  void matrix_prolongator(Where where, const CoarseningView<Number> &view, const ProductStretch<Number> &rows)
  {
    by_teams<MatrixProlongatorBody>(where, rows.last - rows.first, view, rows);
  }

  template <typename Number, typename Where>
  void coarse_matrix(Where where, const CoarseningView<Number> &view, const ProductStretch<Number> &rows)
  {
    coarse_matrix_by_teams(where, view, rows);
  }

  PATCHFEM_INSTANTIATE_COARSENING(Cuda)
} // namespace PatchFEM::kernels
