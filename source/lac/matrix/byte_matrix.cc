// SPDX-License-Identifier: LGPL-2.1-or-later
#include "byte_steps.h"

namespace PatchFEM
{
  void ByteMatrix::reinit(const SlicedEllpackMatrix<float> &A)
  {
    matrix = &A;
    scales.reinit(A.backend(), A.n_rows(), true);
    A.initialize_vector(inverses, true);
    if (values.size() != static_cast<std::size_t>(A.n_stored_elements()) || !(values.backend() == A.backend()))
      values.reinit(A.backend(), A.n_stored_elements());
  }

  void ByteMatrix::compute()
  {
    matrix->extract_diagonal(scales);
    dispatch(backend(), [&](auto where) { bytes::find_scales(where, scales, inverses); });
    inverses.update_ghosts();
    dispatch(backend(), [&](auto where) { bytes::round_values(where, matrix->view(), inverses, values); });
    inverses = Vector<float>();
  }

  SlicedEllpackView<std::int8_t> ByteMatrix::view() const
  {
    const SlicedEllpackView<float> A = matrix->view();
    return {static_cast<const SlicedPatternView &>(A), const_cast<std::int8_t *>(values.data()), A.column_steps,
            A.skip_padding, RowRange()};
  }

  void ByteMatrix::vmult(Vector<float> &dst, const Vector<float> &src, Vector<float> &room) const
  {
    room.equ(-1.f, src);
    room.scale(scales);
    product_with_ghosts(*this, room, kernels::ScaledDifference<float>{nullptr, scales.data(), dst.data()});
  }

  void ByteMatrix::subtract_product(Vector<float> &to, const Vector<float> &from, const Vector<float> &scaled_d) const
  {
    product_with_ghosts(*this, scaled_d, kernels::ScaledDifference<float>{from.data(), scales.data(), to.data()});
  }
} // namespace PatchFEM
