// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "unique_rows.cuh"

#include "lac/matrix/sliced_ellpack_steps.h"

// Steps that ask for its slice_offsets():
#include "lac/matrix/coordinate_steps.h"
#include "lac/matrix/mdia_steps.h"
#include "lac/matrix/symmetric_ellpack_steps.h"

namespace PatchFEM
{
  namespace kernels
  {
    template void team_for(Cuda, std::int64_t, const PatchFEM::internal::ExpandPatternBody &);
    PATCHFEM_INSTANTIATE_UNIQUE_ROWS(SymmetricHalo);
  } // namespace kernels

  namespace internal
  {
#define INSTANTIATE_ROWS(Rows, Number)                                                                    \
  template void compress_rows(Here, const Backend &, const Rows<Number> &, int, int, CompressedPattern &, \
                              Array<Number> &)

#define INSTANTIATE(Number)                                                                                \
  INSTANTIATE_ROWS(SlicedEllpackView, Number);                                                             \
  INSTANTIATE_ROWS(MDIAView, Number);                                                                      \
  INSTANTIATE_ROWS(PartsOfRows, Number);                                                                   \
  template void block_diagonal(Here, const CSRView<Number> &, int, Array<Number> &);                       \
  template void block_diagonal(Here, const SlicedEllpackView<Number> &, int, Array<Number> &);             \
  template void block_diagonal(Here, const CoordinateView<Number> &, int, Array<Number> &);                \
  template void block_diagonal(Here, const SymmetricEllpackView<Number> &, int, Array<Number> &);          \
  template void hybrid_residual(Here, const SlicedEllpackMatrix<Number> &, const Number *, const Number *, \
                                const double *, Number *);                                                 \
  template int  build_mdia(Here, const Backend &, const CSRView<Number> &, MDIAPattern &, Number &);       \
  template int  asymmetric_row(Here, const Backend &, const SlicedEllpackView<Number> &, double);          \
  template void build_symmetric(Here, const SlicedEllpackMatrix<Number> &, SymmetricPattern &, Array<Number> &)
    INSTANTIATE(float);
    INSTANTIATE(double);
  } // namespace internal
} // namespace PatchFEM
