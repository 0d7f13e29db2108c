// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/mesh_lists.h>
#include <patchfem/base/mesh_regions.h>

#include <deal.II/grid/tria.h>

#include <map>
#include <string>
#include <vector>

/** @file Boundaries that are circles, cylinders or spheres, on which refinement puts new vertices. */
namespace PatchFEM
{
  /** One item of Mesh/Manifolds. Radii are those of the vertices, so that concentric ones may share a boundary. */
  struct CurvedBoundary
  {
    enum class Shape
    {
      circle,
      cylinder,
      sphere
    };

    std::vector<std::string> boundaries; ///< numbers or names
    Shape                    shape;
    dealii::Tensor<1, 3>     centre, axis; ///< axis: of a cylinder, of unit length, else zero
    std::string              text;         ///< as it was written

    /** From the centre, or from the nearest point of the axis, to @p x. */
    dealii::Tensor<1, 3> arm(const dealii::Tensor<1, 3> &x) const;
  };

  /** `hole: circle 0, 0; shaft: cylinder 0, 0, 0, 0, 0, 1; ball: sphere 0, 0, 0`. Throws Error for anything else. */
  std::vector<CurvedBoundary> parse_manifolds(const std::string &text);

  /** By deal.II's boundary id. */
  using Curves = std::map<unsigned int, CurvedBoundary>;

  /**
   * The ids of @p manifolds in @p mesh, whose boundary faces are all listed. Throws Error for a boundary that is not there
   * or has two shapes, for a shape of another dimension, and where a vertex of a face is nearer to or farther from the
   * centre than another one by more than 2 % of the face, or the face spans more than half of the curve.
   */
  Curves
  find_curves(const MeshLists &mesh, const MeshRegions &boundaries, const std::vector<CurvedBoundary> &manifolds);

  /** red_refine() of simplices, with the new vertices of boundary faces moved onto @p curves. */
  void red_refine(MeshLists &mesh, const Curves &curves);

  /** Gives faces of the boundary, in space with their edges, the manifolds of @p curves. */
  template <int dim>
  void set_manifolds(dealii::Triangulation<dim> &triangulation, const Curves &curves);

  /** Whether a manifold of @p triangulation is curved. */
  template <int dim>
  bool is_curved(const dealii::Triangulation<dim> &triangulation);

  /**
   * Names of boundaries without one of @p curves that look like smooth curves of straight sides, separated by commas: four
   * or more neighbouring planes that turn the same way, by 1 to 40 degrees each; in space about one axis, or many of them.
   */
  std::string find_polygons(const MeshLists &mesh, const MeshRegions &boundaries, const Curves &curves);
} // namespace PatchFEM
