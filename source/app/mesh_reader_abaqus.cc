// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_collector.h"

#include <patchfem/base/quote.h>

#include <algorithm>
#include <map>

namespace PatchFEM
{
  namespace
  {
    /** The words between commas, without blanks around them; empty ones at the end are dropped. */
    std::vector<std::string_view> split(std::string_view line)
    {
      std::vector<std::string_view> words;
      while (true)
      {
        const std::size_t comma = std::min(line.find(','), line.size());
        std::string_view  word  = line.substr(0, comma);
        const std::size_t first = word.find_first_not_of(" \t");
        word = first == std::string_view::npos ? "" : word.substr(first, word.find_last_not_of(" \t") - first + 1);
        words.push_back(word);
        if (comma == line.size())
          break;
        line.remove_prefix(comma + 1);
      }
      while (!words.empty() && words.back().empty())
        words.pop_back();
      return words;
    }

    struct Element
    {
      ElementShape              shape;
      std::vector<std::int64_t> vertices;
      std::int64_t              material;
      std::uint32_t             line;
      bool                      has_section = false;
    };

    class Reader
    {
    public:
      Reader(MeshScanner &scanner, MeshCollector &mesh) : scanner(scanner), mesh(mesh) {}

      void read()
      {
        std::string_view line;
        bool             more = next_line(line);
        while (more)
        {
          if (line.front() != '*')
            scanner.fail("a line of data stands where a keyword should start with *");
          read_keyword(line);
          // The data of the keyword, up to the next one.
          while ((more = next_line(line)) && line.front() != '*')
            read_data(line);
        }
        if (!unfinished.empty())
          scanner.fail("the file ends in the middle of an element");
        finish();
      }

    private:
      MeshScanner   &scanner;
      MeshCollector &mesh;

      /// Of the keyword whose data are read now; other keywords' data are passed over.
      std::string  keyword, set, shape_name;
      ElementShape shape      = ElementShape::point;
      bool         generate   = false;
      std::int64_t surface_id = 0;
      /// The numbers of an element that goes on in the next line.
      std::vector<std::int64_t> unfinished;
      unsigned int              n_instances = 0;
      /// Of the vertices so far: a number and coordinates.
      std::size_t n_node_words = 0;

      std::map<std::int64_t, Element>                  elements;
      std::map<std::string, std::vector<std::int64_t>> sets;
      struct Surface
      {
        std::string   target, face;
        std::int64_t  id;
        std::uint32_t line;
      };
      std::vector<Surface> surfaces;
      struct Section
      {
        std::string   set;
        std::int64_t  material;
        std::uint32_t line;
      };
      std::vector<Section> sections;

      bool next_line(std::string_view &line)
      {
        while (!scanner.at_end())
        {
          line                    = scanner.line();
          const std::size_t first = line.find_first_not_of(" \t");
          line.remove_prefix(std::min(first, line.size()));
          if (!line.empty() && line.substr(0, 2) != "**")
            return true;
        }
        return false;
      }

      /** The number that ends a name, or -1. */
      std::int64_t trailing_number(const std::string &name) const
      {
        const std::size_t last = name.find_last_not_of("0123456789");
        const std::size_t from = last == std::string::npos ? 0 : last + 1;
        return from == name.size() ? -1 : scanner.to_integer(std::string_view(name).substr(from), "an id");
      }

      ElementShape shape_of(const std::string &type) const
      {
        const auto starts = [&](const char *prefix) { return type.rfind(prefix, 0) == 0; };
        // A second digit would be the rest of a larger number of vertices, as in C3D10 or CPS8.
        const auto with_vertices = [&](const std::string &family, const char *n) {
          return starts((family + n).c_str()) && (type.size() == family.size() + 1 ||
                                                  !std::isdigit(static_cast<unsigned char>(type[family.size() + 1])));
        };
        for (const char *family : {"C3D", "DC3D"})
        {
          if (with_vertices(family, "8"))
            return ElementShape::hexahedron;
          if (with_vertices(family, "4"))
            return ElementShape::tetrahedron;
          if (with_vertices(family, "6"))
            return ElementShape::prism;
        }
        for (const char *family : {"CPS", "CPE", "S", "DC2D", "R3D", "M3D", "SFM3D"})
        {
          if (with_vertices(family, "4"))
            return ElementShape::quadrilateral;
          if (with_vertices(family, "3"))
            return ElementShape::triangle;
        }
        if (type == "T2D2" || type == "T3D2" || type == "B21" || type == "B31" || type == "R2D2")
          return ElementShape::line;
        scanner.fail("element type " + printable(type) +
                     " is not supported; use linear ones such as C3D8, C3D4, CPS4 or CPS3");
      }

      void read_keyword(const std::string_view line)
      {
        if (!unfinished.empty())
          scanner.fail("a keyword stands in the middle of an element");
        const std::vector<std::string_view> words = split(line);
        std::map<std::string, std::string>  options;
        for (const std::string_view word : words)
        {
          const std::size_t equal = word.find('=');
          const auto        key   = split(word.substr(0, equal));
          const auto        value = split(equal == std::string_view::npos ? "" : word.substr(equal + 1));
          if (!key.empty())
            options[upper(key[0])] = value.empty() ? "" : upper(value[0]);
        }
        keyword  = upper(words[0]);
        set      = options["ELSET"];
        generate = options.count("GENERATE") > 0;
        if (keyword == "*INCLUDE" || ((keyword == "*NODE" || keyword == "*ELEMENT") && options.count("INPUT") > 0))
          scanner.fail("*INCLUDE and INPUT are not supported; put all in one file");
        // What would make or move vertices and elements.
        for (const char *generator : {"*NGEN", "*NFILL", "*NCOPY", "*NMAP", "*ELGEN", "*ELCOPY", "*SYSTEM"})
          if (keyword == generator)
            scanner.fail(keyword +
                         " is not supported; write all vertices and elements with their coordinates in space");
        if (keyword == "*NODE" && options.count("SYSTEM") > 0 && options["SYSTEM"] != "R")
          scanner.fail("SYSTEM=" + printable(options["SYSTEM"]) + " is not supported; write Cartesian coordinates");
        if (keyword == "*INSTANCE" && ++n_instances > 1)
          scanner.fail("several instances of parts are not supported; write all vertices and elements in space");
        if (keyword == "*ELSET" && set.empty())
          scanner.fail("*ELSET does not say which set it stands for; give it ELSET=NAME");
        if (keyword == "*ELEMENT")
          shape = shape_of(options["TYPE"]);
        if (keyword == "*SURFACE")
        {
          if (options.count("TYPE") > 0 && options["TYPE"] != "ELEMENT")
            scanner.fail("only surfaces of TYPE=ELEMENT are supported");
          surface_id = trailing_number(options["NAME"]);
          if (surface_id < 0)
            scanner.fail("the surface " + quote(options["NAME"]) +
                         " does not say which boundary id it stands for; end its name with a number");
        }
        // A material without a number leaves ids to the names of element sets.
        if (keyword == "*SOLID SECTION" && trailing_number(options["MATERIAL"]) >= 0)
          sections.push_back({set, trailing_number(options["MATERIAL"]), scanner.line_number()});
      }

      void read_data(const std::string_view line)
      {
        const std::vector<std::string_view> words = split(line);
        if (keyword == "*INSTANCE")
          scanner.fail("an instance that is moved is not supported; write all vertices in space");
        if (keyword == "*NODE")
        {
          if (words.size() < 3 || words.size() > 4)
            scanner.fail("a vertex should be a number and two or three coordinates");
          if (n_node_words != 0 && words.size() != n_node_words)
            scanner.fail("a vertex has " + std::to_string(words.size() - 1) +
                         " coordinates where those before it have " + std::to_string(n_node_words - 1));
          n_node_words = words.size();
          mesh.add_vertex(scanner.to_integer(words[0], "the number of a vertex"),
                          scanner.to_real(words[1], "a coordinate"), scanner.to_real(words[2], "a coordinate"),
                          words.size() == 4 ? scanner.to_real(words[3], "a coordinate") : 0.);
        }
        else if (keyword == "*ELEMENT")
        {
          for (const std::string_view word : words)
            unfinished.push_back(scanner.to_integer(word, "the number of an element or a vertex"));
          const std::size_t n = 1 + row_of(shape).n_vertices;
          if (unfinished.size() > n)
            scanner.fail("an element has " + std::to_string(unfinished.size() - 1) + " vertices where its type has " +
                         std::to_string(n - 1));
          if (unfinished.size() < n)
            return;
          const std::int64_t material = trailing_number(set);
          const Element      element  = {shape,
                                         {unfinished.begin() + 1, unfinished.end()},
                                         std::max<std::int64_t>(material, 0),
                                         scanner.line_number()};
          if (!elements.emplace(unfinished[0], element).second)
            scanner.fail("element " + std::to_string(unfinished[0]) + " is there for the second time");
          if (!set.empty())
            sets[set].push_back(unfinished[0]);
          unfinished.clear();
        }
        else if (keyword == "*ELSET")
        {
          if (generate)
          {
            if (words.size() < 2)
              scanner.fail("a generated set should be a first and a last element, and a step");
            const std::int64_t first = scanner.to_integer(words[0], "an element"),
                               last  = scanner.to_integer(words[1], "an element"),
                               step  = words.size() > 2 ? scanner.to_integer(words[2], "a step") : 1;
            if (step < 1)
              scanner.fail("a step should be positive");
            for (const std::int64_t end : {first, last})
              if (elements.count(end) == 0 || first > last || (last - first) % step != 0)
                scanner.fail(
                    "a generated set should go in its steps from one element to another, both of them in front of "
                    "it in the file");
            // Between them only elements that exist can be meant, and there are not many.
            for (auto e = elements.lower_bound(first); e != elements.end() && e->first <= last; ++e)
              if ((e->first - first) % step == 0)
                sets[set].push_back(e->first);
          }
          else
            for (const std::string_view word : words)
            {
              const auto other = sets.find(upper(word));
              if (other != sets.end())
              {
                const std::vector<std::int64_t> members = other->second;
                sets[set].insert(sets[set].end(), members.begin(), members.end());
              }
              else
                sets[set].push_back(scanner.to_integer(word, "an element or a set"));
            }
        }
        else if (keyword == "*SURFACE")
        {
          if (words.size() != 2)
            scanner.fail("a part of a surface should be an element or a set and one of its faces, such as S1");
          surfaces.push_back({upper(words[0]), upper(words[1]), surface_id, scanner.line_number()});
        }
      }

      void add_face(const Element &element, const Surface &surface)
      {
        static constexpr int hexahedron[6][4]  = {{0, 1, 2, 3}, {4, 7, 6, 5}, {0, 4, 5, 1},
                                                  {1, 5, 6, 2}, {2, 6, 7, 3}, {3, 7, 4, 0}};
        static constexpr int tetrahedron[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};

        const bool solid  = element.shape == ElementShape::hexahedron || element.shape == ElementShape::tetrahedron;
        const int  n      = element.vertices.size();
        const int  n_face = element.shape == ElementShape::hexahedron ? 6 : solid ? 4 : n;
        const int  face   = surface.face.size() == 2 && surface.face[0] == 'S' ? surface.face[1] - '1' : -1;
        if (face < 0 || face >= n_face)
          scanner.fail(quote(surface.face) + " is not a face of the elements named", surface.line);
        std::int64_t vertices[4];
        for (int v = 0; v < 4; ++v)
          if (element.shape == ElementShape::hexahedron)
            vertices[v] = element.vertices[hexahedron[face][v]];
          else if (solid)
            vertices[v] = element.vertices[tetrahedron[face][std::min(v, 2)]];
          else
            vertices[v] = element.vertices[(face + std::min(v, 1)) % n];
        mesh.add_element(element.shape == ElementShape::hexahedron ? ElementShape::quadrilateral
                         : solid                                   ? ElementShape::triangle
                                                                   : ElementShape::line,
                         vertices, surface.id, surface.line);
      }

      void finish()
      {
        const auto find = [&](const std::int64_t label, const std::uint32_t line) -> Element & {
          const auto found = elements.find(label);
          if (found == elements.end())
            scanner.fail("element " + std::to_string(label) + " does not exist", line);
          return found->second;
        };
        for (const Section &section : sections)
        {
          if (sets.count(section.set) == 0)
            scanner.fail("there is no element set " + quote(section.set), section.line);
          for (const std::int64_t label : sets[section.set])
          {
            Element &element = find(label, section.line);
            if (element.has_section && element.material != section.material)
              scanner.fail("element " + std::to_string(label) + " has material " + std::to_string(element.material) +
                               " from another section already; leave it in one of their sets",
                           section.line);
            element.material    = section.material;
            element.has_section = true;
          }
        }
        for (const auto &element : elements)
          mesh.add_element(element.second.shape, element.second.vertices.data(), element.second.material,
                           element.second.line);
        for (const Surface &surface : surfaces)
        {
          const auto named = sets.find(surface.target);
          if (named != sets.end())
            for (const std::int64_t label : named->second)
              add_face(find(label, surface.line), surface);
          else
            add_face(find(scanner.to_integer(surface.target, "an element or a set"), surface.line), surface);
        }
      }
    };
  } // namespace

  void read_abaqus(MeshScanner &scanner, MeshCollector &mesh)
  {
    Reader(scanner, mesh).read();
  }
} // namespace PatchFEM
