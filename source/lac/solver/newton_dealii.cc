// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/lac/solver/newton_dealii.h>

#include <deal.II/base/patterns.h>
#include <deal.II/base/table_handler.h>

#include <boost/format.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace PatchFEM
{
  void NewtonParameters::add_parameters(dealii::ParameterHandler &prm)
  {
    namespace Patterns = dealii::Patterns;
    prm.add_parameter(
        "Tolerance", tolerance,
        "A step has converged when the residual is at most this times the largest of loads, reactions and "
        "the first residual.",
        Patterns::Double(1e-15, 1.));
    prm.add_parameter("Maximum iterations", max_iterations,
                      "After so many corrections a step has failed, and a shorter one is tried.", Patterns::Integer(1));
    const std::string names[] = {"none", "backtracking", "energy"};
    prm.declare_entry("Line search", names[static_cast<int>(line_search)],
                      Patterns::Selection("none|backtracking|energy"),
                      "Corrections are halved, to 1/64 at least, until the residual falls (backtracking) or until the "
                      "work that it does along the correction has not turned (energy), and where a law fails.");
    prm.add_action("Line search", [this](const std::string &value) {
      line_search = value == "none"           ? LineSearch::none
                    : value == "backtracking" ? LineSearch::backtracking
                                              : LineSearch::energy;
    });
    const auto add = [&](const std::string &name, double &value, const std::string &words) {
      prm.add_parameter(name, value, words, Patterns::Double(1e-15, 0.9));
    };
    add("First reduction", first_forcing,
        "Linear systems of first corrections are solved to this times the residual; those that follow to 0.9 times the "
        "square of the factor by which the residual has fallen, within the limits below.");
    add("Least reduction", least_forcing, "The smallest of these.");
    add("Largest reduction", largest_forcing, "The largest of these.");
    prm.add_parameter("Truncated solutions", max_truncated,
                      "More linear solutions of one step that end at a direction in which the tangent is not positive "
                      "have that step tried again shorter.",
                      Patterns::Integer(0));
  }

  std::string to_string(const std::vector<NewtonIteration> &history)
  {
    dealii::TableHandler table;
    for (std::size_t k = 0; k < history.size(); ++k)
    {
      const NewtonIteration &row     = history[k];
      const bool             is_last = row.forcing == 0.;
      table.add_value("correction", static_cast<unsigned int>(k));
      table.add_value("residual", str(boost::format("%.2e") % row.residual));
      table.add_value("steps", is_last ? "-" : std::to_string(row.solution.n_iterations));
      table.add_value("factor", is_last ? "-" : str(boost::format("%g") % row.factor));
      table.add_value("preconditioner", is_last ? "-" : to_string(row.solution.preconditioner));
      table.add_value("remark", row.predictor ? "prescribed motion" : row.solution.truncated ? "truncated" : "-");
    }
    std::ostringstream text;
    table.write_text(text, dealii::TableHandler::org_mode_table);
    return text.str();
  }

  double NewtonBase::tolerance_for(const double scale) const
  {
    return control != nullptr ? control->tolerance() : std::max(parameters.tolerance * scale, 1e-12 * largest_force);
  }

  bool NewtonBase::is_last(const double residual, const double force_scale)
  {
    NewtonIteration   &row  = rows.emplace_back();
    const unsigned int step = n_corrections();
    row.residual            = residual;
    const double scale      = std::max(force_scale, rows.front().residual);
    row.tolerance           = tolerance_for(scale);
    if (!std::isfinite(residual))
      throw StepFailure("The residual of Newton's method is not finite after ", step,
                        " corrections; take smaller steps.");
    using Control              = dealii::SolverControl;
    const Control::State state = control != nullptr                  ? control->check(step, residual)
                                 : residual <= row.tolerance         ? Control::success
                                 : step >= parameters.max_iterations ? Control::failure
                                                                     : Control::iterate;
    if (state == Control::failure)
      throw StepFailure("Newton's method has not converged after ", step, " corrections: its residual is ", residual,
                        ", which is not below ", row.tolerance, "; take smaller steps.");
    if (state == Control::success)
      largest_force = std::max(largest_force, scale);
    return state == Control::success;
  }

  void NewtonBase::add_predictor(const double residual)
  {
    NewtonIteration &row = rows.emplace_back();
    row.residual         = residual;
    row.tolerance        = tolerance_for(residual);
    row.predictor        = true;
    if (control != nullptr) // which may learn from the first residual; this one is not that of a solution
      control->check(0, residual);
  }

  double NewtonBase::choose_forcing()
  {
    NewtonIteration &row = rows.back();
    const auto       n   = rows.size();
    double           eta = parameters.first_forcing;
    if (n > 1 && !rows[n - 2].predictor)
    {
      const NewtonIteration &before = rows[n - 2];
      const double           ratio  = row.residual / before.residual;
      const double           floor  = 0.9 * before.forcing * before.forcing;
      eta = std::clamp(std::max(0.9 * ratio * ratio, floor > 0.1 ? floor : 0.), parameters.least_forcing,
                       std::max(parameters.least_forcing, parameters.largest_forcing));
    }
    return row.forcing = std::max(eta, 0.5 * std::min(row.tolerance / row.residual, 1.));
  }

  void NewtonBase::add(const LinearSolution &solution)
  {
    rows.back().solution = solution;
    if (solution.truncated && ++n_truncated > parameters.max_truncated)
      throw StepFailure("The tangent is not positive definite in more than ", parameters.max_truncated,
                        " solutions of a step; take smaller steps.");
  }

  bool NewtonBase::passes(const double factor, const double before, const double after) const
  {
    if (!std::isfinite(after))
      return false;
    return parameters.line_search == NewtonParameters::LineSearch::energy ? before == 0. || after / before >= -0.9
                                                                          : after <= (1. - 1e-4 * factor) * before;
  }

  void NewtonBase::give_up() const
  {
    throw StepFailure("The line search of Newton's method does not come to an end along correction ", rows.size(),
                      ", whose residual is ", rows.back().residual, "; take smaller steps.");
  }

  template class NewtonSolver<Vector<double>>;
} // namespace PatchFEM
