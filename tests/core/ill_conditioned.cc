// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "multigrid_cases.h"

#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/multigrid/dense_inverse.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <algorithm>
#include <cmath>

using namespace PatchFEM;
using Status = IterationResult::Status;

/** Conjugate gradients in units of any size, and where rounding lets the residual fall no further. */
class IllConditionedTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(IllConditionedTest);

namespace
{
  constexpr double rounding_unit = 0x1p-53;

  IterationControl control(const double reduction, const unsigned int max_iterations = 5000)
  {
    IterationControl result;
    result.tolerance      = 0.;
    result.reduction      = reduction;
    result.max_iterations = max_iterations;
    return result;
  }

  std::vector<double> scaled(std::vector<double> values, const int exponent)
  {
    for (double &value : values)
      value = std::ldexp(value, exponent);
    return values;
  }

  HostCSR<double> scaled(HostCSR<double> A, const int exponent)
  {
    A.values = scaled(A.values, exponent);
    return A;
  }

  /** The second difference to the power of four, whose entries are integers; its eigenvalues are those to that power. */
  struct FourthPower
  {
    cases::Dense                          dense;
    HostCSR<double>                       rows;
    double                                smallest, largest; ///< eigenvalues
    std::vector<std::vector<long double>> factor;            ///< of Cholesky, lower

    explicit FourthPower(const int n) : dense(cases::laplacian<double>(n, 1))
    {
      const double angle = std::acos(-1.) / (n + 1);
      smallest           = std::pow(2. - 2. * std::cos(angle), 4);
      largest            = std::pow(2. + 2. * std::cos(angle), 4);
      dense              = dense * dense;
      dense              = dense * dense;
      rows.n_rows = rows.n_columns = n;
      rows.row_offsets.push_back(0);
      for (int i = 0; i < n; ++i)
      {
        for (int j = std::max(0, i - 4); j < std::min(n, i + 5); ++j)
        {
          rows.columns.push_back(j);
          rows.values.push_back(dense(i, j));
        }
        rows.row_offsets.push_back(rows.columns.size());
      }
      factor.assign(n, std::vector<long double>(n, 0.));
      for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
        {
          long double sum = dense(i, j);
          for (int k = 0; k < j; ++k)
            sum -= factor[i][k] * factor[j][k];
          factor[i][j] = i == j ? std::sqrt(sum) : sum / factor[j][j];
        }
    }

    /** By Cholesky's factorisation with two refinements, in long double. */
    std::vector<long double> solve(const std::vector<double> &b) const
    {
      const int                n = rows.n_rows;
      std::vector<long double> x(n, 0.), r(n);
      for (int refinement = 0; refinement < 3; ++refinement)
      {
        for (int i = 0; i < n; ++i)
        {
          r[i] = b[i];
          for (int j = 0; j < n; ++j)
            r[i] -= dense(i, j) * x[j];
        }
        for (int i = 0; i < n; ++i)
        {
          for (int k = 0; k < i; ++k)
            r[i] -= factor[i][k] * r[k];
          r[i] /= factor[i][i];
        }
        for (int i = n - 1; i >= 0; --i)
        {
          for (int k = i + 1; k < n; ++k)
            r[i] -= factor[k][i] * r[k];
          r[i] /= factor[i][i];
          x[i] += r[i];
        }
      }
      return x;
    }
  };

  double norm(const std::vector<double> &x)
  {
    long double sum = 0.;
    for (const double value : x)
      sum += static_cast<long double>(value) * value;
    return static_cast<double>(std::sqrt(sum));
  }

  /** A dense inverse as a preconditioner. */
  class Inverse : public PreconditionBase<double>
  {
  public:
    Inverse(const Backend &backend, const HostCSR<double> &A)
    {
      inverse.compute(SlicedEllpackMatrix<double>(backend, A));
    }
    void        vmult(Vector<double> &dst, const Vector<double> &src) const override { inverse.vmult(dst, src); }
    std::string name() const override { return "inverse"; }
    std::size_t memory_consumption() const override { return inverse.memory_consumption(); }

  private:
    DenseInverse<double> inverse;
  };

  /** The same pattern with a fixed perturbation of the diagonal, by up to @p size of it. */
  HostCSR<double> perturbed(HostCSR<double> A, const double size)
  {
    const std::vector<double> s = cases::random_values(A.n_rows, 31);
    for (int row = 0; row < A.n_rows; ++row)
      for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
        if (A.columns[e] == row)
          A.values[e] *= 1. + size * (1. + s[row]);
    return A;
  }

  bool has(const std::string &text, const char *part)
  {
    return text.find(part) != std::string::npos;
  }
} // namespace

TEST_P(IllConditionedTest, UnitsOfTheRightHandSideDoNotChangeABit)
{
  const HostCSR<double>             A = cases::laplacian<double>(23, 17);
  const SlicedEllpackMatrix<double> matrix(backend(), A);
  const std::vector<double>         rhs = cases::random_values(A.n_rows, 5);
  PreconditionJacobi<double>        jacobi;
  PreconditionPolynomial<double>    polynomial; // of kernels of its own
  jacobi.initialize(matrix);
  polynomial.initialize(matrix);
  const PreconditionIdentity<double> identity;
  for (const PreconditionBase<double> *M :
       std::vector<const PreconditionBase<double> *>{&jacobi, &polynomial, &identity})
    for (const unsigned int interval : {0u, 15u})
    {
      IterationResult     expected;
      std::vector<double> solution;
      for (const int exponent : {0, 30, 600, -600, 1000, -960})
      {
        SCOPED_TRACE(M->name() + ", 2^" + std::to_string(exponent));
        ConjugateGradients<double> cg({0, interval});
        Vector<double>             x(backend(), A.n_rows);
        const IterationResult      result =
            cg.solve(matrix, x, Vector<double>(backend(), scaled(rhs, exponent)), *M, control(1e-9));
        ASSERT_EQ(result.status, Status::converged) << result.message(M->name());
        if (exponent == 0)
        {
          expected = result;
          solution = x.copy_to_host();
          EXPECT_GT(result.n_iterations, 10u);
        }
        EXPECT_EQ(result.n_iterations, expected.n_iterations);
        EXPECT_EQ(x.copy_to_host(), scaled(solution, exponent));
        EXPECT_EQ(result.history, scaled(expected.history, exponent));
        EXPECT_EQ(result.residual, std::ldexp(expected.residual, exponent));
        EXPECT_EQ(result.tolerance, std::ldexp(expected.tolerance, exponent));
      }
    }
}

TEST_P(IllConditionedTest, UnitsOfTheMatrixDoNotChangeABit)
{
  const HostCSR<double>     A   = cases::laplacian<double>(23, 17);
  const std::vector<double> rhs = cases::random_values(A.n_rows, 6);
  for (const bool with_jacobi : {false, true})
  {
    unsigned int        n_iterations = 0;
    std::vector<double> solution;
    for (const int exponent : {0, 900, -900})
    {
      SCOPED_TRACE("2^" + std::to_string(exponent));
      const CSRMatrix<double>            matrix(backend(), scaled(A, exponent));
      const PreconditionIdentity<double> identity;
      PreconditionJacobi<double>         jacobi;
      jacobi.initialize(matrix);
      ConjugateGradients<double> cg;
      Vector<double>             x(backend(), A.n_rows);
      const Vector<double>       b(backend(), rhs);
      const IterationResult      result =
          with_jacobi ? cg.solve(matrix, x, b, jacobi, control(1e-9)) : cg.solve(matrix, x, b, identity, control(1e-9));
      ASSERT_EQ(result.status, Status::converged) << result.message("");
      if (exponent == 0)
      {
        n_iterations = result.n_iterations;
        solution     = x.copy_to_host();
      }
      EXPECT_EQ(result.n_iterations, n_iterations);
      EXPECT_EQ(x.copy_to_host(), scaled(solution, -exponent));
    }
  }
}

TEST_P(IllConditionedTest, SinglePrecisionInAnyUnits)
{
  const HostCSR<float>             A = cases::laplacian<float>(19, 13);
  const SlicedEllpackMatrix<float> matrix(backend(), A);
  const std::vector<double>        rhs = cases::random_values(A.n_rows, 7);
  PreconditionJacobi<float>        jacobi;
  jacobi.initialize(matrix);
  unsigned int       n_iterations = 0;
  std::vector<float> solution;
  for (const int exponent : {0, 110, -110})
  {
    ConjugateGradients<float> cg;
    Vector<float>             x(backend(), A.n_rows);
    const Vector<float>       b(backend(), cases::to<float>(scaled(cases::widened(cases::to<float>(rhs)), exponent)));
    const IterationResult     result = cg.solve(matrix, x, b, jacobi, control(1e-3));
    ASSERT_EQ(result.status, Status::converged) << result.message("jacobi");
    if (exponent == 0)
    {
      n_iterations = result.n_iterations;
      solution     = x.copy_to_host();
    }
    EXPECT_EQ(result.n_iterations, n_iterations);
    EXPECT_EQ(cases::widened(x.copy_to_host()), scaled(cases::widened(solution), exponent)) << exponent;
  }
}

TEST_P(IllConditionedTest, TinyLoadsAreSolvedForAndNoneIsSolved)
{
  const HostCSR<double>      A = cases::laplacian<double>(9, 1);
  const CSRMatrix<double>    matrix(backend(), A);
  PreconditionJacobi<double> jacobi;
  jacobi.initialize(matrix);
  ConjugateGradients<double> cg;
  Vector<double>             x(backend(), 9);
  IterationResult            result =
      cg.solve(matrix, x, Vector<double>(backend(), std::vector<double>(9, 1e-200)), jacobi, control(1e-10));
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_EQ(result.n_iterations, 5u);
  EXPECT_NEAR(result.history[0], 3e-200, 1e-214);
  const std::vector<double> solution = x.copy_to_host();
  for (int i = 0; i < 9; ++i)
    EXPECT_NEAR(solution[i], 0.5e-200 * (i + 1) * (9 - i), 1e-209);

  x      = 0.;
  result = cg.solve(matrix, x, Vector<double>(backend(), 9), jacobi, control(1e-10));
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_EQ(result.n_iterations, 0u);
  EXPECT_EQ(x.copy_to_host(), std::vector<double>(9, 0.));
}

TEST_P(IllConditionedTest, WhatIsNotFiniteIsABreakdown)
{
  const double               infinite = std::numeric_limits<double>::infinity();
  const HostCSR<double>      A        = cases::laplacian<double>(9, 1);
  const CSRMatrix<double>    matrix(backend(), A), large(backend(), scaled(A, 900));
  PreconditionJacobi<double> jacobi;
  jacobi.initialize(matrix);
  for (const double bad : {infinite, -infinite, std::nan("")})
    for (const double reduction : {0., 1e-8})
    {
      std::vector<double> values(9, 1.);
      values[4] = bad;
      ConjugateGradients<double> cg;
      Vector<double>             x(backend(), 9);
      IterationResult result = cg.solve(matrix, x, Vector<double>(backend(), values), jacobi, control(reduction));
      EXPECT_EQ(result.status, Status::breakdown) << bad << " " << reduction;
      EXPECT_EQ(result.cause, CGStatus::residual_not_finite);
      EXPECT_TRUE(has(result.message("jacobi"), "the residual is not finite"));

      Vector<double> guess(backend(), values);
      result =
          cg.solve(matrix, guess, Vector<double>(backend(), std::vector<double>(9, 1.)), jacobi, control(reduction));
      EXPECT_EQ(result.status, Status::breakdown) << bad << " " << reduction;
      EXPECT_EQ(result.cause, CGStatus::residual_not_finite);
    }
  // A x overflows.
  ConjugateGradients<double> cg;
  std::vector<double>        guess(9, 0.);
  guess[4] = 0x1p200;
  Vector<double>        x(backend(), guess);
  const IterationResult result =
      cg.solve(large, x, Vector<double>(backend(), std::vector<double>(9, 1.)), jacobi, control(1e-8));
  EXPECT_EQ(result.status, Status::breakdown);
  EXPECT_FALSE(result.success());
}

TEST_P(IllConditionedTest, RoundingIsAnAnswer)
{
  const FourthPower                 problem(40);
  const SlicedEllpackMatrix<double> matrix(backend(), problem.rows);
  const std::vector<double>         b = cases::random_values(40, 9);
  const Inverse                     inverse(backend(), perturbed(problem.rows, 1e-9));
  PreconditionJacobi<double>        jacobi;
  jacobi.initialize(matrix);
  const std::vector<long double> expected = problem.solve(b);
  for (const double reduction : {1e-12, 1e-15})
    for (const PreconditionBase<double> *M : {static_cast<const PreconditionBase<double> *>(&inverse),
                                              static_cast<const PreconditionBase<double> *>(&jacobi)})
    {
      SCOPED_TRACE(M->name() + " to " + std::to_string(reduction));
      ConjugateGradients<double> cg;
      Vector<double>             x(backend(), 40);
      const IterationResult result = cg.solve(matrix, x, Vector<double>(backend(), b), *M, control(reduction, 20000));
      ASSERT_EQ(result.status, Status::rounding) << result.message(M->name());
      EXPECT_TRUE(result.success());
      EXPECT_GE(result.n_restarts, 1u);
      const std::vector<double> solution = x.copy_to_host();
      const double              limit    = 8. * rounding_unit * problem.largest * norm(solution);
      EXPECT_LE(result.rounding_limit, 1.0001 * limit);
      EXPECT_GE(result.rounding_limit, 0.3 * limit);
      EXPECT_LE(result.residual, result.rounding_limit);
      EXPECT_GT(result.residual, result.tolerance);
      EXPECT_GT(result.rounding_limit, 1e3 * result.tolerance) << "the case is not ill conditioned enough";

      // The true residual, and with it the error, in arithmetic that has the digits.
      long double residual = 0., error = 0.;
      for (int i = 0; i < 40; ++i)
      {
        long double r_i = b[i];
        for (int j = 0; j < 40; ++j)
          r_i -= static_cast<long double>(problem.dense(i, j)) * solution[j];
        residual += r_i * r_i;
        error += (solution[i] - expected[i]) * (solution[i] - expected[i]);
      }
      EXPECT_LE(std::sqrt(residual), 1.5 * result.rounding_limit);
      EXPECT_LE(std::sqrt(error), 1.5 * result.rounding_limit / problem.smallest);
      EXPECT_LE(std::sqrt(error), 1e-3 * norm(solution));
      EXPECT_TRUE(has(result.message(M->name()), "came to the limit of double precision in ")) << result.message("");
      EXPECT_TRUE(has(result.message(M->name()), ", of which rounding explains "));
    }
}

TEST_P(IllConditionedTest, SolutionsAreMoreAccurateThanTheRoundingOfTheProduct)
{
  // The condition is 1e13, and x and b are integers: no digit of the system is lost.
  constexpr int       n = 64;
  const FourthPower   problem(n);
  std::vector<double> exact(n);
  for (int i = 0; i < n; ++i)
    exact[i] = std::round(1e6 * std::sin(std::acos(-1.) * (i + 1) / (n + 1)));
  const std::vector<double>         b = cases::product(problem.rows, exact);
  const Inverse                     inverse(backend(), perturbed(problem.rows, 1e-12));
  const CSRMatrix<double>           csr(backend(), problem.rows);
  const SlicedEllpackMatrix<double> sliced(backend(), problem.rows);
  const CoordinateMatrix<double>    coordinate(backend(), problem.rows);
  const auto                        error_of = [&](const MatrixBase<double> &matrix, const int exponent) {
    ConjugateGradients<double> cg;
    Vector<double>             x(backend(), n);
    const IterationResult      result =
        cg.solve(matrix, x, Vector<double>(backend(), scaled(b, exponent)), inverse, control(1e-14));
    EXPECT_EQ(result.status, Status::rounding) << matrix.format() << result.message("inverse");
    EXPECT_LE(result.residual, result.rounding_limit);
    std::vector<double> error = scaled(x.copy_to_host(), -exponent);
    for (int i = 0; i < n; ++i)
      error[i] -= exact[i];
    return norm(error) / norm(exact);
  };
  for (const int exponent : {0, 700, -700})
  {
    // A fifth of the energy that refinement goes for.
    EXPECT_LE(error_of(csr, exponent), 2e-8) << exponent;
    EXPECT_LE(error_of(sliced, exponent), 2e-8) << exponent;
  }
  EXPECT_GE(error_of(coordinate, 0), 1e-7) << "the case does not show what residuals in double leave";
}

TEST_P(IllConditionedTest, WhatARefinementBeginsWithIsAnAnswer)
{
  constexpr int                     n = 64;
  const FourthPower                 problem(n);
  const std::vector<double>         b(n, 1.);
  const SlicedEllpackMatrix<double> matrix(backend(), problem.rows);
  const Inverse                     inverse(backend(), perturbed(problem.rows, 1e-9));
  const auto solve = [&](const double reduction, const unsigned int most, const SolutionUpdate update) {
    ConjugateGradients<double>::AdditionalData data;
    data.look_interval = 1;
    data.update        = update;
    ConjugateGradients<double> cg(data);
    Vector<double>             x(backend(), n);
    const IterationResult result = cg.solve(matrix, x, Vector<double>(backend(), b), inverse, control(reduction, most));
    EXPECT_EQ(result.history.size(), result.n_iterations + 1u);
    if (result.success())
    {
      EXPECT_LE(result.residual, result.status == Status::converged ? result.tolerance : result.rounding_limit);
    }
    return result;
  };
  for (const SolutionUpdate update : {SolutionUpdate::fused, SolutionUpdate::streams})
  {
    // A limit of steps inside of the refinement costs its gain, not the solution.
    const IterationResult all    = solve(1e-14, 5000, update);
    unsigned int          n_less = 0;
    ASSERT_EQ(all.status, Status::rounding) << all.message("inverse");
    for (unsigned int most = 1; most < all.n_iterations; ++most)
    {
      const IterationResult result = solve(1e-14, most, update);
      EXPECT_TRUE(result.status == Status::rounding || (n_less == 0 && result.status == Status::max_iterations))
          << most << ": " << result.message("inverse");
      n_less += result.status == Status::rounding;
    }
    EXPECT_GE(n_less, 2u) << "the case is not refined for some steps";
    // Tolerances between the residuals of double and of twice the precision.
    for (double part = 0.1; part < 3.; part *= 1.3)
      EXPECT_TRUE(solve(part * all.residual / norm(b), 5000, update).success()) << part;
  }
}

TEST_P(IllConditionedTest, ReachableTolerancesConverge)
{
  // The same matrix with a right-hand side from a solution of no large components, and to what rounding allows.
  const FourthPower                 problem(40);
  const SlicedEllpackMatrix<double> matrix(backend(), problem.rows);
  const std::vector<double>         b = cases::product(problem.rows, cases::random_values(40, 10));
  const Inverse                     inverse(backend(), perturbed(problem.rows, 1e-9));
  ConjugateGradients<double>        cg;
  Vector<double>                    x(backend(), 40);
  const IterationResult             result = cg.solve(matrix, x, Vector<double>(backend(), b), inverse, control(1e-13));
  EXPECT_EQ(result.status, Status::converged) << result.message("inverse");
  EXPECT_LE(result.residual, result.tolerance);
}

TEST_P(IllConditionedTest, AboveTheLimitItIsNoAnswer)
{
  /** Products with three times the matrix whose residuals are formed: a restart gains a third of what is left. */
  class Inconsistent : public CSRMatrix<double>
  {
  public:
    using CSRMatrix<double>::CSRMatrix;
    void cg_product(Vector<double> &q, const Vector<double> &p, const CGView &cg) const override
    {
      MatrixBase<double>::cg_product(q, p, cg);
    }
    void vmult(Vector<double> &dst, const Vector<double> &src) const override
    {
      CSRMatrix<double>::vmult(dst, src);
      dst *= 3.;
    }
  };
  const HostCSR<double>      A = cases::laplacian<double>(12, 9);
  const Inconsistent         matrix(backend(), A);
  PreconditionJacobi<double> jacobi;
  jacobi.initialize(matrix);
  const Vector<double>       b(backend(), cases::random_values(A.n_rows, 12));
  ConjugateGradients<double> cg;
  Vector<double>             x(backend(), A.n_rows);
  const IterationResult      result = cg.solve(matrix, x, b, jacobi, control(1e-8));
  EXPECT_EQ(result.status, Status::stagnated);
  EXPECT_FALSE(result.success());
  EXPECT_EQ(result.n_restarts, 2u);
  EXPECT_LT(result.residual, 0.55 * b.l2_norm());
  EXPECT_GT(result.residual, 0.35 * b.l2_norm());
  EXPECT_GT(result.rounding_limit, 0.);
  EXPECT_GT(result.residual, result.rounding_limit);
  const std::string text = result.message("jacobi");
  EXPECT_TRUE(has(text, "cannot reach ") && has(text, " with this preconditioner: after ") &&
              has(text, ", of which rounding explains no more than "))
      << text;
}

TEST_P(IllConditionedTest, PreconditionersThatAreWrongAreNotTakenForRounding)
{
  // x -> (I + K) D^-1 x with K skew and as large as the rest: positive, but not symmetric.
  const FourthPower problem(40);
  HostCSR<double>   skew = problem.rows;
  for (int row = 0; row < 40; ++row)
    for (std::int64_t e = skew.row_offsets[row]; e < skew.row_offsets[row + 1]; ++e)
      skew.values[e] = skew.columns[e] == row ? 1. : (skew.columns[e] > row ? 0.5 : -0.5);
  class Skew : public PreconditionBase<double>
  {
  public:
    Skew(const Backend &backend, const HostCSR<double> &A) : matrix(backend, A) {}
    void        vmult(Vector<double> &dst, const Vector<double> &src) const override { matrix.vmult(dst, src); }
    std::string name() const override { return "skew"; }
    std::size_t memory_consumption() const override { return 0; }

  private:
    CSRMatrix<double> matrix;
  };
  const SlicedEllpackMatrix<double> matrix(backend(), problem.rows);
  const std::vector<double>         b = cases::random_values(40, 9);
  ConjugateGradients<double>        cg;
  Vector<double>                    x(backend(), 40);
  const IterationResult             result =
      cg.solve(matrix, x, Vector<double>(backend(), b), Skew(backend(), skew), control(1e-12, 400));
  EXPECT_FALSE(result.success()) << result.message("skew");
}

TEST_P(IllConditionedTest, SinglePrecisionAlwaysStagnates)
{
  // The second difference, of condition 4e3.
  const CSRMatrix<float>    matrix(backend(), cases::laplacian<float>(100, 1));
  PreconditionJacobi<float> jacobi;
  jacobi.initialize(matrix);
  ConjugateGradients<float> cg;
  Vector<float>             x(backend(), 100);
  const Vector<float>       b(backend(), std::vector<float>(100, 1.f));
  const IterationResult     result = cg.solve(matrix, x, b, jacobi, control(1e-10, 20000));
  EXPECT_EQ(result.status, Status::stagnated) << result.message("jacobi");
  EXPECT_EQ(result.rounding_limit, 0.);
  EXPECT_TRUE(has(result.message("jacobi"), " in this precision: after ")) << result.message("jacobi");
  EXPECT_FALSE(has(result.message("jacobi"), "rounding"));
}

TEST_P(IllConditionedTest, ReplacedResidualsDoNoHarm)
{
  // Near the floor they are not replaced any more, so the recursion falls as it does alone.
  const FourthPower                 problem(40);
  const SlicedEllpackMatrix<double> matrix(backend(), problem.rows);
  const Vector<double>              b(backend(), cases::random_values(40, 9));
  PreconditionJacobi<double>        jacobi;
  const Inverse                     inverse(backend(), perturbed(problem.rows, 1e-9));
  jacobi.initialize(matrix);
  for (const PreconditionBase<double> *M : {static_cast<const PreconditionBase<double> *>(&inverse),
                                            static_cast<const PreconditionBase<double> *>(&jacobi)})
  {
    double largest[2];
    for (const unsigned int interval : {0u, 3u})
    {
      ConjugateGradients<double> cg({0, interval});
      Vector<double>             x(backend(), 40);
      const IterationResult      result = cg.solve(matrix, x, b, *M, control(1e-12, 20000));
      EXPECT_EQ(result.status, Status::rounding) << result.message(M->name());
      EXPECT_LE(result.residual, result.rounding_limit);
      largest[interval > 0] = *std::max_element(result.history.begin(), result.history.end());
    }
    EXPECT_LE(largest[1], 10. * largest[0]) << M->name();
  }

  const SlicedEllpackMatrix<double> easy(backend(), cases::laplacian<double>(40, 40));
  const Vector<double>              load(backend(), cases::random_values(1600, 13));
  unsigned int                      steps[2];
  for (const unsigned int interval : {0u, 20u})
  {
    ConjugateGradients<double> cg({0, interval});
    Vector<double>             x(backend(), 1600);
    const IterationResult      result = cg.solve(easy, x, load, PreconditionIdentity<double>(), control(1e-9));
    EXPECT_EQ(result.status, Status::converged) << result.message("");
    steps[interval > 0] = result.n_iterations;
  }
  EXPECT_NEAR(steps[0], steps[1], 2.);
}
