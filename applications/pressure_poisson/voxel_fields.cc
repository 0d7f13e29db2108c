// SPDX-License-Identifier: LGPL-2.1-or-later
#include "voxel_fields.h"

#include <patchfem/app/input_file.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/base/voxel_image.h>

#include <deal.II/base/parallel.h>
#include <deal.II/base/utilities.h>

#include <boost/iostreams/device/array.hpp>
#include <boost/iostreams/stream.hpp>

#include <cmath>
#include <filesystem>

namespace PatchFEM
{
  namespace
  {
    std::vector<double>
    numbers(const std::string &text, const unsigned int n, const Constants &constants, const std::string &entry)
    {
      std::vector<double> result;
      for (const std::string &item : dealii::Utilities::split_string_list(text, ','))
      {
        const Expression<3> expression(item, constants, entry);
        require(expression.is_constant(), "The entry " + entry + " depends on a coordinate: " + quote(item) + ".");
        result.push_back(expression.value(dealii::Point<3>()));
      }
      require(result.size() == n, "The entry " + entry + " has " + std::to_string(result.size()) + " numbers where " +
                                      std::to_string(n) + " are wanted.");
      return result;
    }

    /** Calls visit(i) for i < n on all threads; the first Error goes to the caller. */
    template <typename Visitor>
    void for_all(const std::int64_t n, const Visitor &visit)
    {
      dealii::parallel::apply_to_subranges(
          std::int64_t(0), n,
          [&](const std::int64_t begin, const std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
              visit(i);
          },
          4096);
    }
  } // namespace

  template <int dim>
  VoxelFields<dim>::VoxelFields(const PressureParameters &parameters, const std::string &directory)
  {
    Constants constants = parameters.general.constants;
    if (parameters.image.empty())
    {
      const std::vector<double> cells = numbers(parameters.cells, dim, constants, "Domain/Cells");
      for (int d = 0; d < dim; ++d)
      {
        require(cells[d] >= 1. && cells[d] <= 1e6 && cells[d] == std::floor(cells[d]),
                "The entry Domain/Cells must have integers from 1 to 1000000: " + quote(parameters.cells) + ".");
        box.n[d] = static_cast<int>(cells[d]);
      }
      if (!parameters.cell_size.empty())
        box.h = numbers(parameters.cell_size, 1, constants, "Domain/Cell size")[0];
      require(box.h > 0., "The entry Domain/Cell size must be above 0, not " + quote(parameters.cell_size) + ".");
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
      require(dim == 3 || image.n[2] == 1,
              "The image " + printable(parameters.image, 400) + " has several layers of cells; choose Dimension = 3.");
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
      require(components.size() == dim, "The entry Liquid/Velocity has " + std::to_string(components.size()) +
                                            " formulas separated by semicolons where " + std::to_string(dim) +
                                            " are wanted.");
      for (const std::string &text : components)
        velocity_formulas.emplace_back(text, constants, "Liquid/Velocity", true);
    }
  }

  template <int dim>
  dealii::Point<dim> VoxelFields<dim>::centre(const std::int64_t cell) const
  {
    const std::int64_t at[3] = {cell % box.n[0], cell / box.n[0] % box.n[1], cell / box.n[0] / box.n[1]};
    dealii::Point<dim> result;
    for (int d = 0; d < dim; ++d)
      result[d] = corner[d] + (static_cast<double>(at[d]) + 0.5) * box.h;
    return result;
  }

  template <int dim>
  void VoxelFields<dim>::set_time(const double time)
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

  template <int dim>
  void VoxelFields<dim>::evaluate_labels()
  {
    all_labels.resize(box.n_cells());
    for_all(box.n_cells(), [&](const std::int64_t cell) {
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

  template <int dim>
  void VoxelFields<dim>::evaluate_flow()
  {
    for (int d = 0; d < 3; ++d)
    {
      velocities[d].assign(box.n_faces(d), 0.);
      if (d >= static_cast<int>(velocity_formulas.size()) || velocity_formulas[d].text() == "0")
        continue;
      const std::int64_t nx = box.n[0] + (d == 0), ny = box.n[1] + (d == 1);
      for_all(box.n_faces(d), [&](const std::int64_t face) {
        const std::int64_t at[3] = {face % nx, face / nx % ny, face / nx / ny};
        dealii::Point<dim> point;
        for (int c = 0; c < dim; ++c)
          point[c] = corner[c] + (static_cast<double>(at[c]) + (c == d ? 0. : 0.5)) * box.h;
        velocities[d][face] = velocity_formulas[d].value(point);
      });
    }
    if (!wanted_divergence)
      return;
    divergences.resize(box.n_cells());
    for_all(box.n_cells(),
            [&](const std::int64_t cell) { divergences[cell] = wanted_divergence->value(centre(cell)); });
  }

  template <int dim>
  std::vector<double> VoxelFields<dim>::exact_pressure() const
  {
    std::vector<double> result(box.n_cells());
    for_all(box.n_cells(), [&](const std::int64_t cell) { result[cell] = exact->value(centre(cell)); });
    return result;
  }

  template class VoxelFields<2>;
  template class VoxelFields<3>;
} // namespace PatchFEM
