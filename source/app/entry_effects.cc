// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/entry_effects.h>
#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/lac/matrix/matrix_factory.h>

#include <deal.II/base/utilities.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace PatchFEM
{
  namespace
  {
    const char *const own_back_ends = "PatchFEM's own back ends, Backend = host, cuda or auto";

    using Path = std::vector<std::string>; ///< sections, and the entry last

    /** All entries of @p declared, whose values contain no line breaks, in order of declaration. */
    std::vector<Path> entries_of(const dealii::ParameterHandler &declared)
    {
      using Handler = dealii::ParameterHandler;
      std::ostringstream text;
      declared.print_parameters(text, Handler::PRM | Handler::Short | Handler::KeepDeclarationOrder);
      std::istringstream lines(text.str());
      std::vector<Path>  result;
      Path               sections;
      for (std::string line; std::getline(lines, line);)
      {
        line = dealii::Utilities::trim(line);
        if (line.rfind("subsection ", 0) == 0)
          sections.push_back(line.substr(11));
        else if (line == "end" && !sections.empty())
          sections.pop_back();
        else if (line.rfind("set ", 0) == 0)
        {
          result.push_back(sections);
          result.back().push_back(dealii::Utilities::trim(line.substr(4, line.find('=') - 4)));
        }
      }
      return result;
    }

    bool are_equal(const std::string &a, const std::string &b)
    {
      if (a == b)
        return true;
      char        *end_a, *end_b;
      const double x = std::strtod(a.c_str(), &end_a), y = std::strtod(b.c_str(), &end_b);
      return !a.empty() && !b.empty() && *end_a == 0 && *end_b == 0 && x == y;
    }
  } // namespace

  std::vector<ChangedEntry> changed_entries(const dealii::ParameterHandler    &prm,
                                            const dealii::ParameterHandler    &declared,
                                            const std::vector<EntryCondition> &conditions)
  {
    std::vector<ChangedEntry> result;
    for (Path path : entries_of(declared))
    {
      const std::string name = path.back();
      path.pop_back();
      const std::string value = prm.get(path, name);
      if (are_equal(value, declared.get(path, name)))
        continue;
      std::string section;
      for (const std::string &part : path)
        section += part + "/";
      result.push_back({section + name, value, ""});
      for (const EntryCondition &condition : conditions)
        for (const std::string &entry : condition.entries)
          if (!condition.holds && (entry == section + name || entry == section) && result.back().needs.empty())
            result.back().needs = condition.needs;
    }
    return result;
  }

  void refuse_without_effect(const std::vector<ChangedEntry> &changed, const Settings &settings)
  {
    for (const ChangedEntry &item : changed)
      require(item.needs.empty() ||
                  (!settings.empty() && std::none_of(settings.begin(), settings.end(),
                                                     [&](const auto &setting) { return setting.first == item.entry; })),
              "The entry ", item.entry, " = ", printable(item.value), " would be without effect, as it is for ",
              item.needs, "; remove it.");
  }

  std::vector<EntryCondition>
  solver_conditions(const SolverParameters &solver, const bool own_back_end, const bool pictures)
  {
    const std::string          &chosen  = solver.preconditioner;
    const bool                  is_auto = chosen == "auto" && own_back_end;
    const std::string           amg     = "Solver/AMG/";
    std::vector<EntryCondition> result{
        {{"Solver/Residual interval", "Solver/Solution update", "Solver/Check"}, own_back_end, own_back_ends}};
    for (const PreconditionerRow &row : preconditioners())
      if (!row.section.empty())
      {
        const auto in_section = [&](const PreconditionerRow &other) { return other.section == row.section; };
        const auto has_effect = [&](const PreconditionerRow &other) {
          return in_section(other) && (other.name == chosen || (is_auto && other.is(PreconditionerRow::automatic)));
        };
        result.push_back(
            {{"Solver/" + row.section + "/"},
             std::any_of(preconditioners().begin(), preconditioners().end(), has_effect),
             "Solver/Preconditioner = " + names_of_preconditioners(in_section, ", ", " or ") + ", not " + chosen});
      }
    result.insert(result.end(), {{{"Solver/Incomplete Cholesky/Sweeps"},
                                  solver.incomplete_cholesky.n_sweeps > 0,
                                  "Solver/Incomplete Cholesky/Solution = sweeps, not exact"},
                                 {{amg + "Patch distance", amg + "Patch bytes"},
                                  pictures || solver.amg.smoother == AMGSmoother::patch,
                                  amg + "Smoother = patch or Output/Aggregates = true"}});
    for (const SmootherRow &row : smoothers())
      for (const std::string &entry : row.entries)
      {
        EntryCondition condition{{amg + entry}, false, ""};
        for (const SmootherRow &other : smoothers())
          if (std::count(other.entries.begin(), other.entries.end(), entry) > 0)
          {
            condition.holds = condition.holds || other.smoother == solver.amg.smoother;
            condition.needs += (condition.needs.empty() ? amg + "Smoother = " : " or ") + other.name;
          }
        result.push_back(condition);
      }
    return result;
  }

  std::vector<EntryCondition> problem_conditions(const ProblemParameters &parameters)
  {
    const RefinementParameters &refinement   = parameters.refinement;
    const std::string          &format       = parameters.assembly.format;
    const std::string          &chosen       = parameters.solver.preconditioner;
    const bool                  own_back_end = parameters.general.backend != "trilinos";
    const bool                  pictures     = parameters.output.pictures != "none";
    std::vector<EntryCondition> result =
        solver_conditions(parameters.solver, own_back_end, parameters.output.aggregates);
    result.insert(
        result.end(),
        {{{"Refinement/Strategy"}, refinement.n_cycles > 1, "Refinement/Cycles of 2 or more"},
         {{"Refinement/Refine fraction", "Refinement/Coarsen fraction"},
          refinement.adaptive,
          "Refinement/Strategy = adaptive or hp_adaptive, not global"},
         {{"Refinement/Smoothness threshold"},
          refinement.hp_adaptive,
          std::string("Refinement/Strategy = hp_adaptive, not ") + (refinement.adaptive ? "adaptive" : "global")},
         {{"Matrix/", "Assembly/Strategy", "Assembly/Rows per patch"}, own_back_end, own_back_ends},
         {{"Matrix/Column indices"},
          format == "auto" || format_row(format).is(FormatRow::slices),
          "Matrix/Format = auto, " + format_names(FormatRow::slices) + ", not " + format},
         {{"Output/Aggregates"},
          chosen == "auto" ? own_back_end : preconditioner_row(chosen).is(PreconditionerRow::levels),
          "Solver/Preconditioner = amg, not " + chosen},
         {{"Output/Aggregates"}, pictures, "Output/Pictures = last or all, not none"}});
    return result;
  }
} // namespace PatchFEM
