// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/element_tables.h>
#include <patchfem/base/array.h>
#include <patchfem/kernels/batch_views.h>

#include <vector>

namespace PatchFEM
{
  /**
   * A discretised problem on one back end, in the numbering that everything below uses; it depends on mesh, space and
   * constraints, and serves any number of assemblies. Nodes are numbered along a Hilbert curve through their positions
   * and, inside windows of @p sorting_window nodes, by falling number of cells, so that the rows of a slice of a
   * SlicedEllpackMatrix have nearly one length. Where nodes hang or degrees differ the nodes of those cells count, with
   * the masters of hanging ones. Cells are numbered by their smallest node. Both orders depend on the mesh alone, not
   * on the back end or the number of threads. Where the tables' geometry nodes are their nodes, as with degree 1,
   * points are numbered as nodes, so that neighbours lie together and one table serves for both.
   *
   * Of several ranks each numbers its own nodes so, first those whose rows have no column of another rank, then the
   * others, and behind them its ghosts by their owners' numbers. What is summed in rows is of owned nodes alone.
   */
  class ElementBatches
  {
  public:
    struct AdditionalData
    {
      explicit AdditionalData(const int sorting_window = 256, const bool keep_constrained_entries = false)
          : sorting_window(sorting_window), keep_constrained_entries(keep_constrained_entries)
      {}

      static constexpr int best_window  = 0;     ///< for @p sorting_window
      static constexpr int least_choice = 16384; ///< nodes; products with fewer take about as long as their launch

      /// Nodes that are sorted by row length; 1 keeps the order of the curve. @p best_window takes 256, or, of
      /// @p least_choice nodes or more, another of 1, 64 and 1024 if products with slices of 32 rows are expected to
      /// move at least 5 % less with it, by the row lengths of at most 512 pieces of the curve.
      int sorting_window;

      /// Nodes constrained in all components couple with their cells' nodes, by zeros, instead of holding only their
      /// diagonal: the pattern of the mesh, which other codes count.
      bool keep_constrained_entries;
    };

    /** Throws Error, naming the cell, if one is flat or tangled: a Jacobian determinant <= 0 at a quadrature point. */
    void reinit(const Backend &backend, const ElementTables &tables, const AdditionalData &data = AdditionalData());

    /** The cells of @p tables, of which @p other was made, in its numbering and without constraints. */
    void reinit_unconstrained(const ElementBatches &other, const ElementTables &tables);

    /** The k that assembly subtracts from right-hand sides, by cells: see ConstrainedCellsView. */
    struct Inhomogeneities
    {
      Array<std::int64_t> offset;
      Array<double>       values;
    };

    /** New k of constraints x_i = ... + k_i: @p values [line] of the unknowns @p lines, all on this back end. */
    void set_inhomogeneities(const Array<int> &lines, const Array<double> &values)
    {
      make_inhomogeneities(lines, values, constrained.k);
    }

    /** Those of other k, for AssemblerBase::assemble(). */
    void make_inhomogeneities(const Array<int> &lines, const Array<double> &values, Inhomogeneities &result) const;

    const Backend &backend() const { return place; }
    int            dimension() const { return dim; }
    int            n_components() const { return n_comp; }
    int            n_nodes() const { return n_node; } ///< with ghosts
    int            n_rows() const { return n_row; }   ///< nodes that this rank owns; all, if there is one
    int            n_interior_rows() const { return n_interior; }
    int            n_cells() const { return n_cell; }
    int            n_batches() const { return static_cast<int>(batches.size()); }
    int            sorting_window() const { return window; }               ///< the one that was taken
    std::int64_t   n_dofs() const { return std::int64_t(n_row) * n_comp; } ///< of owned nodes

    /** Which nodes are whose, in this numbering, if there are several ranks; else null. */
    const std::shared_ptr<const Partitioner> &partitioner() const { return ranks; }

    const ReferenceElement &reference(const int b) const { return batches[b].reference; }

    /** Material ids that occur, ascending; kernels see positions in this list. */
    const std::vector<int> &materials() const { return material_ids; }

    /** deal.II's index of each unknown, ghosts' too, [node][component], on the back end. */
    const Array<unsigned int> &dof_indices() const { return dofs; }

    /** Position of each node in this numbering, [node of the tables], on the host. */
    const std::vector<int> &new_of_old() const { return node_permutation; }

    /** Position of a cell of the tables in its batch of views. */
    int position_of_cell(const int b, const int cell) const
    {
      return cell_permutation[batches[b].first_cell + cell] - batches[b].first_cell;
    }

    /** Where the nodes lie: the support points of their shape functions, [node][dim], computed on the back end. */
    Array<double> node_points() const;

    int n_cells(const int b) const { return batches[b].n_cells; }

    BatchesView          view() const;
    ConstrainedCellsView constrained_cells() const;
    FacesView            faces_view() const;

    std::size_t memory_consumption() const;

  private:
    struct Batch
    {
      ReferenceElement           reference;
      std::vector<Array<double>> tables; ///< what reference_view points to
      ReferenceView              reference_view;
      int                        n_cells = 0, first_cell = 0;
      Array<int>                 nodes, geometry, material, source;
    };

    struct Constrained
    {
      Array<int>          cells, nodes, n_free, column_local, diagonal_local;
      Array<std::int64_t> node_offsets, column_offsets;
      Array<double>       column_weight;
      Inhomogeneities     k;
    };

    template <typename Where>
    friend struct BatchSteps;

    void upload(const Backend &backend, const ElementTables &tables);
    void resolve_constraints(const ElementTables &tables, bool keep_entries);
    void sort_faces(const ElementTables &tables);
    void check_jacobians(const ElementTables &tables) const;

    /** Completes @p order, in which owned nodes come first, by the ghosts in the order of their owners. */
    void order_ghosts(const ElementTables &tables, Array<int> &order);

    Backend place  = Backend(BackendKind::host);
    int     dim    = 0;
    int     n_comp = 1;
    int     n_node = 0, n_row = 0, n_interior = 0;
    int     n_cell = 0;
    int     window = 1;

    std::shared_ptr<const Partitioner> ranks;

    std::vector<Batch>  batches;
    Array<double>       points;
    Array<unsigned int> dofs;
    std::vector<int>    material_ids, node_permutation;
    std::vector<int>    cell_permutation; ///< [global cell of the tables] -> global number here
    Constrained         constrained;
    Array<int>          face_cells, face_number, face_source;
    Array<std::int64_t> face_offsets;
  };
} // namespace PatchFEM
