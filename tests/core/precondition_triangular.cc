// SPDX-License-Identifier: LGPL-2.1-or-later
#include "precondition_cases.h"

#include "kernels/hash.h"
#include <patchfem/lac/precondition/precondition_ic.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>
#include <patchfem/lac/precondition/precondition_ssor.h>

#include <omp.h>

#include <set>

using namespace PatchFEM;
using cases::Dense;

class PreconditionTriangularTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(PreconditionTriangularTest);

namespace
{
  using SSOR     = PreconditionSSOR<double>;
  using IC       = PreconditionIC<double>;
  using Ordering = SSOR::Ordering;

  /** M e for M = (D + omega L) D^-1 (D + omega L)^T / (omega (2 - omega)) with blocks of b and L by phases. */
  std::vector<double> ssor_product(
      const Dense &A, const int b, const double omega, const std::vector<int> &phase, const std::vector<double> &e)
  {
    Dense D(A.n_rows, A.n_rows), L(A.n_rows, A.n_rows);
    for (int i = 0; i < A.n_rows; ++i)
      for (int j = 0; j < A.n_rows; ++j)
        if (i / b == j / b)
          D(i, j) = L(i, j) = A(i, j);
        else if (phase[j / b] < phase[i / b])
          L(i, j) = omega * A(i, j);
    std::vector<double> v = cases::times(L, cases::solve_dense(D, cases::times(L.transposed(), e)));
    for (double &value : v)
      value /= omega * (2. - omega);
    return v;
  }

  /** The incomplete factorisation in plain loops over dense storage: R below the diagonal and D on it. */
  Dense incomplete_cholesky(const HostCSR<double> &A, const double shift = 0.)
  {
    Dense F(A);
    for (int i = 0; i < A.n_rows; ++i)
    {
      F(i, i) *= 1. + shift;
      for (std::int64_t e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e)
        if (const int j = A.columns[e]; j < i)
        {
          for (int k = 0; k < j; ++k)
            F(i, j) -= F(i, k) * F(k, k) * F(j, k);
          F(i, j) /= F(j, j);
        }
      for (int k = 0; k < i; ++k)
        F(i, i) -= F(i, k) * F(i, k) * F(k, k);
    }
    return F;
  }

  /** (I + R) D (I + R)^T e */
  std::vector<double> factor_product(const Dense &F, const std::vector<double> &e)
  {
    std::vector<double> v = e, w = e;
    for (int j = 0; j < F.n_rows; ++j)
      for (int i = j + 1; i < F.n_rows; ++i)
        v[j] += F(i, j) * e[i];
    for (int i = 0; i < F.n_rows; ++i)
    {
      w[i] = F(i, i) * v[i];
      for (int j = 0; j < i; ++j)
        w[i] += F(i, j) * F(j, j) * v[j];
    }
    return w;
  }
} // namespace

TEST_P(PreconditionTriangularTest, TwoUnknownsByEye)
{
  const HostCSR<double>   A{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {2., 1., 1., 2.}};
  const CSRMatrix<double> matrix(backend(), A);
  SSOR                    ssor; // M = (2 0; 1 2) diag(1/2) (2 1; 0 2) = (2 1; 1 5/2)
  ssor.initialize(matrix, {Ordering::natural, 1.});
  EXPECT_EQ(ssor.n_phases(), 2);
  EXPECT_LT(cases::difference(cases::apply(ssor, backend(), {1., 0.}), {0.625, -0.25}), 1e-15);
  EXPECT_LT(cases::difference(cases::apply(ssor, backend(), {0., 1.}), {-0.25, 0.5}), 1e-15);

  IC                        ic; // D = diag(2, 3/2), R = 1/2: nothing is left out, and R^2 = 0
  const std::vector<double> expected[] = {{2. / 3., -1. / 3.}, {0.5, 0.}, {2. / 3., -1. / 3.}};
  for (unsigned int n_sweeps = 0; n_sweeps < 3; ++n_sweeps)
  {
    ic.initialize(matrix, {n_sweeps});
    EXPECT_LT(cases::difference(cases::apply(ic, backend(), {1., 0.}), expected[n_sweeps]), 1e-15);
  }
  EXPECT_EQ(ic.shift(), 0.);
}

TEST_P(PreconditionTriangularTest, SSORAgreesWithItsDefinition)
{
  for (const int b : {1, 2, 3, 5})
  {
    const auto                        A = cases::spd_blocks(67, b, 7);
    const Dense                       dense(A);
    const std::vector<double>         e = cases::random_values(A.n_rows, 8);
    const CSRMatrix<double>           csr(backend(), A, b);
    const SlicedEllpackMatrix<double> sliced(backend(), A, b);
    SlicedEllpackMatrix<double>       low;
    low.reinit(backend(), A, b, b, {7});
    for (const MatrixBase<double> *matrix : std::vector<const MatrixBase<double> *>{&csr, &sliced, &low})
      for (const Ordering ordering : {Ordering::multicolour, Ordering::natural})
        for (const double omega : {0.7, 1., 1.6})
        {
          SSOR M;
          M.initialize(*matrix, {ordering, omega});
          std::vector<int> phase = M.phases().to_vector();
          if (ordering == Ordering::natural) // levels give the same triangles as the order of rows
            for (std::size_t i = 0; i < phase.size(); ++i)
              phase[i] = static_cast<int>(i);
          EXPECT_LT(cases::difference(cases::apply(M, backend(), ssor_product(dense, b, omega, phase, e)), e), 1e-12)
              << b << " " << omega << " " << matrix->format();
        }
  }
}

TEST_P(PreconditionTriangularTest, ColoursAreThoseOfTheGreedyWalk)
{
  const std::vector<HostCSR<double>> matrices = {cases::grid_matrix<1>(9), cases::laplacian<double>(31, 40),
                                                 cases::arrow(200), cases::diagonal(40)};
  for (const HostCSR<double> &A : matrices)
  {
    SSOR M;
    M.initialize(SlicedEllpackMatrix<double>(backend(), A));
    std::vector<int> order(A.n_rows), colour(A.n_rows, -1);
    for (int i = 0; i < A.n_rows; ++i)
      order[i] = i;
    std::sort(order.begin(), order.end(), [](const int i, const int j) { return kernels::hash(i) > kernels::hash(j); });
    for (const int i : order)
    {
      std::set<int> used;
      for (std::int64_t e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e)
        used.insert(colour[A.columns[e]]);
      int c = 0;
      while (used.count(c) > 0)
        ++c;
      colour[i] = c;
    }
    EXPECT_EQ(M.phases().to_vector(), colour);
    EXPECT_EQ(M.n_phases(), *std::max_element(colour.begin(), colour.end()) + 1);
  }
}

TEST_P(PreconditionTriangularTest, ICAgreesWithPlainLoops)
{
  const std::vector<HostCSR<double>> matrices = {cases::laplacian<double>(17, 13), cases::grid_matrix<1>(6),
                                                 cases::grid_matrix<3>(4), cases::spd_blocks(50, 3, 5),
                                                 cases::laplacian<double>(300, 1)};
  for (const HostCSR<double> &A : matrices)
    for (const double shift : {0., 0.25})
    {
      const int                         b = A.n_rows == 192 || A.n_rows == 150 ? 3 : 1; // blocks without gaps
      const CSRMatrix<double>           csr(backend(), A, b);
      const SlicedEllpackMatrix<double> sliced(backend(), A, b);
      const Dense                       F = incomplete_cholesky(A, shift);
      const std::vector<double>         e = cases::random_values(A.n_rows, 8);
      const std::vector<double>         r = factor_product(F, e);
      IC                                by_levels, by_sweeps;
      by_levels.initialize(csr, {0, shift});
      EXPECT_EQ(by_levels.n_breakdowns(), 0u);
      EXPECT_EQ(by_levels.shift(), shift);
      EXPECT_LT(cases::difference(cases::apply(by_levels, backend(), r), e), 1e-11);
      by_levels.initialize(sliced, {0, shift});
      EXPECT_LT(cases::difference(cases::apply(by_levels, backend(), r), e), 1e-11);
      // As many sweeps as there are levels are exact; fewer are the truncated series.
      if (by_levels.n_phases() <= 100)
      {
        by_sweeps.initialize(csr, {static_cast<unsigned int>(by_levels.n_phases()), shift});
        EXPECT_LT(cases::difference(cases::apply(by_sweeps, backend(), r), e), 1e-9);
      }
      by_sweeps.initialize(csr, {3, shift});
      std::vector<double> y     = r, w(A.n_rows);
      const auto          solve = [&](const bool transposed) {
        const std::vector<double> rhs = y;
        for (int k = 1; k < 3; ++k)
        {
          std::vector<double> next = rhs;
          for (int i = 0; i < A.n_rows; ++i)
            for (int j = 0; j < i; ++j)
              next[transposed ? j : i] -= F(i, j) * y[transposed ? i : j];
          y = next;
        }
      };
      solve(false);
      for (int i = 0; i < A.n_rows; ++i)
        y[i] /= F(i, i);
      solve(true);
      EXPECT_LT(cases::difference(cases::apply(by_sweeps, backend(), r), y), 1e-11);
    }
}

TEST_P(PreconditionTriangularTest, IsSymmetricAndPositiveDefinite)
{
  const HostCSR<double>             A = cases::grid_matrix<3>(3);
  const SlicedEllpackMatrix<double> matrix(backend(), A, 3);
  SSOR                              ssor;
  for (const Ordering ordering : {Ordering::multicolour, Ordering::natural})
    for (const double omega : {0.5, 1., 1.9})
    {
      ssor.initialize(matrix, {ordering, omega});
      cases::expect_symmetric_positive(cases::dense_inverse(ssor, backend(), A.n_rows));
      PreconditionSSOR<double, float> mixed;
      mixed.initialize(matrix, {PreconditionSSOR<double, float>::Ordering(int(ordering)), omega});
      cases::expect_symmetric_positive(cases::dense_inverse(mixed, backend(), A.n_rows));
    }
  IC ic;
  for (unsigned int n_sweeps = 0; n_sweeps < 6; ++n_sweeps)
  {
    ic.initialize(matrix, {n_sweeps});
    cases::expect_symmetric_positive(cases::dense_inverse(ic, backend(), A.n_rows));
    PreconditionIC<double, float> mixed;
    mixed.initialize(matrix, {n_sweeps});
    cases::expect_symmetric_positive(cases::dense_inverse(mixed, backend(), A.n_rows));
    EXPECT_LT(mixed.memory_consumption(), ic.memory_consumption());
  }
}

TEST_P(PreconditionTriangularTest, IterationsArePinned)
{
  const HostCSR<double>             A = cases::laplacian<double>(40, 31);
  const SlicedEllpackMatrix<double> sliced(backend(), A);
  const CSRMatrix<double>           csr(backend(), A);
  for (const MatrixBase<double> *matrix : std::vector<const MatrixBase<double> *>{&sliced, &csr})
  {
    SSOR ssor;
    ssor.initialize(*matrix);
    EXPECT_EQ(cases::solve_ones(*matrix, ssor).n_iterations, 60u);
    ssor.initialize(*matrix, {Ordering::natural, 1.});
    EXPECT_EQ(cases::solve_ones(*matrix, ssor).n_iterations, 42u);
    ssor.initialize(*matrix, {Ordering::natural, 1.7});
    EXPECT_EQ(cases::solve_ones(*matrix, ssor).n_iterations, 24u);
    const unsigned int expected[] = {36, 105, 58, 44, 38};
    for (unsigned int n_sweeps = 0; n_sweeps < 5; ++n_sweeps)
    {
      IC ic;
      ic.initialize(*matrix, {n_sweeps});
      EXPECT_EQ(cases::solve_ones(*matrix, ic).n_iterations, expected[n_sweeps]) << n_sweeps;
      PreconditionIC<double, float> mixed;
      mixed.initialize(*matrix, {n_sweeps});
      EXPECT_EQ(cases::solve_ones(*matrix, mixed).n_iterations, expected[n_sweeps]) << n_sweeps;
    }
    PreconditionSSOR<double, float> mixed;
    mixed.initialize(*matrix);
    EXPECT_EQ(cases::solve_ones(*matrix, mixed).n_iterations, 60u);
    ssor.initialize(*matrix);
    // Of the triangles there are half the bytes of values.
    EXPECT_LT(mixed.memory_consumption(), ssor.memory_consumption() - matrix->n_nonzero_elements() * 3);
  }
}

TEST_P(PreconditionTriangularTest, ICBreaksDownAndIsShifted)
{
  // Positive definite, but its incomplete factorisation has a negative pivot (Kershaw 1978).
  const HostCSR<double> A{4,
                          4,
                          {0, 3, 6, 9, 12},
                          {0, 1, 3, 0, 1, 2, 1, 2, 3, 0, 2, 3},
                          {3., -2., 2., -2., 3., -2., -2., 3., -2., 2., -2., 3.}};
  IC                    ic;
  for (const unsigned int n_sweeps : {0u, 2u})
  {
    ic.initialize(CSRMatrix<double>(backend(), A), {n_sweeps});
    EXPECT_GT(ic.n_breakdowns(), 0u);
    EXPECT_DOUBLE_EQ(ic.shift(), 1e-3 * std::pow(2., ic.n_breakdowns() - 1.));
    cases::expect_symmetric_positive(cases::dense_inverse(ic, backend(), 4));
  }
  ic.initialize(CSRMatrix<double>(backend(), A), {0, 0.5});
  EXPECT_EQ(ic.n_breakdowns(), 0u);
  EXPECT_EQ(ic.shift(), 0.5);
}

TEST_P(PreconditionTriangularTest, AdversarialShapes)
{
  const std::vector<HostCSR<double>> matrices = {cases::diagonal(1),
                                                 cases::diagonal(33),
                                                 cases::arrow(31),
                                                 cases::arrow(257),
                                                 cases::laplacian<double>(77, 1),
                                                 HostCSR<double>{0, 0, {0}, {}, {}}};
  for (const HostCSR<double> &A : matrices)
  {
    const CSRMatrix<double>           csr(backend(), A);
    const SlicedEllpackMatrix<double> sliced(backend(), A);
    const std::vector<double>         r     = cases::random_values(A.n_rows, 23);
    const auto                        check = [&](auto &M, const auto &data) {
      M.initialize(csr, data);
      const std::vector<double> z = cases::apply(M, backend(), r);
      if (A.n_rows > 0)
        cases::solve_ones(csr, M);
      M.initialize(sliced, data);
      EXPECT_LT(cases::difference(z, cases::apply(M, backend(), r)), 1e-13) << A.n_rows;
    };
    SSOR ssor;
    check(ssor, SSOR::AdditionalData{Ordering::multicolour, 1.2});
    check(ssor, SSOR::AdditionalData{Ordering::natural, 1.});
    IC ic;
    for (const unsigned int n_sweeps : {0u, 1u, 2u, 3u})
      check(ic, IC::AdditionalData{n_sweeps});
  }
}

TEST_P(PreconditionTriangularTest, ThreadsDoNotChangeAnything)
{
  const SlicedEllpackMatrix<double> matrix(backend(), cases::laplacian<double>(150, 100));
  const std::vector<double>         r       = cases::random_values(15000, 29);
  const int                         threads = omp_get_max_threads();
  std::vector<std::vector<double>>  first;
  for (const int n : {1, 2, 3})
  {
    omp_set_num_threads(n);
    SSOR ssor;
    IC   ic;
    ssor.initialize(matrix);
    ic.initialize(matrix);
    const std::vector<std::vector<double>> z = {cases::apply(ssor, backend(), r), cases::apply(ic, backend(), r)};
    if (first.empty())
      first = z;
    EXPECT_EQ(z, first);
  }
  omp_set_num_threads(threads);
}

TEST_P(PreconditionTriangularTest, RefusesWhatDoesNotFit)
{
  const CSRMatrix<double> matrix(backend(), cases::laplacian<double>(9, 9));
  SSOR                    ssor;
  IC                      ic;
  Vector<double>          x(backend(), 81), y(backend(), 81), longer(backend(), 82);
  EXPECT_THROW(ssor.vmult(y, x), Error);
  EXPECT_THROW(ssor.initialize(matrix, {Ordering::multicolour, 2.}), Error);
  EXPECT_THROW(ssor.initialize(matrix, {Ordering::multicolour, 0.}), Error);
  EXPECT_THROW(ic.initialize(matrix, {3, -1.}), Error);
  ssor.initialize(matrix);
  EXPECT_THROW(ssor.vmult(longer, x), Error);

  const HostCSR<double> one_sided{3, 3, {0, 1, 3, 4}, {0, 0, 1, 2}, {1., 0.5, 1., 1.}};
  EXPECT_THROW(ssor.initialize(CSRMatrix<double>(backend(), one_sided)), Error);
  EXPECT_THROW(ic.initialize(CSRMatrix<double>(backend(), one_sided)), Error);
  Vector<double> three(backend(), 3), result(backend(), 3);
  EXPECT_THROW(ssor.vmult(result, three), Error) << "a refused matrix leaves nothing";
  EXPECT_THROW(ic.vmult(result, three), Error);
  const HostCSR<double> negative{3, 3, {0, 1, 2, 3}, {0, 1, 2}, {1., -1., 1.}};
  EXPECT_THROW(ssor.initialize(CSRMatrix<double>(backend(), negative)), Error);
  EXPECT_THROW(ic.initialize(CSRMatrix<double>(backend(), negative)), Error);
  HostCSR<double> not_finite = cases::laplacian<double>(9, 9);
  not_finite.values[1]       = std::numeric_limits<double>::quiet_NaN();
  not_finite.values[3]       = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(ic.initialize(CSRMatrix<double>(backend(), not_finite)), Error);
  EXPECT_THROW(ic.vmult(y, x), Error) << "what was made of the matrix before is gone";
}
