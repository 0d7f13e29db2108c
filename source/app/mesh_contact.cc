// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_contact.h"
#include "mesh_geometry.h"

#include <deal.II/numerics/rtree.h>

#include <boost/pending/disjoint_sets.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace PatchFEM
{
  namespace
  {
    namespace bgi = boost::geometry::index;

    using Point3    = dealii::Point<3>;
    using Direction = dealii::Tensor<1, 3>;
    using Box       = dealii::BoundingBox<3>;
    template <typename Item>
    using Tree = bgi::rtree<std::pair<Item, std::uint32_t>, bgi::quadratic<8>>;

    /** The box from @p low to @p high, and so much @p beyond on each side. */
    Box box_around(const Point3 &low, const Point3 &high, const double beyond)
    {
      const Direction margin({beyond, beyond, beyond});
      return Box({low - margin, high + margin});
    }

    /** A boundary face, in a loop. */
    struct Face
    {
      Point3       x[4];
      Point3       centre;
      Direction    normal;    ///< of length 1, in either direction
      double       size = 0.; ///< its longest edge or diagonal
      unsigned int n    = 0;
    };

    Face face_of(const MeshLists &mesh, const std::size_t f)
    {
      static constexpr unsigned int loop[4] = {0, 1, 3, 2};
      Face                          face;
      face.n      = n_vertices_per_face(mesh.kind);
      face.centre = internal::face_centre(mesh, f);
      face.normal = internal::face_normal(mesh, f);
      for (unsigned int i = 0; i < face.n; ++i)
      {
        face.x[i] = internal::face_vertex(mesh, f, face.n == 4 ? loop[i] : i);
        for (unsigned int j = 0; j < i; ++j)
          face.size = std::max(face.size, face.x[i].distance(face.x[j]));
      }
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
          nearest = std::min(nearest, a.x[i].distance(b.x[j]));
        result = std::max(result, nearest);
      }
      return result;
    }

    /** Whether the centre of @p a, the smaller one, is on @p b and both lie in one plane. */
    bool lies_on(const Face &a, const Face &b)
    {
      if (a.size > 1.001 * b.size || std::abs(a.normal * b.normal) < 0.99 ||
          std::abs((a.centre - b.centre) * b.normal) > near * a.size)
        return false;
      // Inside of all edges, seen along the normal.
      for (unsigned int i = 0; i < b.n && b.n > 2; ++i)
        if (cross_product_3d(b.normal, b.x[(i + 1) % b.n] - b.x[i]) * (a.centre - b.x[i]) < 0.)
          return false;
      if (b.n > 2)
        return true;
      const Direction edge = cross_product_3d(Direction({0., 0., 1.}), b.normal);
      return ((a.centre - b.x[0]) * edge) * ((a.centre - b.x[1]) * edge) <= 1e-6 * b.size * b.size;
    }

    /** A vertex of the part that each is of, the same for all of them. */
    std::vector<std::uint32_t> parts_of_vertices(const MeshLists &mesh)
    {
      boost::disjoint_sets_with_storage<> sets(mesh.vertices.size());
      const unsigned int                  n = n_vertices_per_cell(mesh.kind);
      for (std::size_t c = 0; c < mesh.n_cells(); ++c)
        for (unsigned int i = 1; i < n; ++i)
          sets.union_set(mesh.cell(c)[0], mesh.cell(c)[i]);
      std::vector<std::uint32_t> parts(mesh.vertices.size());
      for (std::uint32_t v = 0; v < parts.size(); ++v)
        parts[v] = sets.find_set(v);
      return parts;
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
      Point3      low = face.x[0], high = face.x[0];
      for (unsigned int i = 0; i < n; ++i)
        for (unsigned int d = 0; d < 3; ++d)
        {
          low[d]  = std::min(low[d], face.x[i][d]);
          high[d] = std::max(high[d], face.x[i][d]);
        }
      boxes.emplace_back(box_around(low, high, near * face.size), f);
    }
    const Tree<Box>   tree(boxes);
    std::vector<char> has_twin(faces.size(), 0), touches(faces.size(), 0);
    for (std::uint32_t f = 0; f < faces.size(); ++f)
    {
      found.clear();
      tree.query(bgi::intersects(faces[f].centre), std::back_inserter(found));
      const std::uint32_t *own = mesh.faces.data() + std::size_t(f) * n;
      for (const auto &item : found)
      {
        const std::uint32_t  g     = item.second;
        const std::uint32_t *other = mesh.faces.data() + std::size_t(g) * n;
        // Both sides of a thin body are near each other, too.
        const double height = std::abs((faces[f].centre - faces[g].centre) * faces[g].normal);
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

  std::vector<std::uint32_t> first_vertices_within(const double distance, const MeshLists &mesh)
  {
    std::vector<Tree<Point3>::value_type> points, found;
    for (std::uint32_t v = 0; v < mesh.vertices.size(); ++v)
      points.emplace_back(internal::vertex(mesh, v), v);
    const Tree<Point3>         tree(points);
    std::vector<std::uint32_t> first(points.size());
    for (const auto &[point, v] : points)
    {
      first[v] = v;
      found.clear();
      tree.query(bgi::intersects(box_around(point, point, distance)), std::back_inserter(found));
      for (const auto &[other, number] : found)
        if (number < first[v] && first[number] == number && point.distance_square(other) <= distance * distance)
          first[v] = number;
    }
    return first;
  }
} // namespace PatchFEM
