// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/backend_names.h"
#include "../core/lac_cases.h"
#include "../core/message_of.h"

#include <deal.II/base/parameter_handler.h>
#include <deal.II/lac/full_matrix.h>
#include <deal.II/lac/vector.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/solver/newton_dealii.h>

#ifdef DEAL_II_WITH_SUNDIALS
#include <deal.II/sundials/kinsol.h>
#endif

#include <cmath>
#include <limits>

using namespace PatchFEM;

namespace
{
  using Their      = dealii::Vector<double>;
  using Solver     = NewtonSolver<Their>;
  using LineSearch = NewtonParameters::LineSearch;
  using Function   = std::function<double(double)>;

  /** r(u) = 0 of one unknown, with its derivative. */
  void pose(Solver &newton, const Function &r, const Function &derivative, const unsigned int n = 1)
  {
    newton.reinit_vector = [n](Their &v) { v.reinit(n); };
    newton.residual      = [r](const Their &u, Their &v) {
      for (unsigned int i = 0; i < u.size(); ++i)
        v[i] = r(u[i]);
    };
    auto tangent          = std::make_shared<Their>();
    newton.setup_jacobian = [=](const Their &u, const Their &) {
      *tangent = u;
      for (double &value : *tangent)
        value = derivative(value);
    };
    newton.solve_with_jacobian = [=](const Their &rhs, Their &d, double) {
      for (unsigned int i = 0; i < d.size(); ++i)
        d[i] = rhs[i] / (*tangent)[i];
    };
  }

  NewtonParameters with(const LineSearch line_search, const unsigned int max_iterations = 25)
  {
    NewtonParameters parameters;
    parameters.line_search    = line_search;
    parameters.max_iterations = max_iterations;
    return parameters;
  }

  Their vector(const std::vector<double> &values)
  {
    return Their(values.begin(), values.end());
  }

  /** A u + u^3 = b for a matrix that couples all of n unknowns; where @p inexact with errors as large as is allowed. */
  struct Cubic
  {
    static constexpr unsigned int n = 6;

    dealii::FullMatrix<double> A{n, n}, tangent;
    bool                       inexact;

    explicit Cubic(const bool inexact = false) : inexact(inexact)
    {
      for (unsigned int i = 0; i < n; ++i)
        for (unsigned int j = 0; j < n; ++j)
          A(i, j) = i == j ? 3. : 1. / (1. + i + j);
    }

    void residual(const Their &u, Their &r) const
    {
      A.vmult(r, u);
      for (unsigned int i = 0; i < n; ++i)
        r[i] += u[i] * u[i] * u[i] - 10. * (1. + i);
    }

    void setup(const Their &u)
    {
      tangent = A;
      for (unsigned int i = 0; i < n; ++i)
        tangent(i, i) += 3. * u[i] * u[i];
      tangent.gauss_jordan();
    }

    void solve(const Their &rhs, Their &d, const double tolerance) const
    {
      Their load = rhs;
      if (inexact)
        load[0] += tolerance;
      tangent.vmult(d, load);
    }

    void give_to(Solver &newton)
    {
      newton.reinit_vector       = [](Their &v) { v.reinit(n); };
      newton.residual            = [this](const Their &u, Their &r) { residual(u, r); };
      newton.setup_jacobian      = [this](const Their &u, const Their &) { setup(u); };
      newton.solve_with_jacobian = [this](const Their &rhs, Their &d, const double t) { solve(rhs, d, t); };
    }
  };

  TEST(Newton, ConvergesQuadratically)
  {
    NewtonParameters parameters;
    parameters.tolerance = 1e-13;
    Cubic  cubic;
    Solver newton(parameters);
    cubic.give_to(newton);
    Their u = vector(std::vector<double>(Cubic::n, 1.)), r(Cubic::n);
    newton.solve(u);
    cubic.residual(u, r);
    const auto &history = newton.history();
    EXPECT_LE(r.l2_norm(), 1e-13 * history[0].residual);
    EXPECT_EQ(newton.n_corrections() + 1, history.size());
    EXPECT_LE(newton.n_corrections(), 9u);
    int n_quadratic = 0;
    for (std::size_t k = 1; k < history.size(); ++k)
    {
      if (history[k].residual < 1. && history[k - 1].residual > 1e-6)
      {
        ++n_quadratic;
        EXPECT_EQ(history[k - 1].factor, 1.);
        EXPECT_LT(history[k].residual, 0.2 * history[k - 1].residual * history[k - 1].residual);
      }
    }
    EXPECT_GE(n_quadratic, 3);
    // The solution is there already: no correction.
    newton.force_scale = [] { return 100.; };
    newton.solve(u);
    EXPECT_EQ(newton.n_corrections(), 0u);
  }

  TEST(Newton, SolvesNoFinerThanItsRateNeeds)
  {
    Cubic            cubic(true);
    NewtonParameters parameters;
    parameters.tolerance = 1e-10;
    const auto solve     = [&] {
      Solver newton(parameters);
      cubic.give_to(newton);
      Their u(Cubic::n);
      newton.solve(u);
      return newton.history();
    };
    auto history = solve();
    EXPECT_EQ(history[0].forcing, 1e-3);
    EXPECT_EQ(history.back().forcing, 0.);
    EXPECT_LE(history.size(), 14u);
    bool some_end = false, some_least = false;
    for (std::size_t k = 1; k + 1 < history.size(); ++k)
    {
      const double ratio = history[k].residual / history[k - 1].residual;
      const double end   = 0.5 * history[k].tolerance / history[k].residual;
      EXPECT_DOUBLE_EQ(history[k].forcing, std::max(end, std::min(1e-2, std::max(1e-6, 0.9 * ratio * ratio))));
      some_end   = some_end || history[k].forcing == end;
      some_least = some_least || history[k].forcing > 1e-2;
    }
    EXPECT_TRUE(some_end);
    // Where coarse ones are allowed the next is not much finer, however fast the residual falls.
    cubic.inexact            = false;
    parameters.first_forcing = parameters.largest_forcing = 0.9;
    history                                               = solve();
    EXPECT_LT(history[3].residual, 0.2 * history[2].residual);
    for (int k = 1; k < 4; ++k)
      EXPECT_GE(history[k].forcing, 0.9 * std::pow(history[k - 1].forcing, 2));
    EXPECT_LT(history[4].forcing, 0.01);
  }

  TEST(Newton, IsThatOfKinsol)
  {
#ifdef DEAL_II_WITH_SUNDIALS
    Cubic cubic;
    using Kinsol = dealii::SUNDIALS::KINSOL<Their>;
    Kinsol::AdditionalData data;
    data.function_tolerance  = 1e-10;
    data.maximum_setup_calls = 1;
    Kinsol       kinsol(data);
    unsigned int n_kinsol      = 0;
    kinsol.reinit_vector       = [](Their &v) { v.reinit(Cubic::n); };
    kinsol.residual            = [&](const Their &u, Their &r) { return cubic.residual(u, r), 0; };
    kinsol.setup_jacobian      = [&](const Their &u, const Their &) { return cubic.setup(u), 0; };
    kinsol.solve_with_jacobian = [&](const Their &rhs, Their &d, const double t) {
      return ++n_kinsol, cubic.solve(rhs, d, t), 0;
    };
    Their theirs = vector(std::vector<double>(Cubic::n, 1.)), ours = theirs;
    kinsol.solve(theirs);

    // Its members serve as they are.
    Solver newton;
    newton.reinit_vector        = kinsol.reinit_vector;
    newton.residual             = kinsol.residual;
    newton.setup_jacobian       = kinsol.setup_jacobian;
    newton.solve_with_jacobian  = kinsol.solve_with_jacobian;
    const unsigned int n_theirs = n_kinsol;
    newton.solve(ours);
    EXPECT_LE(newton.n_corrections(), n_theirs);
    theirs -= ours;
    EXPECT_LT(theirs.linfty_norm(), 1e-7);
#else
    GTEST_SKIP() << "deal.II is without SUNDIALS";
#endif
  }

  TEST(Newton, SearchesAlongCorrectionsThatGoTooFar)
  {
    const auto solve = [](const LineSearch line_search, Their &u) {
      Solver newton(with(line_search));
      pose(
          newton, [](double u) { return std::atan(u); }, [](double u) { return 1. / (1. + u * u); });
      newton.solve(u);
      return newton.history();
    };
    for (const LineSearch line_search : {LineSearch::energy, LineSearch::backtracking})
    {
      Their      u       = vector({3.});
      const auto history = solve(line_search, u);
      EXPECT_LT(std::abs(u[0]), 1e-8);
      EXPECT_LT(history[0].factor, 1.);
      EXPECT_EQ(history[history.size() - 2].factor, 1.);
    }
    Their u = vector({3.});
    EXPECT_THROW(solve(LineSearch::none, u), StepFailure);
    EXPECT_EQ(u[0], 3.);
  }

  /** The residual is that of an energy that falls along the correction, and grows itself. */
  TEST(Newton, LetsAResidualGrow)
  {
    Solver newton;
    pose(
        newton, [](double u) { return u < 1.   ? -0.1
                                      : u < 2. ? -0.1 - 4. * (u - 1.)
                                               : -4.1 + 5. * (u - 2.); },
        [](double u) { return u < 1. ? 0.07 : 5.; });
    Their u = vector({0.});
    newton.solve(u);
    EXPECT_NEAR(u[0], 2.82, 1e-8);
    EXPECT_GT(newton.history()[1].residual, 10. * newton.history()[0].residual);
    EXPECT_EQ(newton.history()[0].factor, 1.);
  }

  TEST(Newton, HalvesCorrectionsWithWhichALawFails)
  {
    const double allowed = std::exp(-1.);
    double       least   = 0.;
    for (const LineSearch line_search : {LineSearch::energy, LineSearch::backtracking})
    {
      Solver newton(with(line_search));
      pose(
          newton,
          [&](double u) {
            if (u <= least)
              throw StepFailure("The law fails at ", u, ".");
            return std::log(u) - std::log(allowed);
          },
          [](double u) { return 1. / u; });
      least   = 0.;
      Their u = vector({4.}); // to 4 - 4 log(4 e) = -5.5
      newton.solve(u);
      EXPECT_NEAR(u[0], allowed, 1e-7);
      EXPECT_EQ(newton.history()[0].factor, 0.25);
      // No part of the correction is allowed: that is the message, and u is what it was.
      least = 3.999;
      u     = vector({4.});
      EXPECT_EQ(message_of([&] { newton.solve(u); }).substr(0, 16), "The law fails at");
      EXPECT_EQ(u[0], 4.);
      EXPECT_THROW(newton.solve(u), StepFailure);
      EXPECT_FALSE(newton.is_running());
    }
  }

  TEST(Newton, SaysWhyItFails)
  {
    Solver     newton(with(LineSearch::none, 3));
    Their      u   = vector({1.});
    const auto why = [&] { return message_of([&] { newton.solve(u); }); };
    EXPECT_EQ(why(), "NewtonSolver needs the functions reinit_vector, residual and solve_with_jacobian.");
    pose(
        newton, [](double) { return std::numeric_limits<double>::quiet_NaN(); }, [](double) { return 1.; });
    EXPECT_EQ(why(), "The residual of Newton's method is not finite after 0 corrections; take smaller steps.");
    pose(
        newton, [](double u) { return u; }, [](double) { return 4.; });
    EXPECT_EQ(why(),
              "Newton's method has not converged after 3 corrections: its residual is 0.421875, which is not below "
              "1e-08; take smaller steps.");
    newton.solve_with_jacobian = [](const Their &, Their &, double) {
      throw dealii::SolverControl::NoConvergence(17, 0.5);
    };
    EXPECT_THROW(newton.solve(u), StepFailure);
    EXPECT_EQ(why(),
              "A linear solution of Newton's method has not converged after 17 steps, with a residual of 0.5; take "
              "smaller steps.");
    newton.solve_with_jacobian = [&](const Their &, Their &, double) {
      EXPECT_TRUE(newton.is_running());
      newton.solve(u);
    };
    EXPECT_EQ(why(), "NewtonSolver::solve() is called by a function that it has called.");
    EXPECT_EQ(u[0], 1.);

    // Against the correction the residual never gets better.
    for (const LineSearch line_search : {LineSearch::energy, LineSearch::backtracking})
    {
      Solver searching(with(line_search));
      pose(
          searching, [](double u) { return u > 1.   ? 1e9
                                           : u < 1. ? -1e9
                                                    : 1e-3; }, [](double) { return 1.; });
      EXPECT_EQ(
          message_of([&] { searching.solve(u); }),
          "The line search of Newton's method does not come to an end along correction 1, whose residual is 0.001; "
          "take smaller steps.");
    }
  }

  TEST(Newton, AsksASolverControlIfThereIsOne)
  {
    dealii::SolverControl control(10, 1e-3);
    control.enable_history_data();
    Cubic  cubic;
    Solver newton(control);
    cubic.give_to(newton);
    Their u(Cubic::n), r(Cubic::n);
    newton.solve(u);
    EXPECT_EQ(control.last_step(), newton.n_corrections());
    EXPECT_LE(control.last_value(), 1e-3);
    EXPECT_EQ(control.get_history_data().size(), newton.history().size());
    EXPECT_EQ(newton.history()[1].tolerance, 1e-3);
    control.set_max_steps(1);
    u = 0.;
    EXPECT_THROW(newton.solve(u), StepFailure);
  }

  /** A chain of nonlinear springs between u_0, which is given, and a wall. */
  TEST(Newton, MovesWhatIsPrescribed)
  {
    constexpr unsigned int n      = 5;
    const auto             force  = [](const double e) { return e + 0.3 * e * e * e; };
    const auto             length = [](const Their &u, const unsigned int i) { return (i < n ? u[i] : 0.) - u[i - 1]; };
    dealii::FullMatrix<double> K(n, n), inverse(n, n);
    double                     motion = 0.;
    Solver                     newton;
    newton.reinit_vector = [&](Their &v) { v.reinit(n); };
    newton.residual      = [&](const Their &u, Their &r) {
      for (unsigned int i = 1; i < n; ++i)
        r[i] = force(length(u, i)) - force(length(u, i + 1));
      r[0] = 0.;
    };
    newton.setup_jacobian = [&](const Their &u, const Their &) {
      K = 0.;
      for (unsigned int i = 1; i <= n; ++i)
      {
        const double e = length(u, i), s = 1. + 0.9 * e * e;
        for (const unsigned int a : {i - 1, i})
          for (const unsigned int b : {i - 1, i})
            if (a < n && b < n)
              K(a, b) += a == b ? s : -s;
      }
      inverse = K;
      for (unsigned int i = 1; i < n; ++i)
        inverse(i, 0) = inverse(0, i) = 0.;
      inverse.gauss_jordan();
    };
    newton.add_prescribed_motion = [&](Their &rhs) {
      for (unsigned int i = 1; i < n; ++i)
        rhs[i] -= K(i, 0) * motion;
      return motion != 0.;
    };
    newton.solve_with_jacobian = [&](const Their &rhs, Their &d, double) {
      inverse.vmult(d, rhs);
      d[0]   = motion;
      motion = 0.;
    };
    newton.last_solution = [] { return LinearSolution{3, false, Renewal::Action::update}; };
    Their u(n);
    for (const double position : {1., -2., -2.})
    {
      motion = position - u[0];
      newton.solve(u);
      for (unsigned int i = 0; i < n; ++i)
        EXPECT_NEAR(u[i], position * (1. - i / double(n)), 1e-8);
    }
    EXPECT_EQ(newton.n_corrections(), 0u); // nothing was to be done for the last
    // Out of balance as well: forces between states that the motion ends.
    motion = 3.;
    u[2] += 0.3;
    newton.solve(u);
    const auto &history = newton.history();
    EXPECT_TRUE(history[0].predictor);
    EXPECT_FALSE(history[1].predictor);
    EXPECT_EQ(history[0].factor, 1.);
    EXPECT_EQ(history[1].forcing, 1e-3);
    EXPECT_GT(history[0].residual, 2.9 * K(1, 1) / 3.);
    EXPECT_NEAR(u[3], 0.4, 1e-8);
    const std::string table = to_string(history);
    EXPECT_NE(table.find("prescribed motion"), std::string::npos) << table;
    EXPECT_NE(table.find("updated"), std::string::npos) << table;
    // All of it or nothing: no part of the motion is tried.
    const auto residual = newton.residual;
    newton.residual     = [&](const Their &u, Their &r) {
      if (u[0] > 5.)
        throw StepFailure("Too far.");
      residual(u, r);
    };
    motion            = 9.;
    const Their start = u;
    EXPECT_EQ(message_of([&] { newton.solve(u); }), "Too far.");
    EXPECT_EQ(u, start);
  }

  /** The rounding of large forces is no load, but a small load beside them is one. */
  TEST(Newton, StopsAtRoundingOfForcesThatWereThere)
  {
    const auto solve = [](Solver &newton, const double r) {
      pose(
          newton, [r](double) { return r; }, [](double) { return 1.; });
      Their u = vector({0.});
      newton.solve(u);
    };
    Solver newton(with(LineSearch::none, 2));
    EXPECT_THROW(solve(newton, 1e-13), StepFailure);
    newton.force_scale = [] { return 1e10; };
    solve(newton, 1.);
    EXPECT_EQ(newton.largest_force, 1e10);
    newton.force_scale = nullptr;
    solve(newton, 1e-3);
    EXPECT_EQ(newton.n_corrections(), 0u);
    EXPECT_THROW(solve(newton, 1e-1), StepFailure);
    EXPECT_EQ(newton.largest_force, 1e10);
  }

  TEST(Newton, HasParameters)
  {
    NewtonParameters         parameters;
    dealii::ParameterHandler prm;
    prm.enter_subsection("Newton");
    parameters.add_parameters(prm);
    prm.leave_subsection();
    EXPECT_EQ(parameters.line_search, LineSearch::energy);
    prm.parse_input_from_string("subsection Newton\n set Line search = backtracking\n set Tolerance = 1e-5\n"
                                " set Truncated solutions = 0\nend");
    EXPECT_EQ(parameters.line_search, LineSearch::backtracking);
    EXPECT_EQ(parameters.tolerance, 1e-5);
    EXPECT_EQ(parameters.max_truncated, 0u);
    EXPECT_EQ(parameters.first_forcing, 1e-3);
  }

  /** u^4 / 4 - u^2 / 2 - f u: between the two wells of this energy the tangent is negative. */
  class NewtonTest : public BackendTest
  {
  protected:
    void SetUp() override
    {
      BackendTest::SetUp();
      if (IsSkipped())
        return;
      const CSRMatrix<double> identity(backend(), cases::diagonal(std::vector<double>(n, 1.)));
      M.initialize(identity);
      newton.reinit_vector = [&](Vector<double> &v) { v.reinit(backend(), n); };
      newton.residual      = [&](const Vector<double> &u, Vector<double> &r) {
        r = u;
        r.scale(u);
        r.scale(u);
        r.add(-1., u, -1., load);
      };
      newton.setup_jacobian = [&](const Vector<double> &u, const Vector<double> &) {
        std::vector<double> values = u.copy_to_host();
        for (double &value : values)
          value = 3. * value * value - 1.;
        K.reinit(backend(), cases::diagonal(values));
      };
      newton.solve_with_jacobian = [&](const Vector<double> &rhs, Vector<double> &d, const double tolerance) {
        IterationControl control;
        control.tolerance = tolerance;
        solution          = solve_truncated(iteration, K, d, rhs, M, control);
      };
      newton.last_solution = [&] { return solution; };
      load.reinit(backend(), n);
      load = 0.01;
      for (int i = 0; i < n; ++i)
        first.push_back(0.05 + 0.01 * i);
    }

    static constexpr int       n = 20;
    CSRMatrix<double>          K;
    PreconditionJacobi<double> M;
    ConjugateGradients<double> iteration;
    LinearSolution             solution;
    Vector<double>             load;
    std::vector<double>        first;
    NewtonSolver<>             newton;
  };

  TEST_P(NewtonTest, LeavesRegionsOfNegativeCurvature)
  {
    Vector<double> u(backend(), first);
    newton.solve(u);
    for (const double value : u.copy_to_host())
      EXPECT_NEAR(value * value * value - value, 0.01, 1e-8);
    EXPECT_GT(u.copy_to_host()[0], 0.9); // the well, not the top between
    EXPECT_TRUE(newton.history()[0].solution.truncated);
    EXPECT_FALSE(newton.history()[newton.n_corrections() - 1].solution.truncated);
    EXPECT_NE(to_string(newton.history()).find("truncated"), std::string::npos);
  }

  TEST_P(NewtonTest, TruncatesOnlyAFewTimes)
  {
    NewtonParameters parameters;
    parameters.max_truncated = 0;
    NewtonSolver<> strict(parameters);
    strict.reinit_vector       = newton.reinit_vector;
    strict.residual            = newton.residual;
    strict.setup_jacobian      = newton.setup_jacobian;
    strict.solve_with_jacobian = newton.solve_with_jacobian;
    strict.last_solution       = newton.last_solution;
    Vector<double> u(backend(), first);
    EXPECT_EQ(message_of([&] { strict.solve(u); }),
              "The tangent is not positive definite in more than 0 solutions of a step; take smaller steps.");
    EXPECT_EQ(u.copy_to_host(), first);
  }

  PATCHFEM_INSTANTIATE_BACKENDS(NewtonTest);
} // namespace
