// SPDX-License-Identifier: LGPL-2.1-or-later
#include "precondition_cases.h"

#include <patchfem/lac/precondition/precondition_polynomial.h>

#include <omp.h>

using namespace PatchFEM;
using cases::Dense;

class PreconditionPolynomialTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(PreconditionPolynomialTest);

namespace
{
  using Data = PreconditionPolynomial<double>::AdditionalData;

  const PolynomialKind all_kinds[] = {PolynomialKind::neumann, PolynomialKind::least_squares,
                                      PolynomialKind::chebyshev};

  /** D^-1 A */
  Dense scaled(const HostCSR<double> &A)
  {
    Dense result(A);
    for (int i = 0; i < A.n_rows; ++i)
      for (int j = 0; j < A.n_columns; ++j)
        if (j != i)
          result(i, j) /= result(i, i);
    for (int i = 0; i < A.n_rows; ++i)
      result(i, i) = 1.;
    return result;
  }

  /**
   * R(D^-1 A) e for the residual polynomial R(s) = 1 - s p(s) of degree order + 1, from its definition: Chebyshev
   * polynomials T_i of t = (2 s - a - b) / (b - a) and t_0 = t(0), by their recurrence on vectors.
   */
  std::vector<double> residual_polynomial(const PolynomialKind       kind,
                                          const int                  order,
                                          const double               a,
                                          const double               b,
                                          const Dense               &M,
                                          const std::vector<double> &e)
  {
    if (kind == PolynomialKind::neumann)
    {
      std::vector<double> v = e;
      for (int k = 0; k <= order; ++k)
        v = cases::plus(v, a > 0. ? -2. / (a + b) : -1. / b, cases::times(M, v));
      return v;
    }
    const auto t_times = [&](const std::vector<double> &v) {
      std::vector<double> result = cases::times(M, v);
      for (std::size_t i = 0; i < v.size(); ++i)
        result[i] = (2. * result[i] - (a + b) * v[i]) / (b - a);
      return result;
    };
    const double        t_0      = -(a + b) / (b - a);
    std::vector<double> T_before = e, T = t_times(e), sum = e;
    double              tau_before = 1., tau = t_0, norm = 1.;
    for (int k = 1; k <= order + 1; ++k)
    {
      sum = cases::plus(sum, 2. * tau, T);
      norm += 2. * tau * tau;
      if (k == order + 1)
        break;
      std::vector<double> T_next = t_times(T);
      for (std::size_t i = 0; i < e.size(); ++i)
        T_next[i] = 2. * T_next[i] - T_before[i];
      T_before              = T;
      T                     = T_next;
      const double tau_next = 2. * t_0 * tau - tau_before;
      tau_before            = tau;
      tau                   = tau_next;
    }
    // Chebyshev: T_{m+1}(t) / T_{m+1}(t_0); least squares: sum_i q_i(0) q_i(s) / sum_i q_i(0)^2, q_0 = 1 / sqrt(pi) and
    // q_i = sqrt(2 / pi) T_i.
    std::vector<double> &result = kind == PolynomialKind::chebyshev ? T : sum;
    for (double &value : result)
      value /= kind == PolynomialKind::chebyshev ? tau : norm;
    return result;
  }
} // namespace

TEST_P(PreconditionPolynomialTest, TwoUnknownsByEye)
{
  // D^-1 A = (1 1/2; 1/2 1) has the eigenvalues 1/2 and 3/2, which two steps of Lanczos find. Of order 1 on [1/2, 3/2],
  // omega = 1: p(s) = 2 - s, M^-1 = (2 - D^-1 A) D^-1 = (1/2 -1/4; -1/4 1/2).
  const HostCSR<double>          A{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {2., 1., 1., 2.}};
  const CSRMatrix<double>        matrix(backend(), A);
  PreconditionPolynomial<double> M;
  M.initialize(matrix, {PolynomialKind::neumann, 1, 2});
  EXPECT_NEAR(M.interval().first, 0.5, 1e-12);
  EXPECT_NEAR(M.interval().second, 1.5, 1e-12);
  const std::vector<double> z = cases::apply(M, backend(), {1., 0.});
  EXPECT_NEAR(z[0], 0.5, 1e-12);
  EXPECT_NEAR(z[1], -0.25, 1e-12);
  EXPECT_EQ(M.name(), "neumann polynomial of order 1");
}

TEST_P(PreconditionPolynomialTest, AgreesWithTheDefinitions)
{
  // M^-1 A e = e - R(D^-1 A) e
  const auto                        A = cases::spd_blocks(60, 3, 7);
  const std::vector<double>         e = cases::random_values(A.n_rows, 8);
  const SlicedEllpackMatrix<double> matrix(backend(), A, 3);
  const Dense                       M = scaled(A);
  for (const PolynomialKind kind : all_kinds)
    for (unsigned int order = 1; order <= 12; ++order)
      for (const double ratio : {0., 30., HUGE_VAL})
      {
        if (kind == PolynomialKind::chebyshev && ratio == HUGE_VAL)
          continue;
        PreconditionPolynomial<double> polynomial;
        polynomial.initialize(matrix, {kind, order, 15, ratio});
        const auto ends = polynomial.interval();
        if (ratio > 0.)
        {
          EXPECT_DOUBLE_EQ(ends.first, ratio == HUGE_VAL ? 0. : ends.second / ratio);
        }
        const std::vector<double> result = cases::apply(polynomial, backend(), cases::product(A, e));
        const std::vector<double> expected =
            cases::plus(e, -1., residual_polynomial(kind, static_cast<int>(order), ends.first, ends.second, M, e));
        EXPECT_LT(cases::difference(result, expected), 1e-12) << polynomial.name() << " ratio " << ratio;
      }
}

TEST_P(PreconditionPolynomialTest, IsSymmetricAndPositiveDefinite)
{
  const HostCSR<double> A = cases::grid_matrix<3>(3);
  for (const int height : {32, 4})
  {
    SlicedEllpackMatrix<double> matrix;
    matrix.reinit(backend(), A, 3, 3, {height});
    for (const PolynomialKind kind : all_kinds)
      for (const unsigned int order : {1u, 2u, 5u, 6u, 12u})
      {
        PreconditionPolynomial<double> M;
        M.initialize(matrix, {kind, order});
        cases::expect_symmetric_positive(cases::dense_inverse(M, backend(), A.n_rows));
        PreconditionPolynomial<double, float> mixed;
        mixed.initialize(matrix, {kind, order});
        cases::expect_symmetric_positive(cases::dense_inverse(mixed, backend(), A.n_rows));
      }
  }
}

TEST_P(PreconditionPolynomialTest, BoundsBound)
{
  const std::vector<HostCSR<double>> matrices = {cases::laplacian<double>(40, 31),
                                                 cases::laplacian<double>(500, 1),
                                                 cases::grid_matrix<1>(9),
                                                 cases::grid_matrix<3>(6),
                                                 cases::spd_blocks(100, 3, 3),
                                                 cases::arrow(150),
                                                 cases::diagonal(70)};
  for (const HostCSR<double> &A : matrices)
  {
    // The largest eigenvalue of D^-1 A from below, by Rayleigh quotients of many power steps in the product of D.
    std::vector<double> d(A.n_rows), x = cases::random_values(A.n_rows, 14);
    for (int i = 0; i < A.n_rows; ++i)
      for (std::int64_t e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e)
        if (A.columns[e] == i)
          d[i] = A.values[e];
    double largest = 0.;
    for (int k = 0; k < 2000; ++k)
    {
      const std::vector<double> Ax  = cases::product(A, x);
      double                    xDx = 0., xAx = 0., norm = 0.;
      for (int i = 0; i < A.n_rows; ++i)
      {
        xDx += d[i] * x[i] * x[i];
        xAx += x[i] * Ax[i];
        norm = std::max(norm, std::abs(Ax[i] / d[i]));
      }
      largest = std::max(largest, xAx / xDx);
      for (int i = 0; i < A.n_rows; ++i)
        x[i] = Ax[i] / d[i] / norm;
    }
    for (const unsigned int steps : {3u, 10u, 20u, 64u})
    {
      PreconditionPolynomial<double> M;
      M.initialize(CSRMatrix<double>(backend(), A), {PolynomialKind::least_squares, 6, steps});
      const auto ends = M.interval();
      EXPECT_GE(ends.second, largest * (1. - 1e-12)) << A.n_rows << " rows, " << steps << " steps";
      EXPECT_LT(ends.second, 1.6 * largest) << A.n_rows << " rows, " << steps << " steps";
      EXPECT_LE(ends.first, 0.5 * ends.second);
      EXPECT_GE(ends.first, 0.99e-4 * ends.second);
    }
  }
}

TEST_P(PreconditionPolynomialTest, IterationsArePinned)
{
  const HostCSR<double>             A = cases::laplacian<double>(60, 45);
  const SlicedEllpackMatrix<double> sliced(backend(), A);
  const CSRMatrix<double>           csr(backend(), A);
  PreconditionJacobi<double>        jacobi;
  jacobi.initialize(csr);
  EXPECT_EQ(cases::solve_ones(csr, jacobi).n_iterations, 122u);
  const unsigned int expected[3][3] = {{62, 44, 43}, {69, 38, 22}, {62, 38, 23}};
  for (int kind = 0; kind < 3; ++kind)
    for (int i = 0; i < 3; ++i)
    {
      const Data                     data{all_kinds[kind], std::vector<unsigned int>{1, 3, 6}[i]};
      PreconditionPolynomial<double> M;
      M.initialize(sliced, data);
      EXPECT_EQ(cases::solve_ones(sliced, M).n_iterations, expected[kind][i]) << M.name();
      M.initialize(csr, data);
      EXPECT_EQ(cases::solve_ones(csr, M).n_iterations, expected[kind][i]) << M.name();
      PreconditionPolynomial<double, float> mixed;
      for (const MatrixBase<double> *matrix :
           {static_cast<const MatrixBase<double> *>(&sliced), static_cast<const MatrixBase<double> *>(&csr)})
      {
        mixed.initialize(*matrix, {data.kind, data.order});
        EXPECT_EQ(cases::solve_ones(*matrix, mixed).n_iterations, expected[kind][i]) << mixed.name();
      }
    }
}

TEST_P(PreconditionPolynomialTest, WorksInSinglePrecision)
{
  const HostCSR<double>            A = cases::grid_matrix<3>(7);
  const SlicedEllpackMatrix<float> matrix(backend(), cases::rounded<float>(A), 3);
  for (const PolynomialKind kind : all_kinds)
  {
    PreconditionPolynomial<float> M;
    M.initialize(matrix, {kind, 4});
    cases::solve_ones<float>(matrix, M, 1e-4);
  }
}

TEST_P(PreconditionPolynomialTest, MixedPrecisionLeavesNothingOutOfRange)
{
  // Right-hand sides out of the range of fp32, and 0.
  const HostCSR<double>                 A = cases::grid_matrix<3>(5);
  const SlicedEllpackMatrix<double>     matrix(backend(), A, 3);
  PreconditionPolynomial<double, float> mixed;
  PreconditionPolynomial<double>        plain;
  mixed.initialize(matrix);
  plain.initialize(matrix);
  for (const double factor : {1., 1e-60, 1e60, 0.})
  {
    std::vector<double> r = cases::random_values(A.n_rows, 17);
    for (double &value : r)
      value *= factor;
    const std::vector<double> expected  = cases::apply(plain, backend(), r);
    double                    magnitude = 0.;
    for (const double value : expected)
      magnitude = std::max(magnitude, std::abs(value));
    EXPECT_LE(cases::difference(cases::apply(mixed, backend(), r), expected), 1e-5 * magnitude);
  }
}

TEST_P(PreconditionPolynomialTest, MixedPrecisionRefusesWhatFp32CannotHold)
{
  PreconditionPolynomial<double, float> mixed;
  for (const double factor : {1e-30, 1e30})
  {
    HostCSR<double> A = cases::grid_matrix<3>(4);
    for (double &value : A.values)
      value *= factor;
    const SlicedEllpackMatrix<double> matrix(backend(), A, 3);
    mixed.initialize(matrix);
    EXPECT_GT(mixed.memory_consumption(), A.values.size() * sizeof(float));
    const unsigned int             n_iterations = cases::solve_ones(matrix, mixed).n_iterations;
    PreconditionPolynomial<double> plain;
    plain.initialize(matrix);
    EXPECT_EQ(n_iterations, cases::solve_ones(matrix, plain).n_iterations);

    for (double &value : A.values)
      value *= factor;
    const SlicedEllpackMatrix<double> out_of_range(backend(), A, 3);
    EXPECT_THROW(mixed.initialize(out_of_range), Error);
    Vector<double> x(backend(), A.n_rows);
    EXPECT_THROW(mixed.vmult(x, Vector<double>(backend(), A.n_rows)), Error) << "nothing is left";
  }
}

TEST_P(PreconditionPolynomialTest, AdversarialShapes)
{
  const std::vector<HostCSR<double>> matrices = {cases::diagonal(1),
                                                 cases::diagonal(33),
                                                 cases::diagonal(1000),
                                                 cases::arrow(31),
                                                 cases::arrow(257),
                                                 cases::laplacian<double>(1, 1),
                                                 cases::laplacian<double>(33, 1),
                                                 HostCSR<double>{0, 0, {0}, {}, {}}};
  for (const HostCSR<double> &A : matrices)
    for (const PolynomialKind kind : all_kinds)
      for (const unsigned int order : {1u, 6u, 12u})
      {
        const CSRMatrix<double>           csr(backend(), A);
        const SlicedEllpackMatrix<double> sliced(backend(), A);
        PreconditionPolynomial<double>    M, N;
        M.initialize(csr, {kind, order});
        N.initialize(sliced, {kind, order});
        const std::vector<double> r = cases::random_values(A.n_rows, 23), z = cases::apply(M, backend(), r);
        EXPECT_LT(cases::difference(z, cases::apply(N, backend(), r)), 1e-13);
        if (A.n_rows > 0)
          cases::solve_ones(csr, M);
      }
}

TEST_P(PreconditionPolynomialTest, ThreadsDoNotChangeAnything)
{
  const SlicedEllpackMatrix<double> matrix(backend(), cases::laplacian<double>(150, 100));
  const std::vector<double>         r       = cases::random_values(15000, 29);
  const int                         threads = omp_get_max_threads();
  std::vector<double>               first;
  for (const int n : {1, 2, 3})
  {
    omp_set_num_threads(n);
    PreconditionPolynomial<double> M;
    M.initialize(matrix);
    const std::vector<double> z = cases::apply(M, backend(), r);
    if (first.empty())
      first = z;
    EXPECT_EQ(z, first);
  }
  omp_set_num_threads(threads);
}

TEST_P(PreconditionPolynomialTest, RefusesWhatDoesNotFit)
{
  const HostCSR<double>          A = cases::laplacian<double>(9, 9);
  const CSRMatrix<double>        matrix(backend(), A);
  PreconditionPolynomial<double> M;
  Vector<double>                 x(backend(), 81), y(backend(), 81), longer(backend(), 82);
  EXPECT_THROW(M.vmult(y, x), Error);
  EXPECT_THROW(M.initialize(matrix, {PolynomialKind::neumann, 0}), Error);
  EXPECT_THROW(M.initialize(matrix, {PolynomialKind::neumann, 13}), Error);
  EXPECT_THROW(M.initialize(matrix, {PolynomialKind::neumann, 2, 1}), Error);
  EXPECT_THROW(M.initialize(matrix, {PolynomialKind::neumann, 2, 65}), Error);
  EXPECT_THROW(M.initialize(matrix, {PolynomialKind::neumann, 2, 20, 1.}), Error);
  EXPECT_THROW(M.initialize(matrix, {PolynomialKind::chebyshev, 2, 20, HUGE_VAL}), Error);
  M.initialize(matrix);
  EXPECT_THROW(M.vmult(longer, x), Error);
  HostCSR<double> bad = A;
  bad.values[1]       = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(M.initialize(CSRMatrix<double>(backend(), bad)), Error);
  EXPECT_THROW(M.vmult(y, x), Error) << "what was made of the matrix before is gone";
}
