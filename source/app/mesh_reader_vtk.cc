// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_collector.h"

#include <patchfem/base/quote.h>

#include <set>

namespace PatchFEM
{
  namespace
  {
    void expect(MeshScanner &scanner, const char *keyword)
    {
      const std::string word(scanner.word(keyword));
      if (upper(word) != keyword)
        scanner.fail(quote(word) + " stands where " + keyword + " should be");
    }

    ElementShape vtk_shape(const MeshScanner &scanner, const std::int64_t type)
    {
      const auto shape = find_shape(&ShapeRow::vtk, type);
      if (!shape)
        scanner.fail("cell type " + std::to_string(type) +
                     " is not supported; use linear triangles (5), quadrilaterals (9), tetrahedra (10) or "
                     "hexahedra (12)");
      return *shape;
    }

    class Reader
    {
    public:
      Reader(MeshScanner &scanner, MeshCollector &mesh) : scanner(scanner), mesh(mesh) {}

      void read()
      {
        const std::string_view title = scanner.line();
        if (title.substr(0, 5) != "# vtk")
          scanner.fail("a legacy VTK file starts with '# vtk DataFile'; save the mesh in the legacy format, ASCII");
        scanner.line();
        const std::string encoding = upper(scanner.word("ASCII"));
        if (encoding == "BINARY")
          scanner.fail("the file is binary; save the mesh as ASCII");
        if (encoding != "ASCII")
          scanner.fail(quote(encoding) + " stands where ASCII should be");
        expect(scanner, "DATASET");
        const std::string type = upper(scanner.word("the type of the data set"));
        if (type != "UNSTRUCTURED_GRID")
          scanner.fail("the data set " + printable(type) + " is not supported; save it as UNSTRUCTURED_GRID");
        while (!scanner.at_end())
          read_block(upper(scanner.word("a keyword")));
        finish();
      }

    private:
      MeshScanner   &scanner;
      MeshCollector &mesh;

      std::vector<std::int64_t>  offsets, connectivity, types, ids;
      std::vector<std::uint32_t> lines;
      std::set<std::string>      seen;
      /// Values per attribute, and whether it is one of cells.
      std::uint64_t n_tuples  = 0;
      bool          cell_data = false;

      void read_block(const std::string &keyword)
      {
        for (const char *once : {"POINTS", "CELLS", "CELL_TYPES", "POINT_DATA", "CELL_DATA"})
          if (keyword == once && !seen.insert(keyword).second)
            scanner.fail(keyword + " is there for the second time; a file holds one mesh");
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
          types.resize(scanner.count("the number of cells"));
          for (std::int64_t &type : types)
          {
            type = scanner.integer("the type of a cell");
            vtk_shape(scanner, type); // here the line is known
          }
        }
        else if (keyword == "CELL_DATA" || keyword == "POINT_DATA")
        {
          cell_data = keyword == "CELL_DATA";
          n_tuples  = scanner.count("the number of values");
          if (n_tuples != (cell_data ? types.size() : mesh.n_vertices()))
            scanner.fail("the number of values is not that of the " + std::string(cell_data ? "cells" : "points"));
        }
        else if (keyword == "SCALARS")
        {
          const std::string name(scanner.word("a name"));
          scanner.word("a type");
          std::uint64_t n_components = 1;
          if (upper(scanner.peek()) != "LOOKUP_TABLE")
            n_components = scanner.count("the number of components");
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
          const std::uint64_t n_arrays = scanner.count("the number of arrays");
          for (std::uint64_t a = 0; a < n_arrays; ++a)
          {
            if (upper(scanner.peek()) == "METADATA")
              skip_metadata();
            const std::string   name(scanner.word("the name of an array"));
            const std::uint64_t n_components = scanner.count("the number of components");
            const std::uint64_t n            = scanner.count("the number of tuples");
            // Before all points and cells there may be fields of the whole, of any size.
            if ((seen.count("POINT_DATA") > 0 || seen.count("CELL_DATA") > 0) && n != n_tuples)
              scanner.fail("the array " + printable(name) + " has " + std::to_string(n) + " tuples where " +
                           std::to_string(n_tuples) + " should be");
            scanner.word("a type");
            read_values(name, n_components, n);
          }
        }
        else if (keyword == "METADATA")
          skip_metadata();
        else
          scanner.fail(quote(keyword) + " is no keyword of an unstructured grid that is known here");
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
            if (offset < previous || std::uint64_t(offset) > size)
              scanner.fail("offsets of cells must ascend to the number of their vertices");
            previous = offset;
          }
          if (n == 0 || offsets.front() != 0 || std::uint64_t(offsets.back()) != size)
            scanner.fail("offsets of cells must go from 0 to the number of their vertices, " + std::to_string(size));
          expect(scanner, "CONNECTIVITY");
          scanner.word("a type");
          connectivity.resize(size);
          lines.resize(n == 0 ? 0 : n - 1);
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
            const std::uint64_t n_vertices = scanner.count("the number of a cell's vertices");
            lines.push_back(scanner.line_number());
            for (std::uint64_t v = 0; v < n_vertices; ++v)
              connectivity.push_back(scanner.integer("a vertex of a cell"));
            offsets.push_back(connectivity.size());
          }
          if (connectivity.size() + n != size)
            scanner.fail("the " + std::to_string(n) + " cells consist of " + std::to_string(connectivity.size() + n) +
                         " numbers where CELLS declares " + std::to_string(size));
        }
      }

      void read_values(const std::string &name, const std::uint64_t n_components, const std::uint64_t n)
      {
        const bool wanted = cell_data && name == "MaterialID";
        if (wanted && (n_components != 1 || !ids.empty()))
          scanner.fail("MaterialID should be there once, with one number for each cell");
        if (name == "MaterialID" && seen.count("POINT_DATA") == 0 && seen.count("CELL_DATA") == 0)
          scanner.fail("MaterialID stands before CELL_DATA and so is of no cells");
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
            if (line.rfind(keyword, 0) == 0)
              scanner.fail("METADATA should end with an empty line");
      }

      void finish()
      {
        if (offsets.empty() || types.empty())
          scanner.fail(std::string("the file ends without ") + (offsets.empty() ? "CELLS" : "CELL_TYPES"));
        if (offsets.size() != types.size() + 1)
          scanner.fail("there are " + std::to_string(offsets.size() - 1) + " cells but " +
                       std::to_string(types.size()) + " types of cells");
        for (std::size_t c = 0; c < types.size(); ++c)
        {
          const ElementShape shape = vtk_shape(scanner, types[c]);
          const unsigned int n     = row_of(shape).n_vertices;
          if (std::uint64_t(offsets[c + 1] - offsets[c]) != n)
            scanner.fail("cell " + std::to_string(c) + " has " + std::to_string(offsets[c + 1] - offsets[c]) +
                             " vertices where its type has " + std::to_string(n),
                         lines[c]);
          mesh.add_element(shape, connectivity.data() + offsets[c], ids.empty() ? 0 : ids[c], lines[c]);
        }
      }
    };
  } // namespace

  void read_vtk(MeshScanner &scanner, MeshCollector &mesh)
  {
    Reader(scanner, mesh).read();
  }
} // namespace PatchFEM
