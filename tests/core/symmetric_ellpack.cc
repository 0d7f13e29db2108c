// SPDX-License-Identifier: LGPL-2.1-or-later
#include "precondition_cases.h"

#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>

#include <omp.h>

#include <algorithm>
#include <map>

using namespace PatchFEM;

class SymmetricEllpackTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(SymmetricEllpackTest);

namespace
{
  /** Random symmetric blocks on @p pattern, its transpose and the diagonal. */
  template <typename Number>
  HostCSR<Number> symmetric_blocks(const HostCSR<double> &pattern, const int b, const unsigned int seed)
  {
    std::vector<std::map<int, std::vector<double>>> rows(pattern.n_rows);
    unsigned int                                    next = seed;
    for (int i = 0; i < pattern.n_rows; ++i)
    {
      const auto set = [&](const int j) {
        std::vector<double> block = cases::random_values(b * b, ++next), transposed(b * b);
        for (int a = 0; a < b; ++a)
          for (int c = 0; c < b; ++c)
          {
            if (i == j)
              block[c * b + a] = block[a * b + c];
            transposed[c * b + a] = block[a * b + c];
          }
        rows[i][j] = block;
        rows[j][i] = transposed;
      };
      set(i);
      for (std::int64_t e = pattern.row_offsets[i]; e < pattern.row_offsets[i + 1]; ++e)
        set(pattern.columns[e]);
    }
    HostCSR<Number> result;
    result.n_rows = result.n_columns = pattern.n_rows * b;
    result.row_offsets.push_back(0);
    for (const auto &row : rows)
      for (int a = 0; a < b; ++a)
      {
        for (const auto &block : row)
          for (int c = 0; c < b; ++c)
          {
            result.columns.push_back(block.first * b + c);
            result.values.push_back(static_cast<Number>(block.second[a * b + c]));
          }
        result.row_offsets.push_back(result.columns.size());
      }
    return result;
  }

  template <typename Number>
  void check(const Backend &backend, const HostCSR<double> &pattern, const int b)
  {
    SCOPED_TRACE(std::to_string(pattern.n_rows) + " rows in blocks of " + std::to_string(b));
    const auto                           A = symmetric_blocks<Number>(pattern, b, 7);
    const SymmetricEllpackMatrix<Number> matrix(backend, A, b);
    EXPECT_EQ(matrix.n_nonzero_elements(), std::int64_t(A.values.size()));
    const HostCSR<Number> back = matrix.to_csr_host();
    EXPECT_EQ(back.row_offsets, A.row_offsets);
    EXPECT_EQ(back.columns, A.columns);
    EXPECT_EQ(back.values, A.values);

    const std::vector<Number> x         = cases::to<Number>(cases::random_values(A.n_rows, 5));
    const std::vector<double> expected  = cases::product(A, std::vector<double>(x.begin(), x.end()));
    const double              tolerance = 100 * std::sqrt(A.n_rows + 1.) * std::numeric_limits<Number>::epsilon();
    const Vector<Number>      src(backend, x);
    Vector<Number>            dst(backend, cases::not_a_number<Number>(A.n_rows));
    matrix.vmult(dst, src);
    const std::vector<Number> first = dst.copy_to_host();
    EXPECT_LT(cases::difference(cases::widened(first), expected), tolerance);
    matrix.vmult(dst, src);
    EXPECT_EQ(dst.copy_to_host(), first);

    std::vector<double> shifted = expected;
    for (double &value : shifted)
      value += 1.;
    dst = Number(1);
    matrix.vmult_add(dst, src);
    EXPECT_LT(cases::difference(cases::widened(dst.copy_to_host()), shifted), tolerance);

    for (double &value : shifted)
      value = 3. - value;
    Vector<Number> r(backend, cases::not_a_number<Number>(A.n_rows));
    matrix.residual(r, src, Vector<Number>(backend, std::vector<Number>(A.n_rows, Number(2))));
    EXPECT_LT(cases::difference(cases::widened(r.copy_to_host()), shifted), tolerance);

    const SlicedEllpackMatrix<Number> sliced(backend, A, b);
    for (const int size : {1, b})
    {
      Array<Number> blocks(backend, cases::not_a_number<Number>(std::size_t(A.n_rows) * size)), blocks_of_sliced;
      matrix.extract_block_diagonal(size, blocks);
      sliced.extract_block_diagonal(size, blocks_of_sliced);
      EXPECT_EQ(blocks.to_vector(), blocks_of_sliced.to_vector());
    }
  }
} // namespace

TEST_P(SymmetricEllpackTest, TinyByEye)
{
  // 2 1 0 5
  // 1 3 0 0
  // 0 0 4 0
  // 5 0 0 6
  const HostCSR<double> A{4, 4, {0, 3, 5, 6, 8}, {0, 1, 3, 0, 1, 2, 0, 3}, {2., 1., 5., 1., 3., 4., 5., 6.}};
  const SymmetricEllpackMatrix<double> matrix(backend(), A);
  Vector<double>                       y(backend(), cases::not_a_number<double>(4));
  matrix.vmult(y, Vector<double>(backend(), {1., 10., 100., 1000.}));
  EXPECT_EQ(y.copy_to_host(), (std::vector<double>{5012., 31., 400., 6005.}));
  // One patch; each row stores at most one block off the diagonal.
  EXPECT_EQ(matrix.n_stored_elements(), kernels::symmetric_patch_rows(1) + 32);
  EXPECT_EQ(matrix.format(), "symmetric ellpack 1x1");
}

TEST_P(SymmetricEllpackTest, ProductsOnAdversarialPatterns)
{
  const HostCSR<double> no_entries{40, 40, std::vector<std::int64_t>(41, 0), {}, {}};
  for (const HostCSR<double> &pattern :
       {HostCSR<double>{0, 0, {0}, {}, {}}, cases::diagonal(1), cases::diagonal(101), no_entries, cases::arrow(31),
        cases::arrow(1300), cases::random_pattern(331, 331, 40, 11), cases::random_pattern(1025, 1025, 7, 12)})
    for (const int b : {1, 2, 3, 6})
    {
      check<double>(backend(), pattern, b);
      check<float>(backend(), pattern, b);
    }
}

TEST_P(SymmetricEllpackTest, ProductsOnSeveralPatches)
{
  for (const int b : {1, 2, 3, 6})
  {
    check<double>(backend(), cases::random_pattern(3333, 3333, 9, 13), b);
    check<float>(backend(), cases::laplacian<double>(70, 47), b);
    // Rows whose neighbours are all near: most entries are inside of patches.
    HostCSR<double> band;
    band.n_rows = band.n_columns = 2500;
    band.row_offsets.push_back(0);
    for (int i = 0; i < band.n_rows; ++i)
    {
      for (int j = std::max(0, i - 3 - i % 11); j < i; ++j)
        band.columns.push_back(j);
      band.row_offsets.push_back(band.columns.size());
    }
    check<double>(backend(), band, b);
  }
}

TEST_P(SymmetricEllpackTest, StoresEntriesInsidePatchesOnce)
{
  const auto                           A = cases::laplacian<double>(64, 64);
  const SymmetricEllpackMatrix<double> matrix(backend(), A);
  // Patches of whole lines: the diagonal, half of what is inside, all of what is between; less than a sixth is padding.
  const int    n_between = 2 * 64 * (4096 / kernels::symmetric_patch_rows(1) - 1);
  const double stored    = 4096 + (16128 - n_between) / 2 + n_between;
  EXPECT_GE(matrix.n_stored_elements(), stored);
  EXPECT_LE(matrix.n_stored_elements(), stored * 7 / 6);
}

TEST_P(SymmetricEllpackTest, CompressedRowsAndCopies)
{
  const HostCSR<double>          A = cases::spd_blocks(777, 3, 4);
  SymmetricEllpackMatrix<double> matrix;
  matrix.reinit(CSRMatrix<double>(backend(), A), 3);
  EXPECT_EQ(matrix.block_rows(), 3);
  SymmetricEllpackMatrix<float> copy;
  copy.copy_from(matrix);
  matrix.reinit(CSRMatrix<double>(backend(), cases::spd_blocks(40, 2, 4)), 2);
  const HostCSR<float> result = copy.to_csr_host();
  std::vector<double>  x      = cases::random_values(A.n_rows, 5);
  EXPECT_LT(cases::difference(cases::product(result, x), cases::product(A, x)), 1e-5);
}

TEST_P(SymmetricEllpackTest, SolvesLikeOtherFormats)
{
  const HostCSR<double>                A = cases::spd_blocks(1777, 3, 4);
  const SlicedEllpackMatrix<double>    sliced(backend(), A, 3);
  const SymmetricEllpackMatrix<double> matrix(backend(), A, 3);
  const auto                           compare = [&](auto &M, const auto &data) {
    M.initialize(sliced, data);
    const unsigned int expected = cases::solve_ones<double>(sliced, M).n_iterations;
    M.initialize(matrix, data);
    EXPECT_EQ(cases::solve_ones<double>(matrix, M).n_iterations, expected) << M.name();
  };
  PreconditionJacobi<double>            jacobi;
  PreconditionBlockJacobi<double>       block_jacobi;
  PreconditionPolynomial<double>        polynomial;
  PreconditionPolynomial<double, float> mixed;
  compare(jacobi, PreconditionJacobi<double>::AdditionalData());
  compare(block_jacobi, PreconditionBlockJacobi<double>::AdditionalData());
  for (const unsigned int order : {1u, 6u})
    compare(polynomial, PreconditionPolynomial<double>::AdditionalData{PolynomialKind::chebyshev, order});
  compare(mixed, PreconditionPolynomial<double, float>::AdditionalData());
}

TEST_P(SymmetricEllpackTest, RepeatsForAnyNumberOfThreads)
{
  // 24 patches, whose parts of p.q are summed by several threads.
  const int                            n_rows = 36000;
  const auto                           A = symmetric_blocks<double>(cases::random_pattern(12000, 12000, 8, 41), 3, 42);
  const SymmetricEllpackMatrix<double> matrix(backend(), A, 3);
  const Vector<double>                 x(backend(), cases::random_values(n_rows, 43));
  Vector<double>                       y(backend(), n_rows);
  matrix.vmult(y, x);
  const std::vector<double> product = y.copy_to_host();
  Array<CGScalars>          scalars(backend(), 1);
  Array<double>             history(backend(), 1), partials(backend(), kernels::cg_n_partials(n_rows));
  std::vector<double>       sums;
  const int                 threads = omp_get_max_threads();
  for (const int n : {1, 2, 3, 7})
  {
    omp_set_num_threads(n);
    y = std::numeric_limits<double>::quiet_NaN();
    matrix.vmult(y, x);
    EXPECT_EQ(y.copy_to_host(), product);
    const CGScalars start{};
    scalars.copy_from(&start, 1);
    y = std::numeric_limits<double>::quiet_NaN();
    matrix.cg_product(y, x, {scalars.data(), history.data(), 1, partials.data()});
    EXPECT_EQ(y.copy_to_host(), product);
    sums.push_back(scalars.read(0).p_dot_q);
    EXPECT_EQ(sums.back(), sums.front());
  }
  omp_set_num_threads(threads);
  EXPECT_NEAR(sums.front(), x.dot(y), 1e-10 * std::abs(sums.front()));
}

TEST_P(SymmetricEllpackTest, RefusesOtherMatrices)
{
  HostCSR<double> A = cases::laplacian<double>(50, 40);
  A.values[2] *= 1. + 1e-14; // rounding
  const SymmetricEllpackMatrix<double> rounded(backend(), A);
  A.values[2] *= 1. + 1e-8;
  EXPECT_THROW(SymmetricEllpackMatrix<double>(backend(), A), Error);
  A.values[2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(SymmetricEllpackMatrix<double>(backend(), A), Error);
  const HostCSR<double> half{2, 2, {0, 2, 3}, {0, 1, 1}, {1., 0., 1.}};
  EXPECT_THROW(SymmetricEllpackMatrix<double>(backend(), half), Error);
  const HostCSR<double> rectangular{1, 2, {0, 1}, {1}, {1.}};
  EXPECT_THROW(SymmetricEllpackMatrix<double>(backend(), rectangular), Error);
  EXPECT_THROW(SymmetricEllpackMatrix<double>(backend(), cases::spd_blocks(9, 4, 5), 4), Error);
  SymmetricEllpackMatrix<double> matrix;
  EXPECT_THROW(matrix.reinit(CSRMatrix<double>(backend(), cases::laplacian<double>(5, 2)), 3), Error);
}

TEST_P(SymmetricEllpackTest, RefusalLeavesAnEmptyMatrix)
{
  // An arrow whose first patch couples to all other rows, more than columns of 16 bits can number.
  const int             n = 66000;
  const HostCSR<double> small{1, 1, {0, 1}, {0}, {2.}};
  HostCSR<double>       rows;
  rows.n_rows = rows.n_columns = n;
  rows.row_offsets             = {0, n};
  for (int i = 0; i < n; ++i)
    rows.columns.push_back(i);
  for (int i = 1; i < n; ++i)
  {
    rows.columns.insert(rows.columns.end(), {0, i});
    rows.row_offsets.push_back(rows.columns.size());
  }
  rows.values.assign(rows.columns.size(), 1.);
  const SlicedEllpackMatrix<double> arrow(backend(), rows);
  SymmetricEllpackMatrix<double>    matrix(backend(), cases::laplacian<double>(50, 40));
  EXPECT_THROW(matrix.reinit(arrow), Error);
  EXPECT_EQ(matrix.n_rows(), 0);
  EXPECT_EQ(matrix.n_nonzero_elements(), 0);
  EXPECT_EQ(matrix.memory_consumption(), 0u);
  Vector<double> y(backend(), n);
  EXPECT_THROW(matrix.vmult(y, Vector<double>(backend(), n)), Error);
  Vector<double> nothing(matrix.backend());
  matrix.vmult(nothing, Vector<double>(matrix.backend()));

  matrix.reinit(SlicedEllpackMatrix<double>(backend(), small));
  y.reinit(backend(), 1);
  matrix.vmult(y, Vector<double>(backend(), std::vector<double>{3.}));
  EXPECT_EQ(y.copy_to_host(), std::vector<double>{6.});
  EXPECT_THROW(matrix.reinit(CSRMatrix<double>(backend(), cases::laplacian<double>(5, 2)), 3), Error);
  EXPECT_EQ(matrix.n_rows(), 0);
}
