// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_reader.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <utility>

namespace PatchFEM
{
  namespace
  {
    /** The words between commas that are not quoted, without blanks around them; empty ones at the end are dropped. */
    std::vector<std::string_view> split(const std::string_view line)
    {
      std::vector<std::string_view> words;
      for (std::size_t from = 0, comma; from <= line.size(); from = comma + 1)
      {
        bool quoted = false;
        for (comma = from; comma < line.size() && (quoted || line[comma] != ','); ++comma)
          quoted = quoted != (line[comma] == '"');
        const std::string_view word  = line.substr(from, comma - from);
        const std::size_t      first = word.find_first_not_of(" \t"), last = word.find_last_not_of(" \t");
        words.push_back(first == std::string_view::npos ? "" : word.substr(first, last - first + 1));
      }
      while (!words.empty() && words.back().empty())
        words.pop_back();
      return words;
    }

    /** Whether @p word of data is the number of an element or a node; a set of such a name is quoted. */
    bool is_label(const std::string_view word)
    {
      return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
    }

    /** Keywords that say nothing of a mesh, or of what a run is to compute. */
    const std::set<std::string> silent = {
        "*HEADING",     "*PREPRINT",       "*PART",    "*END PART",       "*ASSEMBLY",      "*END ASSEMBLY",
        "*MATERIAL",    "*END INSTANCE",   "*STEP",    "*END STEP",       "*STATIC",        "*OUTPUT",
        "*NODE OUTPUT", "*ELEMENT OUTPUT", "*RESTART", "*CONTACT OUTPUT", "*ENERGY OUTPUT", "*NODE PRINT",
        "*NODE FILE",   "*EL PRINT",       "*EL FILE", "*ENERGY PRINT",   "*ENERGY FILE",   "*MONITOR",
        "*FILE FORMAT", "*CONTACT FILE",   "*PRINT",   "*CONTACT PRINT",  "*SECTION PRINT", "*SECTION FILE"};

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
        assign_materials();
        add_elements();
        add_surfaces();
        for (const auto &set : node_sets)
          if (internal.count(set.first) == 0)
            mesh.add_node_set(spelling.at(set.first), set.second);
      }

    private:
      using Group  = MeshRegions::Group;
      using Labels = std::vector<std::int64_t>;

      using Name = const std::string *; ///< a key of `spelling`, null for none

      struct Element
      {
        const ElementShape *shape;
        Labels              vertices;
        Name                own_set; ///< that of its *ELEMENT
        std::uint32_t       line;
        Name                material = nullptr;
        std::vector<Name>   sets{};
      };
      struct Surface
      {
        std::string   name, target, face;
        std::uint32_t line;
      };
      struct Section
      {
        std::string   set, material;
        std::uint32_t line;
      };

      MeshScanner   &scanner;
      MeshCollector &mesh;

      std::string_view              line;  ///< the current one, empty at the end of the file
      std::vector<std::string_view> words; ///< of a line of data
      unsigned int                  n_instances = 0;

      // Behind an instance, within *ASSEMBLY; and whether nodes have been there, whose labels an instance may have, too.
      bool between_instances = false, has_own_nodes = false;

      // Names are in capitals, since they are equal in any; messages have them as the file does.
      std::map<std::string, std::string> spelling;
      std::map<std::int64_t, Element>    elements;
      std::map<std::string, Labels>      sets, node_sets;
      std::set<std::string>              internal; ///< sets that a program has made for surfaces and loads of its own
      std::vector<Surface>               surfaces;
      std::vector<Section>               sections;

      std::map<std::string, std::int64_t> face_numbers; ///< see numbers_of(), of element sets and surfaces

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

      /** In capitals and without quotation marks. */
      std::string name(std::string_view word)
      {
        if (word.size() > 1 && word.front() == '"' && word.back() == '"')
          word = word.substr(1, word.size() - 2);
        const std::string result = upper(word);
        spelling.emplace(result, word);
        return result;
      }

      Name key(const std::string &name) const { return name.empty() ? nullptr : &spelling.find(name)->first; }

      /** The number that ends a name, or -1. */
      std::int64_t trailing_number(const std::string &name) const
      {
        const std::size_t from = name.find_last_not_of("0123456789") + 1; // npos + 1 = 0
        return from == name.size() || name.size() - from > 9 ? -1
                                                             : integer(std::string_view(name).substr(from), "an id");
      }

      /** Null for those that are no part of a mesh. */
      const ElementShape *shape_of(const std::string &type) const
      {
        // Behind a family's name the number of vertices. A second digit would be the rest of a larger one, as in C3D10.
        const std::pair<std::string, unsigned int> families[] = {{"D?C3D([468])", 3},
                                                                 {"(?:CPS|CPE|D?S|STRI|DC2D|R3D|M3D|SFM3D)([34])", 2}};
        std::smatch                                match;
        for (const auto &[family, dimension] : families)
          if (std::regex_match(type, match, std::regex(family + "(?:[^0-9].*)?")))
            for (const ElementShape &shape : shapes)
              if (shape.dimension == dimension && match[1] == std::to_string(shape.n_vertices))
                return &shape;
        if (std::regex_match(type, std::regex("T2D2|T3D2|B21|B31|R2D2")))
          return &shapes[1];
        if (std::regex_match(type,
                             std::regex("(MASS|ROTARYI|HEATCAP|SPRING|DASHPOT|CONN|GAP|DCOUP|DISTRIB|T[23]D|B[23]|R2D|"
                                        "F[23]D|PIPE).*")))
          return nullptr;
        scanner.fail("element type ", printable(type),
                     " is not supported; use linear ones such as C3D8, C3D4, CPS4 or CPS3");
      }

      using Options = std::map<std::string, std::string>;

      /** Refuses what would make or move vertices and elements. */
      void refuse_generators(const std::string &keyword, const Options &options) const
      {
        scanner.require(keyword != "*INCLUDE" &&
                            ((keyword != "*NODE" && keyword != "*ELEMENT") || options.count("INPUT") == 0),
                        "*INCLUDE and INPUT are not supported; put all in one file");
        for (const char *generator : {"*NGEN", "*NFILL", "*NCOPY", "*NMAP", "*ELGEN", "*ELCOPY", "*SYSTEM"})
          scanner.require(keyword != generator, keyword,
                          " is not supported; write all vertices and elements with their coordinates in space");
      }

      /** Reads a keyword and its data, up to the next one; those of other keywords are passed over. */
      void read_keyword()
      {
        Options options;
        for (const std::string_view word : split(line))
        {
          const std::size_t equal = std::min(word.find('='), word.size());
          const auto key = split(word.substr(0, equal)), value = split(word.substr(std::min(equal + 1, word.size())));
          if (!key.empty())
            options[upper(key[0])] = value.empty() ? "" : name(value[0]);
        }
        const std::string keyword = upper(split(line)[0]);
        const std::string set = options["ELSET"], node_set = options["NSET"];
        refuse_generators(keyword, options);
        if (keyword == "*END INSTANCE" || keyword == "*INSTANCE" || keyword == "*END ASSEMBLY")
          between_instances = keyword == "*END INSTANCE";
        if (between_instances &&
            (keyword == "*NODE" || (has_own_nodes && keyword == "*NSET" && options.count("INSTANCE") == 0)))
        {
          has_own_nodes = true;
          mesh.pass_over("reference points and their sets, which are in *ASSEMBLY and no instance");
          while (next_data())
          {}
        }
        else if (keyword == "*NODE")
        {
          const std::string system = options.count("SYSTEM") > 0 ? options["SYSTEM"] : "R";
          scanner.require(system == "R", "SYSTEM=", printable(system),
                          " is not supported; write Cartesian coordinates");
          read_vertices(node_set);
        }
        else if (keyword == "*INSTANCE")
        {
          scanner.require(++n_instances == 1,
                          "several instances of parts are not supported; write all vertices and elements in space");
          while (next_data())
            for (const std::string_view word : words)
              scanner.require(scanner.to_number<double>(word, "a translation") == 0.,
                              "an instance that is moved is not supported; write all vertices in space");
        }
        else if (keyword == "*ELEMENT")
          read_elements(options["TYPE"], set);
        else if (keyword == "*ELSET" || keyword == "*NSET")
          read_set(keyword, options);
        else if (keyword == "*SURFACE")
          read_surface(options);
        else
        {
          if ((keyword == "*SOLID SECTION" || keyword == "*SHELL SECTION" || keyword == "*MEMBRANE SECTION") &&
              !options["MATERIAL"].empty())
            sections.push_back({set, options["MATERIAL"], scanner.line_number()});
          else if (silent.count(keyword) == 0)
            mesh.pass_over(printable(keyword));
          while (next_data())
          {}
        }
      }

      void read_set(const std::string &keyword, Options &options)
      {
        const std::string set      = options[keyword.substr(1)];
        const bool        of_nodes = keyword == "*NSET";
        scanner.require(!set.empty(), keyword, " does not say which set it stands for; give it ", keyword.substr(1),
                        "=NAME");
        Labels &labels = (of_nodes ? node_sets : sets)[set];
        if (options.count("INTERNAL") > 0)
          internal.insert(set);
        if (of_nodes && !options["ELSET"].empty())
          mesh.pass_over("the nodes of elements in *NSET " + quote(spelling.at(set)));
        while (next_data())
          if (options.count("GENERATE") == 0)
            extend_set(of_nodes ? node_sets : sets, labels);
          else if (of_nodes)
            generate_node_set(labels);
          else
            generate_set(labels);
      }

      void read_surface(Options &options)
      {
        const std::string type = options.count("TYPE") == 0 ? "ELEMENT" : options["TYPE"];
        scanner.require(type == "ELEMENT" || type == "NODE", "only surfaces of TYPE=ELEMENT and NODE are supported");
        scanner.require(!options["NAME"].empty(), "*SURFACE does not say its name; give it NAME=...");
        while (next_data())
          if (type == "NODE")
          {
            words.resize(std::min<std::size_t>(words.size(), 1)); // an area may follow
            extend_set(node_sets, node_sets[options["NAME"]]);
          }
          else
          {
            scanner.require(words.size() == 1 || words.size() == 2,
                            "a part of a surface should be an element or a set, and one of its faces, such as S1");
            surfaces.push_back(
                {options["NAME"], upper(words[0]), words.size() > 1 ? upper(words[1]) : "", scanner.line_number()});
          }
      }

      /** Coordinates that are left out are 0; those behind the third, a direction, are not needed. */
      void read_vertices(const std::string &set)
      {
        while (next_data())
        {
          scanner.require(!words.empty() && words.size() <= 7,
                          "a vertex should be a number and up to three coordinates");
          std::array<double, 3> x     = {};
          const std::int64_t    label = integer(words[0], "the number of a vertex");
          for (std::size_t d = 1; d < std::min<std::size_t>(words.size(), 4); ++d)
            x[d - 1] = words[d].empty() ? 0. : scanner.to_number<double>(words[d], "a coordinate");
          mesh.add_vertex(label, x);
          if (!set.empty())
            node_sets[set].push_back(label);
        }
      }

      void read_elements(const std::string &type, const std::string &set)
      {
        const ElementShape *shape = shape_of(type);
        if (shape == nullptr)
          mesh.pass_over("elements of type " + printable(type));
        // One that goes on in the next line: its own number and those of its vertices.
        Labels numbers;
        while (next_data())
        {
          if (shape == nullptr)
            continue;
          for (const std::string_view word : words)
            numbers.push_back(integer(word, "the number of an element or a vertex"));
          scanner.require(numbers.size() <= 1 + shape->n_vertices, "an element has ", numbers.size() - 1,
                          " vertices where its type has ", shape->n_vertices);
          if (numbers.size() <= shape->n_vertices)
            continue;
          const Element element = {shape, {numbers.begin() + 1, numbers.end()}, key(set), scanner.line_number()};
          scanner.require(elements.emplace(numbers[0], element).second, "element ", numbers[0],
                          " is there for the second time");
          if (!set.empty())
            sets[set].push_back(numbers[0]);
          numbers.clear();
        }
        scanner.require(numbers.empty(), line.empty() ? "the file ends" : "a keyword stands",
                        " in the middle of an element");
      }

      /** First, last and step of a generated set. */
      std::array<std::int64_t, 3> range(const char *item) const
      {
        scanner.require(words.size() >= 2, "a generated set should be a first and a last ", item, ", and a step");
        const std::int64_t step = words.size() > 2 ? integer(words[2], "a step") : 1;
        scanner.require(step >= 1, "a step should be positive");
        return {{integer(words[0], item), integer(words[1], item), step}};
      }

      void generate_set(Labels &labels)
      {
        const auto [first, last, step] = range("element");
        scanner.require(elements.count(first) > 0 && elements.count(last) > 0 && first <= last &&
                            (last - first) % step == 0,
                        "a generated set should go in its steps from one element to another, both of them in front of "
                        "it in the file");
        // Between them only elements that exist can be meant, and there are not many.
        for (auto e = elements.lower_bound(first); e != elements.end() && e->first <= last; ++e)
          if ((e->first - first) % step == 0)
            labels.push_back(e->first);
      }

      void generate_node_set(Labels &labels)
      {
        const auto [first, last, step] = range("node");
        // Its nodes may follow in the file.
        scanner.require(first <= last && (last - first) / step <= 10 * std::int64_t(mesh.n_vertices()) + 10'000'000,
                        "a generated set should go in its steps from one node to another");
        for (std::int64_t node = first; node <= last; node += step)
          labels.push_back(node);
      }

      void extend_set(const std::map<std::string, Labels> &others, Labels &labels)
      {
        for (const std::string_view word : words)
        {
          const auto other = is_label(word) ? others.end() : others.find(name(word));
          if (other == others.end())
            labels.push_back(integer(word, "a number or a set"));
          else
          {
            const Labels members = other->second;
            labels.insert(labels.end(), members.begin(), members.end());
          }
        }
      }

      Element &find(const std::int64_t label, const std::uint32_t line)
      {
        const auto found = elements.find(label);
        if (found == elements.end())
          scanner.fail_at(line, "element ", label, " does not exist");
        return found->second;
      }

      void assign_materials()
      {
        for (const Section &section : sections)
        {
          if (sets.count(section.set) == 0)
            scanner.fail_at(section.line, "there is no element set ", quote(section.set));
          for (const std::int64_t label : sets[section.set])
          {
            Element &element = find(label, section.line);
            if (element.material != nullptr && *element.material != section.material)
              scanner.fail_at(section.line, "element ", label, " has material ", quote(spelling.at(*element.material)),
                              " from another section already; leave it in one of their sets");
            element.material = key(section.material);
            if (element.shape->dimension < mesh.dim)
              mesh.pass_over("the section of the " + (element.shape->plural + (" " + quote(spelling.at(section.set)))) +
                             ", whose stiffness is not used");
          }
        }
        for (const auto &[set, labels] : sets)
        {
          if (internal.count(set) > 0)
            continue;
          const Name name = key(set);
          for (const std::int64_t label : labels)
            if (const auto found = elements.find(label); found == elements.end())
              mesh.pass_over("elements of the set " + quote(spelling.at(set)) + " that do not exist");
            else if (found->second.sets.empty() || found->second.sets.back() != name)
              found->second.sets.push_back(name);
        }
      }

      /** Numbers that end exactly one of @p names and are none of @p others, by name: these may be called so, too. */
      std::map<std::string, std::int64_t> numbers_of(const std::set<std::string> &names,
                                                     const std::set<std::string> &others) const
      {
        std::map<std::string, std::int64_t> result;
        std::map<std::int64_t, int>         count;
        for (const std::string &name : names)
          ++count[trailing_number(name)];
        for (const std::string &name : names)
          if (const std::int64_t number = trailing_number(name); count[number] == 1)
            if (const std::string word = std::to_string(number); name == word || others.count(word) == 0)
              result[name] = number;
        return result;
      }

      /** The name that an element's number is that of: its material's, or else its own set's. */
      Name numbered_name(const Element &element) const
      {
        const Name material = element.material;
        return material != nullptr && trailing_number(*material) >= 0 ? material : element.own_set;
      }

      void add_elements()
      {
        std::set<std::string> cells, faces, cell_sets, face_sets;
        for (const auto &[label, element] : elements)
        {
          const bool is_cell = element.shape->dimension == mesh.dim;
          if (const Name name = numbered_name(element); name != nullptr)
            (is_cell ? cells : faces).insert(*name);
          for (const Name set : element.sets)
            (is_cell ? cell_sets : face_sets).insert(*set);
        }
        for (const Surface &surface : surfaces)
          faces.insert(surface.name);
        for (const auto &set : node_sets)
          face_sets.insert(set.first);
        const auto cell_numbers = numbers_of(cells, cell_sets);
        face_numbers            = numbers_of(faces, face_sets);

        std::map<std::vector<Name>, std::uint32_t> ids[4]; // of material, own set and all sets
        for (const auto &[label, element] : elements)
        {
          const unsigned int dimension = element.shape->dimension;
          if (dimension + 1 < mesh.dim) // a section's are named already
          {
            if (element.material == nullptr)
              mesh.pass_over(element.shape->plural +
                             (element.own_set == nullptr ? "" : " of the set " + quote(spelling.at(*element.own_set))));
            continue;
          }
          std::vector<Name> names = {element.material, element.own_set};
          names.insert(names.end(), element.sets.begin(), element.sets.end());
          const auto known = ids[dimension].try_emplace(names, 0U);
          if (known.second)
          {
            const auto        &numbers = dimension == mesh.dim ? cell_numbers : face_numbers;
            std::vector<Group> groups;
            for (auto name = names.begin(); name != names.end(); ++name)
              if (*name != nullptr && std::find(names.begin(), name, *name) == name)
              {
                const auto number = numbers.find(**name);
                const bool has    = number != numbers.end() && *name == numbered_name(element);
                groups.push_back({has ? number->second : -1, spelling.at(**name)});
              }
            known.first->second = mesh.id_of_groups(dimension, groups);
          }
          mesh.add_element(*element.shape, element.vertices.data(), known.first->second, element.line);
        }
      }

      /** The face of @p element in @p surface, whose faces have @p id; all of its faces if none is named. */
      void add_face(const Element &element, const Surface &surface, const std::uint32_t id)
      {
        if (surface.face.empty())
        {
          const std::size_t n_faces = element.vertices.size() == 8 ? 6 : element.vertices.size();
          for (std::size_t f = 1; f <= n_faces; ++f)
            add_face(element, {surface.name, surface.target, "S" + std::to_string(f), surface.line}, id);
          return;
        }
        static constexpr int hexahedron[6][4]  = {{0, 1, 2, 3}, {4, 7, 6, 5}, {0, 4, 5, 1},
                                                  {1, 5, 6, 2}, {2, 6, 7, 3}, {3, 7, 4, 0}};
        static constexpr int tetrahedron[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};

        const bool is_flat = element.shape->dimension == 2;
        if (is_flat && (surface.face == "SPOS" || surface.face == "SNEG"))
        {
          if (mesh.dim == 3) // a skin
            mesh.add_element(*element.shape, element.vertices.data(), id, surface.line);
          else
            mesh.pass_over("parts of the surface " + quote(spelling.at(surface.name)) + " that are the plane itself, " +
                           surface.face);
          return;
        }
        const int  n      = element.vertices.size();
        const int  n_own  = is_flat ? 2 : n == 8 ? 4 : 3; // vertices of a face
        const bool letter = surface.face.size() == 2 && (surface.face[0] == 'S' || (is_flat && surface.face[0] == 'E'));
        const int  face   = letter ? surface.face[1] - '1' : -1;
        if (face < 0 || face >= (n == 8 ? 6 : n) || element.shape->dimension < 2)
          scanner.fail_at(surface.line, quote(surface.face), " is not a face of the elements named");
        std::int64_t vertices[4];
        for (int v = 0; v < n_own; ++v)
          vertices[v] = element.vertices[n_own == 4   ? hexahedron[face][v]
                                         : n_own == 3 ? tetrahedron[face][v]
                                                      : (face + v) % n];
        mesh.add_element(shapes[n_own - 1], vertices, id, surface.line);
      }

      void add_surfaces()
      {
        for (const Surface &surface : surfaces)
        {
          const auto          number = face_numbers.find(surface.name);
          const std::uint32_t id     = mesh.id_of_groups(
                  mesh.dim - 1, {Group{number == face_numbers.end() ? -1 : number->second, spelling.at(surface.name)}});
          // Behind the instance of a part there may be a set of the part.
          const std::string target = name(surface.target);
          auto              named  = is_label(surface.target) ? sets.end() : sets.find(target);
          if (named == sets.end() && !is_label(surface.target))
            named = sets.find(target.substr(target.rfind('.') + 1));
          if (named != sets.end())
            for (const std::int64_t label : named->second)
              add_face(find(label, surface.line), surface, id);
          else
            add_face(find(integer(surface.target, "an element or a set"), surface.line), surface, id);
        }
      }
    };
  } // namespace

  void read_abaqus(MeshScanner &scanner, MeshCollector &mesh)
  {
    AbaqusReader(scanner, mesh).read();
  }
} // namespace PatchFEM
