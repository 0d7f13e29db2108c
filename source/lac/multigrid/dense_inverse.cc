// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/dense_spd.h"
#include <patchfem/lac/multigrid/dense_inverse.h>

namespace PatchFEM
{
  template <typename Number>
  void DenseInverse<Number>::compute(const SlicedEllpackMatrix<Number> &matrix,
                                     const std::vector<Array<double>>  &null_vectors,
                                     const double                       scale)
  {
    dispatch(matrix.backend(), [&](auto where) { compute_on(where, matrix, null_vectors, scale); });
  }

  template <typename Number>
  void DenseInverse<Number>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    launch(inverse.backend(),
           [&](auto where) { kernels::dense_symmetric_vmult(where, n, inverse.data(), src.data(), dst.data()); });
  }

  template class DenseInverse<float>;
  template class DenseInverse<double>;
} // namespace PatchFEM
