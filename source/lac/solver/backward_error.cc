// SPDX-License-Identifier: LGPL-2.1-or-later
#include "solver_tools.h"

namespace PatchFEM
{
  template <typename Number>
  double componentwise_backward_error(const MatrixBase<Number> &A, const Vector<Number> &x, const Vector<Number> &b)
  {
    double result;
    x.update_ghosts();
    const auto find = [&](const Operator<Number> &A) {
      return dispatch(A.backend(),
                      [&](auto where) { return solver::componentwise_backward_error(where, A, x, b, result); });
    };
    if (!find(A))
    {
      CSRMatrix<Number> copy;
      copy.reinit(A.backend(), A.to_csr_host());
      find(copy);
    }
    return A.partitioner() != nullptr ? A.partitioner()->communicator().maximum(result) : result;
  }

  template <typename Number>
  void
  compensated_residual(const Operator<Number> &A, const Vector<Number> &x, const Vector<Number> &b, Vector<Number> &r)
  {
    x.update_ghosts();
    if constexpr (std::is_same<Number, double>::value)
      require(dispatch(A.backend(), [&](auto where) { return solver::compensated_residual(where, A, x, b, r); }),
              "A residual in twice the precision needs a matrix in sliced ELLPACK or CSR.");
    else
      A.residual(r, x, b);
  }

  template <typename Number>
  bool has_rows(const Operator<Number> &A)
  {
    return solver::with_rows(A, [](const auto &) {});
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
