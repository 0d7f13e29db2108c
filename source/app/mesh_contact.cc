// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_contact.h"

#include <deal.II/numerics/rtree.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

namespace PatchFEM
{
  namespace
  {
    namespace bg = boost::geometry;

    using Point  = std::array<double, 3>;
    using Corner = bg::model::point<double, 3, bg::cs::cartesian>;
    using Box    = bg::model::box<Corner>;
    template <typename Item>
    using Tree = bg::index::rtree<std::pair<Item, std::uint32_t>, bg::index::quadratic<8>>;

    Corner corner(const Point &x, const double shift = 0.)
    {
      return {x[0] + shift, x[1] + shift, x[2] + shift};
    }

    double dot(const Point &a, const Point &b)
    {
      return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    }

    Point minus(const Point &a, const Point &b)
    {
      return {{a[0] - b[0], a[1] - b[1], a[2] - b[2]}};
    }

    Point cross(const Point &a, const Point &b)
    {
      return {{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}};
    }

    /** A boundary face, in a loop. */
    struct Face
    {
      Point        x[4];
      Point        centre{}, normal{}; ///< the latter of length 1, in either direction
      double       size = 0.;          ///< its longest edge or diagonal
      unsigned int n    = 0;
    };

    Face face_of(const MeshLists &mesh, const std::size_t f)
    {
      static constexpr unsigned int loop[4] = {0, 1, 3, 2};
      Face                          face;
      face.n = n_vertices_per_face(mesh.kind);
      for (unsigned int i = 0; i < face.n; ++i)
      {
        face.x[i] = mesh.vertices[mesh.faces[f * face.n + (face.n == 4 ? loop[i] : i)]];
        for (unsigned int d = 0; d < 3; ++d)
          face.centre[d] += face.x[i][d] / face.n;
        for (unsigned int j = 0; j < i; ++j)
        {
          const Point edge = minus(face.x[i], face.x[j]);
          face.size        = std::max(face.size, std::sqrt(dot(edge, edge)));
        }
      }
      const Point e       = minus(face.x[1], face.x[0]);
      face.normal         = face.n == 2   ? Point{{e[1], -e[0], 0.}}
                            : face.n == 3 ? cross(e, minus(face.x[2], face.x[0]))
                                          : cross(minus(face.x[2], face.x[0]), minus(face.x[3], face.x[1]));
      const double length = std::sqrt(dot(face.normal, face.normal));
      for (double &component : face.normal)
        component /= length;
      return face;
    }

    /** How far, to either side of a face, another one may be that touches it, in parts of its size. */
    constexpr double near = 1e-3;

    /** The largest distance of a vertex of @p a from the nearest one of @p b. */
    double gap_between(const Face &a, const Face &b)
    {
      double result = 0.;
      for (unsigned int i = 0; i < a.n; ++i)
      {
        double nearest = std::numeric_limits<double>::max();
        for (unsigned int j = 0; j < b.n; ++j)
        {
          const Point gap = minus(a.x[i], b.x[j]);
          nearest         = std::min(nearest, std::sqrt(dot(gap, gap)));
        }
        result = std::max(result, nearest);
      }
      return result;
    }

    /** Whether the centre of @p a, the smaller one, is on @p b and both lie in one plane. */
    bool lies_on(const Face &a, const Face &b)
    {
      if (a.size > 1.001 * b.size || std::abs(dot(a.normal, b.normal)) < 0.99 ||
          std::abs(dot(minus(a.centre, b.centre), b.normal)) > near * a.size)
        return false;
      // Inside of all edges, seen along the normal.
      const Point across = {{0., 0., 1.}};
      for (unsigned int i = 0; i < b.n && b.n > 2; ++i)
      {
        const Point edge = minus(b.x[(i + 1) % b.n], b.x[i]);
        if (dot(cross(b.normal, edge), minus(a.centre, b.x[i])) < 0.)
          return false;
      }
      if (b.n > 2)
        return true;
      const Point edge = cross(across, b.normal), from = minus(a.centre, b.x[0]), to = minus(a.centre, b.x[1]);
      return dot(from, edge) * dot(to, edge) <= 1e-6 * b.size * b.size;
    }

    /** The first vertex of the part that each is of. */
    std::vector<std::uint32_t> parts_of_vertices(const MeshLists &mesh)
    {
      std::vector<std::uint32_t> parent(mesh.vertices.size());
      std::iota(parent.begin(), parent.end(), 0U);
      const auto root = [&](std::uint32_t v) {
        while (parent[v] != v)
          v = parent[v] = parent[parent[v]];
        return v;
      };
      const unsigned int n = n_vertices_per_cell(mesh.kind);
      for (std::size_t c = 0; c < mesh.n_cells(); ++c)
        for (unsigned int i = 1; i < n; ++i)
        {
          const std::uint32_t a = root(mesh.cell(c)[0]), b = root(mesh.cell(c)[i]);
          parent[std::max(a, b)] = std::min(a, b);
        }
      for (std::uint32_t v = 0; v < parent.size(); ++v)
        parent[v] = root(v);
      return parent;
    }
  } // namespace

  void find_contact(MeshLists &mesh)
  {
    const std::vector<std::uint32_t> parts = parts_of_vertices(mesh);
    mesh.facts.n_parts                     = 0;
    for (std::uint32_t v = 0; v < parts.size(); ++v)
      mesh.facts.n_parts += parts[v] == v;

    const unsigned int                 n = n_vertices_per_face(mesh.kind);
    std::vector<Face>                  faces;
    std::vector<Tree<Box>::value_type> boxes, found;
    for (std::size_t f = 0; f < mesh.n_faces(); ++f)
    {
      const Face &face = faces.emplace_back(face_of(mesh, f));
      Point       low = face.x[0], high = face.x[0];
      for (unsigned int i = 0; i < n; ++i)
        for (unsigned int d = 0; d < 3; ++d)
        {
          low[d]  = std::min(low[d], face.x[i][d]);
          high[d] = std::max(high[d], face.x[i][d]);
        }
      boxes.emplace_back(Box(corner(low, -near * face.size), corner(high, near * face.size)), f);
    }
    const Tree<Box>   tree(boxes);
    std::vector<char> has_twin(faces.size(), 0), touches(faces.size(), 0);
    for (std::uint32_t f = 0; f < faces.size(); ++f)
    {
      found.clear();
      tree.query(bg::index::intersects(corner(faces[f].centre)), std::back_inserter(found));
      const std::uint32_t *own = mesh.faces.data() + std::size_t(f) * n;
      for (const auto &item : found)
      {
        const std::uint32_t  g     = item.second;
        const std::uint32_t *other = mesh.faces.data() + std::size_t(g) * n;
        // Both sides of a thin body are near each other, too.
        const double height = std::abs(dot(minus(faces[f].centre, faces[g].centre), faces[g].normal));
        if (g == f || (parts[own[0]] == parts[other[0]] && height > 1e-6 * faces[f].size))
          continue;
        if (const double gap = gap_between(faces[f], faces[g]); gap <= near * std::min(faces[f].size, faces[g].size))
        {
          has_twin[f]    = 1;
          mesh.facts.gap = std::max(mesh.facts.gap, gap);
        }
        else if (lies_on(faces[f], faces[g]))
          touches[f] = 1;
      }
    }
    mesh.facts.n_coinciding = std::count(has_twin.begin(), has_twin.end(), 1) / 2;
    for (std::size_t f = 0; f < faces.size(); ++f)
      mesh.facts.n_touching += touches[f] == 1 && has_twin[f] == 0;
  }

  std::vector<std::uint32_t> first_vertices_within(const double distance, const std::vector<Point> &vertices)
  {
    std::vector<Tree<Corner>::value_type> points, found;
    for (std::uint32_t v = 0; v < vertices.size(); ++v)
      points.emplace_back(corner(vertices[v]), v);
    const Tree<Corner>         tree(points);
    std::vector<std::uint32_t> first(vertices.size());
    for (std::uint32_t v = 0; v < first.size(); ++v)
    {
      first[v] = v;
      found.clear();
      tree.query(bg::index::intersects(Box(corner(vertices[v], -distance), corner(vertices[v], distance))),
                 std::back_inserter(found));
      for (const auto &item : found)
      {
        const Point gap = minus(vertices[v], vertices[item.second]);
        if (item.second < first[v] && first[item.second] == item.second && dot(gap, gap) <= distance * distance)
          first[v] = item.second;
      }
    }
    return first;
  }
} // namespace PatchFEM
