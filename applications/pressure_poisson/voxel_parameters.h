// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/expression.h>
#include <patchfem/app/parameters.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>

#include <deal.II/base/utilities.h>

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

    void declare_parameters(dealii::ParameterHandler &prm)
    {
      namespace Patterns = dealii::Patterns;
      general.declare_parameters(prm);
      prm.enter_subsection("Domain");
      prm.add_parameter("Cells", cells,
                        "Cells in each direction, such as '64, 32, 32'. Empty only with an Image, which has its own.",
                        Patterns::Anything());
      prm.add_parameter("Lower corner", lower_corner,
                        "Of the box of all cells, such as '0, -0.5, 0'; empty is the origin, or what an Image says.",
                        Patterns::Anything());
      prm.add_parameter(
          "Cell size", cell_size,
          "Edge of a cell, which is a cube; a number or a formula of constants. Empty is 1, or what an Image "
          "says.",
          Patterns::Anything());
      prm.add_parameter(
          "Image", image,
          "A VTK legacy file (STRUCTURED_POINTS, one array of scalars; compressed, if its name ends in .gz) with the "
          "cells' labels, 0 for solid, 1 for fluid and 2 for air, relative to the folder of the parameter file.",
          Patterns::Anything());
      prm.add_parameter(
          "Fluid", fluid,
          "A formula of the coordinates and the time t: cells at whose centre it is above 0 are fluid. With an "
          "Image only cells that are not solid there; empty leaves its labels.",
          Patterns::Anything());
      prm.add_parameter(
          "Solid", solid,
          "A formula of the coordinates and the time t: cells at whose centre it is above 0 are solid, fluid or "
          "not; all others are air.",
          Patterns::Anything());
      prm.declare_entry("Open sides", "", Patterns::MultipleSelection("x-|x+|y-|y+|z-|z+"),
                        "Sides of the box with air behind them, such as 'y+, x-'; the others are solid walls.");
      prm.leave_subsection();
      prm.enter_subsection("Time");
      prm.declare_entry("Start", "0", Patterns::Anything(), "The time of the first step.");
      prm.declare_entry("Step", "1", Patterns::Anything(), "Length of a step, above 0.");
      prm.add_parameter("Steps", n_steps, "How many; each has its own cells and its own system.",
                        Patterns::Integer(1, 1000000));
      prm.leave_subsection();
      prm.enter_subsection("Liquid");
      prm.declare_entry("Density", "1", Patterns::Anything(), "Mass per volume, above 0.");
      prm.add_parameter(
          "Velocity", velocity,
          "Before the pressure acts, all forces but its own included: formulas of the coordinates and the time "
          "t, components separated by semicolons. Empty is 0.",
          Patterns::Anything());
      prm.add_parameter("Divergence", divergence,
                        "That the velocity shall have after the step, a formula of the same; empty is 0.",
                        Patterns::Anything());
      prm.leave_subsection();
      solver.declare_parameters(prm);
      prm.enter_subsection("Solver");
      prm.add_parameter("Warm start", warm_start,
                        "Start from the pressure of the step before in cells that are still fluid.", Patterns::Bool());
      prm.leave_subsection();
      output.declare_parameters(prm);
      prm.enter_subsection("Exact solution");
      prm.add_parameter("Formula", exact_pressure,
                        "If known, the exact pressure, of the coordinates and the time t, for errors in the report.",
                        Patterns::Anything());
      prm.leave_subsection();
    }

    void parse_parameters(dealii::ParameterHandler &prm)
    {
      general.parse_parameters(prm);
      solver.parse_parameters(prm);
      require(general.constants.count("t") == 0,
              "The entry Constants cannot define 't', which is the time; choose another name.");
      const char *const side_names[6] = {"x-", "x+", "y-", "y+", "z-", "z+"};
      for (const std::string &side : dealii::Utilities::split_string_list(prm.get({"Domain"}, "Open sides"), ','))
        for (int s = 0; s < 6; ++s)
          if (side == side_names[s])
          {
            require(s < 2 * general.dimension, "The entry Domain/Open sides names ", side, " in a plane problem.");
            open_sides[s] = true;
          }
      require(!image.empty() || !cells.empty(),
              "Domain/Cells is empty; give the cells in each direction, or an Image.");
      require(!image.empty() || !fluid.empty(),
              "Domain/Fluid is empty; give a formula that says where fluid is, or an Image.");
      require(
          image.empty() || (cells.empty() && lower_corner.empty() && cell_size.empty()),
          "Domain/Image has cells, their size and a corner of its own; leave Cells, Cell size and Lower corner empty.");

      // Numbers, or formulas of constants.
      const auto number = [&](const std::string &section, const std::string &entry, const bool is_positive) {
        const std::string name = section + "/" + entry, text = prm.get({section}, entry);
        const double      value = constant_value(text, general.constants, name);
        require(!is_positive || value > 0., "The entry ", name, " must be above 0, not ", quote(text), ".");
        return value;
      };
      start   = number("Time", "Start", false);
      step    = number("Time", "Step", true);
      density = number("Liquid", "Density", true);
      require(general.backend != "trilinos", "Backend = trilinos does not know voxels; choose host, cuda or auto, and "
                                             "Baseline = trilinos_jacobi or trilinos_ml to compare.");
      require(general.baseline != "petsc_boomeramg" && general.baseline != "umfpack", "Baseline = ", general.baseline,
              " does not know voxels; choose trilinos_jacobi, trilinos_ml or none.");
      require(!output.aggregates, "Output/Aggregates is for finite elements; pictures of voxels do not show them.");
    }
  };
} // namespace PatchFEM
