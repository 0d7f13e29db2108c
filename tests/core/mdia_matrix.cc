// SPDX-License-Identifier: LGPL-2.1-or-later
#include "precondition_cases.h"

#include <patchfem/lac/graph/mis_aggregation.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/multigrid/precondition_amg.h>
#include <patchfem/lac/precondition/precondition_ic.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>
#include <patchfem/lac/precondition/precondition_ssor.h>

#include <algorithm>

using namespace PatchFEM;

class MDIAMatrixTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(MDIAMatrixTest);

namespace
{
  /** The pattern with its diagonal: @p constant off it, scattered values on it. */
  template <typename Number>
  HostCSR<Number> with_diagonal(const HostCSR<double> &pattern, const double constant)
  {
    HostCSR<Number>           A;
    const std::vector<double> diagonal = cases::random_values(pattern.n_rows, 9);
    A.n_rows = A.n_columns = pattern.n_rows;
    A.row_offsets.push_back(0);
    for (int i = 0; i < A.n_rows; ++i)
    {
      std::vector<int> row(pattern.columns.begin() + pattern.row_offsets[i],
                           pattern.columns.begin() + pattern.row_offsets[i + 1]);
      row.push_back(i);
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      for (const int column : row)
      {
        A.columns.push_back(column);
        A.values.push_back(static_cast<Number>(column == i ? diagonal[i] : constant));
      }
      A.row_offsets.push_back(A.columns.size());
    }
    return A;
  }

  template <typename Number>
  void check(const Backend &backend, const HostCSR<double> &pattern, const double constant)
  {
    SCOPED_TRACE(std::to_string(pattern.n_rows) + " rows");
    const auto               A = with_diagonal<Number>(pattern, constant);
    const MDIAMatrix<Number> matrix(backend, A);
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
    EXPECT_LT(cases::difference(cases::widened(dst.copy_to_host()), expected), tolerance);

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

    Vector<Number> diagonal;
    matrix.extract_diagonal(diagonal);
    const std::vector<Number> d = diagonal.copy_to_host();
    for (int i = 0; i < A.n_rows; ++i)
      for (std::int64_t e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e)
        if (A.columns[e] == i)
        {
          EXPECT_EQ(d[i], A.values[e]);
        }
  }
} // namespace

TEST_P(MDIAMatrixTest, FiveByFiveByEye)
{
  // The matrix of P2, figure 6, its last row completed.
  const HostCSR<double>    A{5,
                          5,
                          {0, 2, 5, 7, 11, 13},
                          {0, 1, 0, 1, 3, 1, 2, 0, 2, 3, 4, 3, 4},
                          {6., -1., -1., 7., -1., -1., 6., -1., -1., 3., -1., -1., 2.}};
  const MDIAMatrix<double> matrix(backend(), A);
  Vector<double>           y(backend(), cases::not_a_number<double>(5));
  matrix.vmult(y, Vector<double>(backend(), {1., 10., 100., 1000., 10000.}));
  EXPECT_EQ(y.copy_to_host(), (std::vector<double>{-4., -931., 590., -7101., 19000.}));
  EXPECT_EQ(matrix.n_stored_elements(), 5);
  EXPECT_EQ(matrix.n_nonzero_elements(), 13);
}

TEST_P(MDIAMatrixTest, ProductsOnAdversarialPatterns)
{
  const HostCSR<double> no_entries{40, 40, std::vector<std::int64_t>(41, 0), {}, {}};
  for (const HostCSR<double> &pattern :
       {HostCSR<double>{0, 0, {0}, {}, {}}, cases::diagonal(1), cases::diagonal(101), no_entries, cases::arrow(31),
        cases::arrow(300), cases::random_pattern(331, 331, 40, 11), cases::random_pattern(1000, 1000, 7, 12),
        cases::laplacian<double>(60, 33)})
  {
    check<double>(backend(), pattern, -1.);
    check<float>(backend(), pattern, 0.75);
  }
}

TEST_P(MDIAMatrixTest, SolvesLikeOtherFormats)
{
  const HostCSR<double>    A = cases::laplacian<double>(60, 45);
  const MDIAMatrix<double> matrix(backend(), A);
  const CSRMatrix<double>  csr(backend(), A);
  const auto               check = [&](auto &M, const auto &data) {
    M.initialize(csr, data);
    const unsigned int expected = cases::solve_ones<double>(csr, M).n_iterations;
    M.initialize(matrix, data);
    EXPECT_EQ(cases::solve_ones<double>(matrix, M).n_iterations, expected) << M.name();
  };
  PreconditionJacobi<double>            jacobi;
  PreconditionPolynomial<double>        polynomial;
  PreconditionSSOR<double>              ssor;
  PreconditionIC<double>                ic;
  PreconditionPolynomial<double, float> mixed;
  check(jacobi, PreconditionJacobi<double>::AdditionalData());
  for (const unsigned int order : {1u, 6u})
    check(polynomial, PreconditionPolynomial<double>::AdditionalData{PolynomialKind::chebyshev, order});
  check(ssor, PreconditionSSOR<double>::AdditionalData());
  check(ic, PreconditionIC<double>::AdditionalData());
  check(mixed, PreconditionPolynomial<double, float>::AdditionalData());

  const auto multigrid = [&](const MatrixBase<double> &A, const bool single) {
    PreconditionAMG<double>                 amg;
    PreconditionAMG<double>::AdditionalData data;
    data.single_precision = single;
    amg.initialize(A, NearNullSpace::constants(backend(), A.n_rows(), 1), data);
    EXPECT_GT(amg.statistics().size(), 1u);
    return cases::solve_ones<double>(A, amg).n_iterations;
  };
  for (const bool single : {false, true})
    EXPECT_EQ(multigrid(matrix, single), multigrid(csr, single));
}

TEST_P(MDIAMatrixTest, RefusesOtherMatrices)
{
  HostCSR<double> A = cases::laplacian<double>(5, 4);
  A.values[1]       = -2.;
  EXPECT_THROW(MDIAMatrix<double>(backend(), A), Error);
  const HostCSR<double> rectangular{1, 2, {0, 1}, {1}, {1.}};
  EXPECT_THROW(MDIAMatrix<double>(backend(), rectangular), Error);
}
