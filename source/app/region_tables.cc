// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/region_tables.h>
#include <patchfem/base/quote.h>

#include <deal.II/base/mpi.h>
#include <deal.II/base/table_handler.h>
#include <deal.II/distributed/tria.h>

#include <boost/format.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace PatchFEM
{
  namespace
  {
    constexpr std::size_t most_rows = 40;

    /** Number, measure and the integral of the position, by id. */
    using Sums = std::map<unsigned int, std::array<double, 5>>;

    Sums zeros(const MeshRegions &regions)
    {
      Sums sums;
      for (const unsigned int id : regions.ids())
        sums[id] = {};
      return sums;
    }

    template <int dim>
    void add(Sums &sums, const unsigned int id, const double n, const double measure, const dealii::Point<dim> &centre)
    {
      const auto found = sums.find(id);
      if (found == sums.end()) // a cut between ranks
        return;
      found->second[0] += n;
      found->second[1] += measure;
      for (unsigned int d = 0; d < dim; ++d)
        found->second[2 + d] += measure * centre[d];
    }

    /** Length or area. deal.II does not give that of quadrilaterals whose vertices are not in a plane. */
    template <int dim, typename Face>
    double area_of(const Face &face)
    {
      if constexpr (dim == 2)
        return face->measure();
      else
      {
        const auto triangle = [&](const unsigned int a, const unsigned int b, const unsigned int c) {
          return 0.5 *
                 dealii::cross_product_3d(face->vertex(b) - face->vertex(a), face->vertex(c) - face->vertex(a)).norm();
        };
        if (face->n_vertices() == 3)
          return triangle(0, 1, 2);
        return 0.5 * (triangle(0, 1, 2) + triangle(1, 2, 3) + triangle(0, 1, 3) + triangle(0, 2, 3));
      }
    }

    /** The sums of all ranks, as rows. */
    std::vector<RegionTables::Row> rows_of(Sums &sums, const MeshRegions &regions, const MPI_Comm communicator)
    {
      std::vector<double> values;
      for (const auto &item : sums)
        values.insert(values.end(), item.second.begin(), item.second.end());
      dealii::Utilities::MPI::sum(values, communicator, values);
      std::vector<RegionTables::Row> rows;
      for (const unsigned int id : regions.ids())
      {
        const double *value = values.data() + 5 * rows.size();
        const double  scale = value[1] != 0. ? 1. / value[1] : 0.;
        rows.push_back({regions.text(id),
                        id,
                        static_cast<std::uint64_t>(value[0]),
                        value[1],
                        {{scale * value[2], scale * value[3], scale * value[4]}},
                        regions.title(id)});
      }
      return rows;
    }

    std::string number(const double value)
    {
      return str(boost::format("%.4g") % (std::abs(value) < 1e-300 ? 0. : value));
    }

    void print(const dealii::TableHandler &table, const std::size_t n_rows, std::ostream &out)
    {
      table.write_text(out, dealii::TableHandler::org_mode_table);
      if (n_rows > most_rows)
        out << n_rows - most_rows << " more are in report.json\n";
    }
  } // namespace

  std::string RegionTables::text() const
  {
    std::ostringstream   out;
    dealii::TableHandler boundary_table, material_table;
    for (std::size_t i = 0; i < std::min(boundaries.size(), most_rows); ++i)
    {
      const Row  &row = boundaries[i];
      std::string centre, entries;
      for (unsigned int d = 0; d < dim; ++d)
        centre +=
            (d > 0 ? ", " : "") + number(std::abs(row.centre[d]) < 1e-12 * std::sqrt(row.measure) ? 0. : row.centre[d]);
      for (const auto &entry : row.contents)
        entries += (entries.empty() ? "" : ", ") + entry.first;
      boundary_table.add_value("boundary", printable(row.title));
      boundary_table.add_value("id", row.id);
      boundary_table.add_value("faces", static_cast<std::size_t>(row.n));
      boundary_table.add_value(dim == 2 ? "length" : "area", number(row.measure));
      boundary_table.add_value("centre", centre);
      boundary_table.add_value("conditions", !entries.empty()   ? entries
                                             : n_components > 1 ? std::string("none: free")
                                                                : std::string("none: no flux"));
    }
    for (std::size_t i = 0; i < std::min(materials.size(), most_rows); ++i)
    {
      const Row &row = materials[i];
      material_table.add_value("material", printable(row.title));
      material_table.add_value("id", row.id);
      material_table.add_value("cells", static_cast<std::size_t>(row.n));
      material_table.add_value(dim == 2 ? "area" : "volume", number(row.measure));
      for (const auto &entry : row.contents)
        material_table.add_value(entry.first, entry.second);
    }
    print(boundary_table, boundaries.size(), out);
    print(material_table, materials.size(), out);
    return out.str();
  }

  nlohmann::json RegionTables::to_json() const
  {
    nlohmann::json result = {{"boundaries", nlohmann::json::array()}, {"materials", nlohmann::json::array()}};
    for (const Row &row : boundaries)
    {
      nlohmann::json conditions = nlohmann::json::array();
      for (const auto &entry : row.contents)
        conditions.push_back(entry.first);
      result["boundaries"].push_back({{"name", row.name},
                                      {"id", row.id},
                                      {"faces", row.n},
                                      {"area", row.measure},
                                      {"centre", std::vector<double>(row.centre.begin(), row.centre.begin() + dim)},
                                      {"conditions", conditions}});
    }
    for (const Row &row : materials)
    {
      nlohmann::json values = nlohmann::json::object();
      for (const auto &entry : row.contents)
        values[entry.first] = entry.second;
      result["materials"].push_back(
          {{"name", row.name}, {"id", row.id}, {"cells", row.n}, {"volume", row.measure}, {"values", values}});
    }
    return result;
  }

  template <int dim>
  RegionTables make_region_tables(const dealii::Triangulation<dim> &triangulation,
                                  const MeshSummary                &mesh,
                                  const EssentialConditions<dim>   &essential,
                                  Equation<dim>                    &equation)
  {
    // A straight cell is as large as its children together, which are on one level, and of one process unless p4est has
    // distributed them.
    const bool of_p4est =
        dynamic_cast<const dealii::parallel::distributed::Triangulation<dim> *>(&triangulation) != nullptr;
    const unsigned int finest = triangulation.n_levels() - 1, level = of_p4est || mesh.curved ? finest : 0;
    const double       n_children = std::ldexp(1., dim * (finest - level)),
                 n_parts          = std::ldexp(1., (dim - 1) * (finest - level));
    Sums faces = zeros(mesh.boundaries), cells = zeros(mesh.materials);
    for (const auto &cell : triangulation.cell_iterators_on_level(level))
    {
      auto active = cell;
      while (active->has_children())
        active = active->child(0);
      if (!active->is_locally_owned())
        continue;
      add<dim>(cells, cell->material_id(), n_children, cell->measure(), {});
      if (cell->at_boundary())
        for (const auto &face : cell->face_iterators())
          if (face->at_boundary())
            add<dim>(faces, face->boundary_id(), n_parts, area_of<dim>(face), face->center());
    }
    const MPI_Comm communicator = triangulation.get_communicator();
    RegionTables   result;
    result.dim          = dim;
    result.n_components = equation.n_components();
    result.boundaries   = rows_of(faces, mesh.boundaries, communicator);
    result.materials    = rows_of(cells, mesh.materials, communicator);
    for (RegionTables::Row &row : result.boundaries)
      for (const auto &entries : {essential.entries_on(row.id), equation.natural_conditions().entries_on(row.id)})
        for (const std::string &entry : entries)
          row.contents.emplace_back(entry, "");
    const std::string section = "Material/";
    for (const MaterialFunction<dim> *function : equation.material_functions())
      if (function->name().rfind(section, 0) == 0)
        for (RegionTables::Row &row : result.materials)
          row.contents.emplace_back(function->name().substr(section.size()), function->text(row.id));
    return result;
  }

  template RegionTables make_region_tables(const dealii::Triangulation<2> &,
                                           const MeshSummary &,
                                           const EssentialConditions<2> &,
                                           Equation<2> &);
  template RegionTables make_region_tables(const dealii::Triangulation<3> &,
                                           const MeshSummary &,
                                           const EssentialConditions<3> &,
                                           Equation<3> &);
} // namespace PatchFEM
