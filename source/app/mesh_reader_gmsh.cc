// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_reader.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

namespace PatchFEM
{
  namespace
  {
    const ElementShape &read_shape(MeshScanner &scanner)
    {
      const std::int64_t  type  = scanner.integer("the type of an element");
      const ElementShape *shape = find_shape(&ElementShape::gmsh, type);
      scanner.require(shape != nullptr, "element type ", type,
                      " is not a linear element; save the mesh with Mesh.ElementOrder = 1");
      return *shape;
    }

    /** 2.2: number, type, number of tags, tags (the first: the physical group), vertices. */
    void read_elements_2(MeshScanner &scanner, MeshCollector &mesh)
    {
      for (std::uint64_t n = scanner.count("the number of elements"); n > 0; --n)
      {
        scanner.integer("the number of an element");
        const ElementShape &shape = read_shape(scanner);
        std::int64_t        group = 0;
        for (std::uint64_t n_tags = scanner.count("the number of tags"), i = 0; i < n_tags; ++i)
        {
          // A negative one says that the group takes the element with the opposite orientation.
          const std::int64_t tag = std::abs(scanner.integer("a tag of an element"));
          group                  = i == 0 ? tag : group;
        }
        mesh.read_element(shape, mesh.id_of_number(shape.dimension, group));
      }
    }

    /** Of each entity the id of its physical groups, [dimension][tag]. */
    using Groups = std::array<std::map<std::int64_t, std::uint32_t>, 4>;

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
        smallest = std::min(smallest, label);
        largest  = std::max(largest, label);
        ++n_found;
      }

      /** Throws Error at the end of the section. */
      void check() const
      {
        scanner.require(n_found == n, "the blocks of the section have together ", n_found, " where ", what,
                        " is declared as ", n, "; save the mesh again");
        scanner.require(n == 0 || (smallest == first && largest == last), "the labels in the section go from ",
                        smallest, " to ", largest, ", its head declares ", first, " to ", last,
                        "; save the mesh again");
      }

    private:
      MeshScanner        &scanner;
      const char         *what;
      const std::uint64_t n_blocks, n;
      const std::int64_t  first, last;
      std::uint64_t       n_found  = 0;
      std::int64_t        smallest = std::numeric_limits<std::int64_t>::max(),
                   largest         = std::numeric_limits<std::int64_t>::min();
    };

    std::int64_t read_dimension(MeshScanner &scanner)
    {
      const std::int64_t dimension = scanner.integer("the dimension of an entity");
      scanner.require(dimension >= 0 && dimension <= 3, dimension, " cannot be the dimension of an entity");
      return dimension;
    }

    void read_names(MeshScanner &scanner, MeshCollector &mesh)
    {
      for (std::uint64_t n = scanner.count("the number of physical groups"); n > 0; --n)
      {
        const std::int64_t     dimension = read_dimension(scanner);
        const std::int64_t     number    = scanner.integer("a physical group");
        const std::string_view line      = scanner.line();
        const std::size_t      first = line.find('"'), last = line.rfind('"');
        scanner.require(first != last, "a physical group should have its name in quotation marks");
        mesh.add_name(dimension, number, std::string(line.substr(first + 1, last - first - 1)));
      }
    }

    void read_entities(MeshScanner &scanner, MeshCollector &mesh, Groups &groups)
    {
      std::uint64_t n[4];
      for (std::uint64_t &n_entities : n)
        n_entities = scanner.count("the number of entities");
      for (unsigned int d = 0; d < 4; ++d)
        for (; n[d] > 0; --n[d])
        {
          const std::int64_t tag = scanner.integer("the tag of an entity");
          for (unsigned int x = 0; x < (d == 0 ? 3 : 6); ++x)
            scanner.real("a bound of an entity");
          scanner.require(groups[d].count(tag) == 0, "entity ", tag, " of dimension ", d,
                          " is there for the second time");
          std::uint32_t &id = groups[d][tag];
          for (std::uint64_t g = scanner.count("the number of physical groups"); g > 0; --g)
            id = mesh.unite(d, id, mesh.id_of_number(d, std::abs(scanner.integer("a physical group"))));
          if (d > 0)
            for (std::uint64_t b = scanner.count("the number of bounding entities"); b > 0; --b)
              scanner.integer("a bounding entity");
        }
    }

    /** 4.1: blocks of one entity each, first all numbers of a block, then all coordinates. */
    void read_vertices_4(MeshScanner &scanner, MeshCollector &mesh)
    {
      Totals                    totals(scanner, "the number of vertices");
      std::vector<std::int64_t> labels;
      for (std::uint64_t b = totals.blocks(); b > 0; --b)
      {
        const std::int64_t dimension = read_dimension(scanner);
        scanner.integer("the tag of an entity");
        const std::int64_t parametric = scanner.integer("0 or 1");
        scanner.require(parametric == 0 || parametric == 1, parametric, " stands where 0 or 1 should be");
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
      for (std::uint64_t b = totals.blocks(); b > 0; --b)
      {
        const std::int64_t dimension = read_dimension(scanner);
        const std::int64_t tag       = scanner.integer("the tag of an entity");
        std::uint32_t      group     = 0;
        if (groups != nullptr)
        {
          const auto found = (*groups)[dimension].find(tag);
          scanner.require(found != (*groups)[dimension].end(), "entity ", tag, " of dimension ", dimension,
                          " is not in $Entities");
          group = found->second;
        }
        const ElementShape &shape = read_shape(scanner);
        scanner.require(shape.dimension == dimension, "an entity of dimension ", dimension, " cannot have ",
                        shape.plural);
        for (std::uint64_t n = scanner.count("the number of elements"); n > 0; --n)
        {
          totals.add(scanner.integer("the number of an element"));
          mesh.read_element(shape, group);
        }
      }
      totals.check();
    }

    void expect_end(MeshScanner &scanner, const std::string &section)
    {
      const std::string_view word = scanner.word("the end of a section");
      scanner.require(word == "$End" + section, quote(word), " stands where $End", section, " should be");
    }
  } // namespace

  void read_gmsh(MeshScanner &scanner, MeshCollector &mesh)
  {
    scanner.require(scanner.word("$MeshFormat") == "$MeshFormat",
                    "a Gmsh file starts with $MeshFormat; save the mesh as version 2.2 or 4.1, ASCII");
    const std::string_view version = scanner.word("the version");
    scanner.require(version == "2.2" || version == "4.1", "version ", printable(version),
                    " of the format is not supported; save the mesh as version 2.2 or 4.1");
    scanner.require(scanner.integer("the type of the file") == 0, "the file is binary; save the mesh as ASCII");
    scanner.count("the size of a number");
    expect_end(scanner, "MeshFormat");

    Groups                groups;
    std::set<std::string> seen = {"MeshFormat"};
    while (!scanner.at_end())
    {
      const std::string start(scanner.word("a section"));
      scanner.require(start.size() >= 2 && start[0] == '$', quote(start), " stands where a section should start");
      const std::string section = start.substr(1);
      // Data of views may come in several sections of the same name.
      const bool of_mesh = section == "MeshFormat" || section == "PhysicalNames" || section == "Entities" ||
                           section == "Nodes" || section == "Elements";
      scanner.require(seen.insert(section).second || !of_mesh, start,
                      " is there for the second time; a file holds one mesh, with one section of each kind");
      const bool too_early = section == "Elements" && seen.count("Nodes") == 0,
                 too_late  = section == "Entities" && seen.count("Elements") > 0;
      scanner.require(!too_early && !too_late, start, " stands ", too_early ? "before $Nodes" : "after $Elements",
                      "; put the sections into the order $Entities, $Nodes, $Elements");
      scanner.require(section != "PartitionedEntities", "the mesh is partitioned; save it without its partition");
      if (section == "PhysicalNames")
        read_names(scanner, mesh);
      else if (section == "Entities" && version == "4.1")
        read_entities(scanner, mesh, groups);
      else if (section == "Nodes" && version == "4.1")
        read_vertices_4(scanner, mesh);
      else if (section == "Nodes")
        for (std::uint64_t n = scanner.count("the number of vertices"); n > 0; --n)
          mesh.read_vertex(scanner.integer("the number of a vertex"));
      else if (section == "Elements" && version == "4.1")
        read_elements_4(scanner, mesh, seen.count("Entities") > 0 ? &groups : nullptr);
      else if (section == "Elements")
        read_elements_2(scanner, mesh);
      else // nothing that a mesh needs
      {
        mesh.pass_over(section == "Periodic" ? "periodicity" : start);
        while (scanner.peek() != "$End" + section)
          scanner.word("the end of a section");
      }
      expect_end(scanner, section);
    }
    for (const char *section : {"Nodes", "Elements"})
      scanner.require(seen.count(section) > 0, "the file ends without a section $", section);
  }
} // namespace PatchFEM
