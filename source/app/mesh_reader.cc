// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_reader.h"

#include <patchfem/app/input_file.h>
#include <patchfem/app/mesh.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

namespace PatchFEM
{
  namespace
  {
    bool is_blank(const char c)
    {
      return c == ' ' || c == '\t' || c == '\r' || c == '\n';
    }

    /** @p n_data numbers for each of @p n_items vertices or elements, which must be there and are not needed. */
    void
    skip_ucd_data(MeshScanner &scanner, MeshCollector &mesh, const std::uint64_t n_data, const std::uint64_t n_items)
    {
      if (n_data == 0)
        return;
      const std::uint64_t n_components = scanner.count("the number of components of data");
      std::uint64_t       sum          = 0;
      for (std::uint64_t c = 0; c < n_components; ++c)
        sum += scanner.count("the size of a component of data");
      scanner.require(sum == n_data, "the components of the data have ", sum, " numbers where the head declares ",
                      n_data);
      scanner.line(); // the rest of it
      for (std::uint64_t c = 0; c < n_components; ++c)
      {
        const std::string_view line = scanner.line(); // name, unit
        mesh.pass_over("data " + quote(line.substr(0, line.find(','))));
      }
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
      mesh.read_element(*shape, mesh.id_of_number(shape->dimension, id));
    }
    skip_ucd_data(scanner, mesh, n_vertex_data, n_vertices);
    skip_ucd_data(scanner, mesh, n_element_data, n_elements);
    if (!scanner.at_end())
      scanner.fail(quote(scanner.word("")), " stands after the end of what the head of the file declares, ", n_vertices,
                   " vertices and ", n_elements, " elements; correct these numbers or remove what is too much");
  }

  MeshLists read_mesh(const std::string &file_name, const unsigned int dim, const MeshFileOptions &options)
  {
    const std::string name   = is_compressed(file_name) ? file_name.substr(0, file_name.size() - 3) : file_name;
    const std::string suffix = upper(std::filesystem::path(name).extension().string());
    require(suffix == ".MSH" || suffix == ".VTK" || suffix == ".UCD" || suffix == ".INP", "The mesh file ",
            quote_file(file_name),
            " is of no known format; convert it to .msh (Gmsh 2.2 or 4.1), .vtk, .ucd or .inp, for example with gmsh "
            "or meshio; each may be compressed, with .gz behind its name.");

    MeshScanner   scanner(file_name);
    MeshCollector mesh(scanner, dim, options);
    require(!scanner.at_end(), "The mesh file ", quote_file(file_name), " is empty.");
    require(options.material_data.empty() || suffix == ".VTK",
            "Mesh/Material data = ", printable(options.material_data),
            " chooses among the cell data of a .vtk file, and ", quote_file(file_name), " is another one; remove it.");
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
