// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_reader.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <set>

namespace PatchFEM
{
  namespace
  {
    void expect(MeshScanner &scanner, const char *keyword)
    {
      const std::string word(scanner.word(keyword));
      scanner.require(upper(word) == keyword, quote(word), " stands where ", keyword, " should be");
    }

    /** Names of cell data that are ids, best first: deal.II's, other programs', those that meshio writes. */
    const char *const data_of_ids[] = {"MaterialID",  "mat_id",        "material",      "material_id", "attribute",
                                       "MaterialIds", "gmsh:physical", "CellEntityIds", "medit:ref"};

    /** @p name as VTK's writer has it, with %20 for a space. */
    std::string decoded(const std::string_view name)
    {
      std::string result;
      for (std::size_t i = 0; i < name.size(); ++i)
      {
        unsigned int code = 0;
        if (name[i] == '%' && i + 2 < name.size() && std::isxdigit(static_cast<unsigned char>(name[i + 1])) &&
            std::isxdigit(static_cast<unsigned char>(name[i + 2])))
        {
          code = std::stoul(std::string(name.substr(i + 1, 2)), nullptr, 16);
          i += 2;
        }
        result += code > 0 ? static_cast<char>(code) : name[i];
      }
      return result;
    }

    class VTKReader
    {
    public:
      VTKReader(MeshScanner &scanner, MeshCollector &mesh) : scanner(scanner), mesh(mesh) {}

      void read()
      {
        scanner.require(scanner.line().substr(0, 5) == "# vtk",
                        "a legacy VTK file starts with '# vtk DataFile'; save the mesh in the legacy format, ASCII");
        scanner.line();
        const std::string encoding = upper(scanner.word("ASCII"));
        scanner.require(encoding != "BINARY", "the file is binary; save the mesh as ASCII");
        scanner.require(encoding == "ASCII", quote(encoding), " stands where ASCII should be");
        expect(scanner, "DATASET");
        const std::string type = upper(scanner.word("the type of the data set"));
        scanner.require(type == "UNSTRUCTURED_GRID", "the data set ", printable(type),
                        " is not supported; save it as UNSTRUCTURED_GRID");
        while (!scanner.at_end())
          read_block(upper(scanner.word("a keyword")));
        finish();
      }

    private:
      MeshScanner   &scanner;
      MeshCollector &mesh;

      std::vector<std::int64_t>         offsets, connectivity, ids;
      std::string                       name_of_ids; ///< empty: none yet
      std::vector<std::string>          cell_arrays; ///< names
      std::vector<std::uint32_t>        lines;
      std::vector<const ElementShape *> cell_shapes;
      std::set<std::string>             seen;
      std::uint64_t                     n_tuples = 0; ///< values per attribute
      bool has_data = false, cell_data = false;       ///< whether attributes are of cells or points, and of cells

      void read_block(const std::string &keyword)
      {
        for (const char *once : {"POINTS", "CELLS", "CELL_TYPES", "POINT_DATA", "CELL_DATA"})
          scanner.require(keyword != once || seen.insert(keyword).second, keyword,
                          " is there for the second time; a file holds one mesh");
        if (keyword == "POINTS")
        {
          const std::uint64_t n = scanner.count("the number of points");
          scanner.word("the type of the points");
          for (std::uint64_t v = 0; v < n; ++v)
            mesh.read_vertex(v);
        }
        else if (keyword == "CELLS")
          read_cells();
        else if (keyword == "CELL_TYPES")
        {
          cell_shapes.resize(scanner.count("the number of cells"));
          for (const ElementShape *&shape : cell_shapes)
          {
            const std::int64_t type   = scanner.integer("the type of a cell");
            shape                     = find_shape(&ElementShape::vtk, type);
            const bool is_passed_over = type == 2 || type == 4; // several points, or lines
            if (is_passed_over)
              mesh.pass_over("cells of type " + std::to_string(type));
            scanner.require(
                shape != nullptr || is_passed_over, "cell type ", type,
                " is not supported; use linear triangles (5), quadrilaterals (9), tetrahedra (10) or hexahedra (12)");
          }
        }
        else if (keyword == "CELL_DATA" || keyword == "POINT_DATA")
        {
          has_data  = true;
          cell_data = keyword == "CELL_DATA";
          n_tuples  = scanner.count("the number of values");
          scanner.require(n_tuples == (cell_data ? cell_shapes.size() : mesh.n_vertices()),
                          "the number of values is not that of the ", cell_data ? "cells" : "points");
        }
        else if (keyword == "METADATA")
          skip_metadata();
        else
          read_attribute(keyword);
      }

      /** Data of points or cells. */
      void read_attribute(const std::string &keyword)
      {
        if (keyword == "SCALARS")
        {
          const std::string name(scanner.word("a name"));
          scanner.word("a type");
          const bool          single       = upper(scanner.peek()) == "LOOKUP_TABLE";
          const std::uint64_t n_components = single ? 1 : scanner.count("the number of components");
          expect(scanner, "LOOKUP_TABLE");
          scanner.word("the name of a lookup table");
          read_values(name, n_components, n_tuples);
        }
        else if (keyword == "VECTORS" || keyword == "NORMALS" || keyword == "TENSORS")
        {
          const std::string name(scanner.word("a name"));
          scanner.word("a type");
          read_values(name, keyword == "TENSORS" ? 9 : 3, n_tuples);
        }
        else if (keyword == "GLOBAL_IDS" || keyword == "PEDIGREE_IDS" || keyword == "TEXTURE_COORDINATES")
        {
          const std::string   name(scanner.word("a name"));
          const std::uint64_t n_components =
              keyword == "TEXTURE_COORDINATES" ? scanner.count("the number of components") : 1;
          scanner.word("a type");
          read_values(name, n_components, n_tuples);
        }
        else if (keyword == "COLOR_SCALARS" || keyword == "LOOKUP_TABLE")
        {
          const std::string   name(scanner.word("a name"));
          const std::uint64_t n = scanner.count("the number of values");
          for (std::uint64_t i = 0; i < (keyword == "LOOKUP_TABLE" ? 4 * n : n * n_tuples); ++i)
            scanner.word("a value");
          mesh.pass_over("colours " + quote(name));
        }
        else if (keyword == "FIELD")
        {
          scanner.word("a name");
          for (std::uint64_t n_arrays = scanner.count("the number of arrays"); n_arrays > 0; --n_arrays)
          {
            if (upper(scanner.peek()) == "METADATA")
              skip_metadata();
            const std::string   name(scanner.word("the name of an array"));
            const std::uint64_t n_components = scanner.count("the number of components");
            const std::uint64_t n            = scanner.count("the number of tuples");
            // Before all points and cells there may be fields of the whole, of any size.
            scanner.require(!has_data || n == n_tuples, "the array ", printable(name), " has ", n, " tuples where ",
                            n_tuples, " should be");
            scanner.word("a type");
            read_values(name, n_components, n);
          }
        }
        else
          scanner.fail(quote(keyword), " is no keyword of an unstructured grid that is known here");
      }

      /** Before 5.1: for each cell the number of vertices and they; from 5.1 on: two arrays. */
      void read_cells()
      {
        const std::uint64_t n = scanner.count("the number of cells"), size = scanner.count("the size of the cells");
        if (upper(scanner.peek()) == "OFFSETS")
        {
          scanner.word("OFFSETS");
          scanner.word("a type");
          offsets.resize(n);
          std::int64_t previous = 0;
          for (std::int64_t &offset : offsets)
          {
            offset = scanner.integer("an offset");
            scanner.require(offset >= previous && std::uint64_t(offset) <= size,
                            "offsets of cells must ascend to the number of their vertices");
            previous = offset;
          }
          scanner.require(n > 0 && offsets.front() == 0 && std::uint64_t(offsets.back()) == size,
                          "offsets of cells must go from 0 to the number of their vertices, ", size);
          expect(scanner, "CONNECTIVITY");
          scanner.word("a type");
          connectivity.resize(size);
          lines.resize(n - 1);
          std::size_t cell = 0;
          for (std::size_t i = 0; i < size; ++i)
          {
            connectivity[i] = scanner.integer("a vertex of a cell");
            while (cell < lines.size() && std::size_t(offsets[cell]) == i)
              lines[cell++] = scanner.line_number();
          }
        }
        else
        {
          offsets.assign(1, 0);
          for (std::uint64_t c = 0; c < n; ++c)
          {
            std::uint64_t n_vertices = scanner.count("the number of a cell's vertices");
            lines.push_back(scanner.line_number());
            for (; n_vertices > 0; --n_vertices)
              connectivity.push_back(scanner.integer("a vertex of a cell"));
            offsets.push_back(connectivity.size());
          }
          scanner.require(connectivity.size() + n == size, "the ", n, " cells consist of ", connectivity.size() + n,
                          " numbers where CELLS declares ", size);
        }
      }

      /** How far behind others @p name stands in data_of_ids; all behind if it is not in it. */
      static std::size_t rank(const std::string &name)
      {
        return std::find(std::begin(data_of_ids), std::end(data_of_ids), name) - std::begin(data_of_ids);
      }

      void read_values(const std::string &encoded, const std::uint64_t n_components, const std::uint64_t n)
      {
        const std::string  name   = decoded(encoded);
        const std::string &chosen = mesh.options.material_data;
        // Under other names there may be something else.
        const bool sure  = name == (chosen.empty() ? "MaterialID" : chosen);
        bool       is_id = sure || (chosen.empty() && n_components == 1 && rank(name) < std::size(data_of_ids));
        scanner.require(has_data || !sure, printable(name), " stands before CELL_DATA and so is of no cells");
        scanner.require(!cell_data || !sure || (n_components == 1 && name != name_of_ids), printable(name),
                        " should be there once, with one number for each cell");
        is_id = is_id && cell_data && (name_of_ids.empty() || rank(name) < rank(name_of_ids));
        std::vector<std::int64_t> numbers;
        for (std::uint64_t i = 0; i < n * n_components; ++i)
          if (!is_id)
            scanner.word("a value");
          else
          {
            const double value = scanner.real("an id");
            is_id              = value == std::floor(value) && std::abs(value) < 1e15;
            scanner.require(is_id || !sure, value, " in ", printable(name),
                            " is no id; choose other cell data by Mesh/Material data");
            numbers.push_back(is_id ? static_cast<std::int64_t>(value) : 0);
          }
        if (cell_data)
          cell_arrays.push_back(name);
        if (is_id)
        {
          ids.swap(numbers);
          if (!name_of_ids.empty())
            mesh.pass_over("cell data " + quote(name_of_ids));
          name_of_ids = name;
        }
        else if (has_data)
          mesh.pass_over((cell_data ? "cell data " : "point data ") + quote(name));
      }

      /** Names and units of an array: lines up to an empty one. */
      void skip_metadata()
      {
        scanner.line();
        for (std::string line; !(line = scanner.line()).empty();)
          for (const char *keyword :
               {"POINTS ", "CELLS ", "CELL_TYPES ", "CELL_DATA ", "POINT_DATA ", "FIELD ", "SCALARS "})
            scanner.require(line.rfind(keyword, 0) != 0, "METADATA should end with an empty line");
      }

      void finish()
      {
        scanner.require(!offsets.empty() && !cell_shapes.empty(), "the file ends without ",
                        offsets.empty() ? "CELLS" : "CELL_TYPES");
        scanner.require(offsets.size() == cell_shapes.size() + 1, "there are ", offsets.size() - 1, " cells but ",
                        cell_shapes.size(), " types of cells");
        scanner.require(mesh.options.material_data.empty() || !name_of_ids.empty(), "there are no cell data ",
                        quote(mesh.options.material_data), ", which Mesh/Material data names; there are ",
                        cell_arrays.empty() ? "none" : printable(joined(cell_arrays, ", "), 300));
        for (std::size_t c = 0; c < cell_shapes.size(); ++c)
        {
          if (cell_shapes[c] == nullptr)
            continue;
          const ElementShape &shape = *cell_shapes[c];
          if (offsets[c + 1] - offsets[c] != shape.n_vertices)
            scanner.fail_at(lines[c], "cell ", c, " has ", offsets[c + 1] - offsets[c], " vertices where its type has ",
                            shape.n_vertices);
          mesh.add_element(shape, connectivity.data() + offsets[c],
                           ids.empty() ? 0 : mesh.id_of_number(shape.dimension, ids[c]), lines[c]);
        }
      }
    };
  } // namespace

  void read_vtk(MeshScanner &scanner, MeshCollector &mesh)
  {
    VTKReader(scanner, mesh).read();
  }
} // namespace PatchFEM
