// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_reader.h"

#include <patchfem/app/input_file.h>
#include <patchfem/app/mesh.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>

namespace PatchFEM
{
  namespace
  {
    bool is_blank(const char c)
    {
      return c == ' ' || c == '\t' || c == '\r' || c == '\n';
    }

    /** @p n_data numbers for each of @p n_items vertices or elements, which must be there and are not needed. */
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

  MeshScanner::MeshScanner(const std::string &file_name)
      : name(file_name), text(read_input_file(file_name, "The mesh file " + quote_file(file_name)))
  {
    // A byte order mark says that the text is what it is taken for.
    if (text.compare(0, 3, "\xef\xbb\xbf") == 0)
      position = 3;
  }

  void MeshScanner::skip_blanks()
  {
    for (; position < text.size() && is_blank(text[position]); ++position)
      if (text[position] == '\n')
        ++number;
  }

  bool MeshScanner::at_end()
  {
    skip_blanks();
    return position == text.size();
  }

  std::string_view MeshScanner::peek()
  {
    skip_blanks();
    std::size_t end = position;
    while (end < text.size() && !is_blank(text[end]))
      ++end;
    return std::string_view(text).substr(position, end - position);
  }

  std::string_view MeshScanner::word(const char *what)
  {
    const std::string_view result = peek();
    last                          = number;
    require(!result.empty(), "the file ends where ", what, " should be");
    position += result.size();
    return result;
  }

  std::string_view MeshScanner::line()
  {
    const std::size_t      end    = std::min(text.find('\n', position), text.size());
    const std::string_view result = std::string_view(text).substr(position, end - position);
    last                          = number;
    position                      = std::min(end + 1, text.size());
    if (end < text.size())
      ++number;
    return result.empty() || result.back() != '\r' ? result : result.substr(0, result.size() - 1);
  }

  template <typename Number>
  Number MeshScanner::to_number(const std::string_view text, const char *what) const
  {
    Number                 value  = 0;
    const std::string_view digits = text.substr(!text.empty() && text.front() == '+');
    const auto             result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (result.ec != std::errc() || result.ptr != digits.data() + digits.size() || !std::isfinite(value))
      fail(quote(text), " stands where ", what, " should be");
    return value;
  }
  template double       MeshScanner::to_number(std::string_view, const char *) const;
  template std::int64_t MeshScanner::to_number(std::string_view, const char *) const;

  std::uint64_t MeshScanner::count(const char *what)
  {
    const std::int64_t value = integer(what);
    // Each thing that is counted takes a byte at least: a larger number is a mistake, not a reason to allocate.
    require(value >= 0 && std::uint64_t(value) <= text.size(), value, " cannot be ", what);
    return value;
  }

  MeshCollector::MeshCollector(MeshScanner &scanner, const unsigned int dim) : scanner(scanner), dim(dim)
  {
    mesh.source = scanner.file_name();
  }

  void MeshCollector::add_vertex(const std::int64_t label, const std::array<double, 3> &x)
  {
    scanner.require(numbers.emplace(label, mesh.vertices.size()).second, "vertex ", label,
                    " is there for the second time");
    mesh.vertices.push_back(x);
  }

  void MeshCollector::read_vertex(const std::int64_t label)
  {
    std::array<double, 3> x;
    for (double &coordinate : x)
      coordinate = scanner.real("a coordinate");
    add_vertex(label, x);
  }

  void MeshCollector::read_element(const ElementShape &shape, const std::int64_t id)
  {
    const std::uint32_t line = scanner.line_number();
    std::int64_t        vertices[8];
    for (unsigned int i = 0; i < shape.n_vertices; ++i)
      vertices[i] = scanner.integer("a vertex of an element");
    add_element(shape, vertices, id, line);
  }

  void MeshCollector::add_element(const ElementShape &shape,
                                  const std::int64_t *labels,
                                  const std::int64_t  id,
                                  const std::uint32_t line)
  {
    const auto require = [&](const bool condition, const auto &...parts) {
      if (!condition)
        scanner.fail_at(line, parts...);
    };
    const unsigned int n           = shape.n_vertices;
    const bool         is_cell     = shape.dimension == dim;
    std::uint32_t      vertices[8] = {};
    for (unsigned int i = 0; i < n; ++i)
    {
      const auto found = numbers.find(labels[i]);
      require(found != numbers.end(), "an element uses vertex ", labels[i], ", which the file does not define");
      vertices[i] = found->second;
    }
    require(shape.dimension <= dim, "the file contains ", shape.plural, ", but the dimension asked for is ", dim,
            "; set Dimension = 3");
    require(shape.dimension < 3 || shape.kind, "the file contains ", shape.plural,
            "; mesh the domain with tetrahedra or with hexahedra alone");
    if (shape.dimension + 1 < dim)
      return;
    require(id >= (is_cell ? 0 : -1) && id <= std::numeric_limits<std::int32_t>::max(), id, " cannot be a ",
            is_cell ? "material" : "boundary", " id");

    // From loops to lexicographic order.
    if (shape.kind && !is_simplex(*shape.kind))
      for (unsigned int i = 0; i < n; i += 4)
        std::swap(vertices[i + 2], vertices[i + 3]);

    if (is_cell)
    {
      require(mesh.cells.empty() || *shape.kind == mesh.kind, "the file mixes ", plural_name(mesh.kind), " and ",
              shape.plural, "; mesh the domain with one kind of cell");
      mesh.kind = *shape.kind;
      mesh.cells.insert(mesh.cells.end(), vertices, vertices + n);
      mesh.material_ids.push_back(id);
      mesh.cell_lines.push_back(line);
      return;
    }
    if (face_shape == nullptr)
    {
      face_shape      = &shape;
      first_face_line = line;
    }
    require(&shape == face_shape, "the file mixes boundary faces that are ", face_shape->plural, " and ", shape.plural,
            "; mesh the domain with one kind of cell");
    if (id > 0)
    {
      mesh.faces.insert(mesh.faces.end(), vertices, vertices + n);
      mesh.face_ids.push_back(id);
    }
  }

  MeshLists MeshCollector::finish()
  {
    const std::string file = "The mesh file " + quote_file(scanner.file_name()) + " ";
    require(!mesh.cells.empty(), file, "contains no cells of dimension ", dim,
            mesh.vertices.empty() ? "" : "; check Dimension, and that the cells have been saved", ".");
    if (face_shape != nullptr && face_shape->n_vertices != n_vertices_per_face(mesh.kind))
      scanner.fail_at(first_face_line, face_shape->plural, " cannot be faces of the file's ", plural_name(mesh.kind),
                      "; mesh the domain with one kind of cell");
    delete_unused_vertices(mesh);
    if (dim == 2)
    {
      double extent = 0;
      for (const auto &x : mesh.vertices)
        extent = std::max({extent, std::abs(x[0] - mesh.vertices[0][0]), std::abs(x[1] - mesh.vertices[0][1])});
      for (const auto &x : mesh.vertices)
        require(std::abs(x[2] - mesh.vertices[0][2]) <= 1e-8 * extent, file,
                "describes a surface in space, but a two-dimensional domain must lie in a plane z = constant.");
      for (auto &x : mesh.vertices)
        x[2] = 0;
    }
    orient_cells(mesh);
    complete_boundary_faces(mesh);
    return std::move(mesh);
  }

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
            " is of no known format; convert it to .msh (Gmsh 2.2 or 4.1), .vtk, .ucd or .inp, for example with gmsh "
            "or meshio; each may be compressed, with .gz behind its name.");

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
