// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "lac_cases.h"

#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>
#include <patchfem/lac/solver/conjugate_gradients.h>
#include <patchfem/lac/solver/largest_eigenvalue.h>
#include <patchfem/lac/solver/null_space.h>

#include <deque>
#include <limits>

using namespace PatchFEM;

class OperatorTest : public BackendTest
{
protected:
  template <typename Number>
  static OperatorShell<Number> shell_of(const CSRMatrix<Number> &A, const Vector<Number> &diagonal = Vector<Number>())
  {
    return {A.backend(), A.n_rows(), A.n_columns(),
            [&A](Vector<Number> &dst, const Vector<Number> &src) { A.vmult(dst, src); }, diagonal};
  }

  /** A shell takes the steps of the matrix it hides, without graphs and fused products. */
  template <typename Number>
  void check_iterations()
  {
    const CSRMatrix<Number>     A(backend(), cases::laplacian<Number>(37, 41));
    const OperatorShell<Number> shell = shell_of(A);
    const std::size_t           n     = A.n_rows();
    const Vector<Number>        b(backend(), cases::to<Number>(cases::random_values(n, 5)));
    Vector<Number>              x(backend(), n), y(backend(), n);
    PreconditionJacobi<Number>  jacobi(A);
    IterationControl            control;
    control.max_iterations = 500;
    control.tolerance      = 1e-4 * b.l2_norm();
    ConjugateGradients<Number> iteration;
    const IterationResult      by_matrix = iteration.solve(A, x, b, jacobi, control);
    const IterationResult      by_shell  = iteration.solve(shell, y, b, jacobi, control);
    EXPECT_TRUE(by_matrix.success() && by_shell.success()) << by_shell.message("jacobi");
    EXPECT_NEAR(by_shell.n_iterations, by_matrix.n_iterations, 1.);
    EXPECT_GT(by_shell.n_iterations, 20u);
    y.add(Number(-1), x);
    EXPECT_LE(y.l2_norm(), 1e-3 * x.l2_norm());

    LargestEigenvalue<Number> of_matrix, of_shell;
    of_matrix.compute(A, jacobi, 10);
    of_shell.compute(shell, jacobi, 10);
    EXPECT_EQ(of_shell.value(), of_matrix.value());
  }
};
PATCHFEM_INSTANTIATE_BACKENDS(OperatorTest);

TEST_P(OperatorTest, ByEye)
{
  // A = 2 I of a lambda: r = b - A x.
  const OperatorShell<double> twice(backend(), 3, 3,
                                    [](Vector<double> &dst, const Vector<double> &src) { dst.equ(2., src); });
  const Vector<double>        x(backend(), {1., 2., 3.}), b(backend(), {10., 10., 10.});
  Vector<double>              r(backend(), std::vector<double>(3, std::numeric_limits<double>::quiet_NaN()));
  twice.residual(r, x, b);
  EXPECT_EQ(r.copy_to_host(), (std::vector<double>{8., 6., 4.}));
  Vector<double>   solution(backend(), 3);
  IterationControl control;
  control.tolerance      = 1e-14;
  control.max_iterations = 5;
  ConjugateGradients<double> iteration;
  EXPECT_EQ(iteration.solve(twice, solution, b, PreconditionIdentity<double>(), control).n_iterations, 1u);
  EXPECT_EQ(solution.copy_to_host(), (std::vector<double>{5., 5., 5.}));
}

TEST_P(OperatorTest, ShellsIterateAsTheirMatricesInDouble)
{
  check_iterations<double>();
}

TEST_P(OperatorTest, ShellsIterateAsTheirMatricesInSingle)
{
  check_iterations<float>();
}

TEST_P(OperatorTest, PolynomialsOfShellsAreThoseOfTheirMatrices)
{
  // Steps in a product and a kernel of vectors, past the size of a block of threads; odd and even orders.
  const CSRMatrix<double> A(backend(), cases::laplacian<double>(37, 41));
  Vector<double>          diagonal;
  A.extract_diagonal(diagonal);
  const OperatorShell<double> shell = shell_of(A, diagonal);
  EXPECT_TRUE(A.can_be_recorded() && A.fuses_polynomial_steps());
  EXPECT_FALSE(shell.can_be_recorded() || shell.fuses_polynomial_steps());
  const std::size_t    n = A.n_rows();
  const Vector<double> b(backend(), cases::random_values(n, 5));
  for (const unsigned int order : {1, 2, 5})
  {
    PreconditionPolynomial<double> of_matrix, of_shell;
    of_matrix.initialize(A, {PolynomialKind::least_squares, order});
    of_shell.initialize(shell, {PolynomialKind::least_squares, order});
    EXPECT_TRUE(of_matrix.can_be_recorded() && !of_shell.can_be_recorded());
    EXPECT_EQ(of_shell.memory_consumption(), of_matrix.memory_consumption() + n * sizeof(double));
    Vector<double> x(backend(), cases::not_a_number<double>(n)), y(backend(), cases::not_a_number<double>(n));
    of_matrix.vmult(x, b);
    of_shell.vmult(y, b);
    const std::vector<double> expected = x.copy_to_host(), found = y.copy_to_host();
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_NEAR(found[i], expected[i], 1e-13) << "order " << order << ", row " << i;
    // The iteration is not recorded then, although its own products could be.
    IterationControl control;
    control.reduction      = 1e-10;
    control.max_iterations = 200;
    ConjugateGradients<double> iteration;
    Vector<double>             u(backend(), n), v(backend(), n);
    const auto                 of_matrix_steps = iteration.solve(A, u, b, of_matrix, control).n_iterations;
    EXPECT_NEAR(iteration.solve(A, v, b, of_shell, control).n_iterations, of_matrix_steps, 1);
  }
}

TEST_P(OperatorTest, NamesWhatIsMissing)
{
  const CSRMatrix<double> A(backend(), cases::laplacian<double>(5, 5));
  Vector<double>          diagonal, found, too_short(backend(), 3), y(backend(), 25);
  A.extract_diagonal(diagonal);
  EXPECT_THROW(shell_of(A).extract_diagonal(found), Error);
  shell_of(A, diagonal).extract_diagonal(found);
  EXPECT_EQ(found.copy_to_host(), diagonal.copy_to_host());
  EXPECT_THROW(shell_of(A).vmult(y, too_short), Error);
  EXPECT_THROW(shell_of(A, too_short), Error);
  EXPECT_THROW(OperatorShell<double>(backend(), 3, 3, nullptr), Error);
  // The residual of a shell overwrites r before it reads b; that of a matrix may be its right-hand side.
  const Vector<double> x(backend(), std::vector<double>(25, 1.));
  Vector<double>       r(backend(), std::vector<double>(25, 2.));
  EXPECT_THROW(shell_of(A).residual(r, x, r), Error);
  EXPECT_THROW(shell_of(A).residual(r, r, x), Error);
  EXPECT_THROW(shell_of(A).residual(r, x, too_short), Error);
  EXPECT_THROW(A.residual(r, r, x), Error);
  EXPECT_THROW(A.vmult(r, r), Error);
  if (backend().kind() == BackendKind::host)
  {
    std::deque<double> scattered(13, 1.); // in two pieces of memory
    scattered.insert(scattered.begin(), 12, 1.);
    std::deque<double> result = scattered;
    EXPECT_THROW(A.vmult(result, scattered), Error);
  }
  A.residual(y, x, r);
  A.residual(r, x, r);
  EXPECT_EQ(r.copy_to_host(), y.copy_to_host());
  // What preconditioners need beside products.
  EXPECT_THROW(PreconditionJacobi<double>(shell_of(A)), Error);
  PreconditionPolynomial<double>        polynomial;
  PreconditionPolynomial<double, float> mixed;
  EXPECT_THROW(polynomial.initialize(shell_of(A)), Error);
  EXPECT_THROW(mixed.initialize(shell_of(A, diagonal)), Error);
  // A vector that is no null space is told beside the diagonal; differences have that of constants.
  const NullSpace<double>     constants(backend(), {std::vector<double>(25, 1.)});
  const OperatorShell<double> differences(
      backend(), 25, 25,
      [](Vector<double> &dst, const Vector<double> &src) {
        dst = src.dot(Vector<double>(src.backend(), std::vector<double>(25, 1.))) / -25.;
        dst += src;
      },
      Vector<double>(backend(), std::vector<double>(25, 0.96)));
  EXPECT_NO_THROW(constants.check(differences));
  try
  {
    constants.check(shell_of(A, diagonal));
    FAIL();
  }
  catch (const Error &error)
  {
    EXPECT_NE(std::string(error.what()).find("does not have the null space"), std::string::npos) << error.what();
  }
}
