// SPDX-License-Identifier: LGPL-2.1-or-later
// Conjugate gradients of other libraries end on the true residual, or at rounding, in any units.
#include "../core/message_of.h"

#include <gtest/gtest.h>
#include <patchfem/app/reference_solver.h>

#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/precondition.h>
#include <deal.II/lac/trilinos_sparse_matrix.h>
#include <deal.II/lac/trilinos_vector.h>

using namespace PatchFEM;

namespace
{
  using Matrix     = dealii::TrilinosWrappers::SparseMatrix;
  using VectorType = dealii::TrilinosWrappers::MPI::Vector;

  template <typename Entry>
  void make(Matrix &matrix, const int n, const Entry &entry)
  {
    dealii::DynamicSparsityPattern pattern(n, n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        if (entry(i, j) != 0.)
          pattern.add(i, j);
    matrix.reinit(pattern);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        if (entry(i, j) != 0.)
          matrix.set(i, j, entry(i, j));
    matrix.compress(dealii::VectorOperation::insert);
  }

  double second_difference(const int i, const int j)
  {
    return i == j ? 2. : std::abs(i - j) == 1 ? -1. : 0.;
  }

  /** Its condition number is 1.6e13 with 10 rows. */
  double hilbert(const int i, const int j)
  {
    return 1. / (i + j + 1);
  }

  VectorType right_hand_side(const int n, const double factor = 1.)
  {
    VectorType b(dealii::complete_index_set(n), MPI_COMM_SELF);
    for (int i = 0; i < n; ++i)
      b(i) = factor * (1. + 0.1 * i);
    return b;
  }

  template <typename MatrixType>
  PathReport solve(const MatrixType &matrix, VectorType &x, const VectorType &b, const SolverParameters &parameters)
  {
    Progress   progress(false);
    PathReport report;
    x.reinit(b);
    reference::solve(
        "Trilinos", matrix, x, b, dealii::PreconditionIdentity(), [](VectorType &) {}, parameters, progress, report);
    return report;
  }

  /** Whose residuals never become small. */
  struct Blurred : Matrix
  {
    double residual(VectorType &r, const VectorType &x, const VectorType &b) const
    {
      return Matrix::residual(r, x, b) + 1e-3;
    }
  };
} // namespace

TEST(ReferenceSolver, DoesNotDependOnUnits)
{
  const int        n = 40;
  SolverParameters parameters;
  VectorType       plain;
  unsigned int     n_iterations = 0;
  for (const double stiffness : {1., 1e300, 1e-300})
    for (const double load : {1., 1e155, 1e-162, 1e300, 1e-300})
    {
      if (!(load / stiffness > 1e-300 && load / stiffness < 1e300))
        continue;
      Matrix matrix;
      make(matrix, n, [&](const int i, const int j) { return stiffness * second_difference(i, j); });
      VectorType       x, b = right_hand_side(n, load);
      const int        exponent = reference::remove_units(matrix, b);
      const PathReport report   = solve(matrix, x, b, parameters);
      EXPECT_GT(report.n_iterations, 10u);
      EXPECT_LE(report.relative_residual, parameters.tolerance);
      EXPECT_FALSE(report.stopped_at_rounding);
      reference::restore_units(x, exponent);
      if (n_iterations == 0)
      {
        plain        = x;
        n_iterations = report.n_iterations;
      }
      EXPECT_NEAR(report.n_iterations, n_iterations, 1.);
      for (int i = 0; i < n; ++i)
        EXPECT_NEAR(x(i) / (load / stiffness), plain(i), 1e-10 * plain.linfty_norm()) << stiffness << ' ' << load;
    }
}

TEST(ReferenceSolver, RowsOfAllSizes)
{
  // One row is 1e12 times the others, and so is what is on its right: -u'' = 0 with u = 1 at the beginning, 0 at the end.
  const int n = 40;
  Matrix    matrix;
  make(matrix, n, [](const int i, const int j) { return second_difference(i, j) + (i == 0 && j == 0 ? 1e12 : 0.); });
  VectorType b = right_hand_side(n), x;
  b            = 0.;
  b(0)         = 1e12 + 1.;
  b.compress(dealii::VectorOperation::insert);
  SolverParameters parameters;
  const PathReport report = solve(matrix, x, b, parameters);
  EXPECT_LE(report.row_residual, parameters.tolerance);
  for (int i = 0; i < n; ++i)
    EXPECT_NEAR(x(i), 1. - double(i) / n, 1e-5);
}

TEST(ReferenceSolver, StopsAtRounding)
{
  Matrix matrix;
  make(matrix, 10, hilbert);
  VectorType       x, b = right_hand_side(10), r(b);
  SolverParameters parameters;
  parameters.tolerance    = 1e-13;
  const PathReport report = solve(matrix, x, b, parameters);
  EXPECT_TRUE(report.stopped_at_rounding);
  EXPECT_GT(report.relative_residual, parameters.tolerance);
  EXPECT_NEAR(matrix.residual(r, x, b) / b.l2_norm(), report.relative_residual, 1e-3 * report.relative_residual);
  const BackwardError error = reference::backward_error(matrix, x, b);
  EXPECT_GT(error.normwise, 0.);
  EXPECT_LE(error.normwise, 1e-15);
  EXPECT_GE(error.componentwise, 0.1 * error.normwise);
  EXPECT_LE(error.componentwise, 1e-13);
}

TEST(ReferenceSolver, NormsAndComponents)
{
  Matrix matrix;
  make(matrix, 3, [](const int i, const int j) { return i == j ? (i == 1 ? -4. : 1.) : 0.; });
  const VectorType x = right_hand_side(3);
  EXPECT_NEAR(reference::spectral_norm(matrix, x), 4., 1e-4);
  VectorType b(x), r(x);
  b    = 0.;
  r    = 0.;
  r(1) = 0.44; // of 4 * 1.1
  r(2) = 0.06; // of 1.2
  EXPECT_NEAR(reference::componentwise_error(matrix, x, b, r), 0.1, 1e-14);
}

TEST(ReferenceSolver, SaysHowItFailed)
{
  Matrix matrix;
  make(matrix, 40, second_difference);
  const VectorType b = right_hand_side(40);
  VectorType       x;
  SolverParameters parameters;
  parameters.max_iterations = 3;
  EXPECT_NE(message_of([&] { solve(matrix, x, b, parameters); }).find("did not converge in 3 iterations"),
            std::string::npos);

  Blurred blurred;
  blurred.copy_from(matrix);
  parameters.max_iterations = 1000;
  EXPECT_NE(message_of([&] { solve(blurred, x, b, parameters); }).find("no longer reduces the residual"),
            std::string::npos);

  Matrix indefinite;
  make(indefinite, 2, [](const int i, const int j) { return i == j ? (i == 0 ? 1. : -1.) : 0.; });
  VectorType ones = right_hand_side(2);
  ones            = 1.;
  EXPECT_NE(message_of([&] { solve(indefinite, x, ones, parameters); }).find("are not positive definite"),
            std::string::npos);
}

TEST(ReferenceSolver, RefusesWhatIsNotFinite)
{
  Matrix matrix;
  make(matrix, 4, second_difference);
  for (const double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
  {
    VectorType b = right_hand_side(4);
    b(2)         = bad;
    EXPECT_NE(message_of([&] { reference::remove_units(matrix, b); }).find("The right-hand side is not finite"),
              std::string::npos);
    Matrix broken;
    broken.copy_from(matrix);
    broken.set(1, 1, bad);
    broken.compress(dealii::VectorOperation::insert);
    b = right_hand_side(4);
    EXPECT_NE(message_of([&] { reference::remove_units(broken, b); }).find("The matrix has entries"),
              std::string::npos);
  }
  VectorType x = right_hand_side(4);
  EXPECT_NE(message_of([&] { reference::restore_units(x, 2000); }).find("of the order of 1e602"), std::string::npos);
  EXPECT_NE(message_of([&] { reference::restore_units(x, -1500); }).find("of the order of 1e-451"), std::string::npos);
}
