// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "voxel_parameters.h"

#include <patchfem/app/expression.h>
#include <patchfem/app/input_file.h>
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

#include <cmath>
#include <filesystem>
#include <optional>

namespace PatchFEM
{
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
      const Constants &constants = parameters.general.constants;
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
          expression.emplace(text, constants, entry, true);
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
          velocity_formulas.emplace_back(text, constants, "Liquid/Velocity", true);
      }
    }

    const VoxelGrid &grid() const { return box; }

    /** Evaluates what depends on time, and at the first call everything, at @p time. */
    void set_time(const double time)
    {
      const auto set = [&](std::optional<Expression<dim>> &expression) {
        if (!expression)
          return false;
        expression->set_time(time);
        return expression->depends_on_time();
      };
      set(exact);
      const bool moves = set(fluid) | set(solid);
      if (first || moves)
        evaluate_labels();
      changed = set(wanted_divergence);
      for (Expression<dim> &expression : velocity_formulas)
      {
        expression.set_time(time);
        changed = changed || expression.depends_on_time();
      }
      changed = changed || first;
      if (changed)
        evaluate_flow();
      first = false;
    }

    /** @name At the time that was set */
    /** @{ */
    const std::vector<unsigned char> &labels() const { return all_labels; }
    const std::vector<double>        &velocity(const int d) const { return velocities[d]; } ///< as in FaceVelocities
    const std::vector<double>        &divergence() const { return divergences; }            ///< empty for 0
    /** @} */

    /** Whether the last set_time() changed velocities or divergence. */
    bool flow_changed() const { return changed; }

    bool has_exact_pressure() const { return exact.has_value(); }

    /** At the centres of all cells. */
    std::vector<double> exact_pressure() const { return at_centres(*exact); }

    /**
     * Writes @p file_name as VTU: one cell for each voxel with its label, @p pressure of cells and the mean of its faces'
     * @p face_velocities.
     */
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
    VoxelGrid                      box;
    dealii::Point<dim>             corner;
    std::vector<unsigned char>     image_labels; ///< empty without an image
    std::optional<Expression<dim>> fluid, solid, wanted_divergence, exact;
    std::vector<Expression<dim>>   velocity_formulas; ///< empty for 0
    std::vector<unsigned char>     all_labels;
    std::vector<double>            velocities[3], divergences;
    bool                           first = true, changed = true;

    /** The @p n numbers in @p text, with commas between them. */
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
        VoxelLabel               label = VoxelLabel::air;
        if (!image_labels.empty())
          label = static_cast<VoxelLabel>(image_labels[cell]);
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
