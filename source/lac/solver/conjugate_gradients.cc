// SPDX-License-Identifier: LGPL-2.1-or-later
#include "solver_tools.h"

#include <patchfem/base/graph.h>
#include <patchfem/base/rank_group.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>

namespace PatchFEM
{
  using kernels::CGResidual;

  namespace
  {
    /** Bytes before the history: the scalars, rounded up so that doubles are aligned. */
    constexpr std::size_t history_begin = (sizeof(CGScalars) + 63) / 64 * 64;

    /** Residuals of so many steps at most are kept for the next look. */
    constexpr unsigned int most_steps_between_looks = 4096;

    /** A residual is recomputed on the way if it is so many times what rounding may leave (van der Vorst, Ye 2000). */
    constexpr double replacement_distance = 1e6;

    /** Iterations recorded in one graph. */
    constexpr unsigned int graph_length = 8;

    /** Residuals between 1 over this and this need no scale; 2^100, whose fourth power is far from overflowing. */
    constexpr double harmless = 1.2676506002282294e30;

    /** The rounding of A x is at most some of these times |A| |x|. */
    constexpr double rounding_unit = 0.5 * std::numeric_limits<double>::epsilon();

    /// A restart goes for a quarter of the residual it starts from, and has helped if it got to half. What is rounding
    /// of A x already it lowers by 20 to 40 % (slender beams, plates, stiff on soft parts), for 3 to 15 steps: only
    /// where that may reach the tolerance, from 1 / (1 - 40 %) times it, is it worth it.
    constexpr double restart_goal = 0.25, restart_success = 0.5, restart_reach = 1.67;

    /// Rounding leaves some u cond(A) in the solution, while other right digits of A alone would change it as much.
    /// Where that is more than this in the energy, residuals of restarts are summed in twice the precision, which takes
    /// some 2 to 13 steps (cells 50 times as long as wide: 2e-7 -> 1e-11; 1 : 1e6 in stiffness: 2e-6 -> 1e-8).
    constexpr double accurate_energy = 1e-7;

    /** Where a stretch of such steps may end: the restart that follows has to find accurate_energy. */
    constexpr double enough_energy = 1e-8;

    /// A residual that rounding explains is an answer's if it is smaller than the load and does no more than this part
    /// of the load's work, r . x <= ... b . x. That work is about what x errs by: 1e-5 and less where bodies are held,
    /// 4e-4 for stiff parts 1e9 times as stiff as soft ones, and some 1 where nothing holds a body that the load moves.
    constexpr double largest_work = 1e-2;

    /// Where rows fail a tolerance that all of them met in the Euclidean norm, they are solved to so much less.
    constexpr double row_goal = 0.1;
  } // namespace

  std::string to_string(const SolutionUpdate update)
  {
    return update == SolutionUpdate::streams ? "streams" : "fused";
  }

  std::string IterationResult::message(const std::string &preconditioner) const
  {
    std::ostringstream out;
    out.precision(3);
    switch (status)
    {
    case Status::converged:
    case Status::accepted:
      out << "Conjugate gradients converged in " << n_iterations << " steps to a residual of " << residual << ".";
      break;
    case Status::max_iterations:
      out << "Conjugate gradients did not reach " << tolerance << " in " << n_iterations << " steps; the residual is "
          << residual << ".";
      break;
    case Status::aborted:
      out << "Conjugate gradients were stopped after " << n_iterations << " steps at a residual of " << residual << ".";
      break;
    case Status::rounding:
      out << "Conjugate gradients came to the limit of double precision in " << n_iterations
          << " steps: the residual is " << residual << ", of which rounding explains " << rounding_limit << ".";
      break;
    case Status::stagnated:
      if (residual <= tolerance && row_residual > row_tolerance)
      {
        out << "Conjugate gradients meet the tolerance, but where each row is divided by its diagonal entry the "
               "residual stays at "
            << row_residual << " of the solution, above " << row_tolerance << ".";
        break;
      }
      out << "Conjugate gradients cannot reach " << tolerance
          << (rounding_limit > 0. ? " with this preconditioner: after " : " in this precision: after ") << n_iterations
          << " steps the recomputed residual stays at " << residual;
      if (rounding_limit > 0. && residual > rounding_limit)
        out << ", of which rounding explains no more than " << rounding_limit;
      if (row_residual > 0.)
        out << "; where each row is divided by its diagonal entry, it is " << row_residual << " of the solution";
      out << ".";
      break;
    case Status::singular:
      out << "Conjugate gradients find no solution: the matrix is singular to rounding, and after " << n_iterations
          << " steps of a solution that only grows the residual is " << residual
          << ". Where nothing holds a constant or a motion, give its NullSpace.";
      break;
    case Status::breakdown:
      out << "Conjugate gradients broke down after " << n_iterations << " steps: ";
      if (cause == CGStatus::matrix_not_positive)
        out << "the matrix is not positive definite (p.Ap <= 0).";
      else if (cause == CGStatus::matrix_not_finite)
        out << "the product with the matrix is not finite (p.Ap).";
      else if (cause == CGStatus::preconditioner_not_positive)
        out << "the preconditioner " << preconditioner << " is not positive definite (r.z <= 0).";
      else if (cause == CGStatus::preconditioner_not_finite)
        out << "the preconditioner " << preconditioner << " gives values that are not finite (r.z).";
      else
        out << "the residual is not finite; matrix, right-hand side or initial guess hold such values, or the "
               "iteration overflowed.";
    }
    return out.str();
  }

  /** One solution: what solve() was given, how far it is, and the arrays of the solver, which it works with. */
  template <typename Number>
  struct ConjugateGradients<Number>::Solution
  {
    using Status = IterationResult::Status;
    using Action = IterationControl::Action;

    ConjugateGradients             &solver;
    const Operator<Number>         &A;
    Vector<Number>                 &x;
    const Vector<Number>           &b;
    const PreconditionBase<Number> &preconditioner;
    const IterationControl         &control;

    const Backend  &backend = A.backend();
    Vector<Number> &r = solver.r, &z = solver.z, &p = solver.p, &q = solver.q;
    const CGView    cg = {reinterpret_cast<CGScalars *>(solver.shared.data()),
                          reinterpret_cast<double *>(solver.shared.data() + history_begin),
                          static_cast<int>((solver.shared.size() - history_begin) / sizeof(double)),
                          solver.partials.data(), A.partitioner() != nullptr};

    IterationResult     result    = {};
    CGScalars           scalars   = {}; ///< of the last look
    std::vector<double> residuals = {}; ///< the same, as in CGView
    double              scale     = 1.;

    // The monitor sees each step once; after its first answer that is not `iterate` it is not asked again.
    Action action        = Action::iterate;
    int    next_reported = 0;

    std::unique_ptr<Graph>        graph = nullptr, single_graph = nullptr;
    bool                          first_iteration    = true;
    double                        norm_of_matrix     = 0.;
    double                        energy_of_solution = 0.; ///< |b . x|, which hardly changes between restarts
    bool                          by_rows = false;   ///< it goes on for the sake of rows that are small beside others
    double                        size_of_load = 0.; ///< |D^-1 b|
    std::optional<Vector<Number>> diagonal     = {}; ///< D, of A; from the first look at rows on, as size_of_load

    /** Fetches scalars and history in one copy, and waits for it. */
    void look()
    {
      const std::vector<char> copy = solver.shared.to_vector();
      std::memcpy(&scalars, copy.data(), sizeof(CGScalars));
      residuals.resize((copy.size() - history_begin) / sizeof(double));
      std::memcpy(residuals.data(), copy.data() + history_begin, residuals.size() * sizeof(double));
    }

    void send()
    {
      memory::copy(backend, solver.shared.data(), Backend(BackendKind::host), &scalars, sizeof(CGScalars));
    }

    double residual_of(const unsigned int step) const { return residuals[step % residuals.size()] / scale; }

    void report(const int step, const double residual)
    {
      if (control.monitor && action == Action::iterate && step == next_reported && residual - residual == 0.)
      {
        action = control.monitor(static_cast<unsigned int>(step), residual);
        ++next_reported;
        if (action == Action::accept && row_tolerance() > 0. && residual <= result.tolerance)
          action = Action::iterate; // to be accepted by rows, too
      }
    }

    void residual_and_direction(const CGResidual mode, Number *const x, SideStream::Branch *const solution = nullptr)
    {
      const std::int64_t               n        = r.size();
      const BlockDiagonalView<Number> *diagonal = preconditioner.block_diagonal();
      const auto                       residual = [&](const auto &D, Number *const preconditioned) {
        const kernels::CGVectors<Number> vectors{n, q.data(), r.data(), preconditioned};
        launch(backend, [&](auto where) { kernels::cg_residual(where, mode, D, vectors, cg); });
      };
      if (diagonal != nullptr)
        residual(*diagonal, z.data());
      else if (const auto *rounded = preconditioner.single_block_diagonal())
        residual(*rounded, z.data());
      else
      {
        residual(BlockDiagonalView<Number>(), nullptr);
        preconditioner.vmult(z, r);
        const kernels::CGVectors<Number> vectors{n, q.data(), r.data(), z.data()};
        launch(backend, [&](auto where) { kernels::cg_preconditioned(where, mode, vectors, cg); });
      }
      using kernels::CGSums;
      add_up(A.partitioner(), backend, mode == CGResidual::start ? CGSums::first_residual : CGSums::residual, cg);
      if (solution != nullptr)
        solution->join();
      const Number *const direction = diagonal != nullptr && diagonal->block_size == 0 ? r.data() : z.data();
      launch(backend, [&](auto where) { kernels::cg_direction(where, n, direction, x, p.data(), cg); });
    }

    void start(const bool compensated)
    {
      send();
      if (compensated)
        compensated_residual(A, x, b, q);
      else
        A.residual(q, x, b);
      residual_and_direction(CGResidual::start, nullptr);
      look();
    }

    void begin(const double new_scale)
    {
      scale             = new_scale;
      scalars           = CGScalars();
      scalars.tolerance = -1.;
      scalars.scale     = scale;
      start(false);
    }

    void restart(const bool compensated)
    {
      scalars.status    = CGStatus::iterating;
      scalars.tolerance = result.tolerance * scale;
      start(compensated);
      result.history.back() = residual_of(scalars.step);
    }

    /** A power of two by which b - A x becomes a vector of length one; 1 if that is 0 or not finite. */
    double scale_of_residual()
    {
      A.residual(q, x, b);
      const double norm = q.l2_norm();
      if (!(norm > 0.) || norm - norm != 0.)
        return 1.;
      int exponent = 0;
      std::frexp(norm, &exponent);
      constexpr int most = std::numeric_limits<Number>::max_exponent - 2;
      return std::ldexp(1., std::max(-most, std::min(most, -exponent)));
    }

    /** An estimate from below of the largest eigenvalue of A, by power steps from a fixed vector; uses q and z. */
    double largest_eigenvalue()
    {
      constexpr int n_steps = 10;
      launch(backend, [&](auto where) { kernels::set_scattered(where, q.size(), q.data(), q.first_index()); });
      double norm = q.l2_norm();
      for (int step = 0; step < n_steps && norm > 0. && norm - norm == 0.; ++step)
      {
        if (step > 0)
          q.equ(static_cast<Number>(1. / norm), z);
        else
          q *= static_cast<Number>(1. / norm);
        A.vmult(z, q);
        norm = z.l2_norm();
      }
      return norm - norm == 0. ? norm : 0.;
    }

    double rounding_limit()
    {
      if (!std::is_same<Number, double>::value)
        return 0.;
      if (norm_of_matrix == 0.)
        norm_of_matrix = largest_eigenvalue();
      const double limit = 8. * rounding_unit * norm_of_matrix * x.l2_norm();
      return limit - limit == 0. ? limit : 0.;
    }

    /** Whether p.Ap is no more than rounding of A p leaves: p is a direction without energy. */
    bool has_no_energy()
    {
      if (!std::is_same<Number, double>::value)
        return false;
      if (norm_of_matrix == 0.)
        norm_of_matrix = largest_eigenvalue();
      const double length = p.l2_norm();
      return std::abs(scalars.p_dot_q) <= 8. * rounding_unit * norm_of_matrix * length * length;
    }

    /** |x - A^-1 b| over |x| in the norm of the energy, as far as the preconditioner is A^-1. */
    double relative_energy()
    {
      q.equ(static_cast<Number>(scale), b);
      z.equ(static_cast<Number>(scale), x);
      energy_of_solution = std::abs(q.dot(z));
      return std::sqrt(scalars.r_dot_z / energy_of_solution);
    }

    double row_tolerance() const
    {
      const double least = 32. * std::numeric_limits<Number>::epsilon(); // rounding leaves some u of each row
      return solver.additional_data.row_tolerance > 0. ? std::max(solver.additional_data.row_tolerance, least) : 0.;
    }

    /** Whether r, divided by the diagonal row by row, is @p goal times what it may be; uses q. */
    bool rows_are_solved(const double goal = 1.)
    {
      if (!(row_tolerance() > 0.))
        return true;
      const auto norm = [&](const Vector<Number> &rows) {
        dispatch(backend, [&](auto where) { solver::divide(where, rows, *diagonal, q); });
        return q.l2_norm();
      };
      if (!diagonal)
      {
        A.extract_diagonal(diagonal.emplace(backend));
        size_of_load         = norm(b);
        result.row_tolerance = row_tolerance();
      }
      const double size   = x.l2_norm() + size_of_load;
      result.row_residual = size > 0. ? norm(r) / scale / size : 0.;
      return result.row_residual <= goal * row_tolerance();
    }

    /** Starts from x for the sake of rows alone, whatever |b - A x| is. */
    void start_by_rows(const bool compensated)
    {
      by_rows           = true;
      scalars.status    = CGStatus::iterating;
      scalars.tolerance = 0.;
      start(compensated);
    }

    void iterate(const bool recompute_residual)
    {
      A.cg_product(q, p, cg);
      const auto move_x = [&](auto where) {
        kernels::cg_direction<Number>(where, r.size(), nullptr, x.data(), p.data(), cg);
      };
      if (recompute_residual)
      {
        launch(backend, move_x);
        A.residual(q, x, b);
        residual_and_direction(CGResidual::replace, nullptr);
      }
      else if (solver.side != nullptr)
      {
        SideStream::Branch solution(*solver.side);
        solution.launch(move_x);
        residual_and_direction(CGResidual::update, nullptr, &solution);
      }
      else
        residual_and_direction(CGResidual::update, x.data());
    }

    void several(const unsigned int n)
    {
      for (unsigned int i = 0; i < n; ++i)
        iterate(false);
    }

    void iterate_recorded(unsigned int n)
    {
      if (!A.can_be_recorded() || !preconditioner.can_be_recorded())
        return several(n);
      if (first_iteration && n > 0) // directly, so that all kernels are loaded before a graph is recorded
      {
        several(1);
        first_iteration = false;
        --n;
      }
      if (n >= graph_length && graph == nullptr)
        graph = std::make_unique<Graph>(backend, [this]() { several(graph_length); });
      for (; n >= graph_length; n -= graph_length)
        graph->launch();
      if (n > 0 && single_graph == nullptr)
        single_graph = std::make_unique<Graph>(backend, [this]() { several(1); });
      for (; n > 0; --n)
        single_graph->launch();
    }

    /** In plain double, to r. */
    void recompute_residual()
    {
      A.residual(r, x, b);
      result.residual = r.l2_norm();
      r *= static_cast<Number>(scale);
    }

    /** Rounding if that explains the recomputed residual, and if x then is an answer; else @p otherwise. */
    Status at_rounding(const Status otherwise)
    {
      result.rounding_limit = rounding_limit();
      if (!(result.residual <= result.rounding_limit && rows_are_solved()))
        return otherwise;
      z.equ(static_cast<Number>(scale), x);
      const double of_residual = r.dot(z);
      q.equ(static_cast<Number>(scale), b);
      const bool answers =
          result.residual * scale < q.l2_norm() && std::abs(of_residual) <= largest_work * std::abs(q.dot(z));
      return answers ? Status::rounding : Status::singular;
    }

    void find(unsigned int look_interval, unsigned int residual_interval);
  };

  template <typename Number>
  IterationResult ConjugateGradients<Number>::solve(const Operator<Number>         &A,
                                                    Vector<Number>                 &x,
                                                    const Vector<Number>           &b,
                                                    const PreconditionBase<Number> &preconditioner,
                                                    const IterationControl         &control)
  {
    require(A.partitioner() != nullptr || A.n_rows() == A.n_columns(), "Conjugate gradients need a square matrix.");
    require(x.partitioner() == A.partitioner() && b.partitioner() == A.partitioner(),
            "Solution and right-hand side are not of the ranks of the matrix; Operator::initialize_vector() makes ones "
            "that are.");
    require(x.size() == b.size() && b.size() == static_cast<std::size_t>(A.n_rows()),
            "Solution and right-hand side do not have the size of the matrix.");
    require(x.backend() == A.backend() && b.backend() == A.backend(),
            "Matrix, solution and right-hand side are not on the same back end.");
    require(control.tolerance >= 0. && control.reduction >= 0., "The tolerance of a solver is negative.");
    IterationResult result;
    on_owner(A.backend(), [&] { result = iterate(A, x, b, preconditioner, control); });
    if (const RankGroup *const group = A.backend().group())
    {
      const auto broadcast = [&](auto &...values) { ((values = group->broadcast(std::move(values))), ...); };
      broadcast(result.status, result.cause, result.n_iterations, result.n_restarts, result.tolerance, result.residual,
                result.rounding_limit, result.row_residual, result.row_tolerance, result.update, result.history);
      for (std::size_t step = 0; step < result.history.size() && !group->is_owner() && control.monitor; ++step)
        control.monitor(static_cast<unsigned int>(step), result.history[step]); // as the owner's has seen them
    }
    return result;
  }

  template <typename Number>
  IterationResult ConjugateGradients<Number>::iterate(const Operator<Number>         &A,
                                                      Vector<Number>                 &x,
                                                      const Vector<Number>           &b,
                                                      const PreconditionBase<Number> &preconditioner,
                                                      const IterationControl         &control)
  {
    const unsigned int look_interval = additional_data.look_interval > 0
                                           ? std::min(additional_data.look_interval, most_steps_between_looks)
                                           : preconditioner.look_interval();
    for (Vector<Number> *vector : {&r, &z, &p, &q})
      A.initialize_vector(*vector, true);
    // A look finds at most look_interval new steps and the one before them.
    shared.reinit(A.backend(), history_begin + (look_interval + 1) * sizeof(double));
    partials.reinit(A.backend(), kernels::cg_n_partials(A.n_rows()));
    if (additional_data.update == SolutionUpdate::streams && (side == nullptr || side->backend() != A.backend()))
      side = std::make_unique<SideStream>(A.backend());

    Solution solution{*this, A, x, b, preconditioner, control};
    solution.result.update = side != nullptr ? SolutionUpdate::streams : SolutionUpdate::fused;
    solution.find(look_interval, additional_data.residual_interval);
    return std::move(solution.result);
  }

  template <typename Number>
  void ConjugateGradients<Number>::Solution::find(const unsigned int look_interval, const unsigned int every)
  {
    // The initial residual fixes scale and tolerance, so the host looks at it before anything else happens.
    begin(1.);
    if (const double first = residual_of(0); !(first <= harmless && first >= 1. / harmless))
      begin(scale_of_residual());
    result.history.assign(1, residual_of(0));
    result.tolerance  = std::max(control.tolerance, control.reduction * result.history[0]);
    scalars.tolerance = result.tolerance * scale;
    if (scalars.status != CGStatus::residual_not_finite && result.history[0] <= result.tolerance)
      scalars.status = CGStatus::converged;
    send();
    report(0, result.history[0]);

    // The true residual at the last restart and r.z, an estimate of the energy of its error: where stiff parts let |r|
    // fall no further, soft ones may still gain.
    double         restart_residual = HUGE_VAL, restart_energy = HUGE_VAL, restart_rows = HUGE_VAL;
    bool           verified    = scalars.status == CGStatus::converged; // scalars and x belong to a recomputed residual
    bool           exhausted   = false;                                 // a restart did not help
    bool           compensated = false;                                 // residuals of restarts are
    Vector<Number> unrefined;                                           // x before the first of these

    // At an end: whether x stands also by rows; else the iteration goes on for them, unless that has not helped.
    const auto check_rows = [&] {
      if (rows_are_solved())
        return;
      exhausted    = !(result.row_residual <= restart_success * restart_rows);
      restart_rows = result.row_residual;
      if (!exhausted)
        start_by_rows(compensated);
      verified = false;
    };
    if (verified)
      check_rows();

    while (scalars.status == CGStatus::iterating && action == Action::iterate && !exhausted &&
           static_cast<unsigned int>(scalars.step) < control.max_iterations)
    {
      // One stretch of steps between looks. A step that recomputes the residual stands alone in it.
      const unsigned int first = scalars.step;
      unsigned int       last  = first + std::min(look_interval, control.max_iterations - first);
      if (every > 0 && (first + 1) % every == 0)
      {
        last = first + 1;
        iterate(result.history.back() > replacement_distance * rounding_limit());
        first_iteration = false;
      }
      else
      {
        if (every > 0)
          last = std::min(last, (first / every + 1) * every - 1);
        iterate_recorded(last - first);
      }
      look();

      const bool finished =
          scalars.status == CGStatus::converged || static_cast<unsigned int>(scalars.step) >= control.max_iterations;
      for (unsigned int step = first + 1; step <= static_cast<unsigned int>(scalars.step); ++step)
      {
        result.history.push_back(residual_of(step));
        // The last step is reported below, with its true residual.
        if (!finished || step < static_cast<unsigned int>(scalars.step))
          report(step, result.history.back());
      }

      if (scalars.status == CGStatus::iterating &&
          ((compensated && scalars.r_dot_z <= enough_energy * enough_energy * energy_of_solution) ||
           (by_rows && rows_are_solved(row_goal))))
        scalars.status = CGStatus::converged;
      if (scalars.status == CGStatus::converged && action == Action::iterate)
      {
        // Start again from x: if its true residual passes, the iteration is already over.
        by_rows = false;
        restart(compensated);
        report(scalars.step, result.history.back());
        if (scalars.status == CGStatus::iterating && action == Action::iterate)
        {
          ++result.n_restarts;
          result.rounding_limit  = rounding_limit();
          const bool is_rounding = result.history.back() <= result.rounding_limit;
          const bool is_limit    = is_rounding && result.history.back() > restart_reach * result.tolerance;
          if (is_limit && !compensated && relative_energy() > accurate_energy && has_rows(A))
          {
            unrefined.reinit(x, true);
            unrefined.equ(Number(1), x);
            compensated = true;
            restart(true);
            restart_residual = restart_energy = HUGE_VAL;
          }
          const bool fell = result.history.back() <= restart_success * restart_residual ||
                            scalars.r_dot_z <= restart_success * restart_success * restart_energy;
          exhausted         = !fell || (is_limit && !(compensated && relative_energy() > accurate_energy));
          restart_residual  = result.history.back();
          restart_energy    = scalars.r_dot_z;
          scalars.tolerance = std::max(result.tolerance, restart_goal * restart_residual) * scale;
          send();
        }
        verified = scalars.status == CGStatus::converged;
        if ((verified || exhausted) && action == Action::iterate)
          check_rows();
      }
    }

    result.n_iterations = scalars.step;
    if (verified && !compensated)
      result.residual = result.history.back();
    else
      recompute_residual();
    if (compensated && action == Action::iterate && !verified &&
        !(exhausted && result.residual <= result.rounding_limit))
    {
      // Refinement was cut short: the x before it was an answer.
      x.equ(Number(1), unrefined);
      recompute_residual();
      exhausted = true;
    }
    if (verified)
      result.status = result.residual <= result.tolerance ? Status::converged : Status::rounding;
    else if (exhausted)
      result.status = at_rounding(Status::stagnated);
    else if (action != Action::iterate)
      result.status = action == Action::accept ? Status::accepted : Status::aborted;
    else if (scalars.status != CGStatus::iterating && scalars.status != CGStatus::converged)
    {
      if (by_rows && result.residual <= result.tolerance)
      {
        result.status = rows_are_solved() ? Status::converged : Status::stagnated;
        return;
      }
      // Directions made of rounding alone may have no positive energy.
      result.status = at_rounding(Status::breakdown);
      result.cause  = scalars.status;
      if (result.status == Status::breakdown && result.cause == CGStatus::matrix_not_positive && has_no_energy())
        result.status = Status::singular;
    }
    else
    {
      // The step limit: its last residual is the true one, and may pass the test after all.
      result.history.back() = result.residual;
      report(scalars.step, result.residual);
      const bool converged = result.residual <= result.tolerance && rows_are_solved();
      result.status        = converged                                                 ? Status::converged
                             : action == Action::accept                                ? Status::accepted
                             : at_rounding(Status::max_iterations) == Status::singular ? Status::singular
                                                                                       : Status::max_iterations;
    }
  }

  template class ConjugateGradients<float>;
  template class ConjugateGradients<double>;
} // namespace PatchFEM
