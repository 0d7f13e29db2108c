// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_collector.h"

#include <patchfem/app/input_file.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace PatchFEM
{
  namespace
  {
    bool is_blank(const char c)
    {
      return c == ' ' || c == '\t' || c == '\r' || c == '\n';
    }

    template <typename T>
    bool convert(std::string_view text, T &value)
    {
      if (!text.empty() && text.front() == '+')
        text.remove_prefix(1);
      const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
      return result.ec == std::errc() && result.ptr == text.data() + text.size();
    }
  } // namespace

  MeshScanner::MeshScanner(const std::string &file_name)
      : name(file_name), text(read_input_file(file_name, "The mesh file " + quote_file(file_name)))
  {
    // A byte order mark says that the text is what it is taken for.
    if (text.compare(0, 3, "\xef\xbb\xbf") == 0)
      position = 3;
  }

  void MeshScanner::fail(const std::string &message, const std::uint32_t line) const
  {
    throw Error("Mesh file " + quote_file(name) + ", line " + std::to_string(line) + ": " + printable(message, 400) +
                ".");
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
    if (result.empty())
      fail(std::string("the file ends where ") + what + " should be");
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

  double MeshScanner::to_real(const std::string_view text, const char *what) const
  {
    double value = 0;
    if (!convert(text, value) || !std::isfinite(value))
      fail(quote(text) + " stands where " + what + " should be");
    return value;
  }

  std::int64_t MeshScanner::to_integer(const std::string_view text, const char *what) const
  {
    std::int64_t value = 0;
    if (!convert(text, value))
      fail(quote(text) + " stands where " + what + " should be");
    return value;
  }

  double MeshScanner::real(const char *what)
  {
    return to_real(word(what), what);
  }

  std::int64_t MeshScanner::integer(const char *what)
  {
    return to_integer(word(what), what);
  }

  std::uint64_t MeshScanner::count(const char *what)
  {
    const std::int64_t value = integer(what);
    // Each thing that is counted takes a byte at least: a larger number is a mistake, not a reason to allocate.
    if (value < 0 || std::uint64_t(value) > text.size())
      fail(std::to_string(value) + " cannot be " + what);
    return value;
  }

  MeshCollector::MeshCollector(MeshScanner &scanner, const unsigned int dim) : scanner(scanner), dim(dim)
  {
    mesh.source = scanner.file_name();
  }

  void MeshCollector::add_vertex(const std::int64_t label, const double x, const double y, const double z)
  {
    if (!numbers.emplace(label, mesh.vertices.size()).second)
      scanner.fail("vertex " + std::to_string(label) + " is there for the second time");
    mesh.vertices.push_back({{x, y, z}});
  }

  void MeshCollector::read_vertex(const std::int64_t label)
  {
    double x[3];
    for (double &coordinate : x)
      coordinate = scanner.real("a coordinate");
    add_vertex(label, x[0], x[1], x[2]);
  }

  void MeshCollector::read_element(const ElementShape shape, const std::int64_t id, const std::uint32_t line)
  {
    std::int64_t vertices[8];
    for (unsigned int i = 0; i < row_of(shape).n_vertices; ++i)
      vertices[i] = scanner.integer("a vertex of an element");
    add_element(shape, vertices, id, line);
  }

  void MeshCollector::add_element(const ElementShape  shape,
                                  const std::int64_t *labels,
                                  const std::int64_t  id,
                                  const std::uint32_t line)
  {
    const ShapeRow    &row         = row_of(shape);
    const auto         fail        = [&](const std::string &message) { scanner.fail(message, line); };
    const unsigned int n           = row.n_vertices;
    const bool         is_cell     = row.dimension == dim;
    std::uint32_t      vertices[8] = {};
    for (unsigned int i = 0; i < n; ++i)
    {
      const auto found = numbers.find(labels[i]);
      if (found == numbers.end())
        fail("an element uses vertex " + std::to_string(labels[i]) + ", which the file does not define");
      vertices[i] = found->second;
    }
    if (row.dimension > dim)
      fail(std::string("the file contains ") + row.plural + ", but the dimension asked for is " + std::to_string(dim) +
           "; set Dimension = 3");
    if (shape == ElementShape::prism || shape == ElementShape::pyramid)
      fail(std::string("the file contains ") + row.plural +
           "; mesh the domain with tetrahedra or with hexahedra alone");
    if (row.dimension + 1 < dim)
      return;
    if (id < (is_cell ? 0 : -1) || id > std::numeric_limits<std::int32_t>::max())
      fail(std::to_string(id) + " cannot be a " + (is_cell ? "material" : "boundary") + " id");

    // From loops to lexicographic order.
    if (shape == ElementShape::quadrilateral || shape == ElementShape::hexahedron)
      for (unsigned int i = 0; i < n; i += 4)
        std::swap(vertices[i + 2], vertices[i + 3]);

    if (is_cell)
    {
      const CellKind kind = shape == ElementShape::triangle        ? CellKind::triangle
                            : shape == ElementShape::quadrilateral ? CellKind::quadrilateral
                            : shape == ElementShape::tetrahedron   ? CellKind::tetrahedron
                                                                   : CellKind::hexahedron;
      if (has_kind && kind != mesh.kind)
        fail(std::string("the file mixes ") + plural_name(mesh.kind) + " and " + plural_name(kind) +
             "; mesh the domain with one kind of cell");
      mesh.kind = kind;
      has_kind  = true;
      mesh.cells.insert(mesh.cells.end(), vertices, vertices + n);
      mesh.material_ids.push_back(id);
      mesh.cell_lines.push_back(line);
    }
    else
    {
      if (has_faces && shape != face_shape)
        fail(std::string("the file mixes boundary faces that are ") + row_of(face_shape).plural + " and " + row.plural +
             "; mesh the domain with one kind of cell");
      face_shape      = shape;
      first_face_line = has_faces ? first_face_line : line;
      has_faces       = true;
      if (id > 0)
      {
        mesh.faces.insert(mesh.faces.end(), vertices, vertices + n);
        mesh.face_ids.push_back(id);
      }
    }
  }

  MeshLists MeshCollector::finish()
  {
    const std::string file = "The mesh file " + quote_file(scanner.file_name()) + " ";
    if (!has_kind)
      throw Error(file + "contains no cells of dimension " + std::to_string(dim) +
                  (mesh.vertices.empty() ? "" : "; check Dimension, and that the cells have been saved") + ".");
    if (has_faces && row_of(face_shape).n_vertices != n_vertices_per_face(mesh.kind))
      scanner.fail(std::string(row_of(face_shape).plural) + " cannot be faces of the file's " + plural_name(mesh.kind) +
                       "; mesh the domain with one kind of cell",
                   first_face_line);
    delete_unused_vertices(mesh);
    if (dim == 2)
    {
      double extent = 0;
      for (const auto &x : mesh.vertices)
        extent = std::max({extent, std::abs(x[0] - mesh.vertices[0][0]), std::abs(x[1] - mesh.vertices[0][1])});
      for (const auto &x : mesh.vertices)
        if (std::abs(x[2] - mesh.vertices[0][2]) > 1e-8 * extent)
          throw Error(file + "describes a surface in space, but a two-dimensional domain must lie in a plane "
                             "z = constant.");
      for (auto &x : mesh.vertices)
        x[2] = 0;
    }
    orient_cells(mesh);
    complete_boundary_faces(mesh);
    return std::move(mesh);
  }
} // namespace PatchFEM
