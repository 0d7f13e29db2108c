// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/partitioner.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace PatchFEM
{
  /**
   * The tables of one reference cell, scalar finite element, geometry and quadrature rule, all in deal.II's order.
   * "Geometry" are the Lagrange functions of the mapping: x(xi) = sum_g geometry_values(xi, g) X_g.
   */
  struct ReferenceElement
  {
    std::string name; ///< as messages call it, such as FE_Q<3>(2) or FE_SimplexP<2>(1)
    int         dim               = 0;
    int         degree            = 0; ///< polynomial degree of the shape functions
    bool        simplex           = false;
    int         n_shape           = 0; ///< scalar shape functions = nodes of a cell
    int         n_geometry        = 0; ///< geometry nodes of a cell
    int         n_quadrature      = 0;
    bool        constant_jacobian = false; ///< true for straight simplices

    std::vector<double> weights;            ///< [q]
    std::vector<double> shape_values;       ///< [q][shape]
    std::vector<double> shape_gradients;    ///< [q][shape][dim], with respect to reference coordinates
    std::vector<double> geometry_values;    ///< [q][geometry]
    std::vector<double> geometry_gradients; ///< [q][geometry][dim]

    /** Geometry functions at the support points of the shape functions, [shape][geometry]. */
    std::vector<double> support_geometry_values;

    /// The shape function whose node is a vertex of the cell, [vertex]; empty if one has none.
    std::vector<int> vertex_shapes;
    /// Functions of degree 1, one for each vertex, at the support points of the shape functions, [shape][vertex].
    std::vector<double> linear_values;

    int n_faces           = 0;
    int n_face_quadrature = 0; ///< the same for every face

    /// The same tables on the faces; values of *all* shape functions of the cell.
    std::vector<double> face_weights;            ///< [q]
    std::vector<double> face_shape_values;       ///< [face][q][shape]
    std::vector<double> face_shape_gradients;    ///< [face][q][shape][dim]
    std::vector<double> face_geometry_values;    ///< [face][q][geometry]
    std::vector<double> face_geometry_gradients; ///< [face][q][geometry][dim]
    /// d(xi)/d(face coordinate t), so that the tangents of a face are J * these. [face][q][dim][dim-1]
    std::vector<double> face_tangents;
    /// Outward normal of the reference cell, unit length. [face][dim]
    std::vector<double> face_normals;
  };

  /** The cells of one (reference cell, degree), in deal.II's order of active cells; not all are in a batch. */
  struct CellTable
  {
    ReferenceElement reference;

    int              n_cells = 0;
    std::vector<int> nodes;        ///< [cell][shape]
    std::vector<int> geometry;     ///< [cell][geometry]: rows of ElementTables::points; empty: the same as nodes
    std::vector<int> material_ids; ///< [cell]
    std::vector<int> active_index; ///< [cell]: deal.II's active_cell_index(), or the position for other sources

    /** The geometry nodes of a cell. */
    const int *points_of(const std::int64_t cell) const
    {
      return (geometry.empty() ? nodes : geometry).data() + cell * reference.n_geometry;
    }
  };

  /** A boundary face that a load, a flux or a Robin term is integrated over. */
  struct FaceEntry
  {
    int batch; ///< which CellTable
    int cell;  ///< position there
    int face;  ///< number of the face in the cell
    int boundary_id;
  };

  /**
   * Closed linear constraints of single unknowns, x_i = sum_j w_j x_j + k_i. An unknown is
   * node * n_components + component. Masters are never constrained themselves.
   */
  struct ConstraintTable
  {
    std::vector<int>          constrained; ///< sorted unknowns, one per line
    std::vector<std::int64_t> offsets;     ///< [n_lines + 1]
    std::vector<int>          masters;     ///< unknowns
    std::vector<double>       weights;
    std::vector<double>       inhomogeneity; ///< [n_lines]

    std::size_t n_lines() const { return constrained.size(); }
  };

  /**
   * What one rank of several has beside its tables. Each node has one owner, and its row is summed there, of all cells
   * that feed it: whoever extracts a cell sends a copy to the owners of its nodes and of the masters of those, once per
   * mesh. Copies are ordinary cells and faces of the tables, behind the rank's own in each batch, by the rank that they
   * came from and there in its order. Nodes [0, n_owned) are the rank's, the others ghosts, ascending, and all nodes of
   * the tables' cells and masters are there. Batches are the same on all ranks, with or without cells.
   */
  struct RankTables
  {
    std::shared_ptr<const Communicator> communicator; ///< null: one rank, and nothing else is used

    int                             n_owned_nodes = 0;
    std::vector<Partitioner::Ghost> ghosts;      ///< of node n_owned_nodes + g: owner, and number in its tables
    std::vector<int>                n_own_cells; ///< [batch]
    int                             n_own_faces = 0;

    /** Own cells, [batch][position], and faces that another rank has copies of, and how many of its it sent here. */
    struct Copies
    {
      int                           rank;
      std::vector<std::vector<int>> cells;
      std::vector<int>              faces;
    };
    struct Received
    {
      int              rank;
      std::vector<int> n_cells; ///< [batch]
      int              n_faces;
    };
    std::vector<Copies>   sent;     ///< ascending by rank
    std::vector<Received> received; ///< ascending by rank

    /// Where tables are of several ranks that share a device: what active_index counts from for cells of each.
    struct Part
    {
      int rank, first_active;
    };
    std::vector<Part> parts;

    bool several() const { return communicator != nullptr && communicator->size() > 1; }

    /** Communicator::agree_on_errors() where there are several ranks. */
    template <typename Function>
    void agree_on_errors(const Function &function) const
    {
      PatchFEM::agree_on_errors(several() ? communicator.get() : nullptr, function);
    }
  };

  /**
   * A discretised problem as plain host tables: read from deal.II once per mesh, see extract_element_tables(), or made
   * without it. Each *node* carries n_components unknowns. Numbers are those of the source; ElementBatches renumbers.
   */
  struct ElementTables
  {
    int dim          = 0;
    int n_components = 1;
    int n_nodes      = 0;

    /** deal.II's index of each unknown, [node][component]. Empty: node * n_components + component. */
    std::vector<unsigned int> dof_indices;

    unsigned int dof_index(const std::size_t unknown) const
    {
      return dof_indices.empty() ? static_cast<unsigned int>(unknown) : dof_indices[unknown];
    }

    std::vector<double> points; ///< [point][dim], geometry nodes

    std::vector<CellTable> batches;
    std::vector<FaceEntry> faces;
    ConstraintTable        constraints; ///< of all nodes of cells that are here, ghosts too
    RankTables             ranks;

    /** Nodes that this rank sums rows of: all, if there is one rank. */
    int n_owned_nodes() const { return ranks.communicator != nullptr ? ranks.n_owned_nodes : n_nodes; }

    std::size_t n_cells() const
    {
      std::size_t n = 0;
      for (const CellTable &batch : batches)
        n += batch.n_cells;
      return n;
    }
  };
} // namespace PatchFEM
