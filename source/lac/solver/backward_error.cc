// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/run.h"

#include "kernels/backward_error_bodies.h"
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/solver/backward_error.h>

namespace PatchFEM
{
  namespace
  {
    /** visit(view, row lengths) of a matrix whose rows can be read where it is; false of another. */
    template <typename Number, typename Visitor>
    bool with_rows(const Operator<Number> &A, const Visitor &visit)
    {
      if (const auto *sliced = dynamic_cast<const SlicedEllpackMatrix<Number> *>(&A))
        visit(sliced->view(), sliced->row_lengths());
      else if (const auto *csr = dynamic_cast<const CSRMatrix<Number> *>(&A))
        visit(csr->view(), nullptr);
      else
        return false;
      return true;
    }
  } // namespace

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
    if (!with_rows(A, find))
    {
      copy.reinit(place, A.to_csr_host());
      find(copy.view(), nullptr);
    }
    const std::uint64_t bits = largest.read(0);
    double              result;
    std::memcpy(&result, &bits, sizeof(result));
    return result;
  }

  template <typename Number>
  void
  compensated_residual(const Operator<Number> &A, const Vector<Number> &x, const Vector<Number> &b, Vector<Number> &r)
  {
    if constexpr (std::is_same<Number, double>::value)
    {
      const bool done = with_rows(A, [&](const auto &view, const int *lengths) {
        using View = std::decay_t<decltype(view)>;
        run(A.backend(), A.n_rows(),
            kernels::CompensatedResidualBody<View>{view, lengths, x.data(), b.data(), r.data()});
      });
      require(done, "A residual in twice the precision needs a matrix in sliced ELLPACK or CSR.");
    }
    else
      A.residual(r, x, b);
  }

  template <typename Number>
  bool has_rows(const Operator<Number> &A)
  {
    return with_rows(A, [](const auto &, const int *) {});
  }

  template bool has_rows(const Operator<float> &);
  template bool has_rows(const Operator<double> &);
  template void
  compensated_residual(const Operator<float> &, const Vector<float> &, const Vector<float> &, Vector<float> &);
  template void
  compensated_residual(const Operator<double> &, const Vector<double> &, const Vector<double> &, Vector<double> &);
  template double componentwise_backward_error(const MatrixBase<float> &, const Vector<float> &, const Vector<float> &);
  template double
  componentwise_backward_error(const MatrixBase<double> &, const Vector<double> &, const Vector<double> &);
} // namespace PatchFEM
