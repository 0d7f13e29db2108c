// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/solver/converged.h>
#include <patchfem/lac/solver/linear_solution.h>

#include <deal.II/base/parameter_handler.h>
#include <deal.II/lac/solver_control.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace PatchFEM
{
  /** Parameters of NewtonSolver. */
  struct NewtonParameters
  {
    /** Of the factor a in u + a d, d the correction: 1, or halved until a residual r(u + a d) passes. */
    enum class LineSearch
    {
      none,
      backtracking, ///< |r| falls: by 1e-4 a at least
      energy ///< d.r, the slope of an energy whose gradient is r, has not turned to 0.9 times its size; |r| may grow
    };

    /// Of |r|, relative to the largest of |r_0| and NewtonSolver::force_scale, and not below 1e-12 of
    /// NewtonBase::largest_force.
    double       tolerance      = 1e-8;
    unsigned int max_iterations = 25;
    LineSearch   line_search    = LineSearch::energy;
    /// Linear systems are solved to eta |r|: eta = 0.9 (|r_k| / |r_k-1|)^2 within these limits, not below 0.9 times the
    /// square of the eta before where that is above 0.1 (Eisenstat and Walker 1996, choice 2), nor finer than the end
    /// of the iteration needs. The first, and that after prescribed motion, have no |r| before.
    double first_forcing = 1e-3, least_forcing = 1e-6, largest_forcing = 1e-2;
    /// More solutions that are truncated (see solve_truncated()) are a StepFailure: shorter steps need fewer in all.
    unsigned int max_truncated = 4;

    /** Declares them in the section that @p prm is in; is to live as long as @p prm is used, which writes here. */
    void add_parameters(dealii::ParameterHandler &prm);
  };

  /** One correction of Newton's method, and at the end the state that needs none. */
  struct NewtonIteration
  {
    double         residual  = 0.; ///< |r| before it, of a predictor with what prescribed motion adds
    double         tolerance = 0.; ///< of |r|
    bool           predictor = false;
    double         forcing   = 0.; ///< eta, 0 in the last row
    LinearSolution solution;
    double         factor = 0.; ///< a of the line search
  };

  /** As a table for the terminal. */
  std::string to_string(const std::vector<NewtonIteration> &history);

  /** All of NewtonSolver that sees no vector. */
  class NewtonBase
  {
  public:
    /** The rows of the last solve(), or of the one that goes on. */
    const std::vector<NewtonIteration> &history() const { return rows; }
    unsigned int n_corrections() const { return rows.empty() ? 0 : static_cast<unsigned int>(rows.size()) - 1; }

    /** Whether solve() goes on, as in the functions that it calls. */
    bool is_running() const { return running; }

    /// The largest size of forces of the solutions so far: rounding may leave a share of it in r where all loads are taken
    /// away. A checkpoint holds it.
    double largest_force = 0.;

  protected:
    NewtonParameters             parameters;
    dealii::SolverControl       *control = nullptr;
    std::vector<NewtonIteration> rows;
    unsigned int                 n_truncated = 0;
    bool                         running     = false;

    static constexpr double least_factor = 1. / 64.;

    /** Of |r|, where forces have the size @p scale. */
    double tolerance_for(double scale) const;

    /** A new row; whether it is the last one. Throws StepFailure where there should be no other. */
    bool is_last(double residual, double force_scale);

    /** A row for a residual that is not asked for convergence. */
    void add_predictor(double residual);

    /** eta of the solution that follows. */
    double choose_forcing();

    void add(const LinearSolution &solution);

    /** Whether the line search ends with @p factor: @p before and @p after are d.r, or |r| with backtracking. */
    bool passes(double factor, double before, double after) const;

    /** Throws what the line search has failed with. */
    [[noreturn]] void give_up() const;
  };

  /**
   * Newton's method for r(u) = 0 with inexact solutions, a line search, prescribed motion and indefinite tangents, on the
   * vectors of this library, or of deal.II. Members are those of dealii::SUNDIALS::KINSOL, so that a program may exchange
   * the two; functions throw where KINSOL's return a code, which is not looked at here.
   * @code
   *   NewtonSolver<> newton;
   *   newton.reinit_vector = [&](auto &v) { space.initialize_dof_vector(v); };
   *   newton.residual = [&](const auto &u, auto &r) { ... };
   *   newton.setup_jacobian = [&](const auto &u, const auto &r) { ... };
   *   newton.solve_with_jacobian = [&](const auto &rhs, auto &d, const double tolerance) { ... };
   *   const Converged converged = newton.solve(u);
   * @endcode
   * It ends when |r| <= tolerance, see NewtonParameters, or by the SolverControl, if there is one, which then sees each
   * |r| and alone decides. A StepFailure in residual() halves a correction, in other functions it ends the
   * iteration, as does deal.II's NoConvergence: solve() turns that into a StepFailure, and leaves u as it was. All ranks
   * throw or none.
   *
   * Unknowns that are given, such as boundary values, have an r of 0. Where they have new values,
   * add_prescribed_motion() lets them move with the first correction d, the predictor: all of it, without a line search,
   * since r belongs to other values before.
   *
   * Works with three vectors beside u, and waits for a back end twice a correction, for |r| and d.r, and once for d.r of
   * each factor that the line search tries.
   */
  template <typename VectorType = Vector<double>>
  class NewtonSolver : public NewtonBase
  {
  public:
    using AdditionalData = NewtonParameters;

    explicit NewtonSolver(const AdditionalData &data = AdditionalData()) { parameters = data; }
    explicit NewtonSolver(dealii::SolverControl &solver_control, const AdditionalData &data = AdditionalData())
    {
      parameters = data;
      control    = &solver_control;
    }

    // To be given:
    std::function<void(VectorType &v)>                                          reinit_vector; ///< size and ranks
    std::function<void(const VectorType &u, VectorType &r)>                     residual;
    std::function<void(const VectorType &rhs, VectorType &d, double tolerance)> solve_with_jacobian; ///< from d = 0

    // If there is something for them to do:
    std::function<void(const VectorType &u, const VectorType &r)> setup_jacobian;
    /** After the first setup_jacobian(): rhs = -r becomes -r - K g, g the motion. Whether there is any. */
    std::function<bool(VectorType &rhs)> add_prescribed_motion;
    /** After residual(): the size of forces of which r is the balance, such as loads and reactions. */
    std::function<double()>         force_scale;
    std::function<LinearSolution()> last_solution; ///< for the history, and what was truncated

    /** Solves r(u) = 0 from @p u. Throws StepFailure where a shorter step may help; then u is what it was. */
    Converged solve(VectorType &u);

  private:
    VectorType r, d, start;

    void iterate(VectorType &u);
    void correct(VectorType &u);
  };

  template <typename VectorType>
  Converged NewtonSolver<VectorType>::solve(VectorType &u)
  {
    require(reinit_vector && residual && solve_with_jacobian,
            "NewtonSolver needs the functions reinit_vector, residual and solve_with_jacobian.");
    require(!running, "NewtonSolver::solve() is called by a function that it has called.");
    const struct Running
    {
      explicit Running(bool &running) : running(running) { running = true; }
      ~Running() { running = false; }
      bool &running;
    } guard(running);
    for (VectorType *v : {&r, &d})
      reinit_vector(*v);
    start = u;
    try
    {
      iterate(u);
    }
    catch (const dealii::SolverControl::NoConvergence &failure)
    {
      u.swap(start);
      throw StepFailure("A linear solution of Newton's method has not converged after ", failure.last_step,
                        " steps, with a residual of ", failure.last_residual, "; take smaller steps.");
    }
    catch (...)
    {
      u.swap(start);
      throw;
    }
    return {};
  }

  template <typename VectorType>
  void NewtonSolver<VectorType>::iterate(VectorType &u)
  {
    rows.clear();
    n_truncated = 0;
    residual(u, r);
    while (true)
    {
      const bool may_move  = rows.empty() && add_prescribed_motion;
      const auto is_solved = [&] { return is_last(r.l2_norm(), force_scale ? force_scale() : 0.); };
      if (!may_move && is_solved())
        return;
      if (setup_jacobian)
        setup_jacobian(u, r);
      r *= -1.;
      if (may_move)
      {
        if (add_prescribed_motion(r))
          add_predictor(r.l2_norm());
        else if (is_solved())
          return;
      }
      d = 0.;
      solve_with_jacobian(r, d, choose_forcing() * rows.back().residual);
      add(last_solution ? last_solution() : LinearSolution());
      correct(u);
    }
  }

  /** u + a d, and r there, from r = -r(u). */
  template <typename VectorType>
  void NewtonSolver<VectorType>::correct(VectorType &u)
  {
    using LineSearch      = NewtonParameters::LineSearch;
    const bool   whole    = rows.back().predictor || parameters.line_search == LineSearch::none;
    const bool   energy   = parameters.line_search == LineSearch::energy;
    const double before   = whole ? 0. : energy ? -(d * r) : rows.back().residual;
    double      &factor   = rows.back().factor;
    const auto   is_valid = [&] {
      residual(u, r);
      return whole || passes(factor, before, energy ? d * r : double(r.l2_norm()));
    };
    factor = 1.;
    u.add(1., d);
    while (true)
    {
      try
      {
        if (is_valid())
          return;
      }
      catch (const StepFailure &)
      {
        if (whole || factor <= least_factor)
          throw;
      }
      if (factor <= least_factor)
        give_up();
      factor /= 2.;
      u.add(-factor, d);
    }
  }

  extern template class NewtonSolver<Vector<double>>;
} // namespace PatchFEM
