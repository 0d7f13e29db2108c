// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_reader.h"

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
            const std::int64_t type = scanner.integer("the type of a cell");
            shape                   = find_shape(&ElementShape::vtk, type);
            scanner.require(
                shape != nullptr, "cell type ", type,
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
        else if (keyword == "SCALARS")
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
          scanner.word("a name");
          scanner.word("a type");
          read_values("", keyword == "TENSORS" ? 9 : 3, n_tuples);
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
        else if (keyword == "METADATA")
          skip_metadata();
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

      void read_values(const std::string &name, const std::uint64_t n_components, const std::uint64_t n)
      {
        const bool wanted = cell_data && name == "MaterialID";
        scanner.require(!wanted || (n_components == 1 && ids.empty()),
                        "MaterialID should be there once, with one number for each cell");
        scanner.require(has_data || name != "MaterialID", "MaterialID stands before CELL_DATA and so is of no cells");
        if (wanted)
          ids.resize(n);
        for (std::uint64_t i = 0; i < n * n_components; ++i)
          if (wanted)
            ids[i] = scanner.integer("an id");
          else
            scanner.word("a value");
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
        for (std::size_t c = 0; c < cell_shapes.size(); ++c)
        {
          const ElementShape &shape = *cell_shapes[c];
          if (offsets[c + 1] - offsets[c] != shape.n_vertices)
            scanner.fail_at(lines[c], "cell ", c, " has ", offsets[c + 1] - offsets[c], " vertices where its type has ",
                            shape.n_vertices);
          mesh.add_element(shape, connectivity.data() + offsets[c], ids.empty() ? 0 : ids[c], lines[c]);
        }
      }
    };
  } // namespace

  void read_vtk(MeshScanner &scanner, MeshCollector &mesh)
  {
    VTKReader(scanner, mesh).read();
  }
} // namespace PatchFEM
