// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/matrix_base.h>

namespace PatchFEM
{
  /**
   * The componentwise backward error max_i |b - A x|_i / (|A| |x| + |b|)_i, with absolute values of all entries (Oettli
   * and Prager 1964): the smallest e such that x solves a system whose entries differ from those of A and b by no more
   * than e of themselves; not a number if x is not finite. Computed in double where the matrix is; a format that has no
   * rows is copied to one that has, by way of the host.
   */
  template <typename Number>
  double componentwise_backward_error(const MatrixBase<Number> &A, const Vector<Number> &x, const Vector<Number> &b);

  /**
   * r = b - A x as if summed in twice the precision of double, with which iterative refinement removes errors that the
   * rounding of A x leaves in x (Higham 2002, section 12.1). Error for a format that has no rows; of floats it is their
   * residual, whose rows are summed in double.
   */
  template <typename Number>
  void
  compensated_residual(const Operator<Number> &A, const Vector<Number> &x, const Vector<Number> &b, Vector<Number> &r);

  /** Whether the rows of an operator can be read where it is: those of sliced ELLPACK and CSR can. */
  template <typename Number>
  bool has_rows(const Operator<Number> &A);
} // namespace PatchFEM
