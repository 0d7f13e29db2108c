// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../assembly/structure_tools.h"

#include <patchfem/kernels/backward_error_bodies.h>
#include <patchfem/lac/backward_error.h>
#include <patchfem/lac/csr_matrix.h>
#include <patchfem/lac/sliced_ellpack_matrix.h>

namespace PatchFEM
{
  template <typename Number>
  double componentwise_backward_error(const MatrixBase<Number> &A, const Vector<Number> &x, const Vector<Number> &b)
  {
    const Backend       &place = A.backend();
    Array<std::uint64_t> largest(place, 1);
    largest.set_zero();
    const auto find = [&](const auto &view, const int *lengths) {
      using View = std::decay_t<decltype(view)>;
      run(place, A.n_rows(),
          kernels::ComponentwiseErrorBody<View, Number>{view, lengths, x.data(), b.data(), largest.data()});
    };
    CSRMatrix<Number> copy;
    if (const auto *sliced = dynamic_cast<const SlicedEllpackMatrix<Number> *>(&A))
      find(sliced->view(), sliced->row_lengths());
    else if (const auto *csr = dynamic_cast<const CSRMatrix<Number> *>(&A))
      find(csr->view(), nullptr);
    else
    {
      copy.reinit(place, A.to_csr_host());
      find(copy.view(), nullptr);
    }
    const std::uint64_t bits = largest.read(0);
    double              result;
    std::memcpy(&result, &bits, sizeof(result));
    return result;
  }

  template double componentwise_backward_error(const MatrixBase<float> &, const Vector<float> &, const Vector<float> &);
  template double
  componentwise_backward_error(const MatrixBase<double> &, const Vector<double> &, const Vector<double> &);
} // namespace PatchFEM
