// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "lac_cases.h"

#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>

using namespace PatchFEM;

class MatrixAlgebra : public BackendTest
{
protected:
  /** A = 0, A *= s, A += s B and A = B for two matrices of one pattern, against the same on their entries. */
  template <typename Matrix, typename Number>
  void check(const HostCSR<Number> &a, const HostCSR<Number> &b)
  {
    Matrix       A(backend(), a);
    const Matrix B(backend(), b);
    const auto   expect = [&](const Number of_a, const Number of_b) {
      const HostCSR<Number> result = A.to_csr_host();
      ASSERT_EQ(result.columns, a.columns);
      for (std::size_t e = 0; e < result.values.size(); ++e)
        ASSERT_NEAR(result.values[e], of_a * a.values[e] + of_b * b.values[e],
                      100. * std::numeric_limits<Number>::epsilon())
            << A.format() << ", entry " << e;
    };
    A *= Number(3);
    expect(3, 0);
    A.add(Number(-0.5), B);
    expect(3, Number(-0.5));
    static_cast<MatrixBase<Number> &>(A).copy_from(B);
    expect(0, 1);
    A.add(Number(1), A);
    expect(0, 2);
    A = Number(0);
    expect(0, 0);
    A.copy_from(B); // from no values and no pattern, too
    expect(0, 1);
    Matrix empty;
    empty.copy_from(A);
    A = Number(0);
    EXPECT_EQ(empty.to_csr_host().values, B.to_csr_host().values); // the pattern is shared, values are not
    A.add(Number(2), B);                                           // and products have what entries have
    Vector<Number> x(backend(), cases::to<Number>(cases::random_values(a.n_columns, 3))), y(backend(), a.n_rows), z(y);
    A.vmult(y, x);
    B.vmult(z, x);
    y.add(Number(-2), z);
    EXPECT_LE(y.linfty_norm(), 100. * std::numeric_limits<Number>::epsilon());
  }

  template <typename Number>
  void check_formats()
  {
    // Tiny, and past warps, slices and parts.
    for (const int side : {2, 37})
    {
      const HostCSR<Number> a = cases::laplacian<Number>(side, side);
      HostCSR<Number>       b = a;
      for (std::size_t e = 0; e < b.values.size(); ++e)
        b.values[e] = b.values[e] > 0 ? Number(e % 7) / 7 : Number(0.25);
      check<CSRMatrix<Number>>(a, b);
      check<SlicedEllpackMatrix<Number>>(a, b);
      check<SymmetricEllpackMatrix<Number>>(a, b);
      check<MDIAMatrix<Number>>(a, b);
    }
  }
};
PATCHFEM_INSTANTIATE_BACKENDS(MatrixAlgebra);

TEST_P(MatrixAlgebra, IsThatOfTheEntries)
{
  check_formats<float>();
  check_formats<double>();
}

TEST_P(MatrixAlgebra, OfBlocks)
{
  const HostCSR<double>       a = cases::spd_blocks(70, 3, 1), b = cases::spd_blocks(70, 3, 2);
  SlicedEllpackMatrix<double> A(backend(), a, 3);
  A.add(2., SlicedEllpackMatrix<double>(backend(), b, 3));
  const std::vector<double> values = A.to_csr_host().values;
  for (std::size_t e = 0; e < values.size(); ++e)
    EXPECT_NEAR(values[e], a.values[e] + 2. * b.values[e], 1e-14);
  EXPECT_THROW(A.add(1., SlicedEllpackMatrix<double>(backend(), b, 1)), Error);
}

TEST_P(MatrixAlgebra, RefusesWhatDoesNotMatch)
{
  const HostCSR<double>       host = cases::laplacian<double>(8, 8);
  CSRMatrix<double>           csr(backend(), host);
  SlicedEllpackMatrix<double> sliced(backend(), host), low;
  low.reinit(backend(), host, 1, 1, {16, false, false});
  EXPECT_THROW(csr.add(1., sliced), Error);
  EXPECT_THROW(sliced.add(1., low), Error);
  EXPECT_THROW(csr.add(1., CSRMatrix<double>(backend(), cases::laplacian<double>(16, 4))), Error);
  EXPECT_THROW(sliced = 1., Error);
  if (backend() != Backend("host"))
  {
    EXPECT_THROW(csr.add(1., CSRMatrix<double>(Backend("host"), host)), Error);
  }
  CoordinateMatrix<double> coordinate(backend(), host);
  EXPECT_THROW(coordinate *= 2., Error);
  EXPECT_EQ(csr.to_csr_host().values, host.values); // nothing was changed
}
