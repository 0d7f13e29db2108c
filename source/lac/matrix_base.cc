// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/lac/matrix_base.h>

namespace PatchFEM
{
  template <typename Number>
  void MatrixBase<Number>::check_product(const Vector<Number> &dst, const Vector<Number> &src) const
  {
    require(dst.size() == static_cast<std::size_t>(n_rows()) && src.size() == static_cast<std::size_t>(n_columns()),
            [&] {
              return "A matrix of " + std::to_string(n_rows()) + " x " + std::to_string(n_columns()) +
                     " was multiplied with vectors of sizes " + std::to_string(dst.size()) + " and " +
                     std::to_string(src.size()) + ".";
            });
    require(dst.backend() == backend() && src.backend() == backend(),
            [&] { return "A matrix on " + backend().name() + " was multiplied with a vector on another back end."; });
  }

  template <typename Number>
  void MatrixBase<Number>::cg_product(Vector<Number> &q, const Vector<Number> &p, const CGView &cg) const
  {
    vmult(q, p);
    dispatch(backend(), [&](auto where) { kernels::cg_step_length(where, p.size(), p.data(), q.data(), cg); });
  }

  template <typename Number>
  void MatrixBase<Number>::extract_diagonal(Vector<Number> &diagonal) const
  {
    diagonal.reinit(backend(), n_rows(), true);
    extract_block_diagonal(1, diagonal.array());
  }

  template class MatrixBase<float>;
  template class MatrixBase<double>;
} // namespace PatchFEM
