// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_reader.h"

#include <algorithm>
#include <map>
#include <regex>
#include <utility>

namespace PatchFEM
{
  namespace
  {
    /** The words between commas, without blanks around them; empty ones at the end are dropped. */
    std::vector<std::string_view> split(const std::string_view line)
    {
      std::vector<std::string_view> words;
      for (std::size_t from = 0, comma; from <= line.size(); from = comma + 1)
      {
        comma                        = std::min(line.find(',', from), line.size());
        const std::string_view word  = line.substr(from, comma - from);
        const std::size_t      first = word.find_first_not_of(" \t"), last = word.find_last_not_of(" \t");
        words.push_back(first == std::string_view::npos ? "" : word.substr(first, last - first + 1));
      }
      while (!words.empty() && words.back().empty())
        words.pop_back();
      return words;
    }

    class AbaqusReader
    {
    public:
      AbaqusReader(MeshScanner &scanner, MeshCollector &mesh) : scanner(scanner), mesh(mesh) {}

      void read()
      {
        next_line();
        while (!line.empty())
        {
          scanner.require(line.front() == '*', "a line of data stands where a keyword should start with *");
          read_keyword();
        }
        finish();
      }

    private:
      struct Element
      {
        const ElementShape       *shape;
        std::vector<std::int64_t> vertices;
        std::int64_t              material;
        std::uint32_t             line;
        bool                      has_section = false;
      };
      struct Surface
      {
        std::string   target, face;
        std::int64_t  id;
        std::uint32_t line;
      };
      struct Section
      {
        std::string   set;
        std::int64_t  material;
        std::uint32_t line;
      };

      MeshScanner   &scanner;
      MeshCollector &mesh;

      std::string_view              line;  ///< the current one, empty at the end of the file
      std::vector<std::string_view> words; ///< of a line of data
      unsigned int                  n_instances  = 0;
      std::size_t                   n_node_words = 0; ///< of each vertex so far: a number and coordinates

      std::map<std::int64_t, Element>                  elements;
      std::map<std::string, std::vector<std::int64_t>> sets;
      std::vector<Surface>                             surfaces;
      std::vector<Section>                             sections;

      void next_line()
      {
        for (line = ""; line.empty() && !scanner.at_end();)
        {
          line = scanner.line();
          line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
          if (line.substr(0, 2) == "**")
            line = "";
        }
      }

      /** The next line if it is one of data, in words; else it is the next keyword, or the end. */
      bool next_data()
      {
        next_line();
        if (line.empty() || line.front() == '*')
          return false;
        words = split(line);
        return true;
      }

      std::int64_t integer(const std::string_view word, const char *what) const
      {
        return scanner.to_number<std::int64_t>(word, what);
      }

      /** The number that ends a name, or -1. */
      std::int64_t trailing_number(const std::string &name) const
      {
        const std::size_t from = name.find_last_not_of("0123456789") + 1; // npos + 1 = 0
        return from == name.size() ? -1 : integer(std::string_view(name).substr(from), "an id");
      }

      const ElementShape &shape_of(const std::string &type) const
      {
        // Behind a family's name the number of vertices. A second digit would be the rest of a larger one, as in C3D10.
        const std::pair<std::string, unsigned int> families[] = {{"D?C3D([468])", 3},
                                                                 {"(?:CPS|CPE|S|DC2D|R3D|M3D|SFM3D)([34])", 2}};
        std::smatch                                match;
        for (const auto &[family, dimension] : families)
          if (std::regex_match(type, match, std::regex(family + "(?:[^0-9].*)?")))
            for (const ElementShape &shape : shapes)
              if (shape.dimension == dimension && match[1] == std::to_string(shape.n_vertices))
                return shape;
        if (std::regex_match(type, std::regex("T2D2|T3D2|B21|B31|R2D2")))
          return shapes[1];
        scanner.fail("element type ", printable(type),
                     " is not supported; use linear ones such as C3D8, C3D4, CPS4 or CPS3");
      }

      /** Reads a keyword and its data, up to the next one; those of other keywords are passed over. */
      void read_keyword()
      {
        std::map<std::string, std::string> options;
        for (const std::string_view word : split(line))
        {
          const std::size_t equal = std::min(word.find('='), word.size());
          const auto key = split(word.substr(0, equal)), value = split(word.substr(std::min(equal + 1, word.size())));
          if (!key.empty())
            options[upper(key[0])] = value.empty() ? "" : upper(value[0]);
        }
        const std::string keyword = upper(split(line)[0]), set = options["ELSET"];
        scanner.require(keyword != "*INCLUDE" &&
                            ((keyword != "*NODE" && keyword != "*ELEMENT") || options.count("INPUT") == 0),
                        "*INCLUDE and INPUT are not supported; put all in one file");
        // What would make or move vertices and elements.
        for (const char *generator : {"*NGEN", "*NFILL", "*NCOPY", "*NMAP", "*ELGEN", "*ELCOPY", "*SYSTEM"})
          scanner.require(keyword != generator, keyword,
                          " is not supported; write all vertices and elements with their coordinates in space");
        if (keyword == "*NODE")
        {
          const std::string system = options.count("SYSTEM") > 0 ? options["SYSTEM"] : "R";
          scanner.require(system == "R", "SYSTEM=", printable(system),
                          " is not supported; write Cartesian coordinates");
          read_vertices();
        }
        else if (keyword == "*INSTANCE")
        {
          scanner.require(++n_instances == 1,
                          "several instances of parts are not supported; write all vertices and elements in space");
          if (next_data())
            scanner.fail("an instance that is moved is not supported; write all vertices in space");
        }
        else if (keyword == "*ELEMENT")
          read_elements(shape_of(options["TYPE"]), set);
        else if (keyword == "*ELSET")
        {
          scanner.require(!set.empty(), "*ELSET does not say which set it stands for; give it ELSET=NAME");
          while (next_data())
            if (options.count("GENERATE") > 0)
              generate_set(set);
            else
              extend_set(set);
        }
        else if (keyword == "*SURFACE")
        {
          scanner.require(options.count("TYPE") == 0 || options["TYPE"] == "ELEMENT",
                          "only surfaces of TYPE=ELEMENT are supported");
          const std::int64_t id = trailing_number(options["NAME"]);
          scanner.require(id >= 0, "the surface ", quote(options["NAME"]),
                          " does not say which boundary id it stands for; end its name with a number");
          while (next_data())
          {
            scanner.require(words.size() == 2,
                            "a part of a surface should be an element or a set and one of its faces, such as S1");
            surfaces.push_back({upper(words[0]), upper(words[1]), id, scanner.line_number()});
          }
        }
        else
        {
          // A material without a number leaves ids to the names of element sets.
          if (keyword == "*SOLID SECTION" && trailing_number(options["MATERIAL"]) >= 0)
            sections.push_back({set, trailing_number(options["MATERIAL"]), scanner.line_number()});
          while (next_data())
          {}
        }
      }

      void read_vertices()
      {
        while (next_data())
        {
          scanner.require(words.size() == 3 || words.size() == 4,
                          "a vertex should be a number and two or three coordinates");
          scanner.require(n_node_words == 0 || words.size() == n_node_words, "a vertex has ", words.size() - 1,
                          " coordinates where those before it have ", n_node_words - 1);
          n_node_words                = words.size();
          std::array<double, 3> x     = {};
          const std::int64_t    label = integer(words[0], "the number of a vertex");
          for (std::size_t d = 1; d < words.size(); ++d)
            x[d - 1] = scanner.to_number<double>(words[d], "a coordinate");
          mesh.add_vertex(label, x);
        }
      }

      void read_elements(const ElementShape &shape, const std::string &set)
      {
        const std::int64_t material = std::max<std::int64_t>(trailing_number(set), 0);
        // One that goes on in the next line: its own number and those of its vertices.
        std::vector<std::int64_t> numbers;
        while (next_data())
        {
          for (const std::string_view word : words)
            numbers.push_back(integer(word, "the number of an element or a vertex"));
          scanner.require(numbers.size() <= 1 + shape.n_vertices, "an element has ", numbers.size() - 1,
                          " vertices where its type has ", shape.n_vertices);
          if (numbers.size() <= shape.n_vertices)
            continue;
          const Element element = {&shape, {numbers.begin() + 1, numbers.end()}, material, scanner.line_number()};
          scanner.require(elements.emplace(numbers[0], element).second, "element ", numbers[0],
                          " is there for the second time");
          if (!set.empty())
            sets[set].push_back(numbers[0]);
          numbers.clear();
        }
        scanner.require(numbers.empty(), line.empty() ? "the file ends" : "a keyword stands",
                        " in the middle of an element");
      }

      void generate_set(const std::string &set)
      {
        scanner.require(words.size() >= 2, "a generated set should be a first and a last element, and a step");
        const std::int64_t first = integer(words[0], "an element"), last = integer(words[1], "an element"),
                           step = words.size() > 2 ? integer(words[2], "a step") : 1;
        scanner.require(step >= 1, "a step should be positive");
        scanner.require(elements.count(first) > 0 && elements.count(last) > 0 && first <= last &&
                            (last - first) % step == 0,
                        "a generated set should go in its steps from one element to another, both of them in front of "
                        "it in the file");
        // Between them only elements that exist can be meant, and there are not many.
        for (auto e = elements.lower_bound(first); e != elements.end() && e->first <= last; ++e)
          if ((e->first - first) % step == 0)
            sets[set].push_back(e->first);
      }

      void extend_set(const std::string &set)
      {
        for (const std::string_view word : words)
        {
          const auto other = sets.find(upper(word));
          if (other == sets.end())
            sets[set].push_back(integer(word, "an element or a set"));
          else
          {
            const std::vector<std::int64_t> members = other->second;
            sets[set].insert(sets[set].end(), members.begin(), members.end());
          }
        }
      }

      void add_face(const Element &element, const Surface &surface)
      {
        static constexpr int hexahedron[6][4]  = {{0, 1, 2, 3}, {4, 7, 6, 5}, {0, 4, 5, 1},
                                                  {1, 5, 6, 2}, {2, 6, 7, 3}, {3, 7, 4, 0}};
        static constexpr int tetrahedron[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};

        const int n     = element.vertices.size();
        const int n_own = element.shape->dimension < 3 ? 2 : n == 8 ? 4 : 3; // vertices of a face
        const int face  = surface.face.size() == 2 && surface.face[0] == 'S' ? surface.face[1] - '1' : -1;
        if (face < 0 || face >= (n == 8 ? 6 : n))
          scanner.fail_at(surface.line, quote(surface.face), " is not a face of the elements named");
        std::int64_t vertices[4];
        for (int v = 0; v < n_own; ++v)
          vertices[v] = element.vertices[n_own == 4   ? hexahedron[face][v]
                                         : n_own == 3 ? tetrahedron[face][v]
                                                      : (face + v) % n];
        mesh.add_element(shapes[n_own - 1], vertices, surface.id, surface.line);
      }

      void finish()
      {
        const auto find = [&](const std::int64_t label, const std::uint32_t line) -> Element & {
          const auto found = elements.find(label);
          if (found == elements.end())
            scanner.fail_at(line, "element ", label, " does not exist");
          return found->second;
        };
        for (const Section &section : sections)
        {
          if (sets.count(section.set) == 0)
            scanner.fail_at(section.line, "there is no element set ", quote(section.set));
          for (const std::int64_t label : sets[section.set])
          {
            Element &element = find(label, section.line);
            if (element.has_section && element.material != section.material)
              scanner.fail_at(section.line, "element ", label, " has material ", element.material,
                              " from another section already; leave it in one of their sets");
            element.material    = section.material;
            element.has_section = true;
          }
        }
        for (const auto &[label, element] : elements)
          mesh.add_element(*element.shape, element.vertices.data(), element.material, element.line);
        for (const Surface &surface : surfaces)
        {
          const auto named = sets.find(surface.target);
          if (named != sets.end())
            for (const std::int64_t label : named->second)
              add_face(find(label, surface.line), surface);
          else
            add_face(find(integer(surface.target, "an element or a set"), surface.line), surface);
        }
      }
    };
  } // namespace

  void read_abaqus(MeshScanner &scanner, MeshCollector &mesh)
  {
    AbaqusReader(scanner, mesh).read();
  }
} // namespace PatchFEM
