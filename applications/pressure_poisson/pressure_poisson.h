// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "voxel_parameters.h"

#include <patchfem/app/application.h>

namespace PatchFEM
{
  /**
   * The pressure of a liquid on voxels of fluid, air and solid, step by step as the fluid moves (P2): VoxelPoisson with the
   * preconditioners of all applications. The cells' labels and the velocities before each step are formulas of a
   * parameter file, or labels an image; the step makes the velocities free of divergence.
   */
  class PressureApplication : public Application
  {
  public:
    std::string       name() const override { return "pressure_poisson"; }
    void              declare_parameters(dealii::ParameterHandler &prm) override { parameters.declare_parameters(prm); }
    OutputParameters &parse_parameters(dealii::ParameterHandler &prm) override;
    std::string       export_name() const override;
    std::string       input_file(const std::string &directory) const override;

    std::vector<EntryCondition> entry_conditions() const override;
    void                        run(const std::string &directory, RunReport &report, MPI_Comm communicator) override;

  private:
    PressureParameters parameters;
  };
} // namespace PatchFEM
