// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/mesh.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/mesh_lists.h>
#include <patchfem/base/quote.h>

#include <boost/algorithm/string/case_conv.hpp>

#include <array>
#include <cstdint>
#include <map>
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

    double        real(const char *what) { return to_number<double>(word(what), what); }
    std::int64_t  integer(const char *what) { return to_number<std::int64_t>(word(what), what); }
    std::uint64_t count(const char *what);

    /** The numbers, double or std::int64_t, that line readers cut out themselves. */
    template <typename Number>
    Number to_number(std::string_view text, const char *what) const;

    /** The line of what was read last. */
    std::uint32_t      line_number() const { return last; }
    const std::string &file_name() const { return name; }

    /** Throws Error: `Mesh file 'NAME', line N: MESSAGE.`, the message being text_of() @p parts. */
    template <typename... Parts>
    [[noreturn]] void fail_at(const std::uint32_t line, const Parts &...parts) const
    {
      throw Error("Mesh file ", quote_file(name), ", line ", line, ": ", printable(text_of(parts...), 400), ".");
    }

    /** Throws the Error of fail_at() at line_number(). */
    template <typename... Parts>
    [[noreturn]] void fail(const Parts &...parts) const
    {
      fail_at(last, parts...);
    }

    /** Throws the Error of fail() unless @p condition holds. */
    template <typename... Parts>
    void require(const bool condition, const Parts &...parts) const
    {
      if (!condition)
        fail(parts...);
    }

  private:
    std::string   name;
    std::string   text;
    std::size_t   position = 0;
    std::uint32_t number = 1, last = 1; ///< lines of the position and of what was read last

    void skip_blanks();
  };

  /** @p text in capitals. */
  inline std::string upper(const std::string_view text)
  {
    return boost::algorithm::to_upper_copy(std::string(text));
  }

  /** A shape of elements, and what formats call it. */
  struct ElementShape
  {
    const char             *plural; ///< for messages
    unsigned int            dimension, n_vertices;
    std::int64_t            gmsh, vtk;
    std::string_view        ucd;
    std::optional<CellKind> kind; ///< of a mesh of such cells, if there can be one
  };

  constexpr ElementShape shapes[] = {{"points", 0, 1, 15, 1, "pt", {}},
                                     {"lines", 1, 2, 1, 3, "line", {}},
                                     {"triangles", 2, 3, 2, 5, "tri", CellKind::triangle},
                                     {"quadrilaterals", 2, 4, 3, 9, "quad", CellKind::quadrilateral},
                                     {"tetrahedra", 3, 4, 4, 10, "tet", CellKind::tetrahedron},
                                     {"hexahedra", 3, 8, 5, 12, "hex", CellKind::hexahedron},
                                     {"prisms", 3, 6, 6, 13, "prism", {}},
                                     {"pyramids", 3, 5, 7, 14, "pyr", {}}};

  /** The shape that a format calls @p name; null if the format has no such. */
  template <typename Name>
  const ElementShape *find_shape(const Name ElementShape::*column, const Name &name)
  {
    for (const ElementShape &shape : shapes)
      if (shape.*column == name)
        return &shape;
    return nullptr;
  }

  /** Gathers what a file says, by the labels of the file, and makes lists of it. */
  class MeshCollector
  {
  public:
    using Group = MeshRegions::Group;

    MeshCollector(MeshScanner &scanner, unsigned int dim, const MeshFileOptions &options);

    void add_vertex(std::int64_t label, const std::array<double, 3> &x);

    /** One whose three coordinates are the scanner's next words. */
    void read_vertex(std::int64_t label);

    /** @name The id of elements of @p dimension, as add_element() wants it */
    /** @{ */
    /** Those in the group @p number: none if it is 0, or -1 and they are faces. */
    std::uint32_t id_of_number(unsigned int dimension, std::int64_t number);

    /** Those in all @p groups. */
    std::uint32_t id_of_groups(unsigned int dimension, const std::vector<Group> &groups);

    /** Those in the groups of both ids. */
    std::uint32_t unite(unsigned int dimension, std::uint32_t a, std::uint32_t b);

    /** The group @p number has a name. */
    void add_name(unsigned int dimension, std::int64_t number, const std::string &name);
    /** @} */

    /**
     * An element whose vertices have the labels @p vertices, quadrilaterals and hexahedra in loops: 0 1 2 3 around one
     * face, 4 5 6 7 above them. It may be there several times, with different ids.
     */
    void add_element(const ElementShape &shape, const std::int64_t *vertices, std::uint32_t id, std::uint32_t line);

    /** One whose vertices are the scanner's next words. */
    void read_element(const ElementShape &shape, std::uint32_t id);

    /** Boundary faces all of whose vertices are in the set are in a group of that name. */
    void add_node_set(const std::string &name, const std::vector<std::int64_t> &vertices);

    /** The user is told that @p what of the file is not used. */
    void pass_over(const std::string &what);

    /** The mesh, cleaned and checked. */
    MeshLists finish();

    std::size_t n_vertices() const { return mesh.vertices.size(); }

    const unsigned int     dim;
    const MeshFileOptions &options;

  private:
    MeshScanner                                                    &scanner;
    MeshLists                                                       mesh;
    std::unordered_map<std::int64_t, std::uint32_t>                 numbers;
    std::map<unsigned int, std::map<std::int64_t, std::string>>     names; ///< by dimension and number
    std::map<std::pair<unsigned int, std::int64_t>, std::uint32_t>  ids_of_numbers;
    std::vector<std::pair<std::string, std::vector<std::uint32_t>>> node_sets;
    std::vector<std::string>                                        passed_over;
    /// Faces arrive before the kind of cell is known; the shape decides whether they fit.
    const ElementShape *face_shape      = nullptr;
    std::uint32_t       first_face_line = 0;
    std::size_t         n_lines         = 0; ///< in 3D, of which nothing is made

    void join_vertices();
    void unite_double_cells();
    void flatten();
    void apply_node_sets();
    void renumber_regions();
  };

  /** One reader per format; the scanner stands at the start of the file. */
  void read_gmsh(MeshScanner &scanner, MeshCollector &mesh);
  void read_vtk(MeshScanner &scanner, MeshCollector &mesh);
  void read_ucd(MeshScanner &scanner, MeshCollector &mesh);
  void read_abaqus(MeshScanner &scanner, MeshCollector &mesh);
} // namespace PatchFEM
