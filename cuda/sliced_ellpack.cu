// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "sliced_ellpack_product.cuh"

#include <patchfem/kernels/sliced_ellpack.h>

namespace PatchFEM::kernels
{
  template <typename Value, typename Number, typename Target, typename Where>
  void product(Where where, const SlicedEllpackView<Value> &A, const Number *x, const Target &target)
  {
    // Slices of one row of scalars are compressed rows, of which the last range forms all.
    if constexpr (sizeof(Value) > 1)
      if (A.slice_height == 1 && A.block_rows == 1 && A.block_columns == 1)
        return A.rows.last != RowRange::end
                   ? void()
                   : product(where, CSRView<Value>{A.n_rows, A.n_columns, A.slice_offsets, A.columns, A.values}, x,
                             target);
    product::launch_sliced_ellpack(where, A, x, target);
  }

  template void parallel_for(Cuda, std::int64_t, const FillValuesBody<CSRView, float> &);
  template void parallel_for(Cuda, std::int64_t, const FillValuesBody<CSRView, double> &);
  template void parallel_for(Cuda, std::int64_t, const FillValuesBody<MDIAView, float> &);
  template void parallel_for(Cuda, std::int64_t, const FillValuesBody<MDIAView, double> &);

  PATCHFEM_INSTANTIATE_PRODUCTS(Cuda, SlicedEllpackView)
  PATCHFEM_INSTANTIATE_PRODUCT(Cuda, SlicedEllpackView, std::int8_t, float, ScaledDifference)
} // namespace PatchFEM::kernels
