// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "lac_cases.h"
#include "message_of.h"

#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/solver/linear_solution.h>

using namespace PatchFEM;

namespace
{
  using Action = Renewal::Action;

  class TruncatedSolution : public BackendTest
  {
  protected:
    LinearSolution solve(const std::vector<double> &diagonal, const std::vector<double> &rhs)
    {
      const CSRMatrix<double>          A(backend(), cases::diagonal(diagonal));
      const CSRMatrix<double>          identity(backend(), cases::diagonal(std::vector<double>(diagonal.size(), 1.)));
      const PreconditionJacobi<double> M(identity);
      ConjugateGradients<double>       iteration;
      const Vector<double>             b(backend(), rhs);
      x.reinit(backend(), rhs.size());
      x = 7.; // which is no guess
      IterationControl control;
      control.tolerance     = 1e-12;
      LinearSolution result = solve_truncated(iteration, A, x, b, M, control);
      values                = x.copy_to_host();
      return result;
    }

    Vector<double>      x;
    std::vector<double> values;
  };

  TEST_P(TruncatedSolution, IsTheSolutionOfAPositiveMatrix)
  {
    const LinearSolution result = solve({1., 2., 4.}, {1., 1., 1.});
    EXPECT_FALSE(result.truncated);
    EXPECT_EQ(result.n_iterations, 3u);
    for (int i = 0; i < 3; ++i)
      EXPECT_NEAR(values[i], 1. / (1 << i), 1e-12);
  }

  TEST_P(TruncatedSolution, EndsAtNegativeCurvature)
  {
    // The first direction is b, with b.Ab = 4.9 and b.b = 2.01; the second has a negative p.Ap.
    LinearSolution result = solve({1., 4., -10.}, {1., 1., 0.1});
    EXPECT_TRUE(result.truncated);
    const double step = 2.01 / 4.9;
    EXPECT_NEAR(values[0], step, 1e-12);
    EXPECT_NEAR(values[1], step, 1e-12);
    EXPECT_NEAR(values[2], 0.1 * step, 1e-12);
    // The first direction has it already: M^-1 b.
    result = solve({-1., 2., -4.}, {1., 1., 1.});
    EXPECT_TRUE(result.truncated);
    EXPECT_EQ(values, std::vector<double>(3, 1.));
  }

  TEST_P(TruncatedSolution, IsNoneOfNumbersThatAreNotFinite)
  {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(solve({1., nan, 1.}, {1., 1., 1.}), NotPositiveDefinite);
    EXPECT_THROW(solve({1., 1., 1.}, {1., nan, 1.}), NotPositiveDefinite);
  }

  PATCHFEM_INSTANTIATE_BACKENDS(TruncatedSolution);

  TEST(Renewal, KeepsUntilTheStepsLostPay)
  {
    Renewal renewal({6., 10.});
    EXPECT_EQ(renewal.before_step(), Action::initialize);
    renewal.done(Action::initialize);
    // As many steps a digit as at first, whatever is asked for.
    for (const int digits : {3, 6, 1, 3})
    {
      EXPECT_EQ(renewal.before_step(), Action::keep);
      EXPECT_EQ(renewal.solved(2 * digits, std::pow(10., -digits)), Action::keep);
    }
    // Two steps lost in each.
    for (int solution = 0; solution < 3; ++solution)
    {
      EXPECT_EQ(renewal.before_step(), Action::keep);
      EXPECT_EQ(renewal.solved(8, 1e-3), Action::keep);
    }
    EXPECT_EQ(renewal.solved(8, 1e-3), Action::update);
    EXPECT_EQ(renewal.before_step(), Action::update);
    renewal.done(Action::update);
    EXPECT_EQ(renewal.before_step(), Action::keep);
    EXPECT_EQ(renewal.solved(8, 1e-3), Action::keep); // which is what an updated one takes
    EXPECT_EQ(renewal.solved(15, 1e-3), Action::update);
  }

  TEST(Renewal, MakesAnewWhereUpdatesNoLongerHelp)
  {
    Renewal renewal({6., 10.});
    renewal.done(Action::initialize);
    renewal.solved(6, 1e-3);
    EXPECT_EQ(renewal.solved(13, 1e-3), Action::update);
    renewal.done(Action::update);
    EXPECT_EQ(renewal.solved(11, 1e-3), Action::keep);
    EXPECT_EQ(renewal.solved(18, 1e-3), Action::update);
    EXPECT_EQ(renewal.before_step(), Action::update); // not twice as many after an update
    renewal.done(Action::update);
    EXPECT_EQ(renewal.solved(12, 1e-3), Action::keep);
    EXPECT_EQ(renewal.before_step(), Action::initialize);
    renewal.done(Action::initialize);
    EXPECT_EQ(renewal.solved(12, 1e-3), Action::keep); // nor are new ones better
    EXPECT_EQ(renewal.before_step(), Action::keep);
    renewal.failed();
    EXPECT_EQ(renewal.before_step(), Action::initialize);
  }
} // namespace
