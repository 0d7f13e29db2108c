// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>
#include <patchfem/base/simplex_refinement.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace PatchFEM
{
  namespace
  {
    using Point  = std::array<double, 3>;
    using Vertex = std::uint32_t;

    double distance(const Point &a, const Point &b)
    {
      return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
    }

    Point midpoint(const Point &a, const Point &b)
    {
      return {{0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])}};
    }

    /**
     * Numbers the edges of a mesh in O(n): gathers them by smaller vertex (a counting sort) and sorts each of these
     * small buckets, in parallel. They are numbered as the vertices are, so that midpoints lie in memory as these do.
     */
    class EdgeNumbering
    {
    public:
      /** @p local_edges: pairs of vertices of a cell, @p n_local of them. */
      EdgeNumbering(const MeshLists &mesh, const unsigned int (*local_edges)[2], const unsigned int n_local)
      {
        const std::size_t        n_vertices = mesh.vertices.size();
        std::vector<std::size_t> bucket(n_vertices + 1, 0);
        const auto               for_each_edge_of_cells = [&](const auto &function) {
          for (std::size_t c = 0; c < mesh.n_cells(); ++c)
            for (unsigned int e = 0; e < n_local; ++e)
              function(std::minmax(mesh.cell(c)[local_edges[e][0]], mesh.cell(c)[local_edges[e][1]]));
        };
        for_each_edge_of_cells([&](const auto &ends) { ++bucket[ends.first + 1]; });
        std::partial_sum(bucket.begin(), bucket.end(), bucket.begin());

        std::vector<Vertex>      larger(bucket[n_vertices]);
        std::vector<std::size_t> next(bucket.begin(), bucket.end() - 1);
        for_each_edge_of_cells([&](const auto &ends) { larger[next[ends.first]++] = ends.second; });

        first.assign(n_vertices + 1, 0);
#pragma omp parallel for schedule(static)
        for (std::size_t v = 0; v < n_vertices; ++v)
        {
          const auto begin = larger.begin() + bucket[v], end = larger.begin() + bucket[v + 1];
          std::sort(begin, end);
          first[v + 1] = std::unique(begin, end) - begin;
        }
        std::partial_sum(first.begin(), first.end(), first.begin());
        upper.resize(first[n_vertices]);
#pragma omp parallel for schedule(static)
        for (std::size_t v = 0; v < n_vertices; ++v)
          std::copy_n(larger.begin() + bucket[v], first[v + 1] - first[v], upper.begin() + first[v]);
      }

      std::size_t size() const
      {
        return upper.size();
      }

      /** The number of an edge that exists. */
      std::size_t operator()(const Vertex a, const Vertex b) const
      {
        const auto ends  = std::minmax(a, b);
        const auto begin = upper.begin() + first[ends.first], end = upper.begin() + first[ends.first + 1];
        return std::lower_bound(begin, end, ends.second) - upper.begin();
      }

      /** Calls @p function(edge, smaller vertex, larger vertex), in parallel. */
      template <typename Function>
      void for_each(const Function &function) const
      {
#pragma omp parallel for schedule(static)
        for (std::size_t v = 0; v < first.size() - 1; ++v)
          for (std::size_t e = first[v]; e < first[v + 1]; ++e)
            function(e, Vertex(v), upper[e]);
      }

    private:
      std::vector<std::size_t> first; ///< [smaller vertex], its first edge
      std::vector<Vertex>      upper; ///< [edge], the larger vertex
    };

    constexpr unsigned int simplex_edges[6][2] = {{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}};

    /** 0 ... 3 are a simplex' vertices, 4 ... 9 the midpoints of simplex_edges. */
    constexpr unsigned int triangle_children[4][3]    = {{0, 4, 5}, {4, 1, 6}, {5, 6, 2}, {4, 6, 5}};
    constexpr unsigned int tetrahedron_children[8][4] = {{0, 4, 5, 7}, {4, 1, 6, 8}, {5, 6, 2, 9}, {7, 8, 9, 3},
                                                         {4, 5, 7, 8}, {6, 5, 4, 8}, {5, 7, 8, 9}, {8, 6, 5, 9}};
    constexpr unsigned int line_children[2][2]        = {{0, 4}, {4, 1}};

    /** Refines cells or faces of @p n_vertices vertices each with the midpoints numbered by @p edges. */
    template <unsigned int n_children, unsigned int n_vertices>
    void refine_list(std::vector<Vertex>        &list,
                     std::vector<std::uint32_t> &ids,
                     const EdgeNumbering        &edges,
                     const std::size_t           first_midpoint,
                     const unsigned int (&children)[n_children][n_vertices])
    {
      const std::size_t          n = ids.size();
      std::vector<Vertex>        new_list(list.size() * n_children);
      std::vector<std::uint32_t> new_ids(n * n_children);
#pragma omp parallel for schedule(static)
      for (std::size_t i = 0; i < n; ++i)
      {
        Vertex local[10];
        std::copy_n(list.data() + i * n_vertices, n_vertices, local);
        for (unsigned int e = 0; e < n_vertices * (n_vertices - 1) / 2; ++e)
          local[4 + e] = first_midpoint + edges(local[simplex_edges[e][0]], local[simplex_edges[e][1]]);
        for (unsigned int child = 0; child < n_children; ++child)
        {
          for (unsigned int v = 0; v < n_vertices; ++v)
            new_list[(i * n_children + child) * n_vertices + v] = local[children[child][v]];
          new_ids[i * n_children + child] = ids[i];
        }
      }
      list.swap(new_list);
      ids.swap(new_ids);
    }

    /**
     * Directions of edges such that parallel edges of every hexahedron point the same way: sets of edges with a
     * direction, of which an edge with its other direction is in another set. The smallest edge of a set says which of
     * both sets is taken, so that directions mostly follow the numbers of vertices.
     */
    class EdgeDirections
    {
    public:
      explicit EdgeDirections(const MeshLists &mesh)
          : numbering(mesh, hexahedron_edges, 12), parent(2 * numbering.size())
      {
        std::iota(parent.begin(), parent.end(), std::size_t(0));
        for (std::size_t c = 0; c < mesh.n_cells(); ++c)
          for (unsigned int e = 0; e < 12; ++e)
          {
            const Vertex *v     = mesh.cell(c);
            const auto    local = [&](const unsigned int i) {
              return directed(v[hexahedron_edges[i][0]], v[hexahedron_edges[i][1]]);
            };
            const std::size_t first = local(e - e % 4), other = local(e); // of each axis
            unite(first, other);
            unite(opposite(first), opposite(other));
            if (find(other) == find(opposite(other)))
              throw Error("The hexahedra cannot be cut into 6 tetrahedra each: around the ", mesh.describe_cell(c),
                          " they do not agree on directions of their edges; set Mesh/Simplices = dealii.");
          }
      }

      /** Whether the edge points from @p a to @p b. */
      bool points(const Vertex a, const Vertex b) const
      {
        std::size_t e = directed(a, b);
        while (parent[e] != e)
          e = parent[e];
        return e % 2 == 0;
      }

    private:
      static constexpr unsigned int hexahedron_edges[12][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3},
                                                               {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};

      EdgeNumbering            numbering;
      std::vector<std::size_t> parent; ///< the forest of sets, with the smallest member of a set as its root

      /** Twice the number of the edge, and one more if it is to point to its smaller vertex. */
      std::size_t directed(const Vertex a, const Vertex b) const { return 2 * numbering(a, b) + (a > b); }

      static std::size_t opposite(const std::size_t e) { return e ^ 1U; }

      /** The root, with paths halved on the way. */
      std::size_t find(std::size_t e)
      {
        while (parent[e] != e)
          e = parent[e] = parent[parent[e]];
        return e;
      }

      void unite(const std::size_t a, const std::size_t b)
      {
        const auto roots     = std::minmax({find(a), find(b)});
        parent[roots.second] = roots.first;
      }
    };

    /** Throws unless the new simplices, [cell][n_parts], are positive. */
    void check_cut(const MeshLists &old_mesh, const MeshLists &new_mesh, const unsigned int n_parts)
    {
      const unsigned int n = n_vertices_per_cell(new_mesh.kind);
      for (std::size_t c = 0; c < new_mesh.n_cells(); ++c)
      {
        double diameter = 0;
        for (unsigned int i = 0; i < n; ++i)
          for (unsigned int j = 0; j < i; ++j)
            diameter = std::max(
                diameter, distance(new_mesh.vertices[new_mesh.cell(c)[i]], new_mesh.vertices[new_mesh.cell(c)[j]]));
        if (!(simplex_measure(new_mesh, c) > 1e-12 * std::pow(diameter, cell_dimension(new_mesh.kind))))
          throw Error("The ", old_mesh.describe_cell(c / n_parts), " is so deformed that it cannot be cut into ",
                      n_parts, " ", plural_name(new_mesh.kind), "; set Mesh/Simplices = dealii or repair the mesh.");
      }
    }

    void cut_quadrilaterals(const MeshLists &mesh, MeshLists &result)
    {
      static constexpr unsigned int halves[2][6] = {{1, 3, 2, 1, 2, 0}, {0, 1, 3, 0, 3, 2}};
      for (std::size_t c = 0; c < mesh.n_cells(); ++c)
      {
        const Vertex *v = mesh.cell(c);
        // Vertices 1 and 2 are where the corner must be convex if the diagonal 0 3 is to cut the cell well.
        const std::array<double, 8> jacobians = jacobians_at_vertices(mesh, c);
        for (const unsigned int i : halves[jacobians[1] > 0 && jacobians[2] > 0])
          result.cells.push_back(v[i]);
        result.material_ids.insert(result.material_ids.end(), 2, mesh.material_ids[c]);
      }
      result.faces    = mesh.faces;
      result.face_ids = mesh.face_ids;
      check_cut(mesh, result, 2);
    }

    void cut_hexahedra(const MeshLists &mesh, const MirroredPaths mirrored, MeshLists &result)
    {
      // Each path adds the three axes, as bits of a lexicographic vertex, in one order; the last column: even orders.
      static constexpr unsigned int paths[6][3] = {{1, 3, 1}, {1, 5, 0}, {2, 6, 1}, {2, 3, 0}, {4, 5, 1}, {4, 6, 0}};

      const EdgeDirections directions(mesh);
      result.cells.resize(mesh.n_cells() * 24);
      result.material_ids.resize(mesh.n_cells() * 6);
#pragma omp parallel for schedule(static)
      for (std::size_t c = 0; c < mesh.n_cells(); ++c)
      {
        const Vertex *v = mesh.cell(c);
        // The vertex that all three of its edges leave.
        unsigned int start = 0;
        bool         even  = true;
        for (unsigned int axis = 0; axis < 3; ++axis)
          if (!directions.points(v[0], v[1U << axis]))
          {
            start |= 1U << axis;
            even = !even;
          }
        for (unsigned int p = 0; p < 6; ++p)
        {
          Vertex *t = result.cells.data() + (6 * c + p) * 4;
          t[0]      = v[start];
          t[1]      = v[start ^ paths[p][0]];
          t[2]      = v[start ^ paths[p][1]];
          t[3]      = v[start ^ 7U];
          // Exchanging vertices 0 and 2 mirrors the order and keeps the diagonal of red_refine().
          if (even != (paths[p][2] == 1))
            std::swap(t[mirrored == MirroredPaths::exchange_last ? 3 : 0], t[2]);
          result.material_ids[6 * c + p] = mesh.material_ids[c];
        }
      }
      for (std::size_t f = 0; f < mesh.n_faces(); ++f)
      {
        const Vertex      *v = mesh.faces.data() + 4 * f;
        const unsigned int start =
            (directions.points(v[0], v[1]) ? 0U : 1U) | (directions.points(v[0], v[2]) ? 0U : 2U);
        result.faces.insert(result.faces.end(),
                            {v[start], v[start ^ 1U], v[start ^ 3U], v[start], v[start ^ 3U], v[start ^ 2U]});
        result.face_ids.insert(result.face_ids.end(), 2, mesh.face_ids[f]);
      }
      check_cut(mesh, result, 6);
    }
  } // namespace

  void red_refine(MeshLists &mesh)
  {
    require(is_simplex(mesh.kind), "Red refinement is for triangles and tetrahedra.");
    const bool          tetrahedra = mesh.kind == CellKind::tetrahedron;
    const EdgeNumbering edges(mesh, simplex_edges, tetrahedra ? 6 : 3);
    const std::size_t   first_midpoint = mesh.vertices.size();
    require(first_midpoint + edges.size() < std::numeric_limits<Vertex>::max() &&
                mesh.n_cells() < std::numeric_limits<Vertex>::max() / 8,
            "The refined mesh would have more vertices or cells than 32-bit numbers can name; refine less.");
    mesh.vertices.resize(first_midpoint + edges.size());
    edges.for_each([&](const std::size_t e, const Vertex a, const Vertex b) {
      mesh.vertices[first_midpoint + e] = midpoint(mesh.vertices[a], mesh.vertices[b]);
    });
    if (tetrahedra)
    {
      refine_list(mesh.cells, mesh.material_ids, edges, first_midpoint, tetrahedron_children);
      refine_list(mesh.faces, mesh.face_ids, edges, first_midpoint, triangle_children);
    }
    else
    {
      refine_list(mesh.cells, mesh.material_ids, edges, first_midpoint, triangle_children);
      refine_list(mesh.faces, mesh.face_ids, edges, first_midpoint, line_children);
    }
    mesh.cell_lines.clear();
  }

  void choose_shortest_diagonals(MeshLists &mesh)
  {
    if (mesh.kind != CellKind::tetrahedron)
      return;
#pragma omp parallel for schedule(static)
    for (std::size_t c = 0; c < mesh.n_cells(); ++c)
    {
      Vertex    *v      = mesh.cell(c);
      const auto length = [&](const unsigned int a, const unsigned int b, const unsigned int i, const unsigned int j) {
        return distance(midpoint(mesh.vertices[v[a]], mesh.vertices[v[b]]),
                        midpoint(mesh.vertices[v[i]], mesh.vertices[v[j]]));
      };
      const double margin = 1. - 1e-10;
      const double now = length(0, 2, 1, 3), first = length(0, 1, 2, 3), second = length(0, 3, 1, 2);
      // Even permutations that bring the two edges of the chosen diagonal to the places (0, 2) and (1, 3).
      const std::array<Vertex, 4> old{{v[0], v[1], v[2], v[3]}};
      if (first < margin * now && first <= second)
      {
        v[0] = old[1], v[1] = old[2], v[2] = old[0];
      }
      else if (second < margin * now)
      {
        v[0] = old[3], v[2] = old[0], v[3] = old[2];
      }
    }
  }

  void cut_into_simplices(MeshLists &mesh, const MirroredPaths mirrored)
  {
    require(!is_simplex(mesh.kind), "The mesh consists of simplices already; set Mesh/Simplices = none.");
    MeshLists result;
    result.vertices = mesh.vertices;
    result.source   = mesh.source;
    result.facts    = std::move(mesh.facts);
    if (mesh.kind == CellKind::quadrilateral)
    {
      result.kind = CellKind::triangle;
      cut_quadrilaterals(mesh, result);
    }
    else
    {
      result.kind = CellKind::tetrahedron;
      cut_hexahedra(mesh, mirrored, result);
    }
    mesh = std::move(result);
  }
} // namespace PatchFEM
