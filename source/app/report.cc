// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/report.h>
#include <patchfem/base/commit.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/base/write_file.h>

#include <deal.II/base/table_handler.h>

#include <boost/algorithm/string/replace.hpp>
#include <boost/format.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numeric>
#include <sstream>

namespace nlohmann
{
  /** What a path does not have is null. */
  template <typename T>
  struct adl_serializer<std::optional<T>>
  {
    static void to_json(json &result, const std::optional<T> &value) { result = value ? json(*value) : json(); }
  };
} // namespace nlohmann

namespace PatchFEM
{
  using boost::format;
  using nlohmann::json;

  // Keys are the names of members.
  NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Errors, L2, H1)
  NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SolverCheck, iterations, error)
  NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BackwardError, normwise, componentwise)
  NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PathReport::RankShare, cells, copies, unknowns, ghosts, bytes, forecast, peak)
  NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankGroup::Share, ranks, device)
  NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(
      PathReport::Sharing, groups, transport, window_bytes, hand_over_bytes, hand_over_seconds)
  NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NullSpaceReport::Resultants, part, force, moment)
  NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NullSpaceReport, dimension, removed_load, out_of_balance)
  NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Aggregation::Sizes, minimum, mean, maximum)
  NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(
      ProjectionReport, time, n_fluid, n_air, n_solid, n_closed_parts, divergence_before, divergence_after, total_flow)

  static void to_json(json &result, const StageSeconds &seconds)
  {
    for (const auto &stage : seconds.list())
      result[stage.first] = stage.second;
  }

  static void to_json(json &result, const Aggregation::Statistics &a)
  {
    result = {{"n_isolated_nodes", a.n_isolated},
              {"nodes_per_aggregate", a.nodes_per_aggregate},
              {"ratio", a.ratio},
              {"n_edges", a.n_edges},
              {"edges_cut_by_aggregates", a.cut_by_aggregates},
              {"patches", json()}};
    if (a.n_patches > 0)
      result["patches"] = {{"number", a.n_patches},
                           {"nodes", a.nodes_per_patch},
                           {"aggregates", a.aggregates_per_patch},
                           {"bytes", {{"mean", a.mean_patch_bytes}, {"maximum", a.largest_patch_bytes}}},
                           {"edges_cut_by_patches", a.cut_by_patches}};
  }

  static json text_or_null(const std::string &text)
  {
    return text.empty() ? json() : json(text);
  }

  static void to_json(json &result, const AMGReport &amg)
  {
    json levels = json::array();
    for (std::size_t l = 0; l < amg.levels.size(); ++l)
    {
      const AMGLevelStatistics &level = amg.levels[l];
      const AggregationFacts   &facts = level.aggregation;
      const bool                told  = !facts.strength.empty();
      levels.push_back(
          {{"n_rows", level.n_rows},
           {"block_size", level.block_size},
           {"nnz", level.n_nonzeros},
           {"n_aggregates", level.n_aggregates},
           {"embedded_degree", level.embedded_degree},
           {"strength", text_or_null(facts.strength)},
           {"couplings", told ? json(facts.n_couplings) : json()},
           {"weak_couplings", told ? json(facts.n_weak) : json()},
           {"aggregate_distance", told ? json(facts.distance) : json()},
           {"least_aggregate_size", told ? json(facts.least_size) : json()},
           {"n_modes", level.n_modes},
           {"n_dropped_modes", level.n_dropped_modes},
           {"smoother", level.smoother},
           {"sweeps", level.sweeps},
           {"smoothing_range", level.range > 0. ? json(level.range) : json()},
           {"visits", level.n_visits},
           {"lambda_max", level.lambda_max},
           {"precision", level.single ? "single" : "double"},
           {"memory_bytes", level.memory},
           {"setup_seconds", level.seconds.empty() ? json() : json(level.seconds)},
           {"aggregation",
            level.embedded_degree == 0 && l < amg.aggregation.size() ? json(amg.aggregation[l]) : json()}});
    }
    result = {{"operator_complexity", amg.operator_complexity},
              {"grid_complexity", amg.grid_complexity},
              {"condition", amg.condition > 0. ? json(amg.condition) : json()},
              {"fallback", text_or_null(amg.fallback)},
              {"levels", levels}};
  }

  // The same, of what is written and never read.
  static void to_json(json &nlohmann_json_j, const PathReport &nlohmann_json_t)
  {
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(
        NLOHMANN_JSON_TO, nnz, stored, format, product_bytes, sorting_window, precision, preconditioner, amg,
        factorisation_shift, null_space, relative_residual, row_residual, stopped_at_rounding, backward_error,
        solver_check, seconds, repeated_assembly, assembly_redundancy, assembly_kernels, errors, ranks, sharing))
  }

  namespace
  {
    json path_to_json(const CycleReport &cycle, const PathReport &path)
    {
      json by_degree = json::object();
      for (const auto &item : cycle.cells_by_degree)
        by_degree[std::to_string(item.first)] = item.second;
      json result = {{"n_dofs", cycle.n_dofs},
                     {"n_cells", cycle.n_cells},
                     {"cells_by_degree", by_degree},
                     {"open_edges", cycle.n_open_edges},
                     {"cautions", cycle.cautions},
                     {"format_choice", text_or_null(path.format_choice)},
                     {"solution_update", text_or_null(path.solution_update)},
                     {"inside_ranks", text_or_null(path.inside_ranks)},
                     {"iterations", path.n_iterations},
                     {"memory_bytes",
                      {{"host_peak", cycle.host_peak},
                       {"device_forecast", path.device_forecast},
                       {"device_peak", path.device_peak}}}};
      result.update(json(path));
      return result;
    }

    /** Adds @p difference to @p path. */
    json with_difference(json path, const Difference &difference)
    {
      path["max_difference"]      = difference.largest;
      path["relative_difference"] = difference.relative;
      return path;
    }

    json cycle_to_json(const CycleReport &cycle, const Results *const before)
    {
      json entry          = path_to_json(cycle, cycle.path);
      entry["results"]    = to_json(cycle.results);
      entry["changes"]    = changes_to_json(cycle.results, before);
      entry["baseline"]   = json();
      entry["projection"] = cycle.projection;
      if (cycle.baseline)
        entry["baseline"] = with_difference(path_to_json(cycle, *cycle.baseline), cycle.difference);
      entry["variants"] = json::object();
      for (const VariantReport &variant : cycle.variants)
      {
        json &item = entry["variants"][variant.name];
        if (variant.error.empty())
          item = with_difference(path_to_json(cycle, variant.path), variant.difference);
        item["error"] = text_or_null(variant.error);
      }
      return entry;
    }

    /** Errors against the exact solution, and the orders in which they fell since the cycle @p before. */
    void add_errors(CycleReport &cycle, const CycleReport *const before)
    {
      if (!cycle.path.errors)
        return;
      for (const auto &[name, norm] : {std::pair("L2", &Errors::L2), std::pair("H1", &Errors::H1)})
      {
        const double error = *cycle.path.errors.*norm;
        cycle.results.push_back({{"errors"}, name, error, {}});
        const bool falls = before != nullptr && before->path.errors && error > 0. && *before->path.errors.*norm > 0. &&
                           cycle.resolution != before->resolution;
        if (falls)
          cycle.results.push_back(
              {{"errors"},
               std::string(name) + "_order",
               std::log(*before->path.errors.*norm / error) / std::log(cycle.resolution / before->resolution),
               {}});
      }
    }

    /** The keys of a number in @p value that is not finite, each behind a space; empty if there is none. */
    std::string key_not_finite(const json &value)
    {
      if (value.is_structured())
        for (const auto &item : value.items())
        {
          const bool        bad  = item.value().is_number_float() && !std::isfinite(item.value().get<double>());
          const std::string keys = bad ? " " : key_not_finite(item.value());
          if (!keys.empty())
            return " " + item.key() + (bad ? "" : keys);
        }
      return "";
    }

    /** Says of a path that @p who names that its residual is no smaller than the rounding of A x. */
    void print_rounding(const std::string &who, const PathReport &path)
    {
      if (path.stopped_at_rounding)
        std::cout << format("%s as accurate as %s precision allows: residual %.2g of the load") % who %
                         (path.precision == "single" ? "single" : "double") % path.relative_residual
                  << std::endl;
    }

    /** Says what was taken out of a load for which nothing holds the body. */
    void print_imbalance(const NullSpaceReport &report)
    {
      const auto numbers = [](const std::vector<double> &values) {
        std::string text;
        for (const double value : values)
          text += (text.empty() ? "" : ", ") + str(format("%.6g") % value);
        return text;
      };
      for (const NullSpaceReport::Resultants &part : report.out_of_balance)
        std::cout << "The load of the " << part.part << " is out of balance by "
                  << (part.moment.empty()
                          ? numbers(part.force) + ", taken out by a uniform sink"
                          : "a force (" + numbers(part.force) + ") and a moment (" + numbers(part.moment) +
                                ") about the origin, taken out by the inertia of a uniform density")
                  << std::endl;
    }

    void print_cycle(const CycleReport &cycle, const std::size_t number, const std::vector<std::string> &said)
    {
      std::cout << "Cycle " << number << ": " << cycle.n_cells << " cells, ";
      if (cycle.cells_by_degree.size() > 1)
        for (const auto &item : cycle.cells_by_degree)
          std::cout << item.second << " of degree " << item.first << ", ";
      std::cout << format("%d unknowns, %d iterations, relative residual %.2g, %.2g s") % cycle.n_dofs %
                       cycle.path.n_iterations % cycle.path.relative_residual % cycle.path.seconds.total()
                << std::endl;
      if (cycle.n_open_edges > 0)
        std::cout << format("Caution: the solution may jump at %d edges between hexahedra of different degrees, which "
                            "deal.II's constraints do not join; degree 1 and one other have none, nor have meshes "
                            "without hanging nodes") %
                         cycle.n_open_edges
                  << std::endl;
      for (const std::string &caution : cycle.cautions)
        if (std::find(said.begin(), said.end(), caution) == said.end())
          std::cout << "Caution: " << caution << std::endl;
      print_rounding("The solution is", cycle.path);
      if (cycle.baseline)
        print_rounding("The baseline's solution is", *cycle.baseline);
      if (const auto &null_space = cycle.path.null_space)
        std::cout << format("The system is singular; its null space of dimension %d was projected away, with a part of "
                            "%.2g of the load") %
                         null_space->dimension % null_space->removed_load
                  << std::endl;
      if (cycle.path.null_space)
        print_imbalance(*cycle.path.null_space);
      if (!cycle.path.inside_ranks.empty())
        std::cout << format("Each of %d ranks has %s of its own rows alone") %
                         (cycle.path.sharing ? cycle.path.sharing->groups.size() : cycle.path.ranks.size()) %
                         cycle.path.inside_ranks
                  << std::endl;
      if (const auto &step = cycle.projection)
        std::cout << format("Time %g: divergence %.2g before, %.2g after the step") % step->time %
                         step->divergence_before % step->divergence_after
                  << std::endl;
    }

    /** By way of a string: deal.II throws if it cannot write, where a report ends with a sentence. */
    void print(const dealii::TableHandler &table)
    {
      std::ostringstream text;
      table.write_text(text, dealii::TableHandler::org_mode_table);
      std::cout << text.str();
    }

    void print_hierarchy(const AMGReport &amg)
    {
      dealii::TableHandler table;
      for (std::size_t l = 0; l < amg.levels.size(); ++l)
      {
        const AMGLevelStatistics &level = amg.levels[l];
        table.add_value("level", static_cast<unsigned int>(l));
        table.add_value("unknowns", level.n_rows);
        table.add_value("per node", level.block_size);
        table.add_value("entries", static_cast<std::size_t>(level.n_nonzeros));
        table.add_value("aggregates", level.n_aggregates);
        const Aggregation::Statistics a = l < amg.aggregation.size() ? amg.aggregation[l] : Aggregation::Statistics();
        const auto                    sizes = [](const Aggregation::Sizes &size) {
          return size.maximum > 0 ? str(format("%d/%.1f/%d") % size.minimum % size.mean % size.maximum) : "-";
        };
        const auto share = [&](const std::int64_t n, const int n_groups) {
          return n_groups > 0 ? str(format("%.1f %%") % (a.n_edges > 0 ? 100. * n / a.n_edges : 0.)) : "-";
        };
        table.add_value("their nodes", sizes(a.nodes_per_aggregate));
        table.add_value("edges cut", share(a.cut_by_aggregates, a.n_aggregates));
        table.add_value("patches", a.n_patches);
        table.add_value("nodes in a patch", sizes(a.nodes_per_patch));
        table.add_value("edges cut by patches", share(a.cut_by_patches, a.n_patches));
        table.add_value("dropped modes", level.n_dropped_modes);
      }
      std::cout << format("Levels of the preconditioner (sizes: least/mean/most), operator complexity %.3f, grid "
                          "complexity %.3f:\n") %
                       amg.operator_complexity % amg.grid_complexity;
      print(table);
    }

    void print_timing(const CycleReport &cycle, const std::size_t number, const bool verbose)
    {
      dealii::TableHandler table;
      std::cout << "Times of cycle " << number << ":\n";
      // deal.II's wrapper of BoomerAMG has no option for the unknowns of a node, which matters with several of them.
      const auto name = [](const PathReport &path) {
        return path.backend + " " + path.preconditioner + (path.backend == "petsc" ? " (scalar)" : "") + " [s]";
      };
      const auto cell = [](const char *const form, const std::optional<double> &value) {
        return value ? str(format(form) % *value) : "-";
      };
      const auto ours   = cycle.path.seconds.list();
      const auto theirs = (cycle.baseline ? cycle.baseline->seconds : StageSeconds()).list();
      for (std::size_t s = 0; s < ours.size(); ++s)
      {
        const std::optional<double> &mine = ours[s].second, &other = theirs[s].second;
        table.add_value("stage", std::string(ours[s].first));
        table.add_value(name(cycle.path), cell("%.2e", mine));
        if (!cycle.baseline)
          continue;
        table.add_value(name(*cycle.baseline), cell("%.2e", other));
        table.add_value("ratio", mine && other && *mine > 0. ? cell("%.2f", *other / *mine) : "-");
      }
      print(table);
      if (verbose && cycle.path.product_bytes && cycle.n_dofs > 0)
        std::cout << format("Matrix: %s; a product moves %.3g bytes per unknown\n") % cycle.path.format_choice %
                         (*cycle.path.product_bytes / static_cast<double>(cycle.n_dofs));
      if (verbose)
        for (const std::string &kernel : cycle.path.assembly_kernels)
          std::cout << "Assembly: " << kernel << '\n';
      if (verbose && cycle.path.amg)
        print_hierarchy(*cycle.path.amg);
      if (cycle.baseline)
        std::cout << format("Iterations %d and %d, relative residuals %.2e and %.2e, largest difference of the "
                            "solutions %.2e, relative to the largest value %.2e\n") %
                         cycle.path.n_iterations % cycle.baseline->n_iterations % cycle.path.relative_residual %
                         cycle.baseline->relative_residual % cycle.difference.largest % cycle.difference.relative;
    }

    /** Beside each other, the run itself first. */
    void print_variants(const CycleReport &cycle, const std::size_t number)
    {
      dealii::TableHandler table;
      const auto           add = [&](const std::string &name, const PathReport &path, const std::string &difference) {
        const auto seconds = [](const std::optional<double> &value) {
          return value ? str(format("%.2e") % *value) : "-";
        };
        table.add_value("variant", name);
        table.add_value("back end", path.backend);
        table.add_value("preconditioner", path.preconditioner);
        table.add_value("precision", path.precision);
        table.add_value("format", path.format);
        table.add_value("iterations", path.n_iterations);
        table.add_value("assembly [s]", seconds(path.seconds.assembly));
        table.add_value("preconditioner [s]", seconds(path.seconds.preconditioner));
        table.add_value("solve [s]", seconds(path.seconds.solve));
        table.add_value("difference", difference);
      };
      add("(the file)", cycle.path, cycle.baseline ? str(format("%.2e") % cycle.difference.relative) : "-");
      for (const VariantReport &variant : cycle.variants)
        if (variant.error.empty())
          add(printable(variant.name), variant.path, str(format("%.2e") % variant.difference.relative));
      std::cout << format("Variants of cycle %d; differences of solutions are from that of %s, relative to its largest "
                          "value:\n") %
                       number % (cycle.baseline ? "the baseline" : "the file");
      print(table);
      for (const VariantReport &variant : cycle.variants)
        if (!variant.error.empty())
          std::cout << "Variant " << printable(variant.name) << " failed: " << variant.error << '\n';
    }
  } // namespace

  RunReport::RunReport(const std::string &application,
                       OutputFolder      &folder,
                       const MPI_Comm     communicator,
                       const bool         verbose)
      : application(application), folder(folder), communicator(communicator),
        writes(dealii::Utilities::MPI::this_mpi_process(communicator) == 0), verbose(verbose)
  {
    if (!writes || folder.name().empty())
      return;
    // One that cannot be read has nothing to keep, and one without cycles has no results but may know whose there are.
    std::ifstream in(folder.path("report.json"));
    const json    report = json::parse(in, nullptr, false);
    if (report.is_object())
      earlier = report.value("cycles", json::array()).empty() && report.count("steps") == 0
                    ? report.value("earlier", json())
                    : report;
  }

  void RunReport::start(const std::string &parameters_, const std::string &export_name_)
  {
    folder.make();
    if (writes)
      folder.remove_unfinished();
    parameters  = parameters_;
    export_name = export_name_;
    started     = true;
    write();
    MPICommunicator::of(communicator)->barrier();
  }

  void RunReport::begin()
  {
    if (begun)
      return;
    begun = true;
    if (writes)
    {
      folder.remove_results(export_name);
      write_file(folder.path("parameters.prm"), [&](std::ostream &out) { out << parameters; });
    }
    earlier = json();
    write();
    MPICommunicator::of(communicator)->barrier();
  }

  void RunReport::add_cycle(CycleReport cycle)
  {
    dealii::Utilities::System::MemoryStats memory;
    dealii::Utilities::System::get_memory_stats(memory);
    cycle.host_peak = dealii::Utilities::MPI::sum(1024. * memory.VmHWM, communicator);
    add_errors(cycle, cycles.empty() ? nullptr : &cycles.back());
    json checked = cycle_to_json(cycle, nullptr);
    checked.erase("results"); // squares of numbers that are in range may not be, and are null in the report
    const std::string bad = key_not_finite(checked);
    require(bad.empty(), "The result", bad, " is not finite; choose other units, in which it is not out of range.");
    begin();
    cycles.push_back(std::move(cycle));
    if (!writes)
      return;
    const CycleReport &last = cycles.back();
    cycle_list.push_back(cycle_to_json(last, before(cycles.size() - 1)));
    write_if_time();
    if (steps.empty())
    {
      CsvFile::Row row{{"cycle", std::to_string(cycles.size() - 1)},
                       {"cells", std::to_string(last.n_cells)},
                       {"unknowns", std::to_string(last.n_dofs)},
                       {"iterations", std::to_string(last.path.n_iterations)},
                       {"seconds", text_of(last.path.seconds.total())}};
      for (auto &item : csv_row(last.results, before(cycles.size() - 1)))
        row.push_back(std::move(item));
      results_file.add(folder.path("results.csv"), std::move(row));
    }
    print_cycle(last, cycles.size() - 1,
                cycles.size() > 1 ? cycles[cycles.size() - 2].cautions : std::vector<std::string>());
  }

  void RunReport::add_step(const StepReport &step)
  {
    begin();
    if (!writes)
      return;
    unsigned int n_iterations = 0, n_truncated = 0;
    json         corrections = json::array();
    for (const NewtonIteration &row : step.newton)
    {
      n_iterations += row.solution.n_iterations;
      n_truncated += row.solution.truncated;
      corrections.push_back({{"residual", row.residual},
                             {"tolerance", row.tolerance},
                             {"predictor", row.predictor},
                             {"forcing", row.forcing},
                             {"iterations", row.solution.n_iterations},
                             {"truncated", row.solution.truncated},
                             {"preconditioner", to_string(row.solution.preconditioner)},
                             {"factor", row.factor}});
    }
    const std::size_t number = steps.size() + 1, n_corrections = step.newton.size() - 1;
    const double      residual = step.newton.back().residual;
    const auto        text     = [](const double value) { return str(format("%.10g") % value); };
    const auto        of_step  = [&](CsvFile::Row row) {
      row.insert(row.begin(), {{"step", std::to_string(number)}, {"time", text(step.time)}});
      return row;
    };
    CsvFile::Row results = csv_row(step.results, nullptr);
    results.resize(results.size() - step.results.size()); // no changes
    steps.push_back({{"time", step.time},
                     {"size", step.size},
                     {"cut_backs", step.n_cut_backs},
                     {"seconds", step.seconds},
                     {"corrections", corrections},
                     {"results", to_json(step.results)}});
    results_file.add(folder.path("results.csv"), of_step(std::move(results)));
    steps_file.add(folder.path("steps.csv"), of_step({{"size", text(step.size)},
                                                      {"corrections", std::to_string(n_corrections)},
                                                      {"iterations", std::to_string(n_iterations)},
                                                      {"truncated", std::to_string(n_truncated)},
                                                      {"cut_backs", std::to_string(step.n_cut_backs)},
                                                      {"residual", text(residual)},
                                                      {"seconds", text(step.seconds)}}));
    write_if_time();

    last_seconds.push_back(step.seconds);
    if (last_seconds.size() > 10)
      last_seconds.pop_front();
    const double mean = std::accumulate(last_seconds.begin(), last_seconds.end(), 0.) / last_seconds.size();
    std::cout << format("Step %d to %g: %d corrections, %d iterations, residual %.2g, %.2g s") % number % step.time %
                     n_corrections % n_iterations % residual % step.seconds;
    if (n_truncated > 0)
      std::cout << ", " << n_truncated << " truncated";
    if (step.n_cut_backs > 0)
      std::cout << ", " << step.n_cut_backs << " cut backs";
    if (step.time < step.end)
      std::cout << format(", %.2g s left") % (mean * std::ceil((step.end - step.time) / step.size * (1. - 1e-9)));
    std::cout << std::endl;
  }

  void RunReport::finish()
  {
    finished = true;
    write();
  }

  void RunReport::fail(const std::string &message) noexcept
  {
    try
    {
      error    = message;
      finished = false;
      if (started || (!folder.name().empty() && std::filesystem::exists(folder.path("report.json"))))
        write();
    }
    catch (const std::exception &)
    {
      // The disk may be full, which is then the message already.
    }
  }

  void RunReport::write()
  {
    if (!writes)
      return;
    const auto begin  = std::chrono::steady_clock::now();
    json       report = {{"application", application},
                         {"finished", finished},
                         {"error", text_or_null(error)},
                         {"backend", cycles.empty() ? json() : json(cycles.back().path.backend)},
                         {"device", cycles.empty() ? json() : json(cycles.back().path.device)},
                         {"n_ranks", dealii::Utilities::MPI::n_mpi_processes(communicator)},
                         {"commit", commit()},
                         {"cycles", cycle_list},
                         {"earlier", earlier}};
    if (!steps.empty())
      report["steps"] = steps;
    report.update(mesh);
    write_file(folder.path("report.json"),
               [&](std::ostream &out) { out << report.dump(2, ' ', false, json::error_handler_t::replace) << '\n'; });
    const auto end = std::chrono::steady_clock::now();
    not_before     = end + 20 * (end - begin);
  }

  void RunReport::write_if_time()
  {
    if (std::chrono::steady_clock::now() >= not_before)
      write();
  }

  void CsvFile::add(const std::string &file, Row row)
  {
    const auto quoted = [](std::string name) {
      if (name.find_first_of(",\"\n") != std::string::npos)
        name = '"' + boost::algorithm::replace_all_copy(name, "\"", "\"\"") + '"';
      return name;
    };
    rows.push_back(std::move(row));
    const Row &columns = rows.back();
    const auto write   = [&](std::ostream &out, const Row &values) {
      const std::map<std::string, std::string> value_of(values.begin(), values.end());
      for (const auto &column : columns)
      {
        const auto found = value_of.find(column.first);
        out << (&column == &columns.front() ? "" : ",") << (found != value_of.end() ? found->second : "");
      }
      out << '\n';
    };
    const auto are_equal = [](const auto &a, const auto &b) { return a.first == b.first; };
    if (rows.size() > 1 && std::equal(columns.begin(), columns.end(), rows[rows.size() - 2].begin(),
                                      rows[rows.size() - 2].end(), are_equal))
    {
      std::ofstream out(file, std::ios::app);
      write(out, columns);
      require(out.flush().good(), "The file ", file, " cannot be written; is the disk full?");
      return;
    }
    write_file(file, [&](std::ostream &out) {
      for (const auto &column : columns)
        out << (&column == &columns.front() ? "" : ",") << quoted(column.first);
      out << '\n';
      for (const Row &values : rows)
        write(out, values);
    });
  }

  void RunReport::print_summary() const
  {
    if (!writes || cycles.empty())
      return;
    const std::size_t last = cycles.size() - 1;
    if (!cycles[last].results.empty())
    {
      std::cout << "Results of cycle " << last << (last > 0 ? " [changes since the one before]:\n" : ":\n");
      PatchFEM::print(cycles[last].results, before(last), std::cout);
    }
    dealii::TableHandler table;
    table.set_auto_fill_mode(true);
    for (std::size_t c = 0; c <= last; ++c)
    {
      table.add_value("cycle", static_cast<unsigned int>(c));
      table.add_value("cells", static_cast<std::size_t>(cycles[c].n_cells));
      table.add_value("dofs", static_cast<std::size_t>(cycles[c].n_dofs));
      table.add_value("iterations", cycles[c].path.n_iterations);
      for (const ResultNumber &number : cycles[c].results)
        if (number.of == std::vector<std::string>{"errors"})
          table.add_value(number.name, str(format("%.3g") % number.value));
    }
    print(table);
    print_timing(cycles[last], last, verbose);
    if (!cycles[last].variants.empty())
      print_variants(cycles[last], last);
  }
} // namespace PatchFEM
