// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/expression.h>
#include <patchfem/app/input_file.h>
#include <patchfem/app/parameters.h>
#include <patchfem/assembly/voxel_poisson.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/base/threads.h>
#include <patchfem/base/voxel_image.h>
#include <patchfem/base/write_file.h>

#include <deal.II/base/data_out_base.h>
#include <deal.II/base/utilities.h>

#include <boost/iostreams/device/array.hpp>
#include <boost/iostreams/stream.hpp>

#include <array>
#include <cmath>
#include <filesystem>
#include <optional>

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
                        "Cells in each direction, such as '64, 32, 32'. Empty only with an Image, which has its own.");
      prm.add_parameter("Lower corner", lower_corner,
                        "Of the box of all cells, such as '0, -0.5, 0'; empty is the origin, or what an Image says.");
      prm.add_parameter(
          "Cell size", cell_size,
          "Edge of a cell, which is a cube; a number or a formula of constants. Empty is 1, or what an Image says.");
      prm.add_parameter(
          "Image", image,
          "A VTK legacy file (STRUCTURED_POINTS, one array of scalars; compressed, if its name ends in .gz) with the "
          "cells' labels, 0 for solid, 1 for fluid and 2 for air, relative to the folder of the parameter file.");
      prm.add_parameter("Fluid", fluid,
                        "A formula of the coordinates and the time t: cells at whose centre it is above 0 are fluid. "
                        "With an Image only cells that are not solid there; empty leaves its labels.");
      prm.add_parameter("Solid", solid,
                        "A formula of the coordinates and the time t: cells at whose centre it is above 0 are solid, "
                        "fluid or not; all others are air.");
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
      prm.add_parameter("Velocity", velocity,
                        "Before the pressure acts, all forces but its own included: formulas of the coordinates and "
                        "the time t, components separated by semicolons. Empty is 0.");
      prm.add_parameter("Divergence", divergence,
                        "That the velocity shall have after the step, a formula of the same; empty is 0.");
      prm.leave_subsection();
      solver.declare_parameters(prm);
      prm.enter_subsection("Solver");
      prm.add_parameter("Warm start", warm_start,
                        "Start from the pressure of the step before in cells that are still fluid.");
      prm.leave_subsection();
      output.declare_parameters(prm);
      prm.enter_subsection("Exact solution");
      prm.add_parameter("Formula", exact_pressure,
                        "If known, the exact pressure, of the coordinates and the time t, for errors in the report.");
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

  /** Where entry @p i of an array of @p n entries in each direction is, x fastest. */
  inline std::array<std::int64_t, 3> position(const std::int64_t i, const std::array<int, 3> &n)
  {
    return {{i % n[0], i / n[0] % n[1], i / n[0] / n[1]}};
  }

  /** The cells and what formulas and image say about them, on the host. */
  template <int dim>
  class VoxelFields
  {
  public:
    /** @param directory Where an image is looked for. Throws Error for what is wrong with cells or formulas. */
    VoxelFields(const PressureParameters &parameters, const std::string &directory)
    {
      Constants constants = parameters.general.constants;
      constants.clock     = clock;
      if (parameters.image.empty())
      {
        const std::vector<double> cells = numbers(parameters.cells, dim, constants, "Domain/Cells");
        for (int d = 0; d < dim; ++d)
        {
          require(cells[d] >= 1. && cells[d] <= 1e6 && cells[d] == std::floor(cells[d]),
                  "The entry Domain/Cells must have integers from 1 to 1000000: ", quote(parameters.cells), ".");
          box.n[d] = static_cast<int>(cells[d]);
        }
        if (!parameters.cell_size.empty())
          box.h = numbers(parameters.cell_size, 1, constants, "Domain/Cell size")[0];
        require(box.h > 0., "The entry Domain/Cell size must be above 0, not ", quote(parameters.cell_size), ".");
        if (!parameters.lower_corner.empty())
        {
          const std::vector<double> lower = numbers(parameters.lower_corner, dim, constants, "Domain/Lower corner");
          for (int d = 0; d < dim; ++d)
            corner[d] = lower[d];
        }
      }
      else
      {
        namespace io                         = boost::iostreams;
        const std::string            name    = (std::filesystem::path(directory) / parameters.image).string();
        const std::string            content = read_input_file(name, "The image " + printable(name, 400));
        io::stream<io::array_source> in(content.data(), content.size());
        VoxelImage                   image = read_voxel_image(in, name);
        require(dim == 3 || image.n[2] == 1, "The image ", printable(parameters.image, 400),
                " has several layers of cells; choose Dimension = 3.");
        box.n = image.n;
        box.h = image.h;
        for (int d = 0; d < dim; ++d)
          corner[d] = image.origin[d];
        image_labels = std::move(image.labels);
      }
      box.open_sides = parameters.open_sides;

      const auto formula = [&](std::optional<Expression<dim>> &expression, const std::string &text, const char *entry) {
        if (!text.empty())
          expression.emplace(text, constants, entry);
      };
      formula(fluid, parameters.fluid, "Domain/Fluid");
      formula(solid, parameters.solid, "Domain/Solid");
      formula(wanted_divergence, parameters.divergence, "Liquid/Divergence");
      formula(exact, parameters.exact_pressure, "Exact solution/Formula");
      if (!parameters.velocity.empty())
      {
        const std::vector<std::string> components = split_components(parameters.velocity);
        require(components.size() == dim, "The entry Liquid/Velocity has ", components.size(),
                " formulas separated by semicolons where ", dim, " are wanted.");
        for (const std::string &text : components)
          velocity_formulas.emplace_back(text, constants, "Liquid/Velocity");
      }
    }

    const VoxelGrid &grid() const { return box; }

    /** Evaluates what depends on time, and at the first call everything, at @p time, for the functions below. */
    void set_time(const double time)
    {
      const auto changes = [](const auto &expression) { return expression && expression->depends_on_time(); };
      clock->time        = time;
      if (first || changes(fluid) || changes(solid))
        evaluate_labels();
      changed = first || changes(wanted_divergence);
      for (const Expression<dim> &expression : velocity_formulas)
        changed = changed || expression.depends_on_time();
      if (changed)
        evaluate_flow();
      first = false;
    }

    const std::vector<unsigned char> &labels() const { return all_labels; }
    const std::vector<double>        &velocity(const int d) const { return velocities[d]; } ///< as in FaceVelocities
    const std::vector<double>        &divergence() const { return divergences; }            ///< empty for 0

    /** Whether the last set_time() changed velocities or divergence. */
    bool flow_changed() const { return changed; }

    bool has_exact_pressure() const { return exact.has_value(); }

    /** At the centres of all cells. */
    std::vector<double> exact_pressure() const { return at_centres(*exact); }

    /** Writes a VTU: a cell for each voxel with label, @p pressure and the mean of its faces' @p face_velocities. */
    void write(const std::string         &file_name,
               const std::vector<double> &pressure,
               const std::vector<double> (&face_velocities)[3]) const
    {
      constexpr unsigned int n_vertices = 1 << dim, n_fields = 2 + dim;

      std::vector<dealii::DataOutBase::Patch<dim>> patches(box.n_cells());
      const std::int64_t                           nx = box.n[0], ny = box.n[1];
      for (std::int64_t cell = 0; cell < box.n_cells(); ++cell)
      {
        const auto                       at    = position(cell, box.n);
        dealii::DataOutBase::Patch<dim> &patch = patches[cell];
        patch.patch_index                      = cell;
        patch.reference_cell                   = dealii::ReferenceCells::get_hypercube<dim>();
        patch.n_subdivisions                   = 1;
        for (unsigned int v = 0; v < n_vertices; ++v)
          for (int d = 0; d < dim; ++d)
            patch.vertices[v][d] = corner[d] + box.h * static_cast<double>(at[d] + (v >> d & 1));
        patch.data.reinit(n_fields, n_vertices);
        const std::int64_t face[3] = {(at[2] * ny + at[1]) * (nx + 1) + at[0], (at[2] * (ny + 1) + at[1]) * nx + at[0],
                                      cell};
        const std::int64_t step[3] = {1, nx, nx * ny};
        for (unsigned int v = 0; v < n_vertices; ++v)
        {
          patch.data(0, v) = static_cast<float>(all_labels[cell]);
          patch.data(1, v) = static_cast<float>(pressure[cell]);
          for (int d = 0; d < dim; ++d)
            patch.data(2 + d, v) =
                static_cast<float>(0.5 * (face_velocities[d][face[d]] + face_velocities[d][face[d] + step[d]]));
        }
      }
      std::vector<std::string> names(n_fields, "velocity");
      names[0] = "label";
      names[1] = "pressure";
      const std::vector<std::tuple<unsigned int, unsigned int, std::string,
                                   dealii::DataComponentInterpretation::DataComponentInterpretation>>
          vectors = {{2u, 1u + dim, "velocity", dealii::DataComponentInterpretation::component_is_part_of_vector}};
      dealii::DataOutBase::VtkFlags flags;
      flags.compression_level = dealii::DataOutBase::VtkFlags::ZlibCompressionLevel::best_speed;
      write_file(file_name,
                 [&](std::ostream &out) { dealii::DataOutBase::write_vtu(patches, names, vectors, flags, out); });
    }

  private:
    std::shared_ptr<Clock>         clock = std::make_shared<Clock>();
    VoxelGrid                      box;
    dealii::Point<dim>             corner;
    std::vector<unsigned char>     image_labels; ///< empty without an image
    std::optional<Expression<dim>> fluid, solid, wanted_divergence, exact;
    std::vector<Expression<dim>>   velocity_formulas; ///< empty for 0
    std::vector<unsigned char>     all_labels;
    std::vector<double>            velocities[3], divergences;
    bool                           first = true, changed = true;

    static std::vector<double>
    numbers(const std::string &text, const unsigned int n, const Constants &constants, const std::string &entry)
    {
      std::vector<double> result;
      for (const std::string &item : dealii::Utilities::split_string_list(text, ','))
        result.push_back(constant_value(item, constants, entry));
      require(result.size() == n, "The entry ", entry, " has ", result.size(), " numbers where ", n, " are wanted.");
      return result;
    }

    /** The cell's centre, of the @p cell in the order of labels. */
    dealii::Point<dim> centre(const std::int64_t cell) const
    {
      const auto         at = position(cell, box.n);
      dealii::Point<dim> result;
      for (int d = 0; d < dim; ++d)
        result[d] = corner[d] + (static_cast<double>(at[d]) + 0.5) * box.h;
      return result;
    }

    std::vector<double> at_centres(const Expression<dim> &formula) const
    {
      std::vector<double> result(box.n_cells());
      parallel_for(box.n_cells(), [&](const std::int64_t cell) { result[cell] = formula.value(centre(cell)); });
      return result;
    }

    void evaluate_labels()
    {
      all_labels.resize(box.n_cells());
      parallel_for(box.n_cells(), [&](const std::int64_t cell) {
        const dealii::Point<dim> point = centre(cell);
        VoxelLabel label = image_labels.empty() ? VoxelLabel::air : static_cast<VoxelLabel>(image_labels[cell]);
        if (fluid && label != VoxelLabel::solid)
          label = fluid->value(point) > 0. ? VoxelLabel::fluid : VoxelLabel::air;
        if (solid && solid->value(point) > 0.)
          label = VoxelLabel::solid;
        all_labels[cell] = static_cast<unsigned char>(label);
      });
    }

    void evaluate_flow()
    {
      for (int d = 0; d < 3; ++d)
      {
        velocities[d].assign(box.n_faces(d), 0.);
        if (d >= static_cast<int>(velocity_formulas.size()))
          continue;
        std::array<int, 3> n = box.n;
        ++n[d];
        parallel_for(box.n_faces(d), [&](const std::int64_t face) {
          const auto         at = position(face, n);
          dealii::Point<dim> point;
          for (int c = 0; c < dim; ++c)
            point[c] = corner[c] + (static_cast<double>(at[c]) + (c == d ? 0. : 0.5)) * box.h;
          velocities[d][face] = velocity_formulas[d].value(point);
        });
      }
      if (wanted_divergence)
        divergences = at_centres(*wanted_divergence);
    }
  };
} // namespace PatchFEM
