// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/lac/solver/renewal.h>

#include <algorithm>
#include <cmath>

namespace PatchFEM
{
  Renewal::Action Renewal::before_step() const
  {
    if (!exists || (lost_to_initialize > prices.initialize && of_updated >= 2. * of_initialized))
      return Action::initialize;
    return lost_to_update > prices.update ? Action::update : Action::keep;
  }

  Renewal::Action Renewal::solved(const unsigned int n_steps, const double reduction)
  {
    if (n_steps == 0 || !(reduction > 0. && reduction < HUGE_VAL)) // nothing to solve
      return Action::keep;
    const double digits = std::max(-std::log10(reduction), 0.5);
    const auto   count  = [&](double &first, double &lost) {
      if (first == 0.)
        first = std::max(n_steps, 1u) / digits;
      lost = std::max(lost + n_steps - first * digits, 0.);
    };
    count(of_updated, lost_to_update);
    count(of_initialized, lost_to_initialize);
    return lost_to_update > prices.update ? Action::update : Action::keep;
  }

  void Renewal::done(const Action action)
  {
    if (action == Action::keep)
      return;
    exists     = true;
    of_updated = lost_to_update = 0.;
    if (action == Action::initialize)
      of_initialized = lost_to_initialize = 0.;
  }

  void Renewal::failed()
  {
    exists = false;
  }

  std::string to_string(const Renewal::Action action)
  {
    return action == Renewal::Action::keep ? "kept" : action == Renewal::Action::update ? "updated" : "made";
  }
} // namespace PatchFEM
