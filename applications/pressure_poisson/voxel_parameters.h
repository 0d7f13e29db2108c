// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/parameters.h>

#include <array>

namespace PatchFEM
{
  /** All parameters of a run. */
  struct PressureParameters
  {
    GeneralParameters general;
    SolverParameters  solver;
    OutputParameters  output;

    /// Section `Domain`
    std::string         cells, lower_corner, cell_size, image, fluid, solid;
    std::array<bool, 6> open_sides{{false, false, false, false, false, false}};

    /// Section `Time`
    double       start = 0., step = 1.;
    unsigned int n_steps = 1;

    /// Section `Liquid`
    double      density = 1.;
    std::string velocity, divergence;

    std::string exact_pressure;
    bool        warm_start = true;

    void declare_parameters(dealii::ParameterHandler &prm);
    void parse_parameters(dealii::ParameterHandler &prm);
  };
} // namespace PatchFEM
