// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

#include <cstdint>

namespace PatchFEM
{
  /** Tables of a ReferenceElement as kernels see them; extents as there. */
  struct ReferenceView
  {
    int n_shape;
    int n_geometry;
    int n_quadrature;
    int n_face_quadrature;

    bool barycentric; ///< a straight simplex whose shape functions are its barycentric coordinates, vertex after vertex
    bool multilinear; ///< a cube whose corners carry the multilinear functions, with the points of CubePairs

    const double *weights;
    const double *shape_values;
    const double *shape_gradients;
    const double *geometry_values;
    const double *geometry_gradients;
    const double *support_geometry_values;
    const double
        *gradient_integrals; ///< [shape i][shape j][a][b], sum_q w dN_i/dxi_a dN_j/dxi_b; for a constant Jacobian

    const double *face_weights;
    const double *face_shape_values;
    const double *face_shape_gradients;
    const double *face_geometry_values;
    const double *face_geometry_gradients;
    const double *face_tangents;
    const double *face_normals;
  };

  /** The cells of one (reference cell, degree). Cells are numbered globally, batch after batch. */
  struct BatchView
  {
    ReferenceView reference;
    int           n_cells;
    int           first_cell; ///< global number of the first cell
    const int    *nodes;      ///< [cell][shape]
    const int    *geometry;   ///< [cell][geometry], rows of points
    const int    *material;   ///< [cell], 0 <= . < number of materials; nullptr if there is one material
    const int    *source;     ///< [cell], position in the CellTable the cell came from

    /** Of the cell with global number @p cell. */
    PATCHFEM_INLINE const int *nodes_of(const int cell) const
    {
      return nodes + std::int64_t(cell - first_cell) * reference.n_shape;
    }
  };

  /** All cells of a problem. At most one batch for each polynomial degree. */
  struct BatchesView
  {
    static constexpr int max_batches = 8;

    int           n_batches;
    int           n_cells;
    int           n_nodes;
    const double *points; ///< [point][dim]
    BatchView     batch[max_batches];

    /** The batch of the cell with global number @p cell. */
    PATCHFEM_INLINE int batch_of(const int cell) const
    {
      int b = 0;
      while (b + 1 < n_batches && cell >= batch[b + 1].first_cell)
        ++b;
      return b;
    }
  };

  /** n_values numbers that are the same everywhere, per material, per cell or per quadrature point of a cell. */
  template <typename Number>
  struct CoefficientView
  {
    enum Kind : int
    {
      none,
      constant,
      material,
      cell,
      quadrature_point
    };

    Kind          kind;
    int           stride; ///< from one entry to the next: n_values, or more where others lie between
    const Number *values[BatchesView::max_batches]; ///< per batch; the same pointer for constant and material

    PATCHFEM_INLINE bool varies_inside_cells() const { return kind == quadrature_point; }

    /** The values at point @p q of the cell at position @p local of batch @p b. */
    PATCHFEM_INLINE const Number *at(const BatchesView &batches, const int b, const int local, const int q) const
    {
      const BatchView &batch = batches.batch[b];
      switch (kind)
      {
      case material:
        return values[b] + (batch.material != nullptr ? batch.material[local] : 0) * stride;
      case cell:
        return values[b] + std::int64_t(batch.source[local]) * stride;
      case quadrature_point:
        return values[b] + (std::int64_t(batch.source[local]) * batch.reference.n_quadrature + q) * stride;
      default:
        return values[b];
      }
    }
  };

  /** Rows that cells with constraints feed once these are resolved; others feed their nodes and have no entry. */
  struct ConstrainedCellsView
  {
    int                 n_cells;
    const int          *cells;        ///< [n_cells], global numbers, ascending
    const std::int64_t *node_offsets; ///< [n_cells + 1]
    const int          *nodes;        ///< free nodes of a cell first, then those whose unknowns are all constrained
    const int          *n_free;       ///< [n_cells], how many of a cell's nodes are free

    /// x_local = C x_resolved + k by columns of C; a resolved unknown is node position * n_components + component.
    const std::int64_t *column_offsets; ///< [n resolved unknowns + 1]
    const int          *column_local;   ///< local unknown, shape * n_components + component
    const double       *column_weight;
    const int          *diagonal_local;       ///< [n resolved unknowns], the constrained local unknown there, or -1
    const std::int64_t *inhomogeneity_offset; ///< [n_cells], where k starts; -1 if k = 0
    const double       *inhomogeneity;        ///< [local unknown]
  };

  /** Boundary faces with terms, sorted by cell. */
  struct FacesView
  {
    int                 n_cells;
    const int          *cells;        ///< [n_cells], global numbers with at least one face here, ascending
    const std::int64_t *face_offsets; ///< [n_cells + 1]
    const int          *face_number;  ///< number of the face in its cell
    const int          *source;       ///< position in ElementTables::faces
  };

  /** Constraints of single unknowns, and the same sorted by master. */
  struct ConstraintLinesView
  {
    const int          *constrained; ///< [line]
    const std::int64_t *offsets;     ///< [n_lines + 1]
    const int          *masters;
    const double       *weights;
    const double       *inhomogeneity; ///< [line]

    const int          *receivers;       ///< unknowns that are masters
    const std::int64_t *feeding_offsets; ///< [n_receivers + 1]
    const int          *feeding;         ///< constrained unknowns
    const double       *feeding_weights;
  };

  namespace kernels
  {
    /** Rows a cell feeds after constraints are resolved: n_free() that couple, then constrained nodes' diagonals. */
    struct CellRows
    {
      BatchesView          batches;
      ConstrainedCellsView constrained;
      const int           *constrained_index;    ///< [cell], position in constrained or -1; nullptr if there are none
      int                  first_cell, end_cell; ///< other cells feed no rows here

      PATCHFEM_INLINE int index(const int cell) const
      {
        return constrained_index != nullptr ? constrained_index[cell] : -1;
      }

      PATCHFEM_INLINE int n_rows(const int cell) const
      {
        if (cell < first_cell || cell >= end_cell)
          return 0;
        const int k = index(cell);
        return k >= 0 ? static_cast<int>(constrained.node_offsets[k + 1] - constrained.node_offsets[k])
                      : batches.batch[batches.batch_of(cell)].reference.n_shape;
      }

      PATCHFEM_INLINE int n_free(const int cell) const
      {
        const int k = index(cell);
        return k >= 0 ? constrained.n_free[k] : batches.batch[batches.batch_of(cell)].reference.n_shape;
      }

      /** The n_rows(cell) nodes. */
      PATCHFEM_INLINE const int *nodes(const int cell) const
      {
        const int k = index(cell);
        return k >= 0 ? constrained.nodes + constrained.node_offsets[k]
                      : batches.batch[batches.batch_of(cell)].nodes_of(cell);
      }
    };

    /** A cell that feeds a row, and which of the cell's rows that is, in one number. */
    struct Pair
    {
      static PATCHFEM_INLINE std::int64_t make(const int cell, const int r) { return (std::int64_t(cell) << 16) | r; }
      static PATCHFEM_INLINE int          cell(const std::int64_t pair) { return static_cast<int>(pair >> 16); }
      static PATCHFEM_INLINE int          row(const std::int64_t pair) { return static_cast<int>(pair & 65535); }
    };

    /** The cells that feed each row, in their order. */
    struct RowCellsView
    {
      CellRows            cells;
      const std::int64_t *offsets; ///< [row]
      const std::int64_t *pairs;

      /** Calls @p function(cell, which of its rows) for the cells of @p row. */
      template <typename Function>
      PATCHFEM_INLINE void visit(const std::int64_t row, const Function &function) const
      {
        for (std::int64_t p = offsets[row]; p < offsets[row + 1]; ++p)
          function(Pair::cell(pairs[p]), Pair::row(pairs[p]));
      }
    };
  } // namespace kernels
} // namespace PatchFEM
