// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_app_report_h
#define patchfem_app_report_h

#include <patchfem/app/linear_system_path.h>

#include <nlohmann/json.hpp>

#include <map>

namespace PatchFEM
{
  struct Errors
  {
    double L2, H1;
  };

  /** What a time step of a liquid did beside its linear system. */
  struct ProjectionReport
  {
    double        time    = 0.;
    std::uint64_t n_fluid = 0, n_air = 0, n_solid = 0;    ///< cells
    unsigned int  n_closed_parts = 0;                     ///< of the fluid, that touch no air
    double divergence_before = 0., divergence_after = 0.; ///< |net flows out of fluid cells|, less what is wanted
    double total_flow = 0.;                               ///< their sum after the step: through the surface
  };

  /** What one refinement cycle or time step came to. */
  struct CycleReport
  {
    std::uint64_t                         n_dofs = 0, n_cells = 0;
    std::map<unsigned int, std::uint64_t> cells_by_degree;
    PathReport                            path;
    std::optional<Errors>                 errors;
    double                                host_peak = 0.; ///< bytes resident at most, summed over the ranks
    std::optional<PathReport>             baseline;
    std::optional<Errors>                 baseline_errors;
    std::optional<ProjectionReport>       projection;
    double                                max_difference = 0.; ///< of the two solutions, largest over all unknowns
  };

  /**
   * The run as `report.json` and as tables. Only one rank writes. The file is there from the start, with `finished` false
   * until finish(), so that a run that was stopped does not look like one that is complete.
   */
  class RunReport
  {
  public:
    RunReport(const std::string &application, const std::string &folder, MPI_Comm communicator);

    /**
     * Removes report and pictures that an earlier run left in the folder, and @p further_file if it is not empty, and
     * writes a report without cycles. All ranks call it.
     */
    void start(const std::string &further_file);

    /**
     * Adds a cycle and writes the report, under a temporary name first, so that nothing of a run is lost. Throws Error, and
     * leaves it away, if a number in it is not finite.
     */
    void add_cycle(const CycleReport &cycle);

    /** The run was completed. */
    void finish();

    /** The run ended by the error @p message, which the report then has if it can still be written. */
    void fail(const std::string &message) noexcept;

    /** One line about the last cycle. */
    void print_cycle(std::ostream &out) const;

    /** Times of the last cycle by stage, beside those of the baseline with ratios if there is one. */
    void print_timing(std::ostream &out) const;

    /** One row per cycle; errors with observed orders if there is an exact solution. */
    void print_convergence(std::ostream &out, unsigned int dim, bool adaptive) const;

  private:
    const std::string        application;
    const std::string        folder;
    const MPI_Comm           communicator;
    const bool               writes;
    std::vector<CycleReport> cycles;
    bool                     finished = false;
    std::string              error; ///< empty for none

    void write() const;
  };

  /** Writes a whole file under a temporary name and renames it. Throws Error if that fails. */
  void write_file(const std::string &name, const std::function<void(std::ostream &)> &write);
} // namespace PatchFEM

#endif
