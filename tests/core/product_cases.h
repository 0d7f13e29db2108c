// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "lac_cases.h"

#include <patchfem/lac/matrix/matrix_base.h>

#include <gtest/gtest.h>

/** What tests of matrices share. */
namespace cases
{
  using namespace PatchFEM;

  /** Every product of @p A against plain loops, outputs filled with NaN first. */
  template <typename Number>
  void check_products(const MatrixBase<Number> &A, const HostCSR<Number> &reference, const std::string &what)
  {
    SCOPED_TRACE(what);
    const Backend            &where = A.backend();
    const std::vector<double> x0    = random_values(reference.n_columns, 5);
    const std::vector<Number> x     = to<Number>(x0);
    const std::vector<double> x_rounded(x.begin(), x.end());
    const std::vector<double> expected  = product(reference, x_rounded);
    const double              tolerance = 20 * 40 * std::numeric_limits<Number>::epsilon();
    const Vector<Number>      src(where, x);

    Vector<Number> dst(where, not_a_number<Number>(reference.n_rows));
    A.vmult(dst, src);
    std::vector<Number> result = dst.copy_to_host();
    for (int i = 0; i < reference.n_rows; ++i)
      ASSERT_NEAR(result[i], expected[i], tolerance) << "row " << i;

    dst = Number(1);
    A.vmult_add(dst, src);
    result = dst.copy_to_host();
    for (int i = 0; i < reference.n_rows; ++i)
      ASSERT_NEAR(result[i], 1. + expected[i], tolerance) << "row " << i;

    Vector<Number> r(where, not_a_number<Number>(reference.n_rows));
    A.residual(r, src, Vector<Number>(where, std::vector<Number>(reference.n_rows, Number(2))));
    result = r.copy_to_host();
    for (int i = 0; i < reference.n_rows; ++i)
      ASSERT_NEAR(result[i], 2. - expected[i], tolerance) << "row " << i;
  }
} // namespace cases
