// SPDX-License-Identifier: LGPL-2.1-or-later
// Usage: check_report REPORT.json [--variant NAME] [order_L2 order_H1 | - -] [max_difference] [KEY=VALUE]...
// With --variant, all is about that variant of the run and about the baseline that it shares.
// Reads the report of a run as its readers do: every key must be there, stages must add up and systems be solved;
// if given, the observed orders of the last two cycles of global refinement must be at least those, and the largest
// difference to the baseline at most that. Of the last cycle, max_H1=E bounds the error, max_dofs=N the number of
// unknowns, degrees=1,2 says which degrees its cells have, and open_edges=N at how many edges they may jump; precision=NAME is that of every cycle, and so is solution_update=NAME. min_iterations=N,
// max_iterations=N or N/C, where a cycle of multigrid that takes more than N may cost C, see cost_of(), and, with the preconditioner
// amg, min_levels=N hold for every cycle as well; null_space=N is the dimension of what was
// projected away in each, and solver_error=E bounds the error of the known solution.
// max_ratio=R bounds the nodes per aggregate of the finest level, least_aggregate=N is the size of the smallest, and
// max_patch_bytes=N bounds its patches. factorisation_shift=S is what incomplete Cholesky added to the diagonal. max_L2=E, n_dofs=N, sorting_window=N and last_iterations=N, at most, are of the last cycle, and
// min_L2=E is the least error. level:PATH=V compares what it says of a level of multigrid, such as level:0/strength=pattern. value:PATH=V~E compares a number of the last cycle's results, such as value:reactions/0/flow=-2~1e-9, with the relative tolerance E, which is absolute where V is 0. stopped_at_rounding=true|false is said of the last cycle's solution, baseline_stopped_at_rounding
// of its baseline's, and max_backward_error=E bounds the normwise backward errors of both; max_residual=E bounds the relative
// residual of every solve that was not stopped at rounding. max_relative_difference=E bounds, for every cycle, the largest difference to
// the baseline over the largest value of its solution. preconditioner=NAME is that of the last cycle, and its format_choice=REGEX fits. max_divergence=E bounds, for every time step of a liquid, the part of the divergence that is left.
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace
{
  bool failed = false;

  void check(const bool condition, const std::string &message)
  {
    if (!condition)
    {
      std::cerr << message << '\n';
      failed = true;
    }
  }

  /**
   * Of set-up and solution by multigrid, in products with the finest matrix in double precision: 60 for each entry of the levels,
   * about what products with prolongators take, and of each iteration one and the sweeps of its cycle.
   */
  double cost_of(const nlohmann::json &cycle)
  {
    double entries = 0.; // read by a cycle
    for (const auto &level : cycle["amg"]["levels"])
    {
      const std::string smoother = level["smoother"];
      const double n_rows = level["n_rows"], nnz = level["nnz"], sweeps = level["sweeps"], visits = level["visits"];
      entries +=
          visits * (level["precision"] == "single" ? 0.5 : 1.) *
          (smoother == "dense inverse" ? n_rows * n_rows
                                       : 2. * sweeps * nnz * (smoother.find("factorised") < smoother.size() ? 2. : 1.));
    }
    return 60. * cycle["amg"]["operator_complexity"].get<double>() +
           cycle["iterations"].get<double>() * (1. + entries / cycle["amg"]["levels"][0]["nnz"].get<double>());
  }

  /** @p bounds: the most iterations or, behind a slash, the most cost_of(): one of the two has to hold. */
  void check_cost(const nlohmann::json &cycle, const std::string &bounds)
  {
    const std::size_t slash = cycle["amg"].is_null() ? std::string::npos : bounds.find('/');
    const bool        holds = cycle["iterations"] <= std::stol(bounds);
    check(holds || (slash != std::string::npos && cost_of(cycle) <= std::stod(bounds.substr(slash + 1))),
          cycle["iterations"].dump() + (slash != std::string::npos ? ", cost " + std::to_string(cost_of(cycle)) : ""));
  }

  void check_system(const nlohmann::json &system, const std::string &where)
  {
    for (const char *key : {"n_dofs",
                            "n_cells",
                            "cells_by_degree",
                            "open_edges",
                            "cautions",
                            "nnz",
                            "stored",
                            "format",
                            "format_choice",
                            "product_bytes",
                            "sorting_window",
                            "precision",
                            "preconditioner",
                            "amg",
                            "null_space",
                            "solution_update",
                            "iterations",
                            "relative_residual",
                            "stopped_at_rounding",
                            "backward_error",
                            "solver_check",
                            "factorisation_shift",
                            "seconds",
                            "repeated_assembly",
                            "memory_bytes",
                            "assembly_redundancy",
                            "assembly_kernels",
                            "errors"})
      check(system.contains(key), where + " lacks the key " + key);
    for (const char *key : {"mesh", "dofs", "extraction", "sparsity", "plan", "assembly", "preconditioner", "solve",
                            "results", "output", "total"})
      check(system["seconds"].contains(key), where + "/seconds lacks the key " + key);
    for (const char *key : {"host_peak", "device_forecast", "device_peak"})
      check(system["memory_bytes"].contains(key), where + "/memory_bytes lacks the key " + key);
    if (failed)
      return;

    check(system["amg"].is_null() != (system["preconditioner"] == "amg"),
          where + ": a hierarchy is missing, or one too many");
    if (!failed && !system["amg"].is_null())
    {
      const auto &levels  = system["amg"]["levels"];
      double      entries = 0., rows = 0.;
      for (const auto &level : levels)
      {
        // Those of several ranks are not gathered.
        check(level.contains("aggregation") && (level["n_aggregates"] == 0 || level["embedded_degree"] > 0 ||
                                                !level["aggregation"].is_null() || !system["ranks"].empty()),
              where + ": a level lacks the statistics of its aggregates");
        const auto &aggregation = level["aggregation"];
        if (!aggregation.is_null())
          check((level["n_aggregates"] == 0 || aggregation["ratio"] >= 1.) &&
                    aggregation["edges_cut_by_aggregates"] <= aggregation["n_edges"],
                where + ": the statistics of aggregates are not " + aggregation.dump());
        entries += level["nnz"].get<double>();
        rows += level["n_rows"].get<double>();
      }
      check(!levels.empty() && levels[0]["n_rows"].get<long>() == system["n_dofs"].get<long>(),
            where + ": the finest level is not the system");
      check(std::abs(entries / levels[0]["nnz"].get<double>() - system["amg"]["operator_complexity"].get<double>()) <
                    1e-9 &&
                std::abs(rows / levels[0]["n_rows"].get<double>() - system["amg"]["grid_complexity"].get<double>()) <
                    1e-9,
            where + ": complexities are not those of the levels");
    }

    double sum = 0.;
    for (const auto &stage : system["seconds"].items())
      if (stage.key() != "total" && !stage.value().is_null())
        sum += stage.value().get<double>();
    check(std::abs(sum - system["seconds"]["total"].get<double>()) <= 1e-9 * sum,
          where + ": the stages are not the total");
    long n_cells = 0;
    for (const auto &count : system["cells_by_degree"])
      n_cells += count.get<long>();
    check(n_cells == system["n_cells"].get<long>(), where + ": the cells of all degrees are not all cells");
    check(system["n_dofs"].get<long>() > 0 && system["nnz"].get<long>() >= system["n_dofs"].get<long>(),
          where + ": fewer entries than unknowns");
    // One value may stand for two entries, or for all of those off the diagonal.
    const bool shared = system["format_choice"] == "symmetric" || system["format_choice"] == "mdia";
    check(shared || system["stored"].get<long>() >= system["nnz"].get<long>(), where + ": less stored than there is");
    check(system["memory_bytes"]["host_peak"].get<double>() > 1e6, where + ": no memory was measured");
    // A forecast is worth something if it is a little more than what was needed. Small problems are all buffers.
    const auto &forecast = system["memory_bytes"]["device_forecast"], &peak = system["memory_bytes"]["device_peak"];
    check(forecast.is_null() == peak.is_null(), where + ": a forecast without a measurement, or the reverse");
    if (!forecast.is_null() && system["n_dofs"].get<long>() > 10000)
    {
      std::cout << "memory: forecast " << forecast << ", peak " << peak << '\n';
      check(forecast >= peak && forecast.get<double>() <= 2. * peak.get<double>(),
            where + ": memory was not forecast well, " + forecast.dump() + " for " + peak.dump());
    }
    for (const auto &rank : system.value("ranks", nlohmann::json::array()))
      if (rank["unknowns"].get<long>() > 10000)
      {
        std::cout << "memory of a rank: forecast " << rank["forecast"] << ", peak " << rank["peak"] << '\n';
        check(rank["forecast"] >= rank["peak"] && rank["forecast"].get<double>() <= 2. * rank["peak"].get<double>(),
              where + ": memory of a rank was not forecast well: " + rank.dump());
      }
    check(system["stopped_at_rounding"] == !system["backward_error"].is_null(),
          where + ": a backward error is missing, or one too many");
    check(system["relative_residual"].get<double>() < 1e-4, where + ": the system was not solved");
  }

  /** The degrees that cells of @p cycle have, ascending, as "1,2". */
  std::string degrees_of(const nlohmann::json &cycle)
  {
    std::string list;
    for (const auto &item : cycle["cells_by_degree"].items())
      if (item.value().get<long>() > 0)
        list += (list.empty() ? "" : ",") + item.key();
    return list;
  }

  /** The aggregates of the finest level. */
  const nlohmann::json &finest(const nlohmann::json &cycle)
  {
    return cycle["amg"]["levels"][0]["aggregation"];
  }

  void check_value(const nlohmann::json &cycles, const std::string &key, const std::string &value)
  {
    const auto &last = cycles.back();
    const auto  seen = [&](const auto &is) {
      std::ostringstream out;
      out << key << '=' << value << " was asked for, but there is " << is;
      return out.str();
    };
    if (key.rfind("value:", 0) == 0)
    {
      const nlohmann::json::json_pointer path("/" + key.substr(6));
      const double wanted = std::stod(value), tolerance = std::stod(value.substr(value.find('~') + 1));
      check(last["results"].contains(path), "the results lack " + key);
      if (last["results"].contains(path))
        check(std::abs(last["results"][path].get<double>() - wanted) <=
                  tolerance * (wanted != 0. ? std::abs(wanted) : 1.),
              seen(last["results"][path]));
    }
    else if (key.rfind("level:", 0) == 0)
    {
      const nlohmann::json::json_pointer path("/" + key.substr(6));
      const nlohmann::json levels = last["amg"]["levels"], is = levels.contains(path) ? levels[path] : "nothing";
      check((is.is_string() ? is.get<std::string>() : is.dump()) == value, seen(is));
    }
    else if (key == "max_H1")
      check(last["errors"]["H1"] <= std::stod(value), seen(last["errors"]["H1"]));
    else if (key == "max_dofs")
      check(last["n_dofs"] <= std::stol(value), seen(last["n_dofs"]));
    else if (key == "open_edges")
      check(last["open_edges"] == std::stol(value), seen(last["open_edges"]));
    else if (key == "degrees")
      check(degrees_of(last) == value, seen(degrees_of(last)));
    else if (key == "sorting_window")
      check(last["sorting_window"] == std::stoi(value), seen(last["sorting_window"]));
    else if (key == "precision")
      for (const auto &cycle : cycles)
        check(cycle["precision"] == value, seen(cycle["precision"]));
    else if (key == "solution_update")
      for (const auto &cycle : cycles)
        check(cycle["solution_update"] == value, seen(cycle["solution_update"]));
    else if (key == "max_iterations")
      for (const auto &cycle : cycles)
        check_cost(cycle, value);
    else if (key == "min_iterations")
      for (const auto &cycle : cycles)
        check(cycle["iterations"] >= std::stol(value), seen(cycle["iterations"]));
    else if (key == "factorisation_shift")
      check(last["factorisation_shift"] == std::stod(value), seen(last["factorisation_shift"]));
    else if (key == "null_space")
      for (const auto &cycle : cycles)
        check(!cycle["null_space"].is_null() && cycle["null_space"]["dimension"] == std::stol(value),
              seen(cycle["null_space"]));
    else if (key == "solver_error")
      for (const auto &cycle : cycles)
        check(!cycle["solver_check"].is_null() && cycle["solver_check"]["error"] <= std::stod(value),
              seen(cycle["solver_check"]));
    else if (key == "max_divergence") // left by a time step of a liquid, beside what there was
      for (const auto &cycle : cycles)
        check(!cycle["projection"].is_null() &&
                  cycle["projection"]["divergence_after"].get<double>() <=
                      std::stod(value) * cycle["projection"]["divergence_before"].get<double>() &&
                  std::abs(cycle["projection"]["total_flow"].get<double>()) <=
                      std::stod(value) * cycle["projection"]["divergence_before"].get<double>() *
                          std::sqrt(cycle["n_dofs"].get<double>()),
              seen(cycle["projection"]));
    else if (key == "max_L2")
      check(last["errors"]["L2"] <= std::stod(value), seen(last["errors"]["L2"]));
    else if (key == "last_iterations")
      check(last["iterations"] <= std::stol(value), seen(last["iterations"]));
    else if (key == "n_dofs")
      check(last["n_dofs"] == std::stol(value), seen(last["n_dofs"]));
    else if (key == "min_L2")
      check(last["errors"]["L2"] >= std::stod(value), seen(last["errors"]["L2"]));
    else if (key == "stopped_at_rounding")
      check(last["stopped_at_rounding"].dump() == value, seen(last["stopped_at_rounding"]));
    else if (key == "baseline_stopped_at_rounding")
      check(last["baseline"]["stopped_at_rounding"].dump() == value, seen(last["baseline"]["stopped_at_rounding"]));
    else if (key == "max_backward_error")
    {
      for (const auto &path : {last, last["baseline"]})
        if (!path.is_null() && !path["backward_error"].is_null())
          check(path["backward_error"]["normwise"] <= std::stod(value), seen(path["backward_error"]));
    }
    else if (key == "max_residual")
    {
      for (const auto &cycle : cycles)
        for (const auto &path : {cycle, cycle["baseline"]})
          if (!path.is_null() && path["stopped_at_rounding"] == false)
            check(path["relative_residual"] <= std::stod(value), seen(path["relative_residual"]));
    }
    else if (key == "max_relative_difference")
      for (const auto &cycle : cycles)
        check(!cycle["baseline"].is_null() &&
                  cycle["baseline"]["relative_difference"].get<double>() <= std::stod(value),
              seen(cycle["baseline"].is_null() ? cycle["baseline"] : cycle["baseline"]["relative_difference"]));
    else if (key == "preconditioner")
      check(last["preconditioner"] == value, seen(last["preconditioner"]));
    else if (key == "format_choice")
      check(std::regex_match(last["format_choice"].get<std::string>(), std::regex(value)), seen(last["format_choice"]));
    else if (key == "min_levels")
      for (const auto &cycle : cycles)
        check(cycle["amg"]["levels"].size() >= std::stoul(value), seen(cycle["amg"]["levels"].size()));
    else if (key == "max_ratio")
      for (const auto &cycle : cycles)
        check(finest(cycle)["ratio"] <= std::stod(value), seen(finest(cycle)["ratio"]));
    else if (key == "max_patch_bytes")
      for (const auto &cycle : cycles)
        check(finest(cycle)["patches"]["bytes"]["maximum"] <= std::stol(value), seen(finest(cycle)["patches"]));
    else if (key == "least_aggregate")
      for (const auto &cycle : cycles)
        check(finest(cycle)["nodes_per_aggregate"]["minimum"] == std::stol(value),
              seen(finest(cycle)["nodes_per_aggregate"]));
    else
      check(false, "check_report does not know " + key);
  }

  /** Puts the variant @p name of each cycle in its place. */
  void take_variant(nlohmann::json &cycles, const std::string &name)
  {
    for (auto &cycle : cycles)
    {
      nlohmann::json variant = cycle["variants"].value(name, nlohmann::json());
      check(!variant.is_null() && variant["error"].is_null(),
            "there is no solution of the variant " + name + ": " + variant.dump());
      if (failed)
        return;
      for (const char *key : {"max_difference", "relative_difference"})
        if (!cycle["baseline"].is_null())
          cycle["baseline"][key] = variant[key];
      cycle.update(variant);
    }
  }
} // namespace

int main(int argc, char **argv)
{
  if (argc < 2)
    return EXIT_FAILURE;
  std::vector<std::string> values; // KEY=VALUE, behind all others
  for (; argc > 2 && std::string(argv[argc - 1]).find('=') != std::string::npos; --argc)
    values.push_back(argv[argc - 1]);
  std::ifstream  file(argv[1]);
  nlohmann::json report = nlohmann::json::parse(file);
  for (const char *key : {"application", "finished", "error", "backend", "device", "commit", "cycles"})
    check(report.contains(key), std::string("the report lacks the key ") + key);
  check(report["finished"] == true && report["error"].is_null(),
        "the report is not that of a completed run: " + report["error"].dump());
  if (failed)
    return EXIT_FAILURE;

  if (argc > 3 && argv[2] == std::string("--variant"))
  {
    take_variant(report["cycles"], argv[3]);
    argv += 2;
    argc -= 2;
  }
  check(argc <= 5, "arguments are left over");
  if (failed)
    return EXIT_FAILURE;

  const auto &cycles = report["cycles"];
  check(!cycles.empty(), "the report has no cycles");
  for (std::size_t c = 0; c < cycles.size(); ++c)
  {
    const std::string where = "cycle " + std::to_string(c);
    check_system(cycles[c], where);
    for (const char *key : {"baseline", "variants", "projection", "results", "changes"})
      check(cycles[c].contains(key), where + " lacks the key " + key);
    if (!failed && !cycles[c]["baseline"].is_null())
    {
      check_system(cycles[c]["baseline"], where + "/baseline");
      check(cycles[c]["baseline"]["precision"] == "double", where + ": Trilinos computes in double");
    }
  }
  if (failed)
    return EXIT_FAILURE;

  if (argc >= 4 && std::string(argv[2]) != "-")
  {
    const char *names[] = {"L2", "H1"};
    for (unsigned int n = 0; n < 2; ++n)
    {
      const double coarse = cycles[cycles.size() - 2]["errors"][names[n]];
      const double fine   = cycles[cycles.size() - 1]["errors"][names[n]];
      const double order  = std::log2(coarse / fine);
      const double least  = std::atof(argv[2 + n]);
      std::cout << "order in " << names[n] << ": " << order << '\n';
      check(order >= least, std::string("the order in ") + names[n] + " is less than " + argv[2 + n]);
    }
  }
  for (const std::string &value : values)
    check_value(cycles, value.substr(0, value.find('=')), value.substr(value.find('=') + 1));
  if (argc == 5)
  {
    const auto &baseline = cycles.back()["baseline"];
    check(!baseline.is_null(), "there is no baseline");
    if (!failed)
      check(baseline["max_difference"].get<double>() <= std::atof(argv[4]),
            "the baseline differs by " + baseline["max_difference"].dump());
  }
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
