// SPDX-License-Identifier: LGPL-2.1-or-later
#include <deal.II/lac/solver_gmres.h>
#include <patchfem/assembly/law_system_dealii.h>
#include <patchfem/lac/vector_dealii.h>

#include <algorithm>
#include <utility>

namespace PatchFEM
{
  LawSystem::LawSystem(LawAssembler &laws, NearNullSpace modes, const AdditionalData &data)
      : laws(&laws), space(laws.space()), modes(std::move(modes)), data(data), renewal(data.renewal)
  {
    space.initialize_matrix(K);
  }

  void LawSystem::attach(NewtonSolver<> &newton)
  {
    newton.reinit_vector  = [this](Vector<double> &v) { space.initialize_dof_vector(v); };
    newton.residual       = [this](const Vector<double> &u, Vector<double> &r) { laws->residual(u, r); };
    newton.force_scale    = [this] { return std::max(laws->force_scale(), rounding_scale); };
    newton.setup_jacobian = [this, &newton](const Vector<double> &u, const Vector<double> &) {
      linearise(u, newton.history().empty());
    };
    newton.last_solution         = [this] { return solution; };
    newton.add_prescribed_motion = [this](Vector<double> &rhs) {
      begins = true;
      rhs    = load;
      return moves;
    };
    newton.solve_with_jacobian = [this](const Vector<double> &rhs, Vector<double> &d, const double tolerance) {
      solve(rhs, d, tolerance);
    };
  }

  void LawSystem::linearise(const Vector<double> &u, const bool first)
  {
    moves = laws->linearise(u, K, load);
    state = &u;
    if (!first)
      return;
    // Where terms cancel, rounding leaves some 1e-16 |D u| of a residual, D the diagonal: a tolerance of 1e-8 is above it.
    Vector<double> product;
    product.reinit(u, true);
    on_owner_then_members(space.backend(), [&] {
      agree_on_errors(space.batches().partitioner(), [&] { K.extract_block_diagonal(1, product.array()); });
      product.scale(u);
    });
    rounding_scale = 1e-6 * product.l2_norm();
  }

  /** @p action on the preconditioner with the values that K has. */
  void LawSystem::renew(const Renewal::Action action)
  {
    try
    {
      if (action == Renewal::Action::update)
        preconditioner.update(K);
      else if (action == Renewal::Action::initialize)
        preconditioner.initialize(K, modes, data.multigrid);
    }
    catch (...)
    {
      renewal.failed();
      throw;
    }
    renewal.done(action);
    solution.preconditioner = std::max(solution.preconditioner, action);
  }

  /** The hierarchy of the tangent at the begin of a step or, where that is not positive definite, at u = 0. */
  void LawSystem::prepare_step()
  {
    begins                     = false;
    const Renewal::Action next = renewal.before_step();
    if (next == Renewal::Action::keep)
      return;
    try
    {
      renew(next);
    }
    catch (const NotPositiveDefinite &)
    {
      Vector<double> zero, rest;
      space.initialize_dof_vector(zero);
      laws->linearise(zero, K, rest);
      renew(Renewal::Action::initialize);
      laws->linearise(*state, K, rest);
    }
  }

  void LawSystem::solve(const Vector<double> &rhs, Vector<double> &d, const double tolerance)
  {
    solution = LinearSolution();
    if (begins)
      prepare_step();
    Renewal::Action after = Renewal::Action::keep;
    if (laws->symmetric())
    {
      IterationControl control;
      control.tolerance           = tolerance;
      control.max_iterations      = data.max_iterations;
      const Renewal::Action begun = solution.preconditioner;
      solution                    = solve_truncated(iteration, K, d, rhs, preconditioner, control);
      solution.preconditioner     = begun;
    }
    else
    {
      dealii::SolverControl control(data.max_iterations, tolerance);
      dealii::SolverFGMRES<Vector<double>>(control).solve(K, d, rhs, preconditioner);
      solution.n_iterations = control.last_step();
    }
    if (!solution.truncated)
      after = renewal.solved(solution.n_iterations, tolerance / rhs.l2_norm());
    laws->distribute(d);
    try
    {
      renew(after);
    }
    catch (const NotPositiveDefinite &)
    {
      begins = true; // the next solution has one made
    }
  }

  std::size_t LawSystem::memory_consumption() const
  {
    return K.memory_consumption() + load.memory_consumption() + preconditioner.memory_consumption() +
           iteration.memory_consumption();
  }
} // namespace PatchFEM
