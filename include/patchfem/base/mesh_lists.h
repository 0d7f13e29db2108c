// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/mesh_regions.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace PatchFEM
{
  /** The linear cells there are. Vertices of quadrilaterals and hexahedra are in lexicographic order. */
  enum class CellKind
  {
    triangle,
    quadrilateral,
    tetrahedron,
    hexahedron
  };

  constexpr unsigned int cell_dimension(const CellKind kind)
  {
    return (kind == CellKind::triangle || kind == CellKind::quadrilateral) ? 2 : 3;
  }
  constexpr bool is_simplex(const CellKind kind)
  {
    return kind == CellKind::triangle || kind == CellKind::tetrahedron;
  }
  constexpr unsigned int n_vertices_per_cell(const CellKind kind)
  {
    return is_simplex(kind) ? cell_dimension(kind) + 1 : 1U << cell_dimension(kind);
  }
  constexpr unsigned int n_vertices_per_face(const CellKind kind)
  {
    return is_simplex(kind) ? cell_dimension(kind) : 1U << (cell_dimension(kind) - 1);
  }
  constexpr unsigned int n_faces_per_cell(const CellKind kind)
  {
    return is_simplex(kind) ? cell_dimension(kind) + 1 : 2 * cell_dimension(kind);
  }
  /** `triangles`, `quadrilaterals`, `tetrahedra` or `hexahedra`. */
  const char *plural_name(CellKind kind);

  /** Names, notes and contacts of a mesh, beside its cells and faces. */
  struct MeshFacts
  {
    MeshRegions              boundaries, materials;
    std::vector<std::string> notes;             ///< sentences for the user, such as what of a file was passed over
    std::size_t              n_parts      = 1;  ///< of cells that share vertices
    std::size_t              n_coinciding = 0;  ///< pairs of boundary faces at the same place, or nearly
    double                   gap          = 0.; ///< the largest distance of their vertices
    std::size_t              n_touching   = 0;  ///< boundary faces that lie on others with other vertices

    template <typename Archive>
    void serialize(Archive &archive, const unsigned int)
    {
      archive &boundaries &materials &notes &n_parts &n_coinciding &gap &n_touching;
    }
  };

  /** A conforming mesh of one kind of cell as plain lists: read from files, cut, refined, made into a triangulation. */
  struct MeshLists
  {
    CellKind                           kind = CellKind::triangle;
    std::vector<std::array<double, 3>> vertices;     ///< the third coordinate is 0 in two dimensions
    std::vector<std::uint32_t>         cells;        ///< [cell][vertex]
    std::vector<std::uint32_t>         material_ids; ///< [cell]
    std::vector<std::uint32_t>         faces;        ///< [face][vertex]: those with an id, quadrilaterals lexicographic
    std::vector<std::uint32_t>         face_ids;     ///< [face]

    /// The file this came from, and the line of each cell in it; empty if there is none.
    std::string                source;
    std::vector<std::uint32_t> cell_lines;

    MeshFacts facts; ///< of what a file says

    std::size_t n_cells() const { return material_ids.size(); }
    std::size_t n_faces() const { return face_ids.size(); }

    const std::uint32_t *cell(const std::size_t c) const { return cells.data() + c * n_vertices_per_cell(kind); }
    std::uint32_t       *cell(const std::size_t c) { return cells.data() + c * n_vertices_per_cell(kind); }

    /** `cell 5 (line 887 of 'bridge.msh')`, for messages. Cells count from 0. */
    std::string describe_cell(std::size_t c) const;
  };

  /** Jacobian determinants at the vertices of @p cell: one of a simplex, 4 or 8 of a multilinear cell; then zeros. */
  std::array<double, 8> jacobians_at_vertices(const MeshLists &mesh, std::size_t cell);

  /** Area or volume of a simplex, negative if it is inverted. */
  double simplex_measure(const MeshLists &mesh, std::size_t cell);

  /**
   * Drops vertices that no cell uses, and faces that have one, which are lost (MeshRegions::add_lost_face()), and numbers
   * the other vertices in order.
   * @return the new number of each vertex, 2^32 - 1 of those that are gone.
   */
  std::vector<std::uint32_t> delete_unused_vertices(MeshLists &mesh);

  /**
   * Mirrors inverted cells, so that all measures are positive, and returns how many there were. Throws Error for cells
   * that repeat a vertex, are flat (no Jacobian beyond 1e-12 diameter^dim) or are tangled: Jacobians of both signs at the
   * 2^dim Gauss points. Those at vertices alone do no harm, and a note in the facts counts such cells.
   */
  std::size_t orient_cells(MeshLists &mesh);

  /**
   * Replaces the list of faces by that of *all* boundary faces, with the ids that the old list gave them and 0
   * otherwise, in an order that depends on the cells alone. Cells must be positive (orient_cells()).
   *
   * Throws Error if a face belongs to three cells or to two on the same side of it, as those of a mesh do that is
   * folded or has cells twice; if the angles of cells around a vertex are more than a full one, that is, if they
   * overlap there. Vertices at the same place count as one in this, so that only cells on opposite sides of a crack can
   * have its faces. Cells that overlap elsewhere, with no vertex in common, are not found.
   *
   * A face that is there several times has the groups of all of them (MeshRegions::unite()); one with an id other than 0
   * that is not on the boundary is lost.
   */
  void complete_boundary_faces(MeshLists &mesh);
} // namespace PatchFEM
