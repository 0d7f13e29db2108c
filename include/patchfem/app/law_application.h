// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/application.h>
#include <patchfem/assembly/law_assembler.h>
#include <patchfem/base/step_control.h>
#include <patchfem/lac/solver/newton_dealii.h>

namespace PatchFEM
{
  /** The part of a nonlinear equation that the application knows: laws, loads, fields for pictures. */
  template <int dim>
  class LawPhysics : public Equation<dim>
  {
  public:
    /** Adds a law for each material. */
    virtual void add_laws(LawAssembler &laws) const = 0;

    /** At the time of its clock. */
    virtual const MaterialFunction<dim> &body_load() const = 0;

    /** The values of pictures() where the solution has @p gradient and the law @p flux, both [component][dim]. */
    virtual void picture_values(dealii::types::material_id material,
                                const double              *gradient,
                                const double              *flux,
                                double                    *values) const = 0;

    std::pair<std::string, std::string> remedies() const override { return {"Dirichlet conditions", ""}; }

  protected:
    using Equation<dim>::Equation;
  };

  /** Section `Steps`, and the entry `Loads/Amplitudes`. */
  struct StepParameters
  {
    bool         of_load = true; ///< whether formulas that do not mention the time grow with it
    double       end     = 1.;
    double       first = 0., largest = 0., least = 0.; ///< sizes; 0: a tenth of the end, the first, and any
    unsigned int max_cut_backs = StepControl::AdditionalData().max_cut_backs;
    Amplitudes   amplitudes;

    void declare_parameters(dealii::ParameterHandler &prm);

    /** Gives @p general the names of amplitudes, and the clock that the formulas of loads follow. */
    void parse_parameters(dealii::ParameterHandler &prm, GeneralParameters &general);

    StepControl make_control() const;

    /** Sets the clock to @p time. */
    void set_time(Clock &clock, const double time) const { clock = {time, of_load ? time / end : 1.}; }
  };

  /**
   * An application with finite elements and material laws: runs a nonlinear problem in steps of load or time with a
   * physics in the dimension that the file names.
   */
  class LawApplication : public Application
  {
  public:
    void            declare_parameters(dealii::ParameterHandler &prm) final;
    ParametersInUse parse_parameters(dealii::ParameterHandler &prm) override;
    double          n_cells_on_ranks(const std::string &directory) override;
    void            run(const std::string &directory, RunReport &report, MPI_Comm communicator) override;

    /** Of all formulas, and of those of loads and boundary values, which may mention the time. */
    const Constants &constants() const { return parameters.general.constants; }
    const Constants &constants_of_loads() const { return parameters.general.constants_of_loads; }

  protected:
    /** Declares materials, loads and natural boundary conditions. */
    virtual void                           declare_physics(dealii::ParameterHandler &prm) = 0;
    virtual bool                           vector_valued() const                          = 0;
    virtual std::unique_ptr<LawPhysics<2>> make_physics_2d() const                        = 0;
    virtual std::unique_ptr<LawPhysics<3>> make_physics_3d() const                        = 0;

  private:
    ProblemParameters parameters;
    StepParameters    steps;
    NewtonParameters  newton;
  };
} // namespace PatchFEM
