// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_collector.h"

#include <patchfem/app/mesh_reader.h>
#include <patchfem/base/exceptions.h>

#include <algorithm>
#include <cctype>
#include <limits>

namespace PatchFEM
{
  namespace
  {
    void read_ucd_element(MeshScanner &scanner, MeshCollector &mesh)
    {
      scanner.integer("the number of an element");
      const std::uint32_t    line = scanner.line_number();
      const std::int64_t     id   = scanner.integer("the material of an element");
      const std::string_view type = scanner.word("the type of an element");
      ElementShape           shape;
      if (type == "pt")
        shape = ElementShape::point;
      else if (type == "line")
        shape = ElementShape::line;
      else if (type == "tri")
        shape = ElementShape::triangle;
      else if (type == "quad")
        shape = ElementShape::quadrilateral;
      else if (type == "tet")
        shape = ElementShape::tetrahedron;
      else if (type == "hex")
        shape = ElementShape::hexahedron;
      else if (type == "prism")
        shape = ElementShape::prism;
      else if (type == "pyr")
        shape = ElementShape::pyramid;
      else
        scanner.fail("'" + std::string(type.substr(0, 40)) + "' is not a type of element that UCD knows");
      std::int64_t vertices[8];
      for (unsigned int i = 0; i < n_vertices(shape); ++i)
        vertices[i] = scanner.integer("a vertex of an element");
      mesh.add_element(shape, vertices, id, line);
    }
  } // namespace

  void read_ucd(MeshScanner &scanner, MeshCollector &mesh)
  {
    while (!scanner.at_end() && scanner.peek().front() == '#')
      scanner.line();
    const std::uint64_t n_vertices = scanner.count("the number of vertices");
    const std::uint64_t n_elements = scanner.count("the number of elements");
    for (unsigned int i = 0; i < 3; ++i)
      scanner.count("a number of data");
    for (std::uint64_t v = 0; v < n_vertices; ++v)
    {
      const std::int64_t label = scanner.integer("the number of a vertex");
      const double       x     = scanner.real("a coordinate");
      const double       y     = scanner.real("a coordinate");
      mesh.add_vertex(label, x, y, scanner.real("a coordinate"));
    }
    for (std::uint64_t e = 0; e < n_elements; ++e)
      read_ucd_element(scanner, mesh);
  }

  MeshLists read_mesh(const std::string &file_name, const unsigned int dim)
  {
    const std::size_t dot    = file_name.find_last_of("./");
    std::string       suffix = dot == std::string::npos || file_name[dot] != '.' ? "" : file_name.substr(dot);
    std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](const unsigned char c) { return std::tolower(c); });
    if (suffix != ".msh" && suffix != ".vtk" && suffix != ".ucd" && suffix != ".inp")
      throw Error("The mesh file '" + file_name +
                  "' is of no known format; convert it to .msh (Gmsh 2.2 or 4.1), .vtk, .ucd or .inp, for example with "
                  "gmsh or meshio.");

    MeshScanner   scanner(file_name);
    MeshCollector mesh(scanner, dim);
    if (scanner.at_end())
      throw Error("The mesh file '" + file_name + "' is empty.");
    if (suffix == ".msh")
      read_gmsh(scanner, mesh);
    else if (suffix == ".vtk")
      read_vtk(scanner, mesh);
    else if (suffix == ".inp" && scanner.peek().front() == '*')
      read_abaqus(scanner, mesh);
    else
      read_ucd(scanner, mesh);
    return mesh.finish();
  }
} // namespace PatchFEM
