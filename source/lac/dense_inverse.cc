// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../assembly/structure_tools.h"

#include <patchfem/kernels/dense_spd.h>
#include <patchfem/kernels/multigrid_value_bodies.h>
#include <patchfem/kernels/ordering.h>
#include <patchfem/lac/dense_inverse.h>

#include <climits>
#include <type_traits>

namespace PatchFEM
{
  template <typename Number>
  void DenseInverse<Number>::compute(const SlicedEllpackMatrix<Number> &matrix)
  {
    const Backend &place = matrix.backend();
    n                    = matrix.n_rows();
    require(matrix.n_columns() == n, "Only square matrices have an inverse.");
    const std::size_t n_entries = std::size_t(n) * n;
    Array<double>     dense(place, n_entries), factor(place, n_entries);
    Array<int>        failure(place, 1);
    inverse.reinit(place, n_entries);
    dense.set_zero();
    run(place, 1, kernels::FillBody{failure.data(), INT_MAX});
    run(place, n, kernels::ToDenseBody<Number>{matrix.view(), matrix.row_lengths(), n, dense.data()});
    dispatch(place, [&](auto where) {
      constexpr int strip = std::is_same<decltype(where), Host>::value ? 8 : 1;
      kernels::invert_dense_spd<strip>(where, n, dense.data(), factor.data(), inverse.data(), failure.data());
    });
    const int row = failure.read(0);
    require(row == INT_MAX, "The matrix is not positive definite: its Cholesky factorisation fails in row " +
                                std::to_string(row) + " of " + std::to_string(n) + ".");
  }

  template <typename Number>
  void DenseInverse<Number>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    dispatch(inverse.backend(),
             [&](auto where) { kernels::dense_symmetric_vmult(where, n, inverse.data(), src.data(), dst.data()); });
  }

  template class DenseInverse<float>;
  template class DenseInverse<double>;
} // namespace PatchFEM
