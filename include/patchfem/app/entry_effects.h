// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/parameters.h>

/**
 * @file
 * Entries that are for some choices of other entries alone. An entry that is set away from its default where nothing
 * looks at it is an error: who sets it expects something of it. What stands in a file beside options --set is only
 * named, since an option may take its effect on purpose, as that for another preconditioner does.
 */
namespace PatchFEM
{
  /** What @p entries need. */
  struct EntryCondition
  {
    std::vector<std::string> entries; ///< each with its section, or a section that ends in '/', for all that is in it
    bool                     holds;   ///< whether they have an effect in this run
    std::string              needs;   ///< what they have an effect with, such as `Solver/Preconditioner = ssor`
  };

  /** An entry with its section, `Solver/AMG/Sweeps`. */
  struct ChangedEntry
  {
    std::string entry, value;
    std::string needs; ///< empty: it has an effect
  };

  /**
   * The entries of @p prm that have other values than in @p declared, where all have their defaults, in order of their
   * declaration. Numbers are compared as such.
   */
  std::vector<ChangedEntry> changed_entries(const dealii::ParameterHandler    &prm,
                                            const dealii::ParameterHandler    &declared,
                                            const std::vector<EntryCondition> &conditions);

  /** Throws Error for an entry of @p changed without effect that is in @p settings, or for any one if these are empty. */
  void refuse_without_effect(const std::vector<ChangedEntry> &changed, const Settings &settings);

  /** Of the section `Solver`. @p own_back_end: not Trilinos; @p pictures: whether there are pictures of aggregates. */
  std::vector<EntryCondition> solver_conditions(const SolverParameters &solver, bool own_back_end, bool pictures);

  /** Of all that a Problem reads. */
  std::vector<EntryCondition> problem_conditions(const ProblemParameters &parameters);
} // namespace PatchFEM
