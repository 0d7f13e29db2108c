// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_collector.h"

#include <patchfem/app/input_file.h>
#include <patchfem/app/mesh.h>

#include <filesystem>

namespace PatchFEM
{
  namespace
  {
    /** @p n_data numbers for each of @p n_items vertices or elements: nothing that a mesh needs, but they must be there. */
    void skip_ucd_data(MeshScanner &scanner, const std::uint64_t n_data, const std::uint64_t n_items)
    {
      if (n_data == 0)
        return;
      const std::uint64_t n_components = scanner.count("the number of components of data");
      std::uint64_t       sum          = 0;
      for (std::uint64_t c = 0; c < n_components; ++c)
        sum += scanner.count("the size of a component of data");
      scanner.require(sum == n_data, "the components of the data have ", sum, " numbers where the head declares ",
                      n_data);
      // What is left of this line, and a line with the name and the unit of each component.
      for (std::uint64_t c = 0; c <= n_components; ++c)
        scanner.line();
      for (std::uint64_t i = 0; i < n_items; ++i)
      {
        scanner.integer("the number of a vertex or an element");
        for (std::uint64_t d = 0; d < n_data; ++d)
          scanner.real("a number of data");
      }
    }
  } // namespace

  void read_ucd(MeshScanner &scanner, MeshCollector &mesh)
  {
    while (!scanner.at_end() && scanner.peek().front() == '#')
      scanner.line();
    const std::uint64_t n_vertices     = scanner.count("the number of vertices");
    const std::uint64_t n_elements     = scanner.count("the number of elements");
    const std::uint64_t n_vertex_data  = scanner.count("the number of data at vertices");
    const std::uint64_t n_element_data = scanner.count("the number of data of elements");
    scanner.require(scanner.count("the number of data of the model") == 0,
                    "data of the model are not supported; declare 0 of them and remove them");
    for (std::uint64_t v = 0; v < n_vertices; ++v)
      mesh.read_vertex(scanner.integer("the number of a vertex"));
    for (std::uint64_t e = 0; e < n_elements; ++e)
    {
      scanner.integer("the number of an element");
      const std::int64_t     id    = scanner.integer("the material of an element");
      const std::string_view type  = scanner.word("the type of an element");
      const ElementShape    *shape = find_shape(&ElementShape::ucd, type);
      if (shape == nullptr)
        scanner.fail(quote(type), " is not a type of element that UCD knows");
      mesh.read_element(*shape, id);
    }
    skip_ucd_data(scanner, n_vertex_data, n_vertices);
    skip_ucd_data(scanner, n_element_data, n_elements);
    if (!scanner.at_end())
      scanner.fail(quote(scanner.word("")), " stands after the end of what the head of the file declares, ", n_vertices,
                   " vertices and ", n_elements, " elements; correct these numbers or remove what is too much");
  }

  MeshLists read_mesh(const std::string &file_name, const unsigned int dim)
  {
    const std::string name   = is_compressed(file_name) ? file_name.substr(0, file_name.size() - 3) : file_name;
    const std::string suffix = upper(std::filesystem::path(name).extension().string());
    require(suffix == ".MSH" || suffix == ".VTK" || suffix == ".UCD" || suffix == ".INP", "The mesh file ",
            quote_file(file_name),
            " is of no known format; convert it to .msh (Gmsh 2.2 or 4.1), .vtk, .ucd or .inp, for example with "
            "gmsh or meshio; each may be compressed, with .gz behind its name.");

    MeshScanner   scanner(file_name);
    MeshCollector mesh(scanner, dim);
    require(!scanner.at_end(), "The mesh file ", quote_file(file_name), " is empty.");
    if (suffix == ".MSH")
      read_gmsh(scanner, mesh);
    else if (suffix == ".VTK")
      read_vtk(scanner, mesh);
    else if (suffix == ".INP" && scanner.peek().front() == '*')
      read_abaqus(scanner, mesh);
    else
      read_ucd(scanner, mesh);
    return mesh.finish();
  }
} // namespace PatchFEM
