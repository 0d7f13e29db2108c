// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/mesh_lists.h>

#include <boost/algorithm/string/case_conv.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace PatchFEM
{
  /** The words of a text file, one after the other, with the line that each stands on. */
  class MeshScanner
  {
  public:
    /** Throws Error if the file cannot be read. */
    explicit MeshScanner(const std::string &file_name);

    /** The next word; throws Error at the end of the file, where @p what was expected. */
    std::string_view word(const char *what);
    /** The next word, or an empty one at the end. */
    std::string_view peek();
    /** What is left of the current line; the scanner then stands at the start of the next one. */
    std::string_view line();
    bool             at_end();

    double        real(const char *what);
    std::int64_t  integer(const char *what);
    std::uint64_t count(const char *what);

    /** The numbers that line readers cut out themselves. */
    double       to_real(std::string_view text, const char *what) const;
    std::int64_t to_integer(std::string_view text, const char *what) const;

    /** The line of what was read last. */
    std::uint32_t      line_number() const { return last; }
    const std::string &file_name() const { return name; }

    /** Throws Error: `Mesh file 'NAME', line N: MESSAGE.`, N being line_number() or @p line. */
    [[noreturn]] void fail(const std::string &message) const { fail(message, last); }
    [[noreturn]] void fail(const std::string &message, std::uint32_t line) const;

  private:
    std::string name;
    std::string text;
    std::size_t position = 0;
    /// Lines of the position and of what was read last.
    std::uint32_t number = 1;
    std::uint32_t last   = 1;

    void skip_blanks();
  };

  /** @p text in capitals. */
  inline std::string upper(const std::string_view text)
  {
    return boost::algorithm::to_upper_copy(std::string(text));
  }

  /** The number of a row of shapes. */
  enum class ElementShape
  {
    point,
    line,
    triangle,
    quadrilateral,
    tetrahedron,
    hexahedron,
    prism,
    pyramid
  };

  /** A shape, and what formats call it. */
  struct ShapeRow
  {
    const char      *plural; ///< for messages
    unsigned int     dimension, n_vertices;
    std::int64_t     gmsh, vtk;
    std::string_view ucd;
  };

  constexpr ShapeRow shapes[] = {{"points", 0, 1, 15, 1, "pt"},      {"lines", 1, 2, 1, 3, "line"},
                                 {"triangles", 2, 3, 2, 5, "tri"},   {"quadrilaterals", 2, 4, 3, 9, "quad"},
                                 {"tetrahedra", 3, 4, 4, 10, "tet"}, {"hexahedra", 3, 8, 5, 12, "hex"},
                                 {"prisms", 3, 6, 6, 13, "prism"},   {"pyramids", 3, 5, 7, 14, "pyr"}};

  constexpr const ShapeRow &row_of(const ElementShape shape)
  {
    return shapes[static_cast<int>(shape)];
  }

  /** The shape that a format calls @p name; none if the format has no such. */
  template <typename Name>
  std::optional<ElementShape> find_shape(const Name ShapeRow::*column, const Name &name)
  {
    for (const ShapeRow &row : shapes)
      if (row.*column == name)
        return static_cast<ElementShape>(&row - shapes);
    return {};
  }

  /** Gathers what a file says, by the labels of the file, and makes lists of it. */
  class MeshCollector
  {
  public:
    MeshCollector(MeshScanner &scanner, unsigned int dim);

    void add_vertex(std::int64_t label, double x, double y, double z);

    /** One whose three coordinates are the scanner's next words. */
    void read_vertex(std::int64_t label);

    /**
     * An element whose vertices have the labels @p vertices, quadrilaterals and hexahedra in loops: 0 1 2 3 around one
     * face, 4 5 6 7 above them. @p id is what becomes the material or boundary id; -1 is none, for faces only.
     */
    void add_element(ElementShape shape, const std::int64_t *vertices, std::int64_t id, std::uint32_t line);

    /** One whose vertices are the scanner's next words. */
    void read_element(ElementShape shape, std::int64_t id, std::uint32_t line);

    /** The mesh, cleaned and checked. */
    MeshLists finish();

    std::size_t n_vertices() const { return mesh.vertices.size(); }

  private:
    MeshScanner                                    &scanner;
    const unsigned int                              dim;
    MeshLists                                       mesh;
    bool                                            has_kind = false;
    std::unordered_map<std::int64_t, std::uint32_t> numbers;
    /// Faces arrive before the kind of cell is known; the shape decides whether they fit.
    ElementShape  face_shape      = ElementShape::point;
    std::uint32_t first_face_line = 0;
    bool          has_faces       = false;
  };

  /** One reader per format; the scanner stands at the start of the file. */
  void read_gmsh(MeshScanner &scanner, MeshCollector &mesh);
  void read_vtk(MeshScanner &scanner, MeshCollector &mesh);
  void read_ucd(MeshScanner &scanner, MeshCollector &mesh);
  void read_abaqus(MeshScanner &scanner, MeshCollector &mesh);
} // namespace PatchFEM
