// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/report.h>
#include <patchfem/base/commit.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/write_file.h>

#include <deal.II/base/convergence_table.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>

namespace PatchFEM
{
  using nlohmann::json;

  namespace
  {
    json value_or_null(const std::optional<double> &value)
    {
      return value ? json(*value) : json();
    }

    json amg_to_json(const std::optional<AMGReport> &amg)
    {
      if (!amg)
        return json();
      const auto sizes = [](const Aggregation::Sizes &s) {
        return json{{"minimum", s.minimum}, {"mean", s.mean}, {"maximum", s.maximum}};
      };
      json levels = json::array();
      for (std::size_t l = 0; l < amg->levels.size(); ++l)
      {
        const AMGLevelStatistics &level = amg->levels[l];
        json                      entry = {{"n_rows", level.n_rows},
                                           {"block_size", level.block_size},
                                           {"nnz", level.n_nonzeros},
                                           {"n_aggregates", level.n_aggregates},
                                           {"n_dropped_modes", level.n_dropped_modes},
                                           {"lambda_max", level.lambda_max},
                                           {"precision", level.single ? "single" : "double"},
                                           {"memory_bytes", level.memory},
                                           {"aggregation", json()}};
        if (l < amg->aggregation.size())
        {
          const Aggregation::Statistics &a = amg->aggregation[l];
          entry["aggregation"]             = {{"n_isolated_nodes", a.n_isolated},
                                              {"nodes_per_aggregate", sizes(a.nodes_per_aggregate)},
                                              {"ratio", a.ratio},
                                              {"n_edges", a.n_edges},
                                              {"edges_cut_by_aggregates", a.cut_by_aggregates},
                                              {"patches", json()}};
          if (a.n_patches > 0)
            entry["aggregation"]["patches"] = {
                {"number", a.n_patches},
                {"nodes", sizes(a.nodes_per_patch)},
                {"aggregates", sizes(a.aggregates_per_patch)},
                {"bytes", {{"mean", a.mean_patch_bytes}, {"maximum", a.largest_patch_bytes}}},
                {"edges_cut_by_patches", a.cut_by_patches}};
        }
        levels.push_back(entry);
      }
      return {{"operator_complexity", amg->operator_complexity},
              {"grid_complexity", amg->grid_complexity},
              {"condition", amg->condition > 0. ? json(amg->condition) : json()},
              {"fallback", amg->fallback.empty() ? json() : json(amg->fallback)},
              {"levels", levels}};
    }

    json null_space_to_json(const std::optional<NullSpaceReport> &null_space)
    {
      if (!null_space)
        return json();
      return {{"dimension", null_space->dimension}, {"removed_load", null_space->removed_load}};
    }

    json projection_to_json(const std::optional<ProjectionReport> &projection)
    {
      if (!projection)
        return json();
      return {{"time", projection->time},
              {"n_fluid", projection->n_fluid},
              {"n_air", projection->n_air},
              {"n_solid", projection->n_solid},
              {"n_closed_parts", projection->n_closed_parts},
              {"divergence_before", projection->divergence_before},
              {"divergence_after", projection->divergence_after},
              {"total_flow", projection->total_flow}};
    }

    json path_to_json(const CycleReport &cycle, const PathReport &path, const std::optional<Errors> &errors)
    {
      json seconds;
      for (const auto &stage : path.seconds.list())
        seconds[stage.first] = value_or_null(stage.second);
      seconds["total"] = path.seconds.total();
      json by_degree   = json::object();
      for (const auto &item : cycle.cells_by_degree)
        by_degree[std::to_string(item.first)] = item.second;
      return {{"n_dofs", cycle.n_dofs},
              {"n_cells", cycle.n_cells},
              {"cells_by_degree", by_degree},
              {"nnz", path.nnz},
              {"stored", path.stored},
              {"format", path.format},
              {"format_choice", path.format_choice.empty() ? json() : json(path.format_choice)},
              {"product_bytes", value_or_null(path.product_bytes)},
              {"sorting_window", path.sorting_window ? json(*path.sorting_window) : json()},
              {"precision", path.precision},
              {"preconditioner", path.preconditioner},
              {"amg", amg_to_json(path.amg)},
              {"factorisation_shift", value_or_null(path.factorisation_shift)},
              {"null_space", null_space_to_json(path.null_space)},
              {"solution_update", path.solution_update.empty() ? json() : json(path.solution_update)},
              {"iterations", path.n_iterations},
              {"relative_residual", path.relative_residual},
              {"stopped_at_rounding", path.stopped_at_rounding},
              {"backward_error", path.backward_error ? json{{"normwise", path.backward_error->normwise},
                                                            {"componentwise", path.backward_error->componentwise}}
                                                     : json()},
              {"solver_check", path.solver_check ? json{{"iterations", path.solver_check->n_iterations},
                                                        {"error", path.solver_check->error}}
                                                 : json()},
              {"seconds", seconds},
              {"repeated_assembly", value_or_null(path.repeated_assembly)},
              {"memory_bytes",
               {{"host_peak", cycle.host_peak},
                {"device_forecast", value_or_null(path.device_forecast)},
                {"device_peak", value_or_null(path.device_peak)}}},
              {"assembly_redundancy", value_or_null(path.assembly_redundancy)},
              {"assembly_kernels", path.assembly_kernels},
              {"errors", errors ? json{{"L2", errors->L2}, {"H1", errors->H1}} : json()}};
    }

    json cycle_to_json(const CycleReport &cycle)
    {
      json entry          = path_to_json(cycle, cycle.path, cycle.errors);
      entry["baseline"]   = json();
      entry["projection"] = projection_to_json(cycle.projection);
      if (cycle.baseline)
      {
        entry["baseline"]                        = path_to_json(cycle, *cycle.baseline, cycle.baseline_errors);
        entry["baseline"]["max_difference"]      = cycle.max_difference;
        entry["baseline"]["relative_difference"] = cycle.relative_difference;
      }
      return entry;
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
    void print_rounding(const std::string &who, const PathReport &path, std::ostream &out)
    {
      if (path.stopped_at_rounding)
        out << who << " as accurate as " << (path.precision == "single" ? "single" : "double")
            << " precision allows: residual " << std::setprecision(2) << path.relative_residual << " of the load"
            << std::setprecision(6) << std::endl;
    }

    /** By way of a string: deal.II throws if it cannot write, where a report ends with a sentence. */
    void print(const dealii::TableHandler &table, std::ostream &out)
    {
      std::ostringstream text;
      table.write_text(text, dealii::TableHandler::org_mode_table);
      out << text.str();
    }

    void print_hierarchy(const AMGReport &amg, std::ostream &out)
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
        const auto                    sizes = [](const Aggregation::Sizes &s) {
          char text[64];
          std::snprintf(text, sizeof(text), "%d/%.1f/%d", s.minimum, s.mean, s.maximum);
          return std::string(s.maximum > 0 ? text : "-");
        };
        const auto share = [&](const std::int64_t n, const int n_groups) {
          char text[32];
          std::snprintf(text, sizeof(text), "%.1f %%", a.n_edges > 0 ? 100. * n / a.n_edges : 0.);
          return std::string(n_groups > 0 ? text : "-");
        };
        table.add_value("their nodes", sizes(a.nodes_per_aggregate));
        table.add_value("edges cut", share(a.cut_by_aggregates, a.n_aggregates));
        table.add_value("patches", a.n_patches);
        table.add_value("nodes in a patch", sizes(a.nodes_per_patch));
        table.add_value("edges cut by patches", share(a.cut_by_patches, a.n_patches));
        table.add_value("dropped modes", level.n_dropped_modes);
      }
      out << "Levels of the preconditioner (sizes: least/mean/most), operator complexity " << std::fixed
          << std::setprecision(3) << amg.operator_complexity << ", grid complexity " << amg.grid_complexity << ":\n"
          << std::defaultfloat << std::setprecision(6);
      print(table, out);
    }
  } // namespace

  RunReport::RunReport(const std::string &application, OutputFolder &folder, const MPI_Comm communicator)
      : application(application), folder(folder), communicator(communicator),
        writes(dealii::Utilities::MPI::this_mpi_process(communicator) == 0)
  {
    if (!writes || folder.name().empty())
      return;
    // One that cannot be read has nothing to keep, and one without cycles has no results but may know whose there are.
    std::ifstream in(folder.path("report.json"));
    const json    report = json::parse(in, nullptr, false);
    if (report.is_object())
      earlier = report.value("cycles", json::array()).empty() ? report.value("earlier", json()) : report;
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
    MPI_Barrier(communicator);
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
    MPI_Barrier(communicator);
  }

  void RunReport::add_cycle(const CycleReport &cycle)
  {
    const std::string bad = key_not_finite(cycle_to_json(cycle));
    require(bad.empty(), "The result" + bad + " is not finite; choose other units, in which it is not out of range.");
    begin();
    cycles.push_back(cycle);
    write();
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

  void RunReport::write() const
  {
    if (!writes)
      return;
    json list = json::array();
    for (const CycleReport &cycle : cycles)
      list.push_back(cycle_to_json(cycle));
    const json report = {{"application", application},
                         {"finished", finished},
                         {"error", error.empty() ? json() : json(error)},
                         {"backend", cycles.empty() ? json() : json(cycles.back().path.backend)},
                         {"device", cycles.empty() ? json() : json(cycles.back().path.device)},
                         {"commit", commit()},
                         {"cycles", list},
                         {"earlier", earlier}};
    write_file(folder.path("report.json"),
               [&](std::ostream &out) { out << report.dump(2, ' ', false, json::error_handler_t::replace) << '\n'; });
  }

  void RunReport::print_cycle(std::ostream &out) const
  {
    if (!writes || cycles.empty())
      return;
    const CycleReport &cycle = cycles.back();
    out << "Cycle " << cycles.size() - 1 << ": " << cycle.n_cells << " cells, ";
    if (cycle.cells_by_degree.size() > 1)
      for (const auto &item : cycle.cells_by_degree)
        out << item.second << " of degree " << item.first << ", ";
    out << cycle.n_dofs << " unknowns, " << cycle.path.n_iterations << " iterations, relative residual "
        << std::setprecision(2) << cycle.path.relative_residual << ", " << cycle.path.seconds.total() << " s"
        << std::setprecision(6) << std::endl;
    print_rounding("The solution is", cycle.path, out);
    if (cycle.baseline)
      print_rounding("The baseline's solution is", *cycle.baseline, out);
    if (const auto &null_space = cycle.path.null_space)
      out << "The system is singular; its null space of dimension " << null_space->dimension
          << " was projected away, with a part of " << std::setprecision(2) << null_space->removed_load
          << " of the load" << std::setprecision(6) << std::endl;
    if (const auto &step = cycle.projection)
      out << "Time " << step->time << ": divergence " << std::setprecision(2) << step->divergence_before << " before, "
          << step->divergence_after << " after the step" << std::setprecision(6) << std::endl;
  }

  void RunReport::print_timing(std::ostream &out) const
  {
    if (!writes || cycles.empty())
      return;
    const CycleReport   &cycle = cycles.back();
    dealii::TableHandler table;
    out << "Times of cycle " << cycles.size() - 1 << ":\n";
    const auto        ours     = cycle.path.seconds.list();
    const auto        baseline = cycle.baseline ? cycle.baseline->seconds.list() : decltype(ours)();
    const std::string own_name = cycle.path.backend + " " + cycle.path.preconditioner + " [s]";
    // deal.II's wrapper of BoomerAMG has no option for the unknowns of a node, which matters with several of them.
    const std::string their_name = cycle.baseline ? cycle.baseline->backend + " " + cycle.baseline->preconditioner +
                                                        (cycle.baseline->backend == "petsc" ? " (scalar)" : "") + " [s]"
                                                  : "";
    const auto        cell       = [](const std::optional<double> &value) {
      std::ostringstream text;
      if (value)
        text << std::scientific << std::setprecision(2) << *value;
      else
        text << "-";
      return text.str();
    };
    const auto add_row = [&](const std::string &name, const std::optional<double> &mine,
                             const std::optional<double> &theirs) {
      table.add_value("stage", name);
      table.add_value(own_name, cell(mine));
      if (!cycle.baseline)
        return;
      table.add_value(their_name, cell(theirs));
      std::ostringstream ratio;
      if (mine && theirs && *mine > 0.)
        ratio << std::fixed << std::setprecision(2) << *theirs / *mine;
      else
        ratio << "-";
      table.add_value("ratio", ratio.str());
    };
    for (std::size_t s = 0; s < ours.size(); ++s)
      add_row(ours[s].first, ours[s].second, cycle.baseline ? baseline[s].second : std::nullopt);
    add_row("total", cycle.path.seconds.total(),
            cycle.baseline ? std::optional<double>(cycle.baseline->seconds.total()) : std::nullopt);
    print(table, out);
    if (cycle.path.product_bytes && cycle.n_dofs > 0)
      out << "Matrix: " << cycle.path.format_choice << "; a product moves " << std::setprecision(3)
          << *cycle.path.product_bytes / static_cast<double>(cycle.n_dofs) << " bytes per unknown"
          << std::setprecision(6) << '\n';
    for (const std::string &kernel : cycle.path.assembly_kernels)
      out << "Assembly: " << kernel << '\n';
    if (cycle.path.amg)
      print_hierarchy(*cycle.path.amg, out);
    if (cycle.baseline)
      out << "Iterations " << cycle.path.n_iterations << " and " << cycle.baseline->n_iterations
          << ", relative residuals " << std::scientific << std::setprecision(2) << cycle.path.relative_residual
          << " and " << cycle.baseline->relative_residual << ", largest difference of the solutions "
          << cycle.max_difference << ", relative to the largest value " << cycle.relative_difference
          << std::defaultfloat << std::setprecision(6) << '\n';
  }

  void RunReport::print_convergence(std::ostream &out, const unsigned int dim, const bool adaptive) const
  {
    if (!writes)
      return;
    dealii::ConvergenceTable table;
    for (std::size_t c = 0; c < cycles.size(); ++c)
    {
      table.add_value("cycle", static_cast<unsigned int>(c));
      table.add_value("cells", static_cast<std::size_t>(cycles[c].n_cells));
      table.add_value("dofs", static_cast<std::size_t>(cycles[c].n_dofs));
      table.add_value("iterations", cycles[c].path.n_iterations);
      if (cycles[c].errors)
      {
        table.add_value("L2 error", cycles[c].errors->L2);
        table.add_value("H1 error", cycles[c].errors->H1);
      }
    }
    if (!cycles.empty() && cycles.back().errors)
    {
      for (const char *name : {"L2 error", "H1 error"})
      {
        table.set_precision(name, 3);
        table.set_scientific(name, true);
        // With local refinement the number of unknowns is the only measure of size.
        if (cycles.size() > 1)
          table.evaluate_convergence_rates(name, adaptive ? "dofs" : "cells",
                                           dealii::ConvergenceTable::reduction_rate_log2, dim);
      }
    }
    print(table, out);
  }
} // namespace PatchFEM
