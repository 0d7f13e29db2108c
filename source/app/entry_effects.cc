// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/entry_effects.h>
#include <patchfem/app/problem.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>

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

  void refuse_without_effect(const std::vector<ChangedEntry> &changed, const CommandLine &command_line)
  {
    const auto &settings = command_line.settings;
    for (const ChangedEntry &item : changed)
      require(item.needs.empty() ||
                  (!settings.empty() && std::none_of(settings.begin(), settings.end(),
                                                     [&](const auto &setting) { return setting.first == item.entry; })),
              "The entry " + item.entry + " = " + printable(item.value) + " would be without effect, as it is for " +
                  item.needs + "; remove it.");
  }

  std::vector<EntryCondition>
  solver_conditions(const SolverParameters &solver, const bool own_back_end, const bool pictures)
  {
    const std::string &chosen  = solver.preconditioner;
    const bool         is_auto = chosen == "auto" && own_back_end; // amg, block_jacobi or least_squares
    const bool polynomial      = is_auto || chosen == "neumann" || chosen == "least_squares" || chosen == "chebyshev";
    const bool chebyshev       = solver.amg.smoother == AMGSmoother::chebyshev,
               patches         = solver.amg.smoother == AMGSmoother::patch;
    const std::string asked = "Solver/Preconditioner = ", given = ", not " + chosen, amg = "Solver/AMG/";
    return {{{"Solver/Residual interval", "Solver/Solution update", "Solver/Check"}, own_back_end, own_back_ends},
            {{"Solver/Polynomial/"}, polynomial, asked + "neumann, least_squares or chebyshev" + given},
            {{"Solver/SSOR/"}, chosen == "ssor", asked + "ssor" + given},
            {{"Solver/Incomplete Cholesky/"}, chosen == "incomplete_cholesky", asked + "incomplete_cholesky" + given},
            {{"Solver/Incomplete Cholesky/Sweeps"},
             solver.incomplete_cholesky.n_sweeps > 0,
             "Solver/Incomplete Cholesky/Solution = sweeps, not exact"},
            {{amg}, is_auto || chosen == "amg", asked + "amg" + given},
            {{amg + "Inner sweeps", amg + "Patch storage"}, patches, amg + "Smoother = patch"},
            {{amg + "Patch distance", amg + "Patch bytes"},
             patches || pictures,
             amg + "Smoother = patch or Output/Aggregates = true"},
            {{amg + "Stretched sweeps", amg + "Stretched range"}, chebyshev, amg + "Smoother = chebyshev"},
            {{amg + "Smoothing range"}, chebyshev || patches, amg + "Smoother = chebyshev or patch"}};
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
          format == "auto" || format == "sell" || format == "sliced_ellpack",
          "Matrix/Format = auto, sell or sliced_ellpack, not " + format},
         {{"Output/Aggregates"},
          chosen == "amg" || (chosen == "auto" && own_back_end),
          "Solver/Preconditioner = amg, not " + chosen},
         {{"Output/Aggregates"}, pictures, "Output/Pictures = last or all, not none"}});
    return result;
  }
} // namespace PatchFEM
