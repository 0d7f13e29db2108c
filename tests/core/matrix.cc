// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "product_cases.h"

#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <memory>

using namespace PatchFEM;
using cases::check_products;

class MatrixTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(MatrixTest);

namespace
{
  template <typename Number>
  void expect_equal(const HostCSR<Number> &a, const HostCSR<Number> &b)
  {
    EXPECT_EQ(a.n_rows, b.n_rows);
    EXPECT_EQ(a.n_columns, b.n_columns);
    EXPECT_EQ(a.row_offsets, b.row_offsets);
    EXPECT_EQ(a.columns, b.columns);
    EXPECT_EQ(a.values, b.values);
  }

  /** Coordinate form, and hybrids of several widths; all must give @p A back. */
  template <typename Number>
  void check_coordinates(const Backend &backend, const HostCSR<Number> &A, const std::string &what)
  {
    const CSRMatrix<Number>  csr(backend, A);
    CoordinateMatrix<Number> coordinate;
    coordinate.reinit(csr);
    check_products<Number>(coordinate, A, what + " coordinate");
    expect_equal(coordinate.to_csr_host(), A);
    for (const int width : {0, 1, 5, 1000})
      for (const int height : {32, 1 << 20})
      {
        HybridMatrix<Number> hybrid;
        hybrid.reinit(csr, {width, height});
        check_products<Number>(hybrid, A, what + " hybrid of width " + std::to_string(width));
        expect_equal(hybrid.to_csr_host(), A);
        EXPECT_EQ(hybrid.n_nonzero_elements(), std::int64_t(A.values.size()));
      }
  }

  /** A pattern on a back end, as Sparsity would hand it over. */
  struct DevicePattern
  {
    DevicePattern(const Backend &backend, const HostCSR<double> &pattern)
        : offsets(backend, pattern.row_offsets),
          columns(backend, pattern.columns), view{pattern.n_rows, pattern.n_columns, offsets.data(), columns.data()}
    {}
    Array<std::int64_t> offsets;
    Array<int>          columns;
    SparsityView        view;
  };
} // namespace

TEST_P(MatrixTest, TinyByEye)
{
  // 1 2 0
  // 0 0 0
  // 3 0 4
  const HostCSR<double>   A{3, 3, {0, 2, 2, 4}, {0, 1, 0, 2}, {1., 2., 3., 4.}};
  const Vector<double>    x(backend(), {1., 10., 100.});
  Vector<double>          y(backend(), cases::not_a_number<double>(3));
  const CSRMatrix<double> csr(backend(), A);
  csr.vmult(y, x);
  EXPECT_EQ(y.copy_to_host(), (std::vector<double>{21., 0., 403.}));
  const SlicedEllpackMatrix<double> sell(backend(), A);
  sell.vmult(y, x);
  EXPECT_EQ(y.copy_to_host(), (std::vector<double>{21., 0., 403.}));
  EXPECT_EQ(sell.n_nonzero_elements(), 4);
  EXPECT_EQ(sell.n_stored_elements(), 64);
  expect_equal(sell.to_csr_host(), A);
  expect_equal(csr.to_csr_host(), A);
}

TEST_P(MatrixTest, TinyLayout)
{
  // Two block rows of 2 x 2 in one slice of height 2: widths 2 and 1, so one padding block in row 1.
  const HostCSR<double>       A{4,
                          4,
                          {0, 4, 8, 10, 12},
                          {0, 1, 2, 3, 0, 1, 2, 3, 2, 3, 2, 3},
                          {1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12.}};
  SlicedEllpackMatrix<double> matrix;
  matrix.reinit(Backend("host"), A, 2, 2, {2});
  const SlicedEllpackView<double> view = matrix.view();
  EXPECT_EQ(std::vector<int>(view.columns, view.columns + 4), (std::vector<int>{0, 1, 1, 1}));
  EXPECT_EQ(std::vector<double>(view.values, view.values + 16),
            (std::vector<double>{1., 9., 2., 10., 5., 11., 6., 12., 3., 0., 4., 0., 7., 0., 8., 0.}));
}

TEST_P(MatrixTest, OneByOneAndDiagonal)
{
  const HostCSR<double> one{1, 1, {0, 1}, {0}, {3.}};
  check_coordinates<double>(backend(), one, "one");
  check_products<double>(CSRMatrix<double>(backend(), one), one, "csr");
  check_products<double>(SlicedEllpackMatrix<double>(backend(), one), one, "sell");
  HostCSR<double> diagonal{101, 101, {0}, {}, cases::random_values(101, 9)};
  for (int i = 0; i < 101; ++i)
  {
    diagonal.columns.push_back(i);
    diagonal.row_offsets.push_back(i + 1);
  }
  check_products<double>(CSRMatrix<double>(backend(), diagonal), diagonal, "csr");
  const SlicedEllpackMatrix<double> sell(backend(), diagonal);
  check_products<double>(sell, diagonal, "sell");
  check_coordinates<double>(backend(), diagonal, "diagonal");
  EXPECT_EQ(sell.n_stored_elements(), 128);
}

TEST_P(MatrixTest, EmptyMatrices)
{
  const HostCSR<double> no_rows{0, 5, {0}, {}, {}};
  const HostCSR<double> no_entries{40, 5, std::vector<std::int64_t>(41, 0), {}, {}};
  for (const auto &A : {no_rows, no_entries})
  {
    check_products<double>(CSRMatrix<double>(backend(), A), A, "csr");
    const SlicedEllpackMatrix<double> sell(backend(), A);
    check_products<double>(sell, A, "sell");
    check_coordinates<double>(backend(), A, "empty");
    expect_equal(sell.to_csr_host(), A);
  }
}

TEST_P(MatrixTest, ProductsOfAllBlockSizes)
{
  const std::vector<std::pair<int, int>> sizes   = {{1, 1}, {2, 2}, {3, 3}, {6, 6}, {1, 3},   {3, 1},  {2, 3}, {3, 2},
                                                    {3, 6}, {6, 3}, {4, 4}, {5, 7}, {12, 12}, {1, 12}, {12, 1}};
  const HostCSR<double>                  pattern = cases::random_pattern(331, 157, 40, 11);
  for (const auto &size : sizes)
  {
    const std::string name = std::to_string(size.first) + "x" + std::to_string(size.second);
    const auto        A    = cases::expand<double>(pattern, size.first, size.second, 12);
    const auto        f    = cases::expand<float>(pattern, size.first, size.second, 12);
    for (const int height : {1, 4, 7, 8, 32, 64, 1000})
    {
      SlicedEllpackMatrix<double> matrix;
      matrix.reinit(backend(), A, size.first, size.second, {height});
      check_products<double>(matrix, A, name + " double, height " + std::to_string(height));
      if (height == 32)
        expect_equal(matrix.to_csr_host(), A);
      matrix.reinit(backend(), A, size.first, size.second, {height, false, true});
      check_products<double>(matrix, A, name + " to the ends of rows, height " + std::to_string(height));
      SlicedEllpackMatrix<float> single;
      single.reinit(backend(), f, size.first, size.second, {height});
      check_products<float>(single, f, name + " float, height " + std::to_string(height));
    }
    if (size.first <= 3 && size.second <= 3)
    {
      check_coordinates<double>(backend(), A, name + " double");
      check_coordinates<float>(backend(), f, name + " float");
    }
    check_products<double>(CSRMatrix<double>(backend(), A), A, name + " csr double");
    check_products<float>(CSRMatrix<float>(backend(), f), f, name + " csr float");
  }
}

TEST_P(MatrixTest, ProductsOfManyRows)
{
  // More slices than those that the warps of a block share on a device; rows are missing in the last.
  const HostCSR<double> pattern = cases::random_pattern(40033, 157, 4, 11);
  for (const auto &size :
       std::vector<std::pair<int, int>>{{1, 1}, {2, 2}, {3, 3}, {6, 6}, {2, 3}, {3, 2}, {3, 6}, {6, 3}})
  {
    const std::string           name = std::to_string(size.first) + "x" + std::to_string(size.second);
    const auto                  A    = cases::expand<double>(pattern, size.first, size.second, 12);
    const auto                  f    = cases::expand<float>(pattern, size.first, size.second, 12);
    SlicedEllpackMatrix<double> matrix;
    matrix.reinit(backend(), A, size.first, size.second);
    check_products<double>(matrix, A, name + " double");
    SlicedEllpackMatrix<float> single;
    single.reinit(backend(), f, size.first, size.second);
    check_products<float>(single, f, name + " float");
  }
}

TEST_P(MatrixTest, SlicesOfAllHeights)
{
  // Some eighty rows without entries, others with more than there are threads in a warp, and a last slice that is not full.
  HostCSR<double> pattern{331, 157, {0}, {}, {}};
  for (int i = 0; i < pattern.n_rows; ++i)
  {
    const int length = i >= 96 && i < 178 ? 0 : (i % 50 == 3 ? 157 : (i * 7 + 1) % 13);
    for (int k = 0; k < length; ++k)
      pattern.columns.push_back(length == 157 ? k : i % 100 + 4 * k);
    pattern.row_offsets.push_back(pattern.columns.size());
  }
  for (const int b : {1, 2, 3, 6})
  {
    const auto A = cases::expand<double>(pattern, b, b, 12);
    const auto f = cases::expand<float>(pattern, b, b, 12);
    // A step of a polynomial, in slices of 32.
    const std::size_t    n = A.n_rows;
    const Vector<double> d(backend(), cases::random_values(n, 1)), y(backend(), cases::random_values(n, 3));
    const Vector<double> r(backend(), cases::random_values(n, 2));
    const Array<double>  coefficients(backend(), std::vector<double>{0.25, 0.5});
    const auto           step = [&](const MatrixBase<double> &matrix) {
      Vector<double> out(backend(), cases::not_a_number<double>(n)), room;
      matrix.polynomial_step({coefficients.data(), d.data(), r.data(), y.data(), out.data(), true}, y, room);
      return out.copy_to_host();
    };
    const std::vector<double> expected = step(SlicedEllpackMatrix<double>(backend(), A, b));
    for (const int height : {1, 2, 5, 8, 12, 16, 24, 32, 64, 96, 331, 1000})
      for (const bool skip_padding : {false, true})
      {
        const std::string what = "blocks of " + std::to_string(b) + ", height " + std::to_string(height) +
                                 (skip_padding ? ", to the ends of rows" : "");
        SlicedEllpackMatrix<double> matrix;
        matrix.reinit(backend(), A, b, b, {height, false, skip_padding});
        check_products<double>(matrix, A, what);
        expect_equal(matrix.to_csr_host(), A);
        const std::vector<double> result = step(matrix);
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_NEAR(result[i], expected[i], 1e-12) << what << ", row " << i;
        SlicedEllpackMatrix<float> single;
        single.reinit(backend(), f, b, b, {height, false, skip_padding});
        check_products<float>(single, f, what + ", float");
      }
  }
}

TEST_P(MatrixTest, LongAndShortRows)
{
  // One full row among short ones: pieces of the CSR product that begin and end inside a row.
  for (const int n : {31, 32, 33, 1000, 3001, 9001})
  {
    HostCSR<double> A;
    A.n_rows = A.n_columns = n;
    A.row_offsets.push_back(0);
    for (int i = 0; i < n; ++i)
    {
      if (i == n / 2)
        for (int j = 0; j < n; ++j)
          A.columns.push_back(j);
      else if (i % 3 != 1)
        A.columns.push_back(i);
      A.row_offsets.push_back(A.columns.size());
    }
    A.values = cases::random_values(A.columns.size(), 13);
    for (const CSRKernel kernel : {CSRKernel::pieces, CSRKernel::scalar, CSRKernel::vector})
    {
      CSRMatrix<double> csr(backend(), A);
      csr.use_kernel(kernel);
      check_products<double>(csr, A, "csr");
    }
    if (n < 5000) // a slice of SELL is as wide as its longest row
      check_products<double>(SlicedEllpackMatrix<double>(backend(), A), A, "sell");
    CoordinateMatrix<double> coordinate;
    coordinate.reinit(CSRMatrix<double>(backend(), A));
    check_products<double>(coordinate, A, "coordinate");
    HybridMatrix<double> hybrid(backend(), A);
    check_products<double>(hybrid, A, "hybrid");
    EXPECT_LE(hybrid.n_stored_elements(), 2 * n + 32);
  }
}

TEST_P(MatrixTest, HybridTakesWhatAThirdOfTheRowsHave)
{
  // Rows of 1, 2 and 6 entries, a third each: a third of them have 6.
  HostCSR<double> A;
  A.n_rows = A.n_columns = 30;
  A.row_offsets.push_back(0);
  for (int i = 0; i < 30; ++i)
  {
    for (int k = 0; k < (i % 3 == 2 ? 6 : i % 3 + 1); ++k)
      A.columns.push_back(3 * k + i % 5);
    A.row_offsets.push_back(A.columns.size());
  }
  A.values = cases::random_values(A.columns.size(), 13);
  const HybridMatrix<double> hybrid(backend(), A);
  EXPECT_EQ(hybrid.ellpack().n_nonzero_elements(), 10 + 20 + 60);
  EXPECT_EQ(hybrid.coordinate().n_nonzero_elements(), 0);
  HybridMatrix<double> narrow;
  narrow.reinit(CSRMatrix<double>(backend(), A), {2});
  EXPECT_EQ(narrow.ellpack().n_nonzero_elements(), 10 + 20 + 20);
  EXPECT_EQ(narrow.coordinate().n_nonzero_elements(), 40);
}

TEST_P(MatrixTest, HybridResidualIsRoundedOnce)
{
  // b = A x to a part in 2^30, of two entries a row that lie in different parts: rounding between them loses it.
  const int      n = 100;
  HostCSR<float> A;
  A.n_rows = A.n_columns = n;
  A.row_offsets.push_back(0);
  for (int i = 0; i < n; ++i)
  {
    A.columns.insert(A.columns.end(), {i < n - 1 ? i : 0, i < n - 1 ? i + 1 : i});
    A.values.insert(A.values.end(), {1.f / 3, -1.f / 3});
    A.row_offsets.push_back(A.columns.size());
  }
  HybridMatrix<float> hybrid;
  hybrid.reinit(CSRMatrix<float>(backend(), A), {1});
  EXPECT_EQ(hybrid.coordinate().n_nonzero_elements(), n);
  const Vector<float> x(backend(), std::vector<float>(n, 0.7f)), b(backend(), std::vector<float>(n, 1e-9f));
  Vector<float>       r(backend(), cases::not_a_number<float>(n));
  hybrid.residual(r, x, b);
  EXPECT_EQ(r.copy_to_host(), std::vector<float>(n, 1e-9f));

  // The part in coordinates is a matrix of its own, steps of polynomials included.
  Vector<float>       out(backend(), cases::not_a_number<float>(n));
  const Vector<float> d(backend(), std::vector<float>(n, 1.f));
  const Array<double> coefficients(backend(), std::vector<double>{0., 1.});
  hybrid.coordinate().polynomial_step({coefficients.data(), d.data(), b.data(), x.data(), out.data(), true}, x, r);
  for (const float value : out.copy_to_host())
    EXPECT_NEAR(value, 0.7 * (1. + 1. / 3), 1e-6);
}

TEST_P(MatrixTest, PaddingOfEmptyRowsStaysInTheSlice)
{
  // Three rows to a slice, the first of which are empty, and a last slice with one row.
  const HostCSR<double>       A{4, 9, {0, 0, 0, 2, 3}, {5, 7, 8}, {1., 2., 3.}};
  SlicedEllpackMatrix<double> matrix;
  for (const int height : {3, 32})
  {
    matrix.reinit(backend(), A, 1, 1, {height});
    const std::vector<int> expected = height == 3 ? std::vector<int>{5, 5, 5, 5, 5, 7, 8, 8, 8} : std::vector<int>();
    const auto             pattern  = matrix.view();
    std::vector<int>       columns(height == 3 ? 9 : 64);
    memory::copy(Backend("host"), columns.data(), backend(), pattern.columns, columns.size() * sizeof(int));
    if (height == 3)
    {
      EXPECT_EQ(columns, expected);
    }
    for (const int column : columns)
      EXPECT_GE(column, 5);
    check_products<double>(matrix, A, "height " + std::to_string(height));
  }
}

TEST_P(MatrixTest, ShortColumns)
{
  // Rows with few entries and with many, and one that is full.
  for (const int length : {1, 2, 3, 5, 7, 8, 13, 40})
  {
    const auto                  A = cases::expand<double>(cases::random_pattern(331, 157, length, 11), 1, 1, 12);
    SlicedEllpackMatrix<double> matrix;
    matrix.reinit(backend(), A, 1, 1, {32, true});
    EXPECT_EQ(matrix.n_short_slices(), 11);
    check_products<double>(matrix, A, "double, length " + std::to_string(length));
    expect_equal(matrix.to_csr_host(), A);
    SlicedEllpackMatrix<float> single;
    single.copy_from(matrix);
    check_products<float>(single, {A.n_rows, A.n_columns, A.row_offsets, A.columns, cases::to<float>(A.values)},
                          "float, length " + std::to_string(length));
    EXPECT_EQ(single.format(), "sliced ellpack 1x1 with 16-bit columns");
  }

  // Steps of up to 69999: too long in the first 4465 rows and in the last ones but not between.
  HostCSR<double> A;
  A.n_rows = A.n_columns = 70000;
  A.row_offsets.push_back(0);
  for (int i = 0; i < A.n_rows; ++i)
  {
    std::vector<int> row = {i};
    if (i < 40000)
      row.push_back(69999);
    else
      row.insert(row.begin(), i % 3);
    A.columns.insert(A.columns.end(), row.begin(), row.end());
    A.row_offsets.push_back(A.columns.size());
  }
  A.values = cases::random_values(A.columns.size(), 13);
  SlicedEllpackMatrix<double> matrix;
  matrix.reinit(backend(), A, 1, 1, {32, true});
  const int first = (4463 + 31) / 32, last = (65536 + 2) / 32; // slices before the first have a longer step, and behind
  EXPECT_NEAR(matrix.n_short_slices(), last - first, 1);
  check_products<double>(matrix, A, "long steps");
  EXPECT_THROW(matrix.reinit(backend(), A, 2, 2, {32, true}), Error);
  EXPECT_THROW(matrix.reinit(backend(), A, 1, 1, {64, true}), Error);
}

TEST_P(MatrixTest, FromPatternOnTheBackend)
{
  const HostCSR<double> pattern = cases::random_pattern(205, 99, 9, 21);
  const DevicePattern   device(backend(), pattern);
  for (const auto &size : std::vector<std::pair<int, int>>{{1, 1}, {3, 3}, {2, 3}})
  {
    HostCSR<double> expected = cases::expand<double>(pattern, size.first, size.second, 22);
    std::fill(expected.values.begin(), expected.values.end(), 0.);
    CSRMatrix<double> csr;
    csr.reinit(backend(), device.view, size.first, size.second);
    expect_equal(csr.to_csr_host(), expected);
    SlicedEllpackMatrix<double> sell;
    sell.reinit(backend(), device.view, size.first, size.second);
    expect_equal(sell.to_csr_host(), expected);
    EXPECT_EQ(sell.n_nonzero_elements(), std::int64_t(expected.values.size()));
  }
}

TEST_P(MatrixTest, ScalarEntriesAreGatheredIntoBlocks)
{
  // The five-point stencil in blocks of 3: partly empty blocks hold zeros, the product is the same.
  const auto                        A = cases::laplacian<double>(9, 10);
  const SlicedEllpackMatrix<double> matrix(backend(), A, 3);
  check_products<double>(matrix, A, "blocks");
  EXPECT_GT(matrix.n_nonzero_elements(), std::int64_t(A.values.size()));
}

TEST_P(MatrixTest, CopiesShareThePatternAndOutliveTheOriginal)
{
  const HostCSR<double>       A = cases::spd_blocks(77, 3, 4);
  SlicedEllpackMatrix<double> original(backend(), A, 3);
  SlicedEllpackMatrix<float>  copy;
  copy.copy_from(original);
  EXPECT_EQ(copy.view().row_lengths, original.view().row_lengths);
  original.reinit(backend(), cases::spd_blocks(9, 2, 5), 2, 2);
  EXPECT_NE(copy.view().row_lengths, original.view().row_lengths);
  const HostCSR<float> result = copy.to_csr_host();
  EXPECT_EQ(result.row_offsets, A.row_offsets);
  EXPECT_EQ(result.columns, A.columns);
  EXPECT_EQ(result.values, cases::to<float>(A.values));
}

TEST_P(MatrixTest, BlockDiagonals)
{
  for (const int b : {1, 2, 3, 5, 6})
  {
    // Every third block row lacks its diagonal.
    HostCSR<double> pattern{70, 70, {0}, {}, {}};
    for (int i = 0; i < 70; ++i)
    {
      if (i > 2)
        pattern.columns.push_back(i - 3);
      if (i % 3 != 2)
        pattern.columns.push_back(i);
      if (i < 60)
        pattern.columns.push_back(i + 10);
      pattern.row_offsets.push_back(pattern.columns.size());
    }
    const auto          A = cases::expand<double>(pattern, b, b, 31);
    std::vector<double> blocks(70 * b * b, 0.), diagonal(70 * b, 0.);
    for (int row = 0; row < A.n_rows; ++row)
      for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
      {
        if (A.columns[e] / b == row / b)
          blocks[((row % b) * b + A.columns[e] % b) * 70 + row / b] = A.values[e];
        if (A.columns[e] == row)
          diagonal[row] = A.values[e];
      }
    const SlicedEllpackMatrix<double> sell(backend(), A, b);
    const CSRMatrix<double>           csr(backend(), A, b);
    for (const MatrixBase<double> *matrix :
         {static_cast<const MatrixBase<double> *>(&sell), static_cast<const MatrixBase<double> *>(&csr)})
    {
      Array<double>  result(backend(), cases::not_a_number<double>(blocks.size()));
      Vector<double> d(backend(), cases::not_a_number<double>(diagonal.size()));
      matrix->extract_block_diagonal(b, result);
      EXPECT_EQ(result.to_vector(), blocks) << matrix->format();
      matrix->extract_diagonal(d);
      EXPECT_EQ(d.copy_to_host(), diagonal) << matrix->format();
    }
    CoordinateMatrix<double> coordinate;
    coordinate.reinit(csr);
    HybridMatrix<double> hybrid;
    hybrid.reinit(csr, {1});
    Vector<double> d;
    coordinate.extract_diagonal(d);
    EXPECT_EQ(d.copy_to_host(), diagonal);
    Array<double> of_coordinate(backend(), cases::not_a_number<double>(blocks.size()));
    coordinate.extract_block_diagonal(b, of_coordinate);
    EXPECT_EQ(of_coordinate.to_vector(), blocks);
    hybrid.extract_diagonal(d);
    EXPECT_EQ(d.copy_to_host(), diagonal);
  }
}

TEST_P(MatrixTest, ProductsRepeatForAnyNumberOfThreads)
{
  const auto                        A = cases::expand<double>(cases::random_pattern(500, 400, 30, 41), 3, 3, 42);
  const SlicedEllpackMatrix<double> matrix(backend(), A, 3);
  const Vector<double>              x(backend(), cases::random_values(1200, 43));
  Vector<double>                    y(backend(), 1500);
  matrix.vmult(y, x);
  const std::vector<double> first   = y.copy_to_host();
  const int                 threads = omp_get_max_threads();
  for (const int n : {1, 3})
  {
    omp_set_num_threads(n);
    matrix.vmult(y, x);
    EXPECT_EQ(y.copy_to_host(), first);
  }
  omp_set_num_threads(threads);
}

TEST_P(MatrixTest, RefusesWhatDoesNotFit)
{
  const auto                  A = cases::laplacian<double>(5, 2);
  SlicedEllpackMatrix<double> matrix;
  EXPECT_THROW(matrix.reinit(backend(), A, 3, 3), Error);
  EXPECT_THROW(matrix.reinit(backend(), A, 1, 1, {0}), Error);
  matrix.reinit(backend(), A);
  Vector<double> x(backend(), 10), y(backend(), 9);
  EXPECT_THROW(matrix.vmult(y, x), Error);
  HostCSR<double> bad = A;
  std::swap(bad.columns[0], bad.columns[1]);
  EXPECT_THROW(matrix.reinit(backend(), bad), Error);
}

TEST(HostMatrixTest, SlicesAreCountedUpToTheLargestMatrix)
{
  EXPECT_EQ(n_slices(0, 32), 0);
  EXPECT_EQ(n_slices(64, 32), 2);
  EXPECT_EQ(n_slices(65, 32), 3);
  const int most = std::numeric_limits<int>::max();
  EXPECT_EQ(n_slices(most, 1), most);
  EXPECT_EQ(n_slices(most, 32), 1 << 26);
  SlicedEllpackView<double> ellpack{};
  ellpack.n_rows = ellpack.slice_height = most - 1;
  EXPECT_EQ(ellpack.n_slices(), 1);
}

TEST(HostMatrixTest, WorksOnPlainVectors)
{
  const auto                        A = cases::laplacian<double>(20, 20);
  const std::vector<double>         x = cases::random_values(400, 51), expected = cases::product(A, x);
  std::vector<double>               y(400);
  const SlicedEllpackMatrix<double> sell(Backend("host"), A);
  sell.vmult(y, x);
  for (int i = 0; i < 400; ++i)
    EXPECT_NEAR(y[i], expected[i], 1e-14);
  const SlicedEllpackMatrix<double> elsewhere(Backend("emulated_device"), A);
  EXPECT_THROW(elsewhere.vmult(y, x), Error);
}
