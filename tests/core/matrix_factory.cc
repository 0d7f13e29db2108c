// SPDX-License-Identifier: LGPL-2.1-or-later
#include "precondition_cases.h"

#include <patchfem/kernels/blas1.h>
#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/matrix_factory.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>

using namespace PatchFEM;

class MatrixFactoryTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(MatrixFactoryTest);

namespace
{
  /** Every format, with what can be chosen about it. */
  std::vector<MatrixFormat> all_formats()
  {
    std::vector<MatrixFormat> result = {{formats::csr},
                                        {formats::coordinate},
                                        {formats::hybrid},
                                        {formats::symmetric},
                                        {formats::sliced_ellpack},
                                        {formats::sliced_ellpack, 8},
                                        {formats::sliced_ellpack, INT32_MAX},
                                        {formats::sliced_scalar, INT32_MAX},
                                        {formats::sliced_scalar, INT32_MAX, false, true},
                                        {formats::sliced_scalar, 64},
                                        {formats::sliced_scalar, 32, true}};
    for (const CSRKernel kernel : {CSRKernel::scalar, CSRKernel::vector})
    {
      result.push_back({formats::csr});
      result.back().csr_kernel = kernel;
    }
    return result;
  }

  /** The pattern of blocks of @p A, symmetric, on a back end. */
  struct BlockPattern
  {
    BlockPattern(const Backend &backend, const HostCSR<double> &A)
        : offsets(backend, A.row_offsets),
          columns(backend, A.columns), view{A.n_rows, A.n_columns, offsets.data(), columns.data()}
    {}
    Array<std::int64_t> offsets;
    Array<int>          columns;
    SparsityView        view;
  };

  /** The five-point Laplacian with each entry times a symmetric b x b block that is positive definite. */
  template <typename Number>
  HostCSR<Number> block_laplacian(const int nx, const int ny, const int b)
  {
    const HostCSR<double> scalar = cases::laplacian<double>(nx, ny);
    HostCSR<Number>       result;
    result.n_rows = result.n_columns = scalar.n_rows * b;
    result.row_offsets.push_back(0);
    for (int i = 0; i < scalar.n_rows; ++i)
      for (int a = 0; a < b; ++a)
      {
        for (std::int64_t e = scalar.row_offsets[i]; e < scalar.row_offsets[i + 1]; ++e)
          for (int c = 0; c < b; ++c)
          {
            result.columns.push_back(scalar.columns[e] * b + c);
            result.values.push_back(static_cast<Number>(scalar.values[e] * (a == c ? 2. : 0.25 / (1 + a + c))));
          }
        result.row_offsets.push_back(result.columns.size());
      }
    return result;
  }

  template <typename Number>
  void check(const Backend &backend, const int b)
  {
    const HostCSR<Number> A      = block_laplacian<Number>(41, 30, b);
    const HostCSR<double> scalar = cases::laplacian<double>(41, 30);
    const BlockPattern    pattern(backend, scalar);
    const auto            x        = cases::to<Number>(cases::random_values(A.n_rows, 5));
    const auto            expected = cases::product(A, std::vector<double>(x.begin(), x.end()));
    const Vector<Number>  src(backend, x);
    for (const MatrixFormat &format : all_formats())
    {
      SCOPED_TRACE(format.name() + " in blocks of " + std::to_string(b));
      // What assemblies do: room on the pattern, values, and a conversion where there is one.
      const MatrixFormat first = assembled_format(format, b);
      EXPECT_FALSE(is_converted(first, b));
      std::unique_ptr<MatrixBase<Number>> matrix = make_matrix<Number>(backend, pattern.view, b, b, first);
      const CSRMatrix<Number>             rows(backend, A, b);
      if (auto *csr = dynamic_cast<CSRMatrix<Number> *>(matrix.get()))
        launch(backend,
               [&](auto where) { kernels::convert(where, A.values.size(), rows.view().values, csr->view().values); });
      else
      {
        auto &sliced = dynamic_cast<SlicedEllpackMatrix<Number> &>(*matrix);
        launch(backend, [&](auto where) { kernels::fill_values(where, rows.view(), sliced.view()); });
      }
      if (is_converted(format, b))
        matrix = convert(*matrix, format);
      else
        EXPECT_EQ(first.name(), format.name());

      const HostCSR<Number> back = matrix->to_csr_host();
      EXPECT_EQ(back.row_offsets, A.row_offsets);
      EXPECT_EQ(back.columns, A.columns);
      EXPECT_EQ(back.values, A.values);
      Vector<Number> dst(backend, cases::not_a_number<Number>(A.n_rows));
      matrix->vmult(dst, src);
      EXPECT_LT(cases::difference(cases::widened(dst.copy_to_host()), expected),
                1000. * std::numeric_limits<Number>::epsilon());

      // Compressed rows become anything but themselves.
      if (format.kind == &formats::csr)
      {
        EXPECT_THROW(convert<Number>(rows, format), Error);
        continue;
      }
      const auto of_rows = convert<Number>(rows, format);
      EXPECT_EQ(of_rows->format(), matrix->format());
      EXPECT_EQ(of_rows->n_stored_elements(), matrix->n_stored_elements());
      EXPECT_EQ(of_rows->to_csr_host().values, A.values);
    }
  }
} // namespace

TEST_P(MatrixFactoryTest, EveryFormatIsTheSameMatrix)
{
  for (const int b : {1, 2, 3})
  {
    check<double>(backend(), b);
    check<float>(backend(), b);
  }
}

TEST_P(MatrixFactoryTest, EveryRowOfTheTableIsWhatItForecasts)
{
  // One constant off the diagonal, which every format can hold.
  const HostCSR<double>   A = cases::laplacian<double>(67, 41);
  const BlockPattern      pattern(backend(), A);
  const CSRMatrix<double> rows(backend(), A);
  const PatternStatistics s = pattern_statistics(backend(), pattern.view);
  const Vector<double>    src(backend(), cases::random_values(A.n_rows, 5));
  Vector<double>          expected(backend(), cases::not_a_number<double>(A.n_rows));
  rows.vmult(expected, src);
  for (const FormatRow &row : matrix_formats())
  {
    SCOPED_TRACE(row.name);
    const bool                          is_rows = row.format.kind == &formats::csr;
    std::unique_ptr<MatrixBase<double>> made    = is_rows ? nullptr : convert<double>(rows, row.format);
    const MatrixBase<double>           &matrix  = is_rows ? static_cast<const MatrixBase<double> &>(rows) : *made;
    Vector<double>                      dst(backend(), cases::not_a_number<double>(A.n_rows));
    matrix.vmult(dst, src);
    EXPECT_LT(cases::difference(dst.copy_to_host(), expected.copy_to_host()), 1e-13);
    EXPECT_EQ(matrix.n_nonzero_elements(), std::int64_t(A.values.size()));

    const FormatCase of_row{row.format, s, 8};
    const double     kept = double(matrix.memory_consumption()), forecast = of_row.storage_bytes();
    EXPECT_LE(kept, 1.15 * forecast); // of few patches the last one is half empty
    EXPECT_LE(forecast, 1.15 * kept);
    EXPECT_LT(of_row.value_bytes(), forecast);
    EXPECT_EQ(is_converted(row.format, 1), of_row.conversion_bytes() > 0.);
    EXPECT_FALSE(is_converted(assembled_format(row.format, 1), 1));
    for (const bool is_device : {false, true})
    {
      const MemoryModel memory{50e6, 64., is_device};
      EXPECT_GE(of_row.product_bytes(memory), 0.9 * of_row.value_bytes() + 16. * A.n_rows);
      const double share = of_row.typical_efficiency(memory);
      EXPECT_TRUE(share > 0. && share < 1.2) << share;
      EXPECT_GT(predict_formats({row.format}, s, 4, memory)[0].cost(), 0.);
    }
    EXPECT_FALSE(row.words.empty());
    EXPECT_EQ(row.is(FormatRow::assembled), !is_converted(row.format, 4));
    EXPECT_EQ(row.is(FormatRow::assembled_scalars), !is_converted(row.format, 1) && is_converted(row.format, 4));
  }
}

namespace
{
  /** A format that the library does not know. */
  struct DiagonalKind final : FormatKind
  {
    DiagonalKind() : FormatKind(0) {}
    double storage(const FormatCase &c) const override { return double(c.pattern.n_rows) * c.size; }
    double efficiency(const FormatCase &, const MemoryModel &) const override { return 1.; }
  };
} // namespace

TEST_P(MatrixFactoryTest, AFormatOfOthersTakesPartInTheChoice)
{
  const HostCSR<double>   A = cases::laplacian<double>(30, 20);
  const BlockPattern      pattern(backend(), A);
  const PatternStatistics s = pattern_statistics(backend(), pattern.view);
  const DiagonalKind      kind;
  const MatrixFormat      format(kind);
  const FormatCase        in_double{format, s, 8};
  EXPECT_EQ(in_double.product_bytes(MemoryModel()), 3 * 8 * 600);
  EXPECT_EQ(in_double.conversion_bytes(), (FormatCase{formats::csr, s, 8}.storage_bytes()));
  EXPECT_EQ(best_format(predict_formats({formats::csr, format}, s, 8, MemoryModel())).format.kind, &kind);
  EXPECT_THROW(format.name(), Error);
  // It cannot be made.
  EXPECT_EQ(kind.make(CSRMatrix<double>(backend(), A), format), nullptr);
}

TEST(MatrixFormats, SentencesNameRows)
{
  EXPECT_EQ(format_names(~0u), "");
  EXPECT_EQ(format_names(FormatRow::slices, FormatRow::blocks), "sell");
  EXPECT_EQ(format_names(FormatRow::slices), "sliced_ellpack or sell");
  EXPECT_EQ(format_names(FormatRow::assembled, 0, "and"), "sliced_ellpack, csr and bell");
}

TEST(MatrixFormats, NamesStandForFormats)
{
  for (const FormatRow &row : matrix_formats())
  {
    EXPECT_EQ(format_row(row.name).name, row.name);
    EXPECT_EQ(format_row(row.format).name, row.name);
    EXPECT_EQ(row.format.name(), row.name + (row.is(FormatRow::slices) ? ", slices of 32" : ""));
  }
  EXPECT_EQ(MatrixFormat({formats::sliced_ellpack, INT32_MAX, false, true}).name(), "bell, without padding");
  EXPECT_EQ(MatrixFormat({formats::sliced_scalar, 8, false, true}).name(), "sell, slices of 8, without padding");
  EXPECT_EQ(MatrixFormat({formats::sliced_scalar, 32, true}).name(), "sell, slices of 32, 16-bit columns");
  EXPECT_THROW(format_row("dense"), Error);
}

TEST_P(MatrixFactoryTest, MDIAOfCompressedRowsByEye)
{
  // A zero between rows 0 and 2, and a value that differs by rounding.
  const double          eps = std::numeric_limits<double>::epsilon();
  const HostCSR<double> A{
      4, 4, {0, 3, 6, 8, 9}, {0, 1, 2, 0, 1, 2, 1, 2, 3}, {6., -1., 0., -1. - eps, 7., -1., -1. + eps, 5., 2.}};
  const CSRMatrix<double> csr(backend(), A);
  MDIAMatrix<double>      matrix;
  matrix.reinit(csr);
  EXPECT_EQ(matrix.n_nonzero_elements(), 8);
  const HostCSR<double> back = matrix.to_csr_host();
  EXPECT_EQ(back.row_offsets, (std::vector<std::int64_t>{0, 2, 5, 7, 8}));
  EXPECT_EQ(back.columns, (std::vector<int>{0, 1, 0, 1, 2, 1, 2, 3}));
  EXPECT_EQ(back.values, (std::vector<double>{6., -1., -1., 7., -1., -1., 5., 2.}));
}

TEST_P(MatrixFactoryTest, MDIAOfCompressedRows)
{
  for (const int nx : {1, 7, 33, 200})
  {
    const HostCSR<double>    A = cases::laplacian<double>(nx, 31);
    const CSRMatrix<double>  csr(backend(), A);
    const MDIAMatrix<double> expected(backend(), A);
    MDIAMatrix<double>       matrix;
    matrix.reinit(csr);
    EXPECT_EQ(matrix.memory_consumption(), expected.memory_consumption());
    EXPECT_EQ(matrix.to_csr_host().values, A.values);
    EXPECT_EQ(matrix.to_csr_host().columns, A.columns);
  }
  const CSRMatrix<double> diagonal(backend(), cases::diagonal(101)),
      none(backend(), HostCSR<double>{0, 0, {0}, {}, {}});
  MDIAMatrix<double> matrix;
  matrix.reinit(diagonal);
  EXPECT_EQ(matrix.n_nonzero_elements(), 101);
  matrix.reinit(none);
  EXPECT_EQ(matrix.n_rows(), 0);

  HostCSR<double> A = cases::laplacian<double>(9, 9);
  A.values[A.row_offsets[40]] *= 2.;
  try
  {
    matrix.reinit(CSRMatrix<double>(backend(), A));
    FAIL() << "a matrix with two values off its diagonal was taken";
  }
  catch (const Error &error)
  {
    EXPECT_NE(std::string(error.what()).find("one constant off the diagonal, but row 40"), std::string::npos)
        << error.what();
  }
  A.values[A.row_offsets[40]] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(matrix.reinit(CSRMatrix<double>(backend(), A)), Error);
}

TEST_P(MatrixFactoryTest, RefusesWhatItCannotMake)
{
  const HostCSR<double> A = cases::laplacian<double>(5, 4);
  const BlockPattern    pattern(backend(), A);
  for (const FormatKind *kind : {&formats::coordinate, &formats::hybrid, &formats::mdia, &formats::symmetric})
    EXPECT_THROW(make_matrix<double>(backend(), pattern.view, 1, 1, {*kind}), Error);
  EXPECT_THROW(make_matrix<double>(backend(), pattern.view, 2, 2, {formats::sliced_scalar}), Error);
  const SlicedEllpackMatrix<double> sliced(backend(), A);
  EXPECT_THROW(convert<double>(sliced, {formats::coordinate}), Error);
  const HostCSR<double> other{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1., 2., 3., 4.}};
  EXPECT_THROW(convert<double>(CSRMatrix<double>(backend(), other), {formats::symmetric}), Error);
}

TEST_P(MatrixFactoryTest, KeepsRectangularBlocksAndGhostColumns)
{
  // Rows of 2 x 3 blocks past a slice, and a matrix whose columns outnumber its rows.
  const HostCSR<double> wide = cases::random_pattern(45, 31, 6, 3), blocks = cases::expand<double>(wide, 2, 3, 4);
  const BlockPattern    pattern(backend(), wide);
  CSRMatrix<double>     csr;
  csr.reinit(backend(), pattern.view, 2, 3);
  const Array<double> values(backend(), blocks.values);
  launch(backend(),
         [&](auto where) { kernels::convert(where, std::int64_t(values.size()), values.data(), csr.view().values); });
  const auto sliced = convert<double>(csr, {formats::sliced_ellpack});
  EXPECT_EQ(sliced->block_rows(), 2);
  EXPECT_EQ(sliced->block_columns(), 3);
  const HostCSR<double> result = sliced->to_csr_host();
  EXPECT_EQ(result.columns, blocks.columns);
  EXPECT_EQ(result.values, blocks.values);
}

TEST_P(MatrixFactoryTest, RefusesBlocksThatDoNotDivideColumns)
{
  // 4 x 5 with an entry in the last column, which is in no block of 2.
  HostCSR<double> host;
  host.n_rows      = 4;
  host.n_columns   = 5;
  host.row_offsets = {0, 1, 2, 3, 5};
  host.columns     = {0, 1, 2, 3, 4};
  host.values      = {1., 2., 3., 4., 5.};
  EXPECT_THROW(CSRMatrix<double>(backend(), host, 2), Error);
  EXPECT_THROW(SlicedEllpackMatrix<double>(backend(), host, 2), Error);
}
