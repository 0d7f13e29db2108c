// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_collector.h"

#include <patchfem/base/quote.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>

namespace PatchFEM
{
  namespace
  {
    ElementShape gmsh_shape(const MeshScanner &scanner, const std::int64_t type)
    {
      const auto shape = find_shape(&ShapeRow::gmsh, type);
      if (!shape)
        scanner.fail("element type " + std::to_string(type) +
                     " is not a linear element; save the mesh with Mesh.ElementOrder = 1");
      return *shape;
    }

    /** 2.2: number, type, number of tags, tags (the first: the physical group), vertices. */
    void read_elements_2(MeshScanner &scanner, MeshCollector &mesh)
    {
      const std::uint64_t n = scanner.count("the number of elements");
      for (std::uint64_t e = 0; e < n; ++e)
      {
        scanner.integer("the number of an element");
        const ElementShape  shape  = gmsh_shape(scanner, scanner.integer("the type of an element"));
        const std::uint64_t n_tags = scanner.count("the number of tags");
        std::int64_t        id     = 0;
        for (std::uint64_t t = 0; t < n_tags; ++t)
        {
          const std::int64_t tag = scanner.integer("a tag of an element");
          id                     = t == 0 ? std::abs(tag) : id;
        }
        mesh.read_element(shape, id, scanner.line_number());
      }
    }

    /** First physical group of each entity or 0, [dimension][tag]. */
    using Groups = std::array<std::map<std::int64_t, std::int64_t>, 4>;

    /** The head of a 4.1 section of blocks: what it declares is held against what follows. */
    class Totals
    {
    public:
      Totals(MeshScanner &scanner, const char *what)
          : scanner(scanner), what(what), n_blocks(scanner.count("the number of blocks")), n(scanner.count(what)),
            first(scanner.integer("the smallest label")), last(scanner.integer("the largest label"))
      {}

      std::uint64_t blocks() const { return n_blocks; }

      void add(const std::int64_t label)
      {
        smallest = n_found == 0 ? label : std::min(smallest, label);
        largest  = n_found == 0 ? label : std::max(largest, label);
        ++n_found;
      }

      /** Throws Error at the end of the section. */
      void check() const
      {
        const auto labels = [](const std::int64_t from, const std::int64_t to) {
          return std::to_string(from) + " to " + std::to_string(to);
        };
        if (n_found != n)
          scanner.fail("the blocks of the section have together " + std::to_string(n_found) + " where " + what +
                       " is declared as " + std::to_string(n) + "; save the mesh again");
        if (n > 0 && (smallest != first || largest != last))
          scanner.fail("the labels in the section go from " + labels(smallest, largest) + ", its head declares " +
                       labels(first, last) + "; save the mesh again");
      }

    private:
      MeshScanner        &scanner;
      const char         *what;
      const std::uint64_t n_blocks, n;
      const std::int64_t  first, last;
      std::uint64_t       n_found  = 0;
      std::int64_t        smallest = 0, largest = 0;
    };

    std::int64_t read_dimension(MeshScanner &scanner)
    {
      const std::int64_t dimension = scanner.integer("the dimension of an entity");
      if (dimension < 0 || dimension > 3)
        scanner.fail(std::to_string(dimension) + " cannot be the dimension of an entity");
      return dimension;
    }

    void read_names(MeshScanner &scanner)
    {
      const std::uint64_t n = scanner.count("the number of physical groups");
      for (std::uint64_t g = 0; g < n; ++g)
      {
        read_dimension(scanner);
        scanner.integer("a physical group");
        if (scanner.line().find('"') == std::string_view::npos)
          scanner.fail("a physical group should have its name in quotation marks");
      }
    }

    void read_entities(MeshScanner &scanner, Groups &groups)
    {
      std::uint64_t n[4];
      for (std::uint64_t &n_entities : n)
        n_entities = scanner.count("the number of entities");
      for (unsigned int d = 0; d < 4; ++d)
        for (std::uint64_t i = 0; i < n[d]; ++i)
        {
          const std::int64_t tag = scanner.integer("the tag of an entity");
          for (unsigned int x = 0; x < (d == 0 ? 3 : 6); ++x)
            scanner.real("a bound of an entity");
          if (!groups[d].emplace(tag, 0).second)
            scanner.fail("entity " + std::to_string(tag) + " of dimension " + std::to_string(d) +
                         " is there for the second time");
          const std::uint64_t n_groups = scanner.count("the number of physical groups");
          for (std::uint64_t g = 0; g < n_groups; ++g)
          {
            // A negative tag says that the group takes the entity with the opposite orientation.
            const std::int64_t group = std::abs(scanner.integer("a physical group"));
            if (g == 0)
              groups[d][tag] = group;
          }
          if (d > 0)
          {
            const std::uint64_t n_bounding = scanner.count("the number of bounding entities");
            for (std::uint64_t b = 0; b < n_bounding; ++b)
              scanner.integer("a bounding entity");
          }
        }
    }

    /** 4.1: blocks of one entity each, first all numbers of a block, then all coordinates. */
    void read_vertices_4(MeshScanner &scanner, MeshCollector &mesh)
    {
      Totals                    totals(scanner, "the number of vertices");
      std::vector<std::int64_t> labels;
      for (std::uint64_t b = 0; b < totals.blocks(); ++b)
      {
        const std::int64_t dimension = read_dimension(scanner);
        scanner.integer("the tag of an entity");
        const std::int64_t parametric = scanner.integer("0 or 1");
        if (parametric != 0 && parametric != 1)
          scanner.fail(std::to_string(parametric) + " stands where 0 or 1 should be");
        labels.resize(scanner.count("the number of vertices"));
        for (std::int64_t &label : labels)
        {
          label = scanner.integer("the number of a vertex");
          totals.add(label);
        }
        for (const std::int64_t label : labels)
        {
          mesh.read_vertex(label);
          for (std::int64_t p = 0; parametric == 1 && p < dimension; ++p)
            scanner.real("a parametric coordinate");
        }
      }
      totals.check();
    }

    /** @p groups are those of a section $Entities, or none if the file has no such section. */
    void read_elements_4(MeshScanner &scanner, MeshCollector &mesh, const Groups *groups)
    {
      Totals totals(scanner, "the number of elements");
      for (std::uint64_t b = 0; b < totals.blocks(); ++b)
      {
        const std::int64_t dimension = read_dimension(scanner);
        const std::int64_t tag       = scanner.integer("the tag of an entity");
        std::int64_t       group     = 0;
        if (groups != nullptr)
        {
          const auto found = (*groups)[dimension].find(tag);
          if (found == (*groups)[dimension].end())
            scanner.fail("entity " + std::to_string(tag) + " of dimension " + std::to_string(dimension) +
                         " is not in $Entities");
          group = found->second;
        }
        const ElementShape shape = gmsh_shape(scanner, scanner.integer("the type of an element"));
        if (row_of(shape).dimension != dimension)
          scanner.fail(std::string("an entity of dimension ") + std::to_string(dimension) + " cannot have " +
                       row_of(shape).plural);
        const std::uint64_t n = scanner.count("the number of elements");
        for (std::uint64_t e = 0; e < n; ++e)
        {
          totals.add(scanner.integer("the number of an element"));
          mesh.read_element(shape, group, scanner.line_number());
        }
      }
      totals.check();
    }

    void expect_end(MeshScanner &scanner, const std::string &section)
    {
      const std::string_view word = scanner.word("the end of a section");
      if (word != "$End" + section)
        scanner.fail(quote(word) + " stands where $End" + section + " should be");
    }
  } // namespace

  void read_gmsh(MeshScanner &scanner, MeshCollector &mesh)
  {
    if (scanner.word("$MeshFormat") != "$MeshFormat")
      scanner.fail("a Gmsh file starts with $MeshFormat; save the mesh as version 2.2 or 4.1, ASCII");
    const std::string version(scanner.word("the version"));
    if (version != "2.2" && version != "4.1")
      scanner.fail("version " + printable(version) +
                   " of the format is not supported; save the mesh as version 2.2 or 4.1");
    if (scanner.integer("the type of the file") != 0)
      scanner.fail("the file is binary; save the mesh as ASCII");
    scanner.count("the size of a number");
    expect_end(scanner, "MeshFormat");

    Groups                groups;
    std::set<std::string> seen = {"MeshFormat"};
    while (!scanner.at_end())
    {
      const std::string start(scanner.word("a section"));
      if (start.size() < 2 || start[0] != '$')
        scanner.fail(quote(start) + " stands where a section should start");
      const std::string section = start.substr(1);
      // Data of views may come in several sections of the same name.
      const bool of_mesh = section == "MeshFormat" || section == "PhysicalNames" || section == "Entities" ||
                           section == "Nodes" || section == "Elements";
      if (!seen.insert(section).second && of_mesh)
        scanner.fail(start + " is there for the second time; a file holds one mesh, with one section of each kind");
      if ((section == "Elements" && seen.count("Nodes") == 0) || (section == "Entities" && seen.count("Elements") > 0))
        scanner.fail(
            "$" +
            std::string(section == "Elements" ? "Elements stands before $Nodes" : "Entities stands after $Elements") +
            "; put the sections into the order $Entities, $Nodes, $Elements");
      if (section == "PartitionedEntities")
        scanner.fail("the mesh is partitioned; save it without its partition");
      if (section == "PhysicalNames")
        read_names(scanner);
      else if (section == "Entities" && version == "4.1")
        read_entities(scanner, groups);
      else if (section == "Nodes" && version == "4.1")
        read_vertices_4(scanner, mesh);
      else if (section == "Nodes")
      {
        const std::uint64_t n = scanner.count("the number of vertices");
        for (std::uint64_t v = 0; v < n; ++v)
          mesh.read_vertex(scanner.integer("the number of a vertex"));
      }
      else if (section == "Elements" && version == "4.1")
        read_elements_4(scanner, mesh, seen.count("Entities") > 0 ? &groups : nullptr);
      else if (section == "Elements")
        read_elements_2(scanner, mesh);
      else
      {
        // Periodicity, data of views: nothing that a mesh needs.
        while (scanner.peek() != "$End" + section)
          scanner.word("the end of a section");
      }
      expect_end(scanner, section);
    }
    for (const char *section : {"Nodes", "Elements"})
      if (seen.count(section) == 0)
        scanner.fail(std::string("the file ends without a section $") + section);
  }
} // namespace PatchFEM
