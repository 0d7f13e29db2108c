// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "product_cases.h"

#include <patchfem/base/exceptions.h>
#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/rounded_matrix.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

using namespace PatchFEM;

class RoundedMatrixTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(RoundedMatrixTest);

namespace
{
  /** @p A with values as fp32 has them, in double. */
  HostCSR<double> rounded(const HostCSR<double> &A)
  {
    HostCSR<double> result = A;
    for (double &value : result.values)
      value = static_cast<float>(value);
    return result;
  }

  /** All products of a copy of @p matrix, to rounding in double. */
  template <typename Matrix>
  void check_copy(const Matrix &matrix, const HostCSR<double> &A, const std::string &what)
  {
    const HostCSR<double> expected = rounded(A);
    const RoundedMatrix   copy(matrix);
    cases::check_products<double>(copy, expected, what);
    const HostCSR<double> back = copy.to_csr_host();
    EXPECT_EQ(back.row_offsets, expected.row_offsets) << what;
    EXPECT_EQ(back.columns, expected.columns) << what;
    EXPECT_EQ(back.values, expected.values) << what;
    EXPECT_EQ(2 * copy.values_memory_consumption(), matrix.values_memory_consumption()) << what;

    // A step of a polynomial: y + c_0 y + c_1 D (b - A y).
    if (A.n_rows != A.n_columns)
      return;
    const std::size_t         n = A.n_rows;
    const std::vector<double> d = cases::random_values(n, 1), b = cases::random_values(n, 2);
    const std::vector<double> y     = cases::random_values(n, 3);
    const std::vector<double> Ay    = cases::product(expected, y);
    const Backend            &where = matrix.backend();
    const Vector<double>      device_d(where, d), device_b(where, b), device_y(where, y);
    const Array<double>       c(where, std::vector<double>{0.25, 0.5});
    Vector<double>            out(where, cases::not_a_number<double>(n));
    copy.polynomial_step({c.data(), device_d.data(), device_b.data(), device_y.data(), out.data(), true}, device_y,
                         out);
    const std::vector<double> result = out.copy_to_host();
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_NEAR(result[i], 1.25 * y[i] + 0.5 * d[i] * (b[i] - Ay[i]), 1e-12) << what << ", row " << i;
  }
} // namespace

TEST_P(RoundedMatrixTest, TinyByEye)
{
  // 1 + 2^-30 is 1 in single precision; 2^30 + 1 is not to be rounded to it.
  const HostCSR<double>   A{2, 2, {0, 2, 3}, {0, 1, 1}, {1. + std::ldexp(1., -30), 0.5, 3.}};
  const CSRMatrix<double> csr(backend(), A);
  const RoundedMatrix     matrix(csr);
  Vector<double>          y(backend(), cases::not_a_number<double>(2));
  matrix.vmult(y, Vector<double>(backend(), {std::ldexp(1., 30) + 1., 2.}));
  EXPECT_EQ(y.copy_to_host(), (std::vector<double>{std::ldexp(1., 30) + 2., 6.}));
  EXPECT_EQ(matrix.format(), "csr with values in single precision");
  Array<double> diagonal;
  matrix.extract_block_diagonal(1, diagonal);
  EXPECT_EQ(diagonal.to_vector(), (std::vector<double>{1., 3.}));
}

TEST_P(RoundedMatrixTest, SlicesAndCompressedRows)
{
  const std::vector<std::pair<int, int>> sizes   = {{1, 1}, {2, 2}, {3, 3}, {6, 6}, {2, 3},
                                                    {3, 2}, {3, 6}, {6, 3}, {4, 4}};
  const HostCSR<double>                  pattern = cases::random_pattern(331, 157, 40, 11);
  const HostCSR<double>                  square  = cases::random_pattern(331, 331, 40, 13);
  for (const auto &[br, bc] : sizes)
  {
    const std::string name = std::to_string(br) + "x" + std::to_string(bc);
    const auto        A    = cases::expand<double>(br == bc ? square : pattern, br, bc, 12);
    for (const int height : {1, 8, 32, 64, 1000})
      for (const bool skip_padding : {false, true})
      {
        SlicedEllpackMatrix<double> matrix;
        matrix.reinit(backend(), A, br, bc, {height, false, skip_padding});
        check_copy(matrix, A,
                   name + ", height " + std::to_string(height) + (skip_padding ? ", to the ends of rows" : ""));
      }
    CSRMatrix<double> csr(backend(), A);
    for (const CSRKernel kernel : {CSRKernel::pieces, CSRKernel::scalar, CSRKernel::vector})
    {
      csr.use_kernel(kernel);
      check_copy(csr, A, name + ", csr");
    }
  }
  SlicedEllpackMatrix<double> short_columns;
  const auto                  A = cases::expand<double>(square, 1, 1, 12);
  short_columns.reinit(backend(), A, 1, 1, {32, true});
  check_copy(short_columns, A, "16-bit columns");
}

TEST_P(RoundedMatrixTest, SymmetricAndConstant)
{
  for (const int b : {1, 2, 3, 6})
  {
    const int             n = 1200 / b + 7; // several patches, the last of them not full
    const HostCSR<double> A = cases::spd_blocks(n, b, 21);
    check_copy(SymmetricEllpackMatrix<double>(backend(), A, b), A, "symmetric, blocks of " + std::to_string(b));
  }
  const HostCSR<double> A = cases::laplacian<double>(37, 29);
  check_copy(MDIAMatrix<double>(backend(), A), A, "mdia");
}

TEST_P(RoundedMatrixTest, EmptyOneByOneAndRefused)
{
  for (const HostCSR<double> &A : {HostCSR<double>{0, 0, {0}, {}, {}}, HostCSR<double>{1, 1, {0, 1}, {0}, {0.1}},
                                   HostCSR<double>{40, 40, std::vector<std::int64_t>(41, 0), {}, {}}})
  {
    check_copy(CSRMatrix<double>(backend(), A), A, "csr");
    check_copy(SlicedEllpackMatrix<double>(backend(), A), A, "sliced");
  }
  const CSRMatrix<double>  csr(backend(), cases::laplacian<double>(4, 1));
  CoordinateMatrix<double> coordinate;
  coordinate.reinit(csr);
  EXPECT_THROW(RoundedMatrix{coordinate}, Error);
}

TEST_P(RoundedMatrixTest, OutlivesItsMatrixAndSharesThePattern)
{
  const HostCSR<double>                A = cases::laplacian<double>(33, 9);
  std::unique_ptr<const RoundedMatrix> copy;
  {
    const SlicedEllpackMatrix<double> matrix(backend(), A);
    copy = std::make_unique<const RoundedMatrix>(matrix);
  }
  cases::check_products<double>(*copy, A, "after its matrix"); // whose entries fp32 has
}

TEST_P(RoundedMatrixTest, RangeOfSinglePrecision)
{
  for (const double factor : {1., 1e-37, 1e37})
  {
    HostCSR<double> A = cases::laplacian<double>(5, 5);
    for (double &value : A.values)
      value *= factor;
    require_single_range(CSRMatrix<double>(backend(), A));
  }
  for (const double value : {1e39, 1e-39})
  {
    HostCSR<double> A{3, 3, {0, 1, 2, 3}, {0, 1, 2}, {1., value, 2.}};
    try
    {
      require_single_range(CSRMatrix<double>(backend(), A));
      ADD_FAILURE() << value << " was not refused";
    }
    catch (const Error &error)
    {
      EXPECT_NE(std::string(error.what()).find("row 1 leaves the range of single precision"), std::string::npos)
          << error.what();
    }
  }
}
