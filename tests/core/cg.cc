// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "lac_cases.h"

#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <omp.h>

#include <cmath>

using namespace PatchFEM;
using Status = IterationResult::Status;

class CGTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(CGTest);

namespace
{
  /** Jacobi as a kernel of its own: the path of preconditioners that cannot be fused. */
  template <typename Number>
  class UnfusedJacobi : public PreconditionJacobi<Number>
  {
  public:
    const BlockDiagonalView<Number> *block_diagonal() const override { return nullptr; }
  };

  /** A matrix without a product of its own for the iteration. */
  class PlainMatrix : public CSRMatrix<double>
  {
  public:
    using CSRMatrix<double>::CSRMatrix;
    void cg_product(Vector<double> &q, const Vector<double> &p, const CGView &cg) const override
    {
      MatrixBase<double>::cg_product(q, p, cg);
    }
  };

  IterationControl control(const double tolerance, const unsigned int max_iterations = 1000)
  {
    IterationControl result;
    result.tolerance      = tolerance;
    result.max_iterations = max_iterations;
    return result;
  }

  double true_residual(const HostCSR<double> &A, const std::vector<double> &x, const std::vector<double> &b)
  {
    const std::vector<double> Ax  = cases::product(A, x);
    double                    sum = 0.;
    for (std::size_t i = 0; i < b.size(); ++i)
      sum += (b[i] - Ax[i]) * (b[i] - Ax[i]);
    return std::sqrt(sum);
  }

  /** Textbook Jacobi-PCG in plain loops; returns the residuals. */
  std::vector<double> reference_history(const HostCSR<double> &A, const std::vector<double> &b, const double tolerance)
  {
    const std::size_t   n = b.size();
    std::vector<double> d(n), x(n, 0.), r = b, p(n), history;
    for (std::size_t i = 0; i < n; ++i)
      for (std::int64_t e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e)
        if (A.columns[e] == int(i))
          d[i] = A.values[e];
    double rz = 0.;
    for (std::size_t i = 0; i < n; ++i)
    {
      p[i] = r[i] / d[i];
      rz += r[i] * p[i];
    }
    for (;;)
    {
      double rr = 0.;
      for (const double v : r)
        rr += v * v;
      history.push_back(std::sqrt(rr));
      if (history.back() <= tolerance || history.size() > 1000)
        return history;
      const std::vector<double> q  = cases::product(A, p);
      double                    pq = 0., rz_new = 0.;
      for (std::size_t i = 0; i < n; ++i)
        pq += p[i] * q[i];
      for (std::size_t i = 0; i < n; ++i)
      {
        r[i] -= rz / pq * q[i];
        rz_new += r[i] * r[i] / d[i];
      }
      for (std::size_t i = 0; i < n; ++i)
        p[i] = r[i] / d[i] + rz_new / rz * p[i];
      rz = rz_new;
    }
  }
} // namespace

TEST_P(CGTest, TwoUnknownsByEye)
{
  // (2 1; 1 2) x = (3, 3): x = (1, 1); the right-hand side is an eigenvector, so one step suffices.
  const HostCSR<double>      A{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {2., 1., 1., 2.}};
  const CSRMatrix<double>    matrix(backend(), A);
  Vector<double>             x(backend(), 2);
  const Vector<double>       b(backend(), {3., 3.});
  ConjugateGradients<double> cg;
  const IterationResult      result = cg.solve(matrix, x, b, PreconditionIdentity<double>(), control(1e-12));
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_EQ(result.n_iterations, 1u);
  EXPECT_DOUBLE_EQ(result.history[0], std::sqrt(18.));
  EXPECT_NEAR(x.copy_to_host()[0], 1., 1e-15);
  EXPECT_NEAR(x.copy_to_host()[1], 1., 1e-15);
}

TEST_P(CGTest, SecondDifferenceEndsAfterKnownSteps)
{
  // A right-hand side symmetric about the middle spans ceil(n / 2) eigenvectors of the second difference.
  for (const int n : {1, 2, 9, 40, 101})
  {
    const auto                 A = cases::laplacian<double>(n, 1);
    Vector<double>             x(backend(), n);
    const Vector<double>       b(backend(), std::vector<double>(n, 1.));
    ConjugateGradients<double> cg;
    const IterationResult      result =
        cg.solve(SlicedEllpackMatrix<double>(backend(), A), x, b, PreconditionIdentity<double>(), control(1e-9));
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_EQ(result.n_iterations, unsigned(n + 1) / 2);
    const std::vector<double> solution = x.copy_to_host();
    for (int i = 0; i < n; ++i)
      EXPECT_NEAR(solution[i], 0.5 * (i + 1) * (n - i), 1e-8);
  }
}

TEST_P(CGTest, FollowsTheTextbook)
{
  auto A = cases::laplacian<double>(37, 23);
  for (int row = 0; row < A.n_rows; ++row) // different diagonals, so that Jacobi matters
    for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
      if (A.columns[e] == row)
        A.values[e] += row % 5;
  const std::vector<double> rhs      = cases::random_values(A.n_rows, 61);
  const std::vector<double> expected = reference_history(A, rhs, 1e-8);
  const Vector<double>      b(backend(), rhs);

  const SlicedEllpackMatrix<double> sell(backend(), A);
  const CSRMatrix<double>           csr(backend(), A);
  const PlainMatrix                 plain(backend(), A);
  SlicedEllpackMatrix<double>       short_columns, to_the_end;
  short_columns.reinit(backend(), A, 1, 1, {32, true});
  to_the_end.reinit(backend(), A, 1, 1, {1000, false, true});
  CSRMatrix<double> scalar(backend(), A), vector(backend(), A);
  scalar.use_kernel(CSRKernel::scalar);
  vector.use_kernel(CSRKernel::vector);
  const MDIAMatrix<double>       mdia(backend(), A);
  const CoordinateMatrix<double> coordinate(backend(), A);
  const HybridMatrix<double>     hybrid(backend(), A);
  PreconditionJacobi<double>     jacobi;
  UnfusedJacobi<double>          unfused;
  jacobi.initialize(csr);
  unfused.initialize(csr);
  for (const MatrixBase<double> *matrix : std::vector<const MatrixBase<double> *>{
           &sell, &csr, &plain, &short_columns, &to_the_end, &scalar, &vector, &mdia, &coordinate, &hybrid})
    for (const PreconditionBase<double> *preconditioner :
         std::vector<const PreconditionBase<double> *>{&jacobi, &unfused})
    {
      Vector<double>             x(backend(), A.n_rows);
      ConjugateGradients<double> cg;
      const IterationResult      result = cg.solve(*matrix, x, b, *preconditioner, control(1e-8));
      ASSERT_EQ(result.status, Status::converged);
      ASSERT_EQ(result.history.size(), expected.size());
      EXPECT_EQ(result.n_iterations + 1, expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(result.history[i], expected[i], 1e-9 + 1e-6 * expected[i]) << i;
      EXPECT_LE(true_residual(A, x.copy_to_host(), rhs), 1.0001e-8);
      EXPECT_NEAR(result.residual, true_residual(A, x.copy_to_host(), rhs), 1e-12);
    }
}

TEST_P(CGTest, SlicesOfAllHeights)
{
  for (const int b : {1, 2, 3, 6})
  {
    const auto                 A = cases::spd_blocks(331, b, 7);
    const Vector<double>       rhs(backend(), cases::random_values(A.n_rows, 61));
    PreconditionJacobi<double> jacobi;
    const CSRMatrix<double>    csr(backend(), A);
    jacobi.initialize(csr);
    ConjugateGradients<double> cg;
    Vector<double>             x(backend(), A.n_rows);
    const std::vector<double>  expected = cg.solve(csr, x, rhs, jacobi, control(1e-8)).history;
    for (const int height : {1, 7, 8, 64, 1000})
    {
      SCOPED_TRACE("blocks of " + std::to_string(b) + ", height " + std::to_string(height));
      SlicedEllpackMatrix<double> matrix;
      matrix.reinit(backend(), A, b, b, {height, false, height == 64});
      x                            = 0.;
      const IterationResult result = cg.solve(matrix, x, rhs, jacobi, control(1e-8));
      ASSERT_EQ(result.history.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(result.history[i], expected[i], 1e-9 + 1e-6 * expected[i]) << i;
    }
  }
}

TEST_P(CGTest, LooksDoNotChangeAnything)
{
  const auto                        A = cases::laplacian<double>(40, 40);
  const SlicedEllpackMatrix<double> matrix(backend(), A);
  const Vector<double>              b(backend(), cases::random_values(1600, 62));
  PreconditionJacobi<double>        jacobi;
  jacobi.initialize(matrix);
  std::vector<double> history, solution;
  for (const unsigned int interval : {1u, 2u, 7u, 32u, 1000u, std::numeric_limits<unsigned int>::max()})
  {
    ConjugateGradients<double> cg({interval, 20});
    Vector<double>             x(backend(), 1600);
    std::vector<double>        seen;
    IterationControl           limits = control(1e-10);
    limits.monitor                    = [&](const unsigned int step, const double residual) {
      EXPECT_EQ(step, seen.size());
      seen.push_back(residual);
      return IterationControl::Action::iterate;
    };
    const IterationResult result = cg.solve(matrix, x, b, jacobi, limits);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_EQ(seen, result.history);
    EXPECT_EQ(result.history.size(), result.n_iterations + 1);
    if (history.empty())
    {
      history  = result.history;
      solution = x.copy_to_host();
    }
    EXPECT_EQ(result.history, history) << interval;
    EXPECT_EQ(x.copy_to_host(), solution) << interval;
  }
}

TEST_P(CGTest, SolutionUpdateOnAStreamDoesNotChangeABit)
{
  const auto                        A = cases::laplacian<double>(150, 100);
  const SlicedEllpackMatrix<double> matrix(backend(), A);
  const Vector<double>              b(backend(), cases::random_values(15000, 63));
  PreconditionJacobi<double>        jacobi;
  jacobi.initialize(matrix);
  PreconditionPolynomial<double> polynomial;
  polynomial.initialize(matrix);
  for (const PreconditionBase<double> *preconditioner : {static_cast<const PreconditionBase<double> *>(&jacobi),
                                                         static_cast<const PreconditionBase<double> *>(&polynomial)})
  {
    IterationResult     result[2];
    std::vector<double> solution[2];
    for (const SolutionUpdate update : {SolutionUpdate::fused, SolutionUpdate::streams})
    {
      // Steps that recompute the residual, a limit that ends amid a graph, and a second solution with the same object.
      const int                  i = update == SolutionUpdate::streams;
      ConjugateGradients<double> cg({0, 30, update});
      for (const unsigned int most : {21u, 1000u})
      {
        Vector<double>   x(backend(), 15000);
        IterationControl limits = control(1e-10);
        limits.max_iterations   = most;
        result[i]               = cg.solve(matrix, x, b, *preconditioner, limits);
        EXPECT_EQ(result[i].update, update);
        EXPECT_EQ(result[i].status, most == 21 ? Status::max_iterations : Status::converged);
        const std::vector<double> values = x.copy_to_host();
        solution[i].insert(solution[i].end(), values.begin(), values.end());
      }
    }
    EXPECT_EQ(result[0].history, result[1].history);
    EXPECT_EQ(solution[0], solution[1]);
  }
}

TEST_P(CGTest, ThreadsDoNotChangeAnything)
{
  const auto                        A = cases::laplacian<double>(150, 100);
  const SlicedEllpackMatrix<double> matrix(backend(), A);
  const Vector<double>              b(backend(), cases::random_values(15000, 63));
  PreconditionJacobi<double>        jacobi;
  jacobi.initialize(matrix);
  const int           threads = omp_get_max_threads();
  std::vector<double> history;
  for (const int n : {1, 2, 3})
  {
    omp_set_num_threads(n);
    ConjugateGradients<double> cg;
    Vector<double>             x(backend(), 15000);
    const IterationResult      result = cg.solve(matrix, x, b, jacobi, control(1e-6));
    if (history.empty())
      history = result.history;
    EXPECT_EQ(result.history, history);
  }
  omp_set_num_threads(threads);
}

TEST_P(CGTest, BlockJacobi)
{
  for (const int b : {2, 3, 4, 6})
  {
    const auto                        A   = cases::spd_blocks(150, b, 64);
    const std::vector<double>         rhs = cases::random_values(A.n_rows, 65);
    const SlicedEllpackMatrix<double> matrix(backend(), A, b);
    PreconditionBlockJacobi<double>   preconditioner;
    preconditioner.initialize(matrix);

    // M^-1 times the columns of the block diagonal is the identity.
    const std::vector<double> r = cases::random_values(A.n_rows, 66);
    std::vector<double>       Dr(A.n_rows, 0.);
    for (int row = 0; row < A.n_rows; ++row)
      for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
        if (A.columns[e] / b == row / b)
          Dr[row] += A.values[e] * r[A.columns[e]];
    Vector<double> z(backend(), cases::not_a_number<double>(A.n_rows));
    preconditioner.vmult(z, Vector<double>(backend(), Dr));
    const std::vector<double> result_z = z.copy_to_host();
    for (int i = 0; i < A.n_rows; ++i)
      EXPECT_NEAR(result_z[i], r[i], 1e-12);

    Vector<double>             x(backend(), A.n_rows);
    ConjugateGradients<double> cg;
    const IterationResult result = cg.solve(matrix, x, Vector<double>(backend(), rhs), preconditioner, control(1e-9));
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_LE(true_residual(A, x.copy_to_host(), rhs), 1.0001e-9);

    // With values in fp32, by vmult() and in the iteration's own kernel.
    PreconditionBlockJacobi<double, float> mixed;
    mixed.initialize(matrix);
    z = std::numeric_limits<double>::quiet_NaN();
    mixed.vmult(z, Vector<double>(backend(), Dr));
    const std::vector<double> mixed_z    = z.copy_to_host();
    double                    difference = 0.;
    for (int i = 0; i < A.n_rows; ++i)
      difference = std::max(difference, std::abs(mixed_z[i] - r[i]));
    EXPECT_LT(difference, 1e-5);
    EXPECT_GT(difference, 1e-12) << "nothing is rounded";
    EXPECT_EQ(2 * mixed.memory_consumption(), preconditioner.memory_consumption());
    const IterationResult again = cg.solve(matrix, x = 0., Vector<double>(backend(), rhs), mixed, control(1e-9));
    EXPECT_EQ(again.status, Status::converged);
    EXPECT_EQ(again.n_iterations, result.n_iterations);
    EXPECT_LE(true_residual(A, x.copy_to_host(), rhs), 1.0001e-9);
  }
}

TEST_P(CGTest, JacobiInMixedPrecision)
{
  const HostCSR<double>             A = cases::laplacian<double>(37, 29);
  const std::vector<double>         b = cases::random_values(A.n_rows, 67);
  const CSRMatrix<double>           matrix(backend(), A);
  PreconditionJacobi<double>        plain;
  PreconditionJacobi<double, float> mixed;
  plain.initialize(matrix, {1. / 3.}); // not a number that fp32 has
  mixed.initialize(matrix, {1. / 3.});
  EXPECT_EQ(mixed.block_diagonal(), nullptr);
  EXPECT_EQ(mixed.name(), "jacobi with values in single precision");
  Vector<double>             x(backend(), A.n_rows);
  ConjugateGradients<double> cg;
  const IterationResult      expected = cg.solve(matrix, x, Vector<double>(backend(), b), plain, control(1e-9));
  const IterationResult      result   = cg.solve(matrix, x = 0., Vector<double>(backend(), b), mixed, control(1e-9));
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_EQ(result.n_iterations, expected.n_iterations);
  EXPECT_LE(true_residual(A, x.copy_to_host(), b), 1.0001e-9);

  HostCSR<double> small{2, 2, {0, 1, 2}, {0, 1}, {1., 1e-39}}; // whose inverse fp32 does not have
  EXPECT_THROW(mixed.initialize(CSRMatrix<double>(backend(), small)), Error);
  plain.initialize(CSRMatrix<double>(backend(), small));
}

TEST_P(CGTest, InitialGuessAndReduction)
{
  const auto                        A = cases::laplacian<double>(20, 20);
  const SlicedEllpackMatrix<double> matrix(backend(), A);
  const std::vector<double>         solution = cases::random_values(400, 67), rhs = cases::product(A, solution);
  const Vector<double>              b(backend(), rhs);
  ConjugateGradients<double>        cg;

  Vector<double>        exact(backend(), solution);
  const IterationResult none = cg.solve(matrix, exact, b, PreconditionIdentity<double>(), control(1e-10));
  EXPECT_EQ(none.n_iterations, 0u);
  EXPECT_EQ(none.status, Status::converged);
  EXPECT_EQ(exact.copy_to_host(), solution);

  Vector<double>   x(backend(), 400);
  IterationControl limits      = control(1e-300);
  limits.reduction             = 1e-3;
  const IterationResult result = cg.solve(matrix, x, b, PreconditionIdentity<double>(), limits);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_DOUBLE_EQ(result.tolerance, 1e-3 * result.history[0]);
  EXPECT_GT(result.history[result.n_iterations - 1], result.tolerance);
}

TEST_P(CGTest, RowsOfAllSizes)
{
  // -u'' = 2 on n cells with u = 0 at the end and, by a film, u = 1 at the beginning: u = 1 - x^2 in every node. One row
  // is larger than the others by up to 1e30, and so is what is on its right.
  const int n = 60;
  for (const double film : {1., 1e6, 1e12, 1e30})
  {
    HostCSR<double>     A{n, n, {0}, {}, {}};
    std::vector<double> rhs(n, 2. / n);
    for (int i = 0; i < n; ++i)
    {
      for (int j = std::max(i - 1, 0); j <= std::min(i + 1, n - 1); ++j)
      {
        A.columns.push_back(j);
        A.values.push_back(i != j ? -n : i > 0 ? 2. * n : n + film);
      }
      A.row_offsets.push_back(A.columns.size());
    }
    rhs[0]      = 1. / n + film;
    double norm = 0.;
    for (const double value : rhs)
      norm = std::hypot(norm, value);
    const CSRMatrix<double> matrix(backend(), A);
    const Vector<double>    b(backend(), rhs);
    const auto              error = [&](const double row_tolerance, const PreconditionBase<double> &M) {
      CGParameters data;
      data.row_tolerance = row_tolerance;
      data.look_interval = 3;
      Vector<double>   x(backend(), n);
      IterationControl limits = control(1e-10 * norm);
      unsigned int     seen   = 0;
      limits.monitor          = [&](const unsigned int, const double residual) {
        ++seen;
        return residual <= limits.tolerance ? IterationControl::Action::accept : IterationControl::Action::iterate;
      };
      const IterationResult result = ConjugateGradients<double>(data).solve(matrix, x, b, M, limits);
      EXPECT_TRUE(result.success()) << result.message("M");
      EXPECT_EQ(seen, result.n_iterations + 1);
      EXPECT_EQ(result.row_residual > 0., row_tolerance > 0.);
      EXPECT_LE(result.row_residual, row_tolerance);
      double                    largest = 0.;
      const std::vector<double> values  = x.copy_to_host();
      for (int i = 0; i < n; ++i)
        largest = std::max(largest, std::abs(values[i] - 1. + double(i) / n * i / n));
      return largest;
    };
    const PreconditionJacobi<double> jacobi(matrix);
    EXPECT_LE(error(1e-10, jacobi), 1e-7) << film;
    EXPECT_LE(error(1e-10, PreconditionIdentity<double>()), 1e-6) << film;
    if (film >= 1e12)
      EXPECT_GT(error(0., jacobi), 1e-2) << "the large row alone is seen";
  }

  // Where rows are alike it asks for nothing.
  const CSRMatrix<double> matrix(backend(), cases::laplacian<double>(20, 20));
  const Vector<double>    b(backend(), cases::random_values(400, 69));
  Vector<double>          x(backend(), 400), y(backend(), 400);
  CGParameters            rows;
  rows.row_tolerance            = 1e-8;
  const IterationControl limits = control(1e-8 * b.l2_norm());
  const IterationResult  plain =
      ConjugateGradients<double>().solve(matrix, x, b, PreconditionIdentity<double>(), limits);
  const IterationResult result =
      ConjugateGradients<double>(rows).solve(matrix, y, b, PreconditionIdentity<double>(), limits);
  EXPECT_EQ(plain.history, result.history);
  EXPECT_EQ(x.copy_to_host(), y.copy_to_host());
}

TEST_P(CGTest, StepLimitAndMonitor)
{
  const auto                        A = cases::laplacian<double>(30, 30);
  const SlicedEllpackMatrix<double> matrix(backend(), A);
  const Vector<double>              b(backend(), cases::random_values(900, 68));
  ConjugateGradients<double>        cg({1, 0});
  Vector<double>                    x(backend(), 900);
  IterationResult                   result = cg.solve(matrix, x, b, PreconditionIdentity<double>(), control(1e-10, 5));
  EXPECT_EQ(result.status, Status::max_iterations);
  EXPECT_EQ(result.n_iterations, 5u);
  EXPECT_EQ(result.history.size(), 6u);
  EXPECT_NEAR(result.residual, true_residual(A, x.copy_to_host(), b.copy_to_host()), 1e-12);

  IterationControl limits = control(0.);
  limits.monitor          = [](const unsigned int step, double) {
    return step < 7 ? IterationControl::Action::iterate : IterationControl::Action::accept;
  };
  x      = 0.;
  result = cg.solve(matrix, x, b, PreconditionIdentity<double>(), limits);
  EXPECT_EQ(result.status, Status::accepted);
  EXPECT_EQ(result.n_iterations, 7u);
}

TEST_P(CGTest, BreakdownsAreNamed)
{
  ConjugateGradients<double> cg;
  const Vector<double>       b(backend(), {1., 1., 1.});
  const auto solve = [&](const std::vector<double> &diagonal, const PreconditionBase<double> &M, const double b_1) {
    const HostCSR<double>   A{3, 3, {0, 1, 2, 3}, {0, 1, 2}, diagonal};
    const CSRMatrix<double> matrix(backend(), A);
    Vector<double>          x(backend(), 3);
    return cg.solve(matrix, x, Vector<double>(backend(), {1., b_1, 1.}), M, control(1e-10));
  };
  const PreconditionIdentity<double> identity;
  IterationResult                    result = solve({1., -8., 2.}, identity, 1.);
  EXPECT_EQ(result.status, Status::breakdown);
  EXPECT_EQ(result.cause, CGStatus::matrix_not_positive);
  EXPECT_NE(result.message("identity").find("the matrix is not positive definite"), std::string::npos);

  const double nan = std::numeric_limits<double>::quiet_NaN();
  result           = solve({1., nan, 2.}, identity, 1.);
  EXPECT_EQ(result.status, Status::breakdown);
  EXPECT_EQ(result.cause, CGStatus::residual_not_finite);
  result = solve({1., 3., 2.}, identity, nan);
  EXPECT_EQ(result.cause, CGStatus::residual_not_finite);
  // The load is scaled to length one, p = (1, 1) / sqrt(2), and p.Ap = 2e308.
  const HostCSR<double> huge{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1e308, 1e308, 1e308, 1e308}};
  Vector<double>        x(backend(), 2);
  result =
      cg.solve(CSRMatrix<double>(backend(), huge), x, Vector<double>(backend(), {1., 1.}), identity, control(1e-9));
  EXPECT_EQ(result.status, Status::breakdown);
  EXPECT_EQ(result.cause, CGStatus::matrix_not_finite);

  /** z = -r, or not a number. */
  class Bad : public PreconditionBase<double>
  {
  public:
    explicit Bad(const double factor) : factor(factor) {}
    void        vmult(Vector<double> &dst, const Vector<double> &src) const override { dst.equ(factor, src); }
    std::string name() const override { return "bad"; }
    std::size_t memory_consumption() const override { return 0; }

  private:
    double factor;
  };
  result = solve({1., 3., 2.}, Bad(-1.), 1.);
  EXPECT_EQ(result.cause, CGStatus::preconditioner_not_positive);
  EXPECT_NE(result.message("bad").find("the preconditioner bad is not positive definite"), std::string::npos);
  result = solve({1., 3., 2.}, Bad(nan), 1.);
  EXPECT_EQ(result.cause, CGStatus::preconditioner_not_finite);
}

TEST_P(CGTest, JacobiRefusesBadDiagonals)
{
  HostCSR<double>            A{4, 4, {0, 1, 2, 3, 4}, {0, 1, 2, 3}, {1., 2., 0., -1.}};
  PreconditionJacobi<double> jacobi;
  const auto                 message = [](const auto &function) {
    try
    {
      function();
    }
    catch (const Error &error)
    {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message([&]() { jacobi.initialize(CSRMatrix<double>(backend(), A)); }).find("row 2 "), std::string::npos);
  A.values = {1., 2., 3., 4.};
  jacobi.initialize(CSRMatrix<double>(backend(), A));
  A.values[2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(message([&]() { jacobi.initialize(CSRMatrix<double>(backend(), A)); }).find("row 2 "), std::string::npos);
  Vector<double> src(backend(), 4), dst(backend(), 4);
  EXPECT_THROW(jacobi.vmult(dst, src), Error) << "the inverses of the matrix before are gone";

  // The second block, (1 2; 2 1), is indefinite though its diagonal is positive.
  const HostCSR<double>           B{4, 4, {0, 1, 2, 4, 6}, {0, 1, 2, 3, 2, 3}, {1., 1., 1., 2., 2., 1.}};
  PreconditionBlockJacobi<double> block_jacobi;
  EXPECT_NE(message([&]() { block_jacobi.initialize(SlicedEllpackMatrix<double>(backend(), B, 2)); }).find("row 3 "),
            std::string::npos);
}

TEST_P(CGTest, SinglePrecisionRestartsOrSaysItCannot)
{
  const auto                       A = cases::laplacian<float>(50, 50);
  const SlicedEllpackMatrix<float> matrix(backend(), A);
  const Vector<float>              b(backend(), std::vector<float>(2500, 1.f));
  PreconditionJacobi<float>        jacobi;
  jacobi.initialize(matrix);
  ConjugateGradients<float> cg({0, 0});
  Vector<float>             x(backend(), 2500);
  IterationResult           result = cg.solve(matrix, x, b, jacobi, control(5e-2));
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_LE(result.residual, 5e-2);
  x      = 0.f;
  result = cg.solve(matrix, x, b, jacobi, control(1e-9, 5000));
  EXPECT_FALSE(result.success());
  EXPECT_EQ(result.status, Status::stagnated);
  EXPECT_GE(result.n_restarts, 1u);
  EXPECT_GT(result.residual, 1e-9);
}

TEST(IterationResult, NamesRowsThatFailAlone)
{
  IterationResult result;
  result.status        = Status::stagnated;
  result.tolerance     = 1e-8;
  result.residual      = 1e-9;
  result.row_residual  = 1e-6;
  result.row_tolerance = 1e-7;
  EXPECT_EQ(result.message("M"),
            "Conjugate gradients meet the tolerance, but where each row is divided by its diagonal "
            "entry the residual stays at 1e-06 of the solution, above 1e-07.");
}
