// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/lac/solver/solver_cg_dealii.h>

#include <typeinfo>

namespace PatchFEM
{
  template <typename Number>
  void SolverCG::solve(const Operator<Number>         &A,
                       Vector<Number>                 &x,
                       const Vector<Number>           &b,
                       const PreconditionBase<Number> &preconditioner)
  {
    AdditionalData   data = additional_data;
    IterationControl limits;
    limits.tolerance      = control.tolerance();
    limits.max_iterations = control.max_steps();
    if (const auto *reduction = dynamic_cast<const dealii::ReductionControl *>(&control))
      limits.reduction = reduction->reduction();
    const std::type_info &type = typeid(control);
    if (type != typeid(dealii::SolverControl) && type != typeid(dealii::ReductionControl) &&
        type != typeid(dealii::IterationNumberControl))
    {
      // Its rule is not known here, so it decides after each step.
      data.look_interval = 1;
      limits.tolerance   = 0.;
      limits.reduction   = 0.;
    }
    limits.monitor = [this](const unsigned int step, const double residual) {
      const dealii::SolverControl::State state = control.check(step, residual);
      return state == dealii::SolverControl::success   ? IterationControl::Action::accept
             : state == dealii::SolverControl::failure ? IterationControl::Action::abort
                                                       : IterationControl::Action::iterate;
    };

    ConjugateGradients<Number> iteration(data);
    result = iteration.solve(A, x, b, preconditioner, limits);
    if (result.success())
      return;
    using Status = IterationResult::Status;
    if (result.status == Status::breakdown || result.status == Status::singular)
      throw NotPositiveDefinite(result.message(preconditioner.name()));
    if (result.status != Status::max_iterations && result.status != Status::aborted)
      throw Error(result.message(preconditioner.name()));
    AssertThrow(false, dealii::SolverControl::NoConvergence(control.last_step(), control.last_value()));
  }

  template void SolverCG::solve<float>(const Operator<float> &,
                                       Vector<float> &,
                                       const Vector<float> &,
                                       const PreconditionBase<float> &);
  template void SolverCG::solve<double>(const Operator<double> &,
                                        Vector<double> &,
                                        const Vector<double> &,
                                        const PreconditionBase<double> &);
} // namespace PatchFEM
