// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/entry_effects.h>
#include <patchfem/app/physics.h>
#include <patchfem/app/report.h>

#include <deal.II/base/mpi.h>

namespace PatchFEM
{
  /** What the main function needs of the parameters that an application has read. */
  struct ParametersInUse
  {
    OutputParameters           &output;      ///< whose folder is then made certain
    std::vector<EntryCondition> conditions;  ///< what entries need
    std::string                 export_name; ///< the file in the folder of results of `Export system`; empty for none
    std::string                 input_file; ///< what is read beside the parameter files and beside them; empty for none
  };

  /** A program that is told by a parameter file what to do. */
  class Application
  {
  public:
    virtual ~Application() = default;

    /** As it is in messages and reports. */
    virtual std::string name() const = 0;

    /** Of several objects one of which is read. */
    virtual void declare_parameters(dealii::ParameterHandler &prm) = 0;

    /** To be called when @p prm has been read. */
    virtual ParametersInUse parse_parameters(dealii::ParameterHandler &prm) = 0;

    /** Further parameters, to be called when @p prm has been changed: the run solves its systems by these, too. */
    virtual ParametersInUse add_variant(const std::string &name, dealii::ParameterHandler &prm);

    /**
     * Roughly the cells of the largest mesh of a run by the parameters that were read, of a parameter file in
     * @p directory; 0 if several ranks cannot run it.
     */
    virtual double n_cells_on_ranks(const std::string &directory) = 0;

    /**
     * @param directory Of the parameter file, where files that it names are looked for.
     * @param report Has been started; is told to begin() before the first result is written and gets a cycle at a time.
     */
    virtual void run(const std::string &directory, RunReport &report, MPI_Comm communicator) = 0;
  };

  /**
   * The main function of a program: starts MPI, reads the command line and the parameter file, runs the application and
   * turns errors into one sentence on standard error. RunReport says what becomes of the results of an earlier run.
   * @return the exit code, 0 if and only if the run was completed and said so on standard output.
   */
  int application_main(int argc, char **argv, Application &application);

  /** An application with finite elements: runs the Problem with a physics in the dimension that the file names. */
  class FiniteElementApplication : public Application
  {
  public:
    void            declare_parameters(dealii::ParameterHandler &prm) final;
    ParametersInUse parse_parameters(dealii::ParameterHandler &prm) override;
    ParametersInUse add_variant(const std::string &name, dealii::ParameterHandler &prm) override;
    double          n_cells_on_ranks(const std::string &directory) override;
    void            run(const std::string &directory, RunReport &report, MPI_Comm communicator) override;

    const Constants &constants() const { return parameters.general.constants; }

    /** See ProblemParameters::observer. */
    void observe(std::function<void(const ObservedSystem &)> observer) { parameters.observer = std::move(observer); }

  protected:
    /** Declares materials, loads and natural boundary conditions. */
    virtual void                        declare_physics(dealii::ParameterHandler &prm) = 0;
    virtual bool                        vector_valued() const                          = 0;
    virtual std::unique_ptr<Physics<2>> make_physics_2d() const                        = 0;
    virtual std::unique_ptr<Physics<3>> make_physics_3d() const                        = 0;

  private:
    ProblemParameters                                      parameters;
    std::vector<std::pair<std::string, ProblemParameters>> variants; ///< by name
  };
} // namespace PatchFEM
