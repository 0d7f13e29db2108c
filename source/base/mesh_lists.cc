// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>
#include <patchfem/base/mesh_lists.h>
#include <patchfem/base/quote.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace PatchFEM
{
  namespace
  {
    using Point = std::array<double, 3>;

    Point operator-(const Point &a, const Point &b)
    {
      return {{a[0] - b[0], a[1] - b[1], a[2] - b[2]}};
    }

    double determinant(const Point &a, const Point &b)
    {
      return a[0] * b[1] - a[1] * b[0];
    }

    double determinant(const Point &a, const Point &b, const Point &c)
    {
      return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) +
             a[2] * (b[0] * c[1] - b[1] * c[0]);
    }

    /** Vertices of a cell's faces by CellKind; quadrilaterals in lexicographic order. */
    constexpr unsigned int face_vertices[4][6][4] = {
        {{0, 1}, {1, 2}, {2, 0}},
        {{0, 2}, {1, 3}, {0, 1}, {2, 3}},
        {{0, 1, 2}, {1, 0, 3}, {0, 2, 3}, {2, 1, 3}},
        {{0, 2, 4, 6}, {1, 3, 5, 7}, {0, 4, 1, 5}, {2, 6, 3, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}}};

    std::string coordinates(const CellKind kind, const Point &x)
    {
      return text_of(x[0], ", ", x[1], cell_dimension(kind) == 3 ? text_of(", ", x[2]) : "");
    }

    constexpr std::uint32_t no_vertex = std::numeric_limits<std::uint32_t>::max();

    /** The vertices of a face, and no_vertex where it has less than four. */
    using FaceKey = std::array<std::uint32_t, 4>;

    /** What two cells that share a face agree on. */
    FaceKey sorted(FaceKey key)
    {
      std::sort(key.begin(), key.end());
      return key;
    }

    struct FaceOfCell
    {
      FaceKey       key;
      std::uint64_t number;

      bool operator<(const FaceOfCell &other) const
      {
        return std::make_tuple(two(0), two(2), number) < std::make_tuple(other.two(0), other.two(2), other.number);
      }

    private:
      /** Two numbers at a time, which compares faster than an array does. */
      std::uint64_t two(const unsigned int i) const { return std::uint64_t(key[i]) << 32 | key[i + 1]; }
    };

    std::string describe_face(const MeshLists &mesh, const FaceKey &key)
    {
      const unsigned int n = n_vertices_per_face(mesh.kind);
      Point              centre{{0., 0., 0.}};
      for (unsigned int v = 0; v < n; ++v)
        for (unsigned int d = 0; d < 3; ++d)
          centre[d] += mesh.vertices[key[v]][d] / n;
      return text_of("the face centred at (", coordinates(mesh.kind, centre), ")");
    }

    /** For each vertex the number of the first one at its place: its own wherever there is no crack. */
    std::vector<std::uint32_t> places_of_vertices(const MeshLists &mesh)
    {
      std::vector<std::uint32_t> order(mesh.vertices.size()), places(mesh.vertices.size());
      std::iota(order.begin(), order.end(), 0U);
      std::sort(order.begin(), order.end(), [&](const std::uint32_t a, const std::uint32_t b) {
        return std::tie(mesh.vertices[a], a) < std::tie(mesh.vertices[b], b);
      });
      for (std::size_t i = 0; i < order.size(); ++i)
        places[order[i]] =
            i > 0 && mesh.vertices[order[i - 1]] == mesh.vertices[order[i]] ? places[order[i - 1]] : order[i];
      return places;
    }

    /**
     * On which side of its face number @p face a positive cell lies, seen along the direction that the numbers of the
     * face's vertices, @p v, give it: cells on opposite sides have values of opposite sign. The value is one of 1, 2, 3
     * for the three ways to go around four vertices.
     */
    int side_of_face(const CellKind kind, const unsigned int face, const FaceKey &v)
    {
      if (kind == CellKind::triangle)
        return v[0] < v[1] ? 1 : -1;
      if (kind == CellKind::quadrilateral)
        return (v[0] < v[1]) == (face == 1 || face == 2) ? 1 : -1;
      if (kind == CellKind::tetrahedron)
        return (v[0] < v[1]) ^ (v[1] < v[2]) ^ (v[0] < v[2]) ? 1 : -1;
      // Opposite vertices of a lexicographic face are 0 and 3, 1 and 2. The way around starts at the smallest number.
      static constexpr unsigned int loop[4] = {0, 1, 3, 2};
      unsigned int                  first   = 0;
      for (unsigned int i = 1; i < 4; ++i)
        if (v[loop[i]] < v[loop[first]])
          first = i;
      const std::uint32_t next = v[loop[(first + 1) % 4]], opposite = v[loop[(first + 2) % 4]],
                          last = v[loop[(first + 3) % 4]];
      const int way            = 1 + (next < opposite) + (last < opposite);
      return (next < last) == (face % 2 == 1) ? way : -way;
    }

    double dot(const Point &a, const Point &b)
    {
      return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    }

    /** Plane or solid angle of a cell at its vertex number @p i, between the edges from there; < 0 if turned inside out. */
    double angle_at_vertex(const MeshLists &mesh, const std::size_t c, const unsigned int i)
    {
      const std::uint32_t *v   = mesh.cell(c);
      const unsigned int   dim = cell_dimension(mesh.kind);
      Point                edges[3];
      double               lengths[3];
      for (unsigned int d = 0; d < dim; ++d)
      {
        const unsigned int other = is_simplex(mesh.kind) ? (i + 1 + d) % (dim + 1) : i ^ 1U << d;
        edges[d]                 = mesh.vertices[v[other]] - mesh.vertices[v[i]];
        lengths[d]               = std::sqrt(dot(edges[d], edges[d]));
      }
      double volume = dim == 2 ? determinant(edges[0], edges[1]) : determinant(edges[0], edges[1], edges[2]);
      if (is_simplex(mesh.kind))
        volume = std::abs(volume);
      else if ((i ^ i >> 1 ^ i >> 2) & 1) // an edge that points down mirrors the others
        volume = -volume;
      if (dim == 2)
        return std::atan2(volume, dot(edges[0], edges[1]));
      // Van Oosterom and Strackee, IEEE Trans. Biomed. Eng. 30, 1983.
      return 2. * std::atan2(volume, lengths[0] * lengths[1] * lengths[2] + dot(edges[0], edges[1]) * lengths[2] +
                                         dot(edges[1], edges[2]) * lengths[0] + dot(edges[2], edges[0]) * lengths[1]);
    }

    /** Throws Error if cells overlap next to a vertex: their angles add up to more than there is around a point. */
    void check_angles(const MeshLists &mesh, const std::vector<std::uint32_t> &places)
    {
      const unsigned int  n = n_vertices_per_cell(mesh.kind), dim = cell_dimension(mesh.kind);
      const double        full = (dim == 2 ? 2. : 4.) * std::acos(-1.);
      std::vector<double> angles(mesh.vertices.size(), 0.);
      for (std::size_t i = 0; i < mesh.cells.size(); ++i)
        angles[places[mesh.cells[i]]] += angle_at_vertex(mesh, i / n, i % n);
      const auto largest = std::max_element(angles.begin(), angles.end());
      if (largest == angles.end() || !(*largest > full * (1. + 1e-6)))
        return;
      std::vector<std::size_t> cells;
      for (std::size_t i = 0; i < mesh.cells.size(); ++i)
        if (places[mesh.cells[i]] == largest - angles.begin())
          cells.push_back(i / n);
      throw Error("The ", cells.size(), " cells with a vertex at (",
                  coordinates(mesh.kind, mesh.vertices[largest - angles.begin()]), "), from ",
                  mesh.describe_cell(cells.front()), " to ", mesh.describe_cell(cells.back()),
                  ", overlap: their angles there add up to ", *largest / full,
                  " of a full one; correct the vertices that these cells name, or where they are.");
    }

    /** The smallest and the largest Jacobian determinant at the 2^dim Gauss points of a multilinear cell. */
    std::pair<double, double> jacobians_at_gauss_points(const MeshLists &mesh, const std::size_t c)
    {
      const unsigned int        dim  = cell_dimension(mesh.kind);
      const double              near = 0.5 + std::sqrt(1. / 12.);
      std::pair<double, double> result(std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest());
      for (unsigned int q = 0; q < 1U << dim; ++q)
      {
        // Derivative d is a mean of the edges in that direction, by how near they are to the point in the others.
        Point edges[3] = {};
        for (unsigned int d = 0; d < dim; ++d)
          for (unsigned int i = 0; i < 1U << dim; ++i)
          {
            double weight = i >> d & 1 ? 1. : -1.;
            for (unsigned int other = 0; other < dim; ++other)
              if (other != d)
                weight *= (i ^ q) >> other & 1 ? 1. - near : near;
            for (unsigned int x = 0; x < 3; ++x)
              edges[d][x] += weight * mesh.vertices[mesh.cell(c)[i]][x];
          }
        const double jacobian = dim == 2 ? determinant(edges[0], edges[1]) : determinant(edges[0], edges[1], edges[2]);
        result                = {std::min(result.first, jacobian), std::max(result.second, jacobian)};
      }
      return result;
    }

    std::string of_source(const MeshLists &mesh)
    {
      return mesh.source.empty() ? std::string("the mesh") : "the mesh of " + quote_file(mesh.source);
    }
  } // namespace

  const char *plural_name(const CellKind kind)
  {
    static const char *const names[] = {"triangles", "quadrilaterals", "tetrahedra", "hexahedra"};
    return names[static_cast<int>(kind)];
  }

  std::string MeshLists::describe_cell(const std::size_t c) const
  {
    if (c < cell_lines.size())
      return text_of("cell ", c, " (line ", cell_lines[c], " of ", quote_file(source), ")");
    return text_of("cell ", c, " (with a vertex at ", coordinates(kind, vertices[cell(c)[0]]), ")");
  }

  std::array<double, 8> jacobians_at_vertices(const MeshLists &mesh, const std::size_t c)
  {
    const unsigned int    dim = cell_dimension(mesh.kind), n = is_simplex(mesh.kind) ? 1 : 1U << dim;
    const auto            x = [&](const unsigned int i) -> const Point            &{ return mesh.vertices[mesh.cell(c)[i]]; };
    std::array<double, 8> result{};
    for (unsigned int i = 0; i < n; ++i)
    {
      Point edges[3];
      for (unsigned int d = 0; d < dim; ++d)
        edges[d] = is_simplex(mesh.kind) ? x(1 + d) - x(0) : x(i | 1U << d) - x(i & ~(1U << d));
      result[i] = dim == 2 ? determinant(edges[0], edges[1]) : determinant(edges[0], edges[1], edges[2]);
    }
    return result;
  }

  double simplex_measure(const MeshLists &mesh, const std::size_t cell)
  {
    return jacobians_at_vertices(mesh, cell)[0] / (mesh.kind == CellKind::triangle ? 2. : 6.);
  }

  std::vector<std::uint32_t> delete_unused_vertices(MeshLists &mesh)
  {
    std::vector<std::uint32_t> new_number(mesh.vertices.size(), no_vertex);
    for (const std::uint32_t v : mesh.cells)
      new_number[v] = 0;

    const unsigned int n      = n_vertices_per_face(mesh.kind);
    std::size_t        n_kept = 0;
    for (std::size_t f = 0; f < mesh.n_faces(); ++f)
    {
      const std::uint32_t *face = mesh.faces.data() + f * n;
      if (std::any_of(face, face + n, [&](const std::uint32_t v) { return new_number[v] == no_vertex; }))
        mesh.facts.boundaries.add_lost_face(mesh.face_ids[f], false);
      else
      {
        std::copy_n(face, n, mesh.faces.data() + n_kept * n);
        mesh.face_ids[n_kept++] = mesh.face_ids[f];
      }
    }
    mesh.faces.resize(n_kept * n);
    mesh.face_ids.resize(n_kept);

    std::uint32_t n_used = 0;
    for (std::size_t v = 0; v < mesh.vertices.size(); ++v)
      if (new_number[v] == 0)
      {
        new_number[v]         = n_used;
        mesh.vertices[n_used] = mesh.vertices[v];
        ++n_used;
      }
    mesh.vertices.resize(n_used);
    for (std::vector<std::uint32_t> *list : {&mesh.cells, &mesh.faces})
      for (std::uint32_t &v : *list)
        v = new_number[v];
    return new_number;
  }

  std::size_t orient_cells(MeshLists &mesh)
  {
    const unsigned int n_vertices = n_vertices_per_cell(mesh.kind);
    const unsigned int dim        = cell_dimension(mesh.kind);
    std::size_t        n_inverted = 0, n_turned = 0;
    for (std::size_t c = 0; c < mesh.n_cells(); ++c)
    {
      std::uint32_t *v        = mesh.cell(c);
      double         diameter = 0;
      for (unsigned int i = 0; i < n_vertices; ++i)
        for (unsigned int j = 0; j < i; ++j)
        {
          if (v[i] == v[j])
            throw Error("The ", mesh.describe_cell(c),
                        " uses a vertex twice, that is, it is a collapsed cell of another kind; mesh that part with ",
                        plural_name(mesh.kind), ".");
          const Point edge = mesh.vertices[v[i]] - mesh.vertices[v[j]];
          diameter         = std::max(diameter, std::hypot(edge[0], edge[1], edge[2]));
        }
      const std::array<double, 8> jacobians = jacobians_at_vertices(mesh, c);
      const unsigned int          n         = is_simplex(mesh.kind) ? 1 : n_vertices;
      double                      smallest  = *std::min_element(jacobians.begin(), jacobians.begin() + n);
      double                      largest   = *std::max_element(jacobians.begin(), jacobians.begin() + n);
      const double                flat      = 1e-12 * std::pow(diameter, dim);
      // Written so that a vertex that is not a number is caught, too.
      if (!(largest > flat || smallest < -flat))
        throw Error("The ", mesh.describe_cell(c), " is flat; repair the mesh.");
      if (smallest < -flat && largest > flat)
      {
        std::tie(smallest, largest) = jacobians_at_gauss_points(mesh, c);
        if (smallest < flat && largest > -flat)
          throw Error("The ", mesh.describe_cell(c),
                      " is tangled: its Jacobian changes sign between its vertices; repair the mesh.");
        ++n_turned;
      }
      if (largest <= flat)
      {
        ++n_inverted;
        if (is_simplex(mesh.kind))
          std::swap(v[dim - 1], v[dim]);
        else
          for (unsigned int i = 0; i < n_vertices / 2; ++i)
            std::swap(v[i], v[i + n_vertices / 2]);
      }
    }
    if (n_turned > 0)
      mesh.facts.notes.push_back("The mesh has " + counted(n_turned, "cell") +
                                 " with a vertex that is turned inside out, though no Gauss point is; a better shape "
                                 "would be more accurate.");
    return n_inverted;
  }

  void complete_boundary_faces(MeshLists &mesh)
  {
    const unsigned int n_faces_per = n_faces_per_cell(mesh.kind), n_vertices = n_vertices_per_face(mesh.kind);

    const auto face_of = [&](const auto &vertex) {
      FaceKey result = {{no_vertex, no_vertex, no_vertex, no_vertex}};
      for (unsigned int i = 0; i < n_vertices; ++i)
        result[i] = vertex(i);
      return result;
    };
    const auto vertices_of = [&](const std::uint64_t number) {
      const unsigned int *local = face_vertices[static_cast<int>(mesh.kind)][number % n_faces_per];
      return face_of([&](const unsigned int i) { return mesh.cell(number / n_faces_per)[local[i]]; });
    };
    // Faces are told apart by where they are, so that cells that are there twice with vertices of their own are found.
    // Both sides of a crack, each on the boundary, have one place. Collapsed faces have no place but their vertices.
    const std::vector<std::uint32_t> places    = places_of_vertices(mesh);
    const auto                       places_of = [&](const FaceKey &vertices) {
      FaceKey result = vertices;
      for (unsigned int i = 0; i < n_vertices; ++i)
      {
        result[i] = places[vertices[i]];
        if (std::find(result.begin(), result.begin() + i, result[i]) != result.begin() + i)
          return vertices;
      }
      return result;
    };
    std::vector<FaceOfCell> all(mesh.n_cells() * n_faces_per);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = {sorted(places_of(vertices_of(i))), i};
    std::sort(all.begin(), all.end());

    std::vector<std::pair<FaceOfCell, std::uint32_t>> boundary; // with their ids
    for (std::size_t i = 0, next; i < all.size(); i = next)
    {
      for (next = i + 1; next < all.size() && all[next].key == all[i].key;)
        ++next;
      if (next - i == 1)
      {
        boundary.emplace_back(all[i], 0U);
        continue;
      }
      const std::uint64_t numbers[2] = {all[i].number, all[i + 1].number};
      const auto          cells      = [&] {
        return mesh.describe_cell(numbers[0] / n_faces_per) + " and the " +
               mesh.describe_cell(numbers[1] / n_faces_per);
      };
      if (next - i > 2)
        throw Error("In ", of_source(mesh), " ", describe_face(mesh, all[i].key), " belongs to ", next - i,
                    " cells, among them the ", cells(), "; remove cells that are there twice or overlap.");
      const FaceKey vertices[2] = {vertices_of(numbers[0]), vertices_of(numbers[1])};
      int           sides[2];
      for (unsigned int c = 0; c < 2; ++c)
        sides[c] = side_of_face(mesh.kind, numbers[c] % n_faces_per, places_of(vertices[c]));
      if (sides[0] != -sides[1])
      {
        const bool overlap = sides[0] == sides[1];
        throw Error("The ", cells(), overlap ? " lie on the same side of " : " go in different ways around ",
                    describe_face(mesh, all[i].key),
                    overlap ? ", so that they overlap; remove cells that are there twice, and move back vertices that "
                              "have got into or beyond other cells."
                            : ", which they share; correct the order of their vertices.");
      }
      if (sorted(vertices[0]) != sorted(vertices[1]))
        boundary.insert(boundary.end(), {{all[i], 0U}, {all[i + 1], 0U}});
    }

    check_angles(mesh, places);

    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> united; // ids
    for (std::size_t f = 0; f < mesh.n_faces(); ++f)
    {
      if (mesh.face_ids[f] == 0)
        continue;
      const FaceKey vertices = face_of([&](const unsigned int i) { return mesh.faces[f * n_vertices + i]; });
      const FaceKey key = sorted(vertices), place = sorted(places_of(vertices));
      auto found = std::lower_bound(boundary.begin(), boundary.end(), std::make_pair(FaceOfCell{place, 0}, 0U));
      while (found != boundary.end() && found->first.key == place && sorted(vertices_of(found->first.number)) != key)
        ++found;
      if (found != boundary.end() && found->first.key == place)
      {
        std::uint32_t &id = found->second;
        if (id == 0)
          id = mesh.face_ids[f];
        else if (id != mesh.face_ids[f])
        {
          const auto pair = united.try_emplace({id, mesh.face_ids[f]}, 0U);
          if (pair.second)
            pair.first->second = mesh.facts.boundaries.unite(id, mesh.face_ids[f]);
          id = pair.first->second;
        }
        continue;
      }
      const auto inner = std::lower_bound(all.begin(), all.end(), FaceOfCell{place, 0});
      mesh.facts.boundaries.add_lost_face(mesh.face_ids[f], inner != all.end() && inner->key == place);
    }

    // Back into the order of the cells, which is the better one for whoever walks over both.
    std::sort(boundary.begin(), boundary.end(),
              [](const auto &a, const auto &b) { return a.first.number < b.first.number; });
    mesh.faces.clear();
    mesh.face_ids.clear();
    for (const auto &[face, id] : boundary)
    {
      const FaceKey vertices = vertices_of(face.number);
      mesh.faces.insert(mesh.faces.end(), vertices.begin(), vertices.begin() + n_vertices);
      mesh.face_ids.push_back(id);
    }
  }
} // namespace PatchFEM
