// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/linear_system_path.h>
#include <patchfem/app/output_folder.h>
#include <patchfem/app/results.h>
#include <patchfem/lac/solver/newton_dealii.h>

#include <nlohmann/json.hpp>

#include <chrono>
#include <deque>
#include <map>

namespace PatchFEM
{
  /** What a time step of a liquid did beside its linear system. */
  struct ProjectionReport
  {
    double        time    = 0.;
    std::uint64_t n_fluid = 0, n_air = 0, n_solid = 0;    ///< cells
    unsigned int  n_closed_parts = 0;                     ///< of the fluid, that touch no air
    double divergence_before = 0., divergence_after = 0.; ///< |net flows out of fluid cells|, less what is wanted
    double total_flow = 0.;                               ///< their sum after the step: through the surface
  };

  /** How far a solution is from a reference, at most over all unknowns. */
  struct Difference
  {
    double largest  = 0.;
    double relative = 0.; ///< over the largest absolute value of the reference's, if that is not 0

    Difference() = default;
    Difference(SolutionVector solution, const SolutionVector &reference)
    {
      const double value = reference.linfty_norm();
      solution -= reference;
      largest  = solution.linfty_norm();
      relative = value > 0. ? largest / value : largest;
    }
  };

  /** A solution of the same system with other parameters. */
  struct VariantReport
  {
    std::string name;
    PathReport  path;
    Difference  difference; ///< from the baseline's solution if there is one, else from the run's
    std::string error;      ///< why there is none; mostly empty
  };

  /** What one refinement cycle or time step came to. */
  struct CycleReport
  {
    std::uint64_t                         n_dofs = 0, n_cells = 0;
    double                                resolution = 0.; ///< cells in each direction, for orders of errors
    std::map<unsigned int, std::uint64_t> cells_by_degree;
    std::uint64_t                         n_open_edges = 0; ///< see count_open_edges()
    std::vector<std::string>              cautions;         ///< see Physics; mostly none
    PathReport                            path;
    Results                         results; ///< of the solution, see evaluate_results(); errors are added to them
    double                          host_peak = 0.; ///< bytes resident at most, summed over the ranks
    std::optional<PathReport>       baseline;
    Difference                      difference; ///< from the baseline's solution
    std::vector<VariantReport>      variants;
    std::optional<ProjectionReport> projection;

    /** Does nothing if @p caution is empty. */
    void add_caution(const std::string &caution)
    {
      if (!caution.empty())
        cautions.push_back(caution);
    }
  };

  /** A step of load or time of a nonlinear problem. */
  struct StepReport
  {
    double                       time = 0., size = 0., end = 0.; ///< the last: of all steps
    unsigned int                 n_cut_backs = 0;                ///< before the step succeeded
    std::vector<NewtonIteration> newton;
    double                       seconds = 0.;
    Results                      results;
  };

  /** A table of numbers as a file with commas, which grows by a row at a time. */
  class CsvFile
  {
  public:
    using Row = std::vector<std::pair<std::string, std::string>>; ///< names of columns, and values

    /** Adds @p row to @p file, which is written anew where columns are not those of the row before. */
    void add(const std::string &file, Row row);

  private:
    std::vector<Row> rows;
  };

  /**
   * The run as `report.json`, as `results.csv` with a row for each cycle, or of a nonlinear problem for each step, which
   * then has one in `steps.csv`, too, and as tables. Only one rank writes. The file is always about the last run that was asked
   * for: `finished` is false from start() until finish(), so that a run that was stopped does not look like one that is
   * complete, and `error` says why it failed. Results of an earlier run stay until this one has some to put in their
   * place, which is when begin() removes them; until then, and in the end if a run fails before it has any, `earlier`
   * is the report of the run that they are of.
   */
  class RunReport
  {
  public:
    /** @param folder Is to live as long as this. @param verbose Whether to print what matters to developers alone. */
    RunReport(const std::string &application, OutputFolder &folder, MPI_Comm communicator, bool verbose = false);

    /**
     * Makes the folder and writes a report without cycles. @p parameters is what `parameters.prm` is to hold, @p
     * export_name the file of `Export system`, empty for none. All ranks call it.
     */
    void start(const std::string &parameters, const std::string &export_name);

    /**
     * The first result is about to be written: removes those of an earlier run and writes `parameters.prm`. All ranks
     * call it; does nothing when called again.
     */
    void begin();

    /** Further members of the report, of the mesh of the first cycle: `boundaries`, `materials` and `notes`. */
    void describe_mesh(const nlohmann::json &members) { mesh = members; }

    /**
     * Adds a cycle, with the memory that all ranks have taken, writes the report, under a temporary name first, so that
     * nothing of a run is lost, and prints a line about the cycle. Where there are many, writing is put off so that it
     * takes a small part of the time. Throws Error, and leaves it away, if a number in it
     * is not finite. All ranks call it.
     */
    void add_cycle(CycleReport cycle);

    /** Adds a step, whose results are rows in place of those of the cycle, and prints a line about it. All ranks call it. */
    void add_step(const StepReport &step);

    /**
     * Prints the results of the last cycle and one row per cycle, with errors and observed orders if there is an exact
     * solution; then times of the last cycle by stage, beside those of the baseline with ratios if there is one.
     */
    void print_summary() const;

    /** The run was completed. */
    void finish();

    /**
     * The run ended by the error @p message, which the report then has if it can be written. Before start() only where
     * there is a report already, since what is wrong may be the folder.
     */
    void fail(const std::string &message) noexcept;

  private:
    const std::string        application;
    OutputFolder            &folder;
    const MPI_Comm           communicator;
    const bool               writes, verbose;
    std::string              parameters, export_name;
    std::vector<CycleReport> cycles;
    nlohmann::json           cycle_list = nlohmann::json::array(), steps = nlohmann::json::array();
    CsvFile                  results_file, steps_file;
    std::deque<double>       last_seconds; ///< of the last steps
    nlohmann::json           mesh = nlohmann::json::object();
    nlohmann::json           earlier; ///< the report of results that are still in the folder
    bool                     started = false, begun = false, finished = false;
    std::string              error; ///< empty for none

    std::chrono::steady_clock::time_point not_before; ///< which the report of a cycle or step is not written

    void write();
    void write_if_time();

    /** Results of the cycle before; null for the first. */
    const Results *before(std::size_t cycle) const { return cycle > 0 ? &cycles[cycle - 1].results : nullptr; }
  };
} // namespace PatchFEM
