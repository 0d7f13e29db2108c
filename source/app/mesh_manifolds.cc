// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh_geometry.h"

#include <patchfem/app/expression.h>
#include <patchfem/app/mesh_manifolds.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/base/simplex_refinement.h>

#include <deal.II/grid/manifold_lib.h>

#include <boost/pending/disjoint_sets.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace PatchFEM
{
  namespace
  {
    using internal::face_vertex, internal::vertex;
    using Vector = dealii::Tensor<1, 3>;

    struct CurveShape
    {
      const char  *name;
      unsigned int dim, n_numbers;
      const char  *numbers;
    };
    constexpr CurveShape curve_shapes[] = {
        {"circle", 2, 2, "its centre x, y"},
        {"cylinder", 3, 6, "a point and the direction of its axis, x, y, z, dx, dy, dz"},
        {"sphere", 3, 3, "its centre x, y, z"}};
  } // namespace

  Vector CurvedBoundary::arm(const Vector &x) const
  {
    return x - centre - ((x - centre) * axis) * axis;
  }

  std::vector<CurvedBoundary> parse_manifolds(const std::string &text)
  {
    std::vector<CurvedBoundary> result;
    for (const std::string &item : split_outside(text, ';'))
    {
      if (item.empty())
        continue;
      CurvedBoundary curve;
      const auto [key, description] = split_key(item);
      curve.boundaries              = split_words(key, "Mesh/Manifolds");
      const std::size_t blank       = std::min(description.find_first_of(" \t"), description.size());
      const std::string name        = description.substr(0, blank);
      const auto        shape       = std::find_if(std::begin(curve_shapes), std::end(curve_shapes),
                                                   [&](const CurveShape &row) { return row.name == name; });
      require(
          !curve.boundaries.empty() && shape != std::end(curve_shapes), "The item ", quote(item),
          " of Mesh/Manifolds is not a boundary and its shape, such as 'hole: circle 0, 0', 'shaft: cylinder 0, 0, 0, "
          "0, 0, 1' or 'ball: sphere 0, 0, 0'.");
      std::vector<double> x;
      for (const std::string &number : split_outside(description.substr(blank), ','))
        x.push_back(constant_value(number, parse_constants(""), "Mesh/Manifolds"));
      require(x.size() == shape->n_numbers, "The item ", quote(item), " of Mesh/Manifolds has ", x.size(),
              " numbers; a ", name, " has ", shape->n_numbers, ": ", shape->numbers, ".");
      for (unsigned int i = 0; i < x.size(); ++i)
        (i < 3 ? curve.centre : curve.axis)[i % 3] = x[i];
      curve.shape = static_cast<CurvedBoundary::Shape>(shape - curve_shapes);
      curve.text  = item;
      if (curve.shape == CurvedBoundary::Shape::cylinder)
      {
        require(curve.axis.norm() > 0., "The item ", quote(item), " of Mesh/Manifolds has an axis without direction.");
        curve.axis /= curve.axis.norm();
      }
      result.push_back(curve);
    }
    return result;
  }

  Curves find_curves(const MeshLists &mesh, const MeshRegions &boundaries, const std::vector<CurvedBoundary> &manifolds)
  {
    Curves             curves;
    const unsigned int dim = cell_dimension(mesh.kind), n = n_vertices_per_face(mesh.kind);
    for (const CurvedBoundary &curve : manifolds)
    {
      const unsigned int dim_of_shape = curve_shapes[static_cast<int>(curve.shape)].dim;
      require(dim_of_shape == dim, "The item ", quote(curve.text), " of Mesh/Manifolds is for ", dim_of_shape,
              " dimensions; in ", dim, " there are ", dim == 2 ? "circles." : "cylinders and spheres.");
      for (const std::string &word : curve.boundaries)
        for (const unsigned int id : boundaries.find(word, "Mesh/Manifolds", "boundary"))
        {
          const auto [found, is_new] = curves.emplace(id, curve);
          require(is_new || split_key(found->second.text).second == split_key(curve.text).second,
                  "Mesh/Manifolds gives two shapes to boundary ", boundaries.text(id), "; leave one.");
        }
    }
    for (std::size_t f = 0; f < mesh.n_faces(); ++f)
    {
      const auto found = curves.find(mesh.face_ids[f]);
      if (found == curves.end())
        continue;
      double              diameter = 0.;
      std::vector<Vector> arms;
      std::vector<double> radii;
      for (unsigned int i = 0; i < n; ++i)
      {
        arms.push_back(found->second.arm(face_vertex(mesh, f, i)));
        radii.push_back(arms.back().norm());
        for (const Vector &arm : arms)
          diameter = std::max(diameter, (arm - arms.back()).norm());
      }
      const auto [least, most] = std::minmax_element(radii.begin(), radii.end());
      const Vector x           = face_vertex(mesh, f, 0);
      require(*most - *least <= 0.02 * diameter && diameter < 1.9 * *least, "Mesh/Manifolds says ",
              quote(found->second.text), ", but a face of boundary ", boundaries.text(found->first), ", ", diameter,
              " long and with a vertex at (", x[0], ", ", x[1], dim == 3 ? text_of(", ", x[2]) : "",
              "), has vertices at ", *least, " and ", *most,
              " from there; correct the item, or give the curved faces an id of their own by Boundary ids/Rules.");
    }
    return curves;
  }

  void red_refine(MeshLists &mesh, const Curves &curves)
  {
    const MeshLists    coarse = curves.empty() ? MeshLists() : mesh;
    const unsigned int n = n_vertices_per_face(mesh.kind), n_children = 1U << (n - 1);
    red_refine(mesh);
    for (std::size_t f = 0; f < coarse.n_faces(); ++f)
    {
      const auto found = curves.find(coarse.face_ids[f]);
      if (found == curves.end())
        continue;
      // Child i of a face has its vertex i, and in place of vertex j the midpoint of both.
      for (unsigned int i = 0; i < n; ++i)
        for (unsigned int j = i + 1; j < n; ++j)
        {
          const Vector a = face_vertex(coarse, f, i), b = face_vertex(coarse, f, j);
          const Vector arm    = found->second.arm(0.5 * (a + b));
          const double radius = 0.5 * (found->second.arm(a).norm() + found->second.arm(b).norm());
          const Vector x      = 0.5 * (a + b) + (radius / arm.norm() - 1.) * arm;
          mesh.vertices[mesh.faces[(f * n_children + i) * n + j]] = {{x[0], x[1], x[2]}};
        }
    }
  }

  template <int dim>
  void set_manifolds(dealii::Triangulation<dim> &triangulation, const Curves &curves)
  {
    dealii::types::manifold_id manifold = dealii::numbers::flat_manifold_id; // those of generators count from 0
    for (const auto &[id, curve] : curves)
    {
      --manifold;
      dealii::Point<dim> centre;
      for (unsigned int d = 0; d < dim; ++d)
        centre[d] = curve.centre[d];
      for (const auto &cell : triangulation.active_cell_iterators())
        for (const auto &face : cell->face_iterators())
          if (face->at_boundary() && face->boundary_id() == id)
            face->set_all_manifold_ids(manifold);
      if (curve.shape != CurvedBoundary::Shape::cylinder)
        triangulation.set_manifold(manifold, dealii::SphericalManifold<dim>(centre));
      else if constexpr (dim == 3)
        triangulation.set_manifold(manifold, dealii::CylindricalManifold<dim>(curve.axis, centre));
    }
  }

  template <int dim>
  bool is_curved(const dealii::Triangulation<dim> &triangulation)
  {
    // Unlike get_manifold_ids() this asks cells of other ranks, too, so that all ranks agree.
    std::set<dealii::types::manifold_id> ids;
    for (const auto &cell : triangulation.active_cell_iterators())
    {
      ids.insert(cell->manifold_id());
      for (const auto &face : cell->face_iterators())
        ids.insert(face->manifold_id());
      if constexpr (dim == 3)
        for (const unsigned int line : cell->line_indices())
          ids.insert(cell->line(line)->manifold_id());
    }
    return std::any_of(ids.begin(), ids.end(), [&](const dealii::types::manifold_id id) {
      return dynamic_cast<const dealii::FlatManifold<dim> *>(&triangulation.get_manifold(id)) == nullptr;
    });
  }

  namespace
  {
    /** Outward, of unit length, [face]. */
    std::vector<Vector> normals_of(const MeshLists &mesh, const std::vector<dealii::Point<3>> &centres)
    {
      const unsigned int n = n_vertices_per_face(mesh.kind), n_cell = n_vertices_per_cell(mesh.kind);
      std::vector<std::vector<std::uint32_t>> cells_of(mesh.vertices.size()); // of the first vertices of faces
      std::vector<bool>                       is_first(mesh.vertices.size(), false);
      for (std::size_t f = 0; f < mesh.n_faces(); ++f)
        is_first[mesh.faces[f * n]] = true;
      for (std::size_t i = 0; i < mesh.cells.size(); ++i)
        if (is_first[mesh.cells[i]])
          cells_of[mesh.cells[i]].push_back(i / n_cell);
      std::vector<Vector> normals;
      for (std::size_t f = 0; f < mesh.n_faces(); ++f)
      {
        const std::uint32_t *v      = mesh.faces.data() + f * n;
        const Vector         normal = internal::face_normal(mesh, f);
        Vector               outward;
        for (const std::uint32_t c : cells_of[v[0]])
        {
          const std::uint32_t *w   = mesh.cell(c);
          const auto           has = [&](const std::uint32_t x) { return std::find(w, w + n_cell, x) != w + n_cell; };
          if (std::all_of(v, v + n, has))
            for (unsigned int i = 0; i < n_cell; ++i)
              outward += (centres[f] - vertex(mesh, w[i])) / n_cell;
        }
        normals.push_back(normal * outward < 0. ? -normal : normal);
      }
      return normals;
    }

    /** Where two faces of one id meet. */
    struct Ridge
    {
      std::size_t faces[2];
      Vector      direction; ///< of unit length; in two dimensions 0
      double      angle;     ///< that they turn by, in degrees, positive if convex
    };

    std::vector<Ridge> ridges_of(const MeshLists &mesh)
    {
      const unsigned int            n = n_vertices_per_face(mesh.kind);
      std::vector<dealii::Point<3>> centres;
      for (std::size_t f = 0; f < mesh.n_faces(); ++f)
        centres.push_back(internal::face_centre(mesh, f));
      const std::vector<Vector> normals = normals_of(mesh, centres);

      static constexpr unsigned int next[5][4] = {{}, {}, {0, 1}, {1, 2, 0}, {1, 3, 0, 2}}; // around a face
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> faces_of;
      for (std::size_t f = 0; f < mesh.n_faces(); ++f)
        for (unsigned int i = 0; i < n; ++i)
          faces_of[std::minmax(mesh.faces[f * n + i], mesh.faces[f * n + next[n][i]])].push_back(f);
      std::vector<Ridge> ridges;
      for (const auto &[ends, faces] : faces_of)
      {
        if (faces.size() != 2 || mesh.face_ids[faces[0]] != mesh.face_ids[faces[1]])
          continue;
        Ridge         ridge{{faces[0], faces[1]}, vertex(mesh, ends.second) - vertex(mesh, ends.first), 0.};
        const Vector &a = normals[faces[0]], &b = normals[faces[1]];
        if (n > 2)
          ridge.direction /= ridge.direction.norm();
        ridge.angle = std::atan2(cross_product_3d(a, b).norm(), a * b) * 180. / dealii::numbers::PI;
        if (a * (centres[faces[1]] - centres[faces[0]]) > 0.)
          ridge.angle = -ridge.angle;
        ridges.push_back(ridge);
      }
      return ridges;
    }
  } // namespace

  std::string find_polygons(const MeshLists &mesh, const MeshRegions &boundaries, const Curves &curves)
  {
    using Sets                      = boost::disjoint_sets_with_storage<>;
    const std::vector<Ridge> ridges = ridges_of(mesh);
    Sets                     planes(mesh.n_faces());
    for (const Ridge &ridge : ridges)
      if (std::abs(ridge.angle) < 1.)
        planes.union_set(ridge.faces[0], ridge.faces[1]);
    struct Surface
    {
      std::set<std::size_t> planes;
      Vector                axis;
      bool                  one_axis = true;
    };
    std::set<unsigned int> ids;
    for (const double sign : {1., -1.})
    {
      const auto bends = [&](const Ridge &ridge) { return sign * ridge.angle >= 1. && sign * ridge.angle <= 40.; };
      Sets       surfaces(planes);
      for (const Ridge &ridge : ridges)
        if (bends(ridge))
          surfaces.union_set(ridge.faces[0], ridge.faces[1]);
      std::map<std::size_t, Surface> found;
      for (const Ridge &ridge : ridges)
        if (bends(ridge))
        {
          Surface &surface = found[surfaces.find_set(ridge.faces[0])];
          if (surface.planes.empty())
            surface.axis = ridge.direction;
          surface.one_axis = surface.one_axis && std::abs(surface.axis * ridge.direction) >= 0.9 * surface.axis.norm();
          for (const std::size_t f : ridge.faces)
            surface.planes.insert(planes.find_set(f));
        }
      for (const auto &[face, surface] : found)
        if (surface.planes.size() >= (surface.one_axis ? 4 : 8) && curves.count(mesh.face_ids[face]) == 0)
          ids.insert(mesh.face_ids[face]);
    }
    std::string result;
    for (const unsigned int id : ids)
      result += (result.empty() ? "" : ", ") + boundaries.text(id);
    return result;
  }

  template void set_manifolds(dealii::Triangulation<2> &, const Curves &);
  template void set_manifolds(dealii::Triangulation<3> &, const Curves &);
  template bool is_curved(const dealii::Triangulation<2> &);
  template bool is_curved(const dealii::Triangulation<3> &);
} // namespace PatchFEM
