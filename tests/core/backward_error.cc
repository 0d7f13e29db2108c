// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "lac_cases.h"

#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>
#include <patchfem/lac/solver/backward_error.h>

#include <cmath>

using namespace PatchFEM;

class BackwardErrorTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(BackwardErrorTest);

namespace
{
  double reference(const HostCSR<double> &A, const std::vector<double> &x, const std::vector<double> &b)
  {
    double result = 0.;
    for (int row = 0; row < A.n_rows; ++row)
    {
      double r = b[row], size = std::abs(b[row]);
      for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
      {
        r -= A.values[e] * x[A.columns[e]];
        size += std::abs(A.values[e] * x[A.columns[e]]);
      }
      if (size > 0.)
        result = std::max(result, std::abs(r) / size);
    }
    return result;
  }
} // namespace

TEST_P(BackwardErrorTest, TwoUnknownsByEye)
{
  // (2 -1; -1 2) (1, 3) = (-1, 5): with b = (-1, 4) the second row misses by 1 of 1 + 6 + 4.
  const HostCSR<double>   A{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {2., -1., -1., 2.}};
  const CSRMatrix<double> matrix(backend(), A);
  const Vector<double>    x(backend(), {1., 3.});
  EXPECT_EQ(componentwise_backward_error(matrix, x, Vector<double>(backend(), {-1., 5.})), 0.);
  EXPECT_DOUBLE_EQ(componentwise_backward_error(matrix, x, Vector<double>(backend(), {-1., 4.})), 1. / 11.);
  // Nothing solved is an error of all.
  EXPECT_EQ(componentwise_backward_error(matrix, Vector<double>(backend(), 2), Vector<double>(backend(), {0., 4.})),
            1.);
  EXPECT_EQ(componentwise_backward_error(matrix, Vector<double>(backend(), 2), Vector<double>(backend(), 2)), 0.);
  // A solution that is none is not taken for an exact one.
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(std::isfinite(componentwise_backward_error(matrix, Vector<double>(backend(), {1., bad}),
                                                            Vector<double>(backend(), {-1., 5.}))));
}

TEST_P(BackwardErrorTest, ResidualByEyeThatDoubleDoesNotHold)
{
  // 0 - (2^60 + 3 - 2^60) and 1 - (-2^-29 + (1 + 2^-30)^2), of which double holds neither the sums nor the square.
  const double          large = 0x1p60, more = 1. + 0x1p-30;
  const HostCSR<double> A{2, 4, {0, 3, 6}, {0, 1, 2, 0, 2, 3}, {large, 1., -large, 0., -0x1p-29, more}};
  const Vector<double>  x(backend(), {1., 3., 1., more}), b(backend(), {0., 1.});
  for (const int in_slices : {0, 1})
  {
    Vector<double> r(backend(), std::vector<double>(2, std::nan("")));
    if (in_slices)
      compensated_residual(SlicedEllpackMatrix<double>(backend(), A), x, b, r);
    else
      compensated_residual(CSRMatrix<double>(backend(), A), x, b, r);
    EXPECT_EQ(r.copy_to_host()[0], -3.);
    EXPECT_EQ(r.copy_to_host()[1], -0x1p-60);
  }
}

TEST_P(BackwardErrorTest, ResidualsInTwiceThePrecision)
{
  for (const int block_size : {1, 3})
  {
    const HostCSR<double>     A = cases::spd_blocks(211, block_size, 7);
    const std::vector<double> x = cases::random_values(A.n_rows, 1), b = cases::product(A, x);
    const Vector<double>      x_here(backend(), x), b_here(backend(), b);
    for (const int in_slices : {0, 1})
    {
      Vector<double> r(backend(), std::vector<double>(A.n_rows, std::nan("")));
      if (in_slices)
        compensated_residual(SlicedEllpackMatrix<double>(backend(), A, block_size), x_here, b_here, r);
      else
        compensated_residual(CSRMatrix<double>(backend(), A, block_size), x_here, b_here, r);
      const std::vector<double> here = r.copy_to_host();
      for (int row = 0; row < A.n_rows; ++row) // all of b - A x is rounding, which long double has some digits of
      {
        long double sum = b[row], size = std::abs(b[row]);
        for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
        {
          const long double product = static_cast<long double>(A.values[e]) * x[A.columns[e]];
          sum -= product;
          size += std::abs(product);
        }
        ASSERT_NEAR(here[row], static_cast<double>(sum), 0x1p-60 * static_cast<double>(size)) << row;
      }
    }
  }
  // Others have no rows.
  const CoordinateMatrix<double> coordinate(backend(), HostCSR<double>{1, 1, {0, 1}, {0}, {1.}});
  Vector<double>                 one(backend(), 1);
  EXPECT_FALSE(has_rows(coordinate));
  EXPECT_THROW(compensated_residual(coordinate, one, one, one), Error);
}

TEST_P(BackwardErrorTest, AgreesWithPlainLoopsInAllFormats)
{
  for (const int block_size : {1, 2, 3})
  {
    const HostCSR<double>     A     = cases::spd_blocks(211, block_size, 7);
    const std::vector<double> x     = cases::random_values(A.n_rows, 1);
    std::vector<double>       b     = cases::product(A, x);
    const std::vector<double> noise = cases::random_values(A.n_rows, 2);
    for (int i = 0; i < A.n_rows; ++i)
      b[i] *= 1. + 1e-3 * noise[i] * noise[i];
    b[A.n_rows - 1] *= 1.01; // the row that decides
    const double expected = reference(A, x, b);
    ASSERT_GT(expected, 1e-3);
    ASSERT_LT(expected, 0.02);
    const Vector<double>                 x_here(backend(), x), b_here(backend(), b);
    const CSRMatrix<double>              csr(backend(), A, block_size);
    const SlicedEllpackMatrix<double>    sliced(backend(), A, block_size);
    const SymmetricEllpackMatrix<double> symmetric(backend(), A, block_size);
    const CoordinateMatrix<double>       coordinate(backend(), A, block_size);
    SlicedEllpackMatrix<double>          high;
    high.reinit(backend(), A, block_size, block_size, {1000, false, true});
    for (const MatrixBase<double> *matrix :
         std::vector<const MatrixBase<double> *>{&csr, &sliced, &high, &symmetric, &coordinate})
      EXPECT_NEAR(componentwise_backward_error(*matrix, x_here, b_here), expected, 1e-14)
          << matrix->format() << " in blocks of " << block_size;
  }
}

TEST_P(BackwardErrorTest, OfDiagonals)
{
  const HostCSR<double>      A = cases::laplacian<double>(23, 19);
  const std::vector<double>  x = cases::random_values(A.n_rows, 8), b = cases::random_values(A.n_rows, 9);
  const MDIAMatrix<double>   mdia(backend(), A);
  const HybridMatrix<double> hybrid(backend(), A);
  for (const MatrixBase<double> *matrix : std::vector<const MatrixBase<double> *>{&mdia, &hybrid})
    EXPECT_NEAR(componentwise_backward_error(*matrix, Vector<double>(backend(), x), Vector<double>(backend(), b)),
                reference(A, x, b), 1e-14);
}

TEST_P(BackwardErrorTest, EmptyRowsAndRowsOfZeros)
{
  // Rows of 0 to 5 blocks, some without any; those have b = 0 but for one.
  const HostCSR<double>             A = cases::expand<double>(cases::random_pattern(300, 300, 5, 3), 2, 2, 4);
  std::vector<double>               x = cases::random_values(600, 5);
  std::vector<double>               b = cases::product(A, x);
  const CSRMatrix<double>           csr(backend(), A);
  const SlicedEllpackMatrix<double> sliced(backend(), A, 2);
  const Vector<double>              x_here(backend(), x);
  const double                      exact = reference(A, x, b);
  EXPECT_LT(exact, 1e-15);
  for (const MatrixBase<double> *matrix :
       {static_cast<const MatrixBase<double> *>(&csr), static_cast<const MatrixBase<double> *>(&sliced)})
    EXPECT_LT(componentwise_backward_error(*matrix, x_here, Vector<double>(backend(), b)), 1e-15);
  ASSERT_EQ(A.row_offsets[6], A.row_offsets[7]);
  b[6] = 1e-20; // 0 x = 1e-20 is not solved by anything
  for (const MatrixBase<double> *matrix :
       {static_cast<const MatrixBase<double> *>(&csr), static_cast<const MatrixBase<double> *>(&sliced)})
    EXPECT_EQ(componentwise_backward_error(*matrix, x_here, Vector<double>(backend(), b)), 1.);
}

TEST_P(BackwardErrorTest, OfSinglePrecisionIsThatOfFloat)
{
  const HostCSR<float>             A = cases::laplacian<float>(31, 17);
  const std::vector<double>        x = cases::random_values(A.n_rows, 6);
  const HostCSR<double>            wide{A.n_rows, A.n_columns, A.row_offsets, A.columns,
                             std::vector<double>(A.values.begin(), A.values.end())};
  const std::vector<float>         x_float = cases::to<float>(x);
  const std::vector<double>        x_wide(x_float.begin(), x_float.end());
  const std::vector<float>         b_float = cases::to<float>(cases::product(wide, x_wide));
  const SlicedEllpackMatrix<float> matrix(backend(), A);
  const double                     error =
      componentwise_backward_error(matrix, Vector<float>(backend(), x_float), Vector<float>(backend(), b_float));
  EXPECT_NEAR(error, reference(wide, x_wide, std::vector<double>(b_float.begin(), b_float.end())), 1e-15);
  EXPECT_GT(error, 1e-9);
  EXPECT_LT(error, 1e-7);
}
