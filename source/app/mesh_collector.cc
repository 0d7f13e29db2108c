// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_contact.h"
#include "mesh_reader.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace PatchFEM
{
  MeshCollector::MeshCollector(MeshScanner &scanner, const unsigned int dim, const MeshFileOptions &options)
      : dim(dim), options(options), scanner(scanner)
  {
    mesh.source = scanner.file_name();
  }

  void MeshCollector::add_vertex(const std::int64_t label, const std::array<double, 3> &x)
  {
    scanner.require(numbers.emplace(label, mesh.vertices.size()).second, "vertex ", label,
                    " is there for the second time");
    mesh.vertices.push_back(x);
  }

  void MeshCollector::read_vertex(const std::int64_t label)
  {
    std::array<double, 3> x;
    for (double &coordinate : x)
      coordinate = scanner.real("a coordinate");
    add_vertex(label, x);
  }

  void MeshCollector::add_name(const unsigned int dimension, const std::int64_t number, const std::string &name)
  {
    names[dimension][number] = name;
  }

  std::uint32_t MeshCollector::id_of_number(const unsigned int dimension, const std::int64_t number)
  {
    const auto known = ids_of_numbers.find({dimension, number});
    if (known != ids_of_numbers.end())
      return known->second;
    if (dimension <= dim && dimension + 1 >= dim)
    {
      const bool is_cell = dimension == dim;
      scanner.require(number >= (is_cell ? 0 : -1) && number <= std::numeric_limits<std::int32_t>::max(), number,
                      " cannot be a ", is_cell ? "material" : "boundary", " id");
    }
    return ids_of_numbers[{dimension, number}] = number > 0 ? id_of_groups(dimension, {Group{number, ""}}) : 0;
  }

  std::uint32_t MeshCollector::id_of_groups(const unsigned int dimension, const std::vector<Group> &groups)
  {
    if (dimension == dim)
      return mesh.facts.materials.add(groups);
    return dimension + 1 == dim ? mesh.facts.boundaries.add(groups) : 0;
  }

  std::uint32_t MeshCollector::unite(const unsigned int dimension, const std::uint32_t a, const std::uint32_t b)
  {
    return a == 0 || a == b ? b : (dimension == dim ? mesh.facts.materials : mesh.facts.boundaries).unite(a, b);
  }

  void MeshCollector::read_element(const ElementShape &shape, const std::uint32_t id)
  {
    const std::uint32_t line = scanner.line_number();
    std::int64_t        vertices[8];
    for (unsigned int i = 0; i < shape.n_vertices; ++i)
      vertices[i] = scanner.integer("a vertex of an element");
    add_element(shape, vertices, id, line);
  }

  void MeshCollector::add_element(const ElementShape &shape,
                                  const std::int64_t *labels,
                                  const std::uint32_t id,
                                  const std::uint32_t line)
  {
    const auto require = [&](const bool condition, const auto &...parts) {
      if (!condition)
        scanner.fail_at(line, parts...);
    };
    const unsigned int n           = shape.n_vertices;
    std::uint32_t      vertices[8] = {};
    for (unsigned int i = 0; i < n; ++i)
    {
      const auto found = numbers.find(labels[i]);
      require(found != numbers.end(), "an element uses vertex ", labels[i], ", which the file does not define");
      vertices[i] = found->second;
    }
    require(shape.dimension <= dim, "the file contains ", shape.plural, ", but the dimension asked for is ", dim,
            "; set Dimension = 3");
    require(shape.dimension < 3 || shape.kind, "the file contains ", shape.plural,
            "; mesh the domain with tetrahedra or with hexahedra alone");
    if (shape.dimension + 1 < dim)
    {
      n_lines += shape.dimension == 1;
      return;
    }

    // From loops to lexicographic order.
    if (shape.kind && !is_simplex(*shape.kind))
      for (unsigned int i = 0; i < n; i += 4)
        std::swap(vertices[i + 2], vertices[i + 3]);

    if (shape.dimension == dim)
    {
      require(mesh.cells.empty() || *shape.kind == mesh.kind, "the file mixes ", plural_name(mesh.kind), " and ",
              shape.plural, "; mesh the domain with one kind of cell");
      mesh.kind = *shape.kind;
      mesh.cells.insert(mesh.cells.end(), vertices, vertices + n);
      mesh.material_ids.push_back(id);
      mesh.cell_lines.push_back(line);
      return;
    }
    if (face_shape == nullptr)
    {
      face_shape      = &shape;
      first_face_line = line;
    }
    require(&shape == face_shape, "the file mixes boundary faces that are ", face_shape->plural, " and ", shape.plural,
            "; mesh the domain with one kind of cell");
    if (id > 0)
    {
      mesh.faces.insert(mesh.faces.end(), vertices, vertices + n);
      mesh.face_ids.push_back(id);
    }
  }

  void MeshCollector::add_node_set(const std::string &name, const std::vector<std::int64_t> &labels)
  {
    std::vector<std::uint32_t> vertices;
    for (const std::int64_t label : labels)
      if (const auto found = numbers.find(label); found != numbers.end())
        vertices.push_back(found->second);
    if (vertices.size() < labels.size())
      pass_over(text_of(labels.size() - vertices.size(), " nodes of the set ", quote(name), " that do not exist"));
    node_sets.emplace_back(name, std::move(vertices));
  }

  void MeshCollector::pass_over(const std::string &what)
  {
    if (std::find(passed_over.begin(), passed_over.end(), what) == passed_over.end())
      passed_over.push_back(what);
  }

  void MeshCollector::join_vertices()
  {
    const double                     distance = *options.join;
    const std::vector<std::uint32_t> first    = first_vertices_within(distance, mesh);
    std::size_t                      n_joined = 0;
    for (std::uint32_t v = 0; v < first.size(); ++v)
      n_joined += first[v] != v;
    for (std::vector<std::uint32_t> *list : {&mesh.cells, &mesh.faces})
      for (std::uint32_t &v : *list)
        v = first[v];
    for (auto &set : node_sets)
      for (std::uint32_t &v : set.second)
        v = first[v];
    const unsigned int n = n_vertices_per_cell(mesh.kind);
    for (std::size_t c = 0; c < mesh.n_cells(); ++c)
    {
      std::uint32_t sorted[8];
      std::copy_n(mesh.cell(c), n, sorted);
      std::sort(sorted, sorted + n);
      require(std::adjacent_find(sorted, sorted + n) == sorted + n, [&] {
        return text_of("Mesh/Join = ", distance, " joins vertices of the ", mesh.describe_cell(c), "; set less.");
      });
    }
    mesh.facts.notes.push_back(
        text_of("Mesh/Join = ", distance, " has joined ", counted(n_joined, "node"), " to others."));
  }

  /** Cells that are there several times with different groups become one, in all of them. */
  void MeshCollector::unite_double_cells()
  {
    if (mesh.facts.materials.ids().size() < 2)
      return;
    const unsigned int n      = n_vertices_per_cell(mesh.kind);
    const auto         sorted = [&](const std::size_t c) {
      std::array<std::uint32_t, 8> result{};
      std::copy_n(mesh.cell(c), n, result.begin());
      std::sort(result.begin(), result.begin() + n);
      return result;
    };
    std::vector<std::pair<std::uint64_t, std::uint32_t>> order(mesh.n_cells());
    for (std::size_t c = 0; c < order.size(); ++c)
    {
      std::uint64_t hash = 0;
      for (unsigned int i = 0; i < n; ++i) // whatever the order of vertices
        hash += (mesh.cell(c)[i] + 1) * 0x9e3779b97f4a7c15ULL ^ mesh.cell(c)[i];
      order[c] = {hash, static_cast<std::uint32_t>(c)};
    }
    std::sort(order.begin(), order.end());
    std::vector<bool> is_double(mesh.n_cells(), false);
    for (std::size_t i = 1, first = 0; i < order.size(); ++i)
    {
      if (order[i].first != order[first].first)
        first = i;
      const std::uint32_t c = order[i].second;
      for (std::size_t j = first; j < i && !is_double[c]; ++j)
      {
        std::uint32_t &id = mesh.material_ids[order[j].second];
        if (!is_double[order[j].second] && id != mesh.material_ids[c] && sorted(order[j].second) == sorted(c))
        {
          id           = mesh.facts.materials.unite(id, mesh.material_ids[c]);
          is_double[c] = true;
        }
      }
    }
    std::size_t n_kept = 0;
    for (std::size_t c = 0; c < is_double.size(); ++c)
      if (!is_double[c])
      {
        std::copy_n(mesh.cell(c), n, mesh.cell(n_kept));
        mesh.material_ids[n_kept] = mesh.material_ids[c];
        mesh.cell_lines[n_kept++] = mesh.cell_lines[c];
      }
    mesh.cells.resize(n_kept * n);
    mesh.material_ids.resize(n_kept);
    mesh.cell_lines.resize(n_kept);
  }

  /** Puts a mesh of the plane there. */
  void MeshCollector::flatten()
  {
    double extent = 0;
    for (const auto &x : mesh.vertices)
      extent = std::max({extent, std::abs(x[0] - mesh.vertices[0][0]), std::abs(x[1] - mesh.vertices[0][1])});
    for (auto &x : mesh.vertices)
      require(std::abs(x[2] - mesh.vertices[0][2]) <= 1e-8 * extent, "The mesh file ", quote_file(mesh.source),
              " describes a surface in space, but a two-dimensional domain must lie in a plane z = constant.");
    for (auto &x : mesh.vertices)
      x[2] = 0;
  }

  /** Adds groups to boundary faces whose vertices are all in a set. */
  void MeshCollector::apply_node_sets()
  {
    std::vector<std::vector<std::uint32_t>> sets_of(mesh.vertices.size());
    for (std::uint32_t s = 0; s < node_sets.size(); ++s)
      for (const std::uint32_t v : node_sets[s].second)
        if (v < sets_of.size() && (sets_of[v].empty() || sets_of[v].back() != s))
          sets_of[v].push_back(s);
    std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> ids;
    std::vector<bool>                                                             has_face(node_sets.size(), false);
    const unsigned int                                                            n = n_vertices_per_face(mesh.kind);
    for (std::size_t f = 0; f < mesh.n_faces(); ++f)
    {
      std::vector<std::uint32_t> common = sets_of[mesh.faces[f * n]], next;
      for (unsigned int i = 1; i < n && !common.empty(); ++i)
      {
        const std::vector<std::uint32_t> &other = sets_of[mesh.faces[f * n + i]];
        next.clear();
        std::set_intersection(common.begin(), common.end(), other.begin(), other.end(), std::back_inserter(next));
        common.swap(next);
      }
      if (common.empty())
        continue;
      const auto known = ids.try_emplace({mesh.face_ids[f], common}, 0U);
      if (known.second)
      {
        std::vector<Group> groups = mesh.facts.boundaries.groups(mesh.face_ids[f]);
        for (const std::uint32_t s : common)
        {
          has_face[s] = true;
          if (std::none_of(groups.begin(), groups.end(),
                           [&](const Group &group) { return group.name == node_sets[s].first; }))
            groups.push_back({-1, node_sets[s].first});
        }
        known.first->second = mesh.facts.boundaries.add(groups);
      }
      mesh.face_ids[f] = known.first->second;
    }
    std::vector<std::string> without;
    for (std::size_t s = 0; s < node_sets.size(); ++s)
      if (!has_face[s])
        without.push_back(quote(node_sets[s].first));
    if (!without.empty())
      pass_over("sets of nodes that hold no whole boundary face, " + joined(without, ", "));
  }

  /** Chooses ids for all combinations of groups that are there. */
  void MeshCollector::renumber_regions()
  {
    const auto renumber = [&](MeshRegions &regions, std::vector<std::uint32_t> &ids, const unsigned int dimension) {
      const auto new_ids = regions.renumber(std::set<unsigned int>(ids.begin(), ids.end()), names[dimension]);
      for (std::uint32_t &id : ids)
        id = new_ids.at(id);
    };
    renumber(mesh.facts.materials, mesh.material_ids, dim);
    renumber(mesh.facts.boundaries, mesh.face_ids, dim - 1);
  }

  MeshLists MeshCollector::finish()
  {
    require(!mesh.cells.empty(), "The mesh file ", quote_file(scanner.file_name()), " contains no cells of dimension ",
            dim, mesh.vertices.empty() ? "" : "; check Dimension, and that the cells have been saved", ".");
    if (face_shape != nullptr && face_shape->n_vertices != n_vertices_per_face(mesh.kind))
      scanner.fail_at(first_face_line, face_shape->plural, " cannot be faces of the file's ", plural_name(mesh.kind),
                      "; mesh the domain with one kind of cell");
    if (options.join)
      join_vertices();
    unite_double_cells();
    const std::vector<std::uint32_t> number = delete_unused_vertices(mesh);
    for (auto &set : node_sets)
      for (std::uint32_t &v : set.second)
        v = number[v];
    if (dim == 2)
      flatten();
    orient_cells(mesh);
    complete_boundary_faces(mesh);
    apply_node_sets();
    renumber_regions();
    find_contact(mesh);

    for (const std::string &text : mesh.facts.boundaries.lost_faces())
      pass_over(text);
    for (unsigned int dimension = 0; dimension + 1 < dim; ++dimension)
      for (const auto &name : names[dimension])
        pass_over(text_of("the group ", quote(name.second), " of ", shapes[dimension].plural));
    if (n_lines > 0 && names[1].empty())
      pass_over(counted(n_lines, "line element"));
    if (!passed_over.empty())
      mesh.facts.notes.push_back(
          text_of("Passed over in ", quote_file(mesh.source), ": ", printable(joined(passed_over, ", "), 1000), "."));
    return std::move(mesh);
  }
} // namespace PatchFEM
