// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/launch.h"

#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/solver/backward_error.h>
#include <patchfem/lac/solver/largest_eigenvalue.h>
#include <patchfem/lac/solver/null_space.h>

/** @file Loops of solvers, which solver_steps.h has for both back ends (see launch.h). */
namespace PatchFEM::solver
{
  /** visit(view) of a matrix whose rows can be read where it is; false of another. */
  template <typename Number, typename Visitor>
  bool with_rows(const Operator<Number> &A, const Visitor &visit)
  {
    if (const auto *sliced = dynamic_cast<const SlicedEllpackMatrix<Number> *>(&A))
      visit(sliced->view());
    else if (const auto *csr = dynamic_cast<const CSRMatrix<Number> *>(&A))
      visit(csr->view());
    else
      return false;
    return true;
  }

  /** All of LargestEigenvalue. */
  template <typename Number, typename Where>
  void lanczos(Where,
               const Operator<Number>         &A,
               const PreconditionBase<Number> &D_inverse,
               int                             n_steps,
               bool                            jumps,
               kernels::LanczosScalars        *scalars);

  /** x = x - (v.x) v; @p sums has reduction::max_parts + 1 entries. */
  template <typename Number, typename Where>
  void remove_component(Where, const Vector<Number> &v, Array<double> &sums, Vector<Number> &x);

  /** result = v / d, element by element; 0 where d is. */
  template <typename Number, typename Where>
  void divide(Where, const Vector<Number> &v, const Vector<Number> &d, Vector<Number> &result);

  /** See the functions of these names in backward_error.h; false of a matrix that has no rows. */
  template <typename Number, typename Where>
  bool componentwise_backward_error(
      Where, const Operator<Number> &A, const Vector<Number> &x, const Vector<Number> &b, double &result);
  template <typename Where>
  bool compensated_residual(
      Where, const Operator<double> &A, const Vector<double> &x, const Vector<double> &b, Vector<double> &r);
} // namespace PatchFEM::solver
