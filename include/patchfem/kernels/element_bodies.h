// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/assembly.h>
#include <patchfem/kernels/geometry.h>

#include <algorithm>
#include <cmath>

/**
 * @file
 * Matrices and loads of buffered and of staged cells, in phases that share out their items over @p size workers, of
 * which this is number @p rank. A barrier follows each; only the buffer and the cell's scratch memory survive a phase.
 */
namespace PatchFEM::kernels
{
  template <typename Form, typename Number>
  struct ElementBody
  {
    static constexpr int dim    = Form::dimension;
    static constexpr int n_comp = Form::n_components;

    AssemblyArguments<Number> a;

    PATCHFEM_INLINE int n_cells() const { return a.n_buffered + a.n_staged; }

    /** The chunk's buffered cells, then its staged ones, which have nothing to resolve. */
    PATCHFEM_INLINE BufferedCell cell(const int k) const
    {
      if (k < a.n_buffered)
        return a.buffered[k];
      const int          slot = k - a.n_buffered, n = a.batches.batch[a.computed_batch].reference.n_shape;
      const std::int64_t rows = std::int64_t(slot) * n;
      return {a.staged[slot],
              a.computed_batch,
              -1,
              -1,
              n,
              n,
              a.staged_entry(slot, n, 0, 0, n_comp * n_comp, 0),
              0,
              a.staged_vector + rows * n_comp,
              0};
    }

    /** What a cell has in scratch memory, for each quadrature point; room for the batch with the most of them. */
    using Point = PointGeometry<dim, Number>;

    static std::size_t n_points(const BatchesView &batches)
    {
      int n = 0;
      for (int b = 0; b < batches.n_batches; ++b)
        n = std::max(n, batches.batch[b].reference.n_quadrature);
      return n;
    }

    /** Without a matrix only cells whose constraints have an inhomogeneity need theirs. */
    PATCHFEM_INLINE bool needs_matrix(const BufferedCell &cell) const
    {
      return a.matrix.format != MatrixTarget<Number>::none ||
             (cell.constrained >= 0 && a.constrained.inhomogeneity_offset[cell.constrained] >= 0);
    }

    PATCHFEM_INLINE Number *unresolved_matrix(const BufferedCell &cell) const
    {
      return a.buffer_matrix + (cell.constrained >= 0 ? cell.raw_offset : cell.matrix_offset);
    }

    PATCHFEM_INLINE Number *unresolved_vector(const BufferedCell &cell) const
    {
      return a.buffer_vector + (cell.constrained >= 0 ? cell.raw_vector_offset : cell.vector_offset);
    }

    /** Phase 1: inverse Jacobian and weight at each quadrature point. */
    PATCHFEM_INLINE void geometry(const BufferedCell &cell, const int rank, const int size, Point *scratch) const
    {
      const BatchView &batch = a.batches.batch[cell.batch];
      for (int q = rank; q < batch.reference.n_quadrature; q += size)
        scratch[q] = point_geometry<dim, Number>(a.batches.points, batch, cell.cell - batch.first_cell, q);
    }

    PATCHFEM_INLINE ShapeFunction<dim, Number>
                    shape(const ReferenceView &r, const Point *scratch, const int q, const int i) const
    {
      return {static_cast<Number>(r.shape_values[q * r.n_shape + i]),
              real_gradient<dim, Number>(scratch[q].inverse, r.shape_gradients + (q * r.n_shape + i) * dim)};
    }

    /** Phase 2: blocks (i, j) of the matrix and the load, before constraints. */
    PATCHFEM_INLINE void integrate(const BufferedCell &cell, const int rank, const int size, const Point *scratch) const
    {
      const BatchView     &batch = a.batches.batch[cell.batch];
      const ReferenceView &r     = batch.reference;
      const int            local = cell.cell - batch.first_cell;
      store(
          cell, rank, size,
          [&](const int i, const int j) {
            const bool mirrored = is_symmetric<Form> && j < i;
            const auto block    = integrate_block(r, cell.batch, local, scratch, mirrored ? j : i, mirrored ? i : j);
            return mirrored ? transpose(block) : block;
          },
          [&](const int i, const int c) { return load(cell, scratch, i, c); });
    }

    /** int f_c phi_i. */
    PATCHFEM_INLINE Number load(const BufferedCell &cell, const Point *scratch, const int i, const int c) const
    {
      const BatchView     &batch = a.batches.batch[cell.batch];
      const ReferenceView &r     = batch.reference;
      Number               sum   = 0;
      for (int q = 0; q < r.n_quadrature; ++q)
        sum += scratch[q].weight * static_cast<Number>(r.shape_values[q * r.n_shape + i]) *
               a.load.at(a.batches, cell.batch, cell.cell - batch.first_cell, q)[c];
      return sum;
    }

    /** Phase 2 with @p block(i, j) of the cell's matrix and @p load(i, component), if there is a load. */
    template <typename Block, typename Load>
    PATCHFEM_INLINE void
    store(const BufferedCell &cell, const int rank, const int size, const Block &block, const Load &load) const
    {
      const int n = a.batches.batch[cell.batch].reference.n_shape;
      if (needs_matrix(cell))
      {
        Number    *matrix = unresolved_matrix(cell);
        const bool staged = cell.constrained < 0 && cell.faces < 0;
        for (int ij = rank; ij < n * n; ij += size)
        {
          const int  i = ij / n, j = ij % n;
          const auto of_pair = block(i, j);
          for (int e = 0; e < n_comp * n_comp; ++e)
            matrix[staged ? a.staged_entry(0, n, i, j, n_comp * n_comp, e) - a.staged_matrix
                          : std::int64_t(ij) * n_comp * n_comp + e] = of_pair(e / n_comp, e % n_comp);
        }
      }
      Number    *vector = unresolved_vector(cell);
      const bool loaded = a.load.kind != CoefficientView<Number>::none;
      for (int i = rank; i < n * n_comp; i += size)
        vector[i] = loaded ? load(i / n_comp, i % n_comp) : Number(0);
    }

    PATCHFEM_INLINE SmallMatrix<n_comp, n_comp, Number> integrate_block(
        const ReferenceView &r, const int b, const int local, const Point *scratch, const int i, const int j) const
    {
      if constexpr (has_moments<Form>)
        if (!a.coefficients.varies_inside_cells())
        {
          typename Form::template Moments<Number> moments{};
          for (int q = 0; q < r.n_quadrature; ++q)
            Form::add(moments, scratch[q].weight, shape(r, scratch, q, i), shape(r, scratch, q, j));
          return Form::finish(a.coefficients.at(a.batches, b, local, 0), moments);
        }
      if constexpr (has_cell_moments<Form>)
      {
        typename Form::template CellMoments<Number> moments{};
        for (int q = 0; q < r.n_quadrature; ++q)
          Form::add(moments, scratch[q].weight, a.coefficients.at(a.batches, b, local, q), shape(r, scratch, q, i),
                    shape(r, scratch, q, j));
        return Form::finish(moments);
      }
      SmallMatrix<n_comp, n_comp, Number> sum{};
      for (int q = 0; q < r.n_quadrature; ++q)
      {
        const auto block =
            Form::matrix(a.coefficients.at(a.batches, b, local, q), shape(r, scratch, q, i), shape(r, scratch, q, j));
        const Number weight = scratch[q].weight;
        for (int c = 0; c < n_comp; ++c)
          for (int d = 0; d < n_comp; ++d)
            sum(c, d) += weight * block(c, d);
      }
      return sum;
    }

    /** - int phi_i (T phi_j + T_k dphi_j/ds_k) of the points from @p first on, T and T_k blocks of the tangent of a traction. */
    PATCHFEM_INLINE void tangent_of_face(
        const BufferedCell &cell, const int face, const std::int64_t first, const int rank, const int size) const
    {
      const ReferenceView &r      = a.batches.batch[cell.batch].reference;
      Number              *matrix = unresolved_matrix(cell);
      const int            m      = a.face_terms.n_inputs;
      for (int ij = rank; ij < r.n_shape * r.n_shape; ij += size)
      {
        const int                           i = ij / r.n_shape, j = ij % r.n_shape;
        SmallMatrix<n_comp, n_comp, Number> sum{};
        for (int q = 0; q < r.n_face_quadrature; ++q)
        {
          const std::int64_t entry    = std::int64_t(face) * r.n_face_quadrature + q;
          const double      *values   = r.face_shape_values + entry * r.n_shape;
          const double      *gradient = r.face_shape_gradients + (entry * r.n_shape + j) * dim;
          const double      *t        = r.face_tangents + entry * dim * (dim - 1);
          const Number       weight   = surface_weight(cell, face, q) * static_cast<Number>(values[i]);
          for (int k = 0; k < m / n_comp; ++k)
          {
            Number shape = k == 0 ? static_cast<Number>(values[j]) : Number(0);
            for (int d = 0; d < dim && k > 0; ++d)
              shape += static_cast<Number>(gradient[d] * t[d * (dim - 1) + k - 1]);
            for (int c = 0; c < n_comp; ++c)
              for (int d = 0; d < n_comp; ++d)
                sum(c, d) += weight * shape * a.face_terms.tangent[((first + q) * n_comp + c) * m + k * n_comp + d];
          }
        }
        for (int c = 0; c < n_comp; ++c)
          for (int d = 0; d < n_comp; ++d)
            matrix[(std::int64_t(ij) * n_comp + c) * n_comp + d] -= sum(c, d);
      }
    }

    /** Phase 3: boundary terms, face after face: + int robin phi_i phi_j and + int load phi_i. */
    PATCHFEM_INLINE void boundary(const BufferedCell &cell, const int rank, const int size) const
    {
      if (cell.faces < 0 || a.face_terms.point_offsets == nullptr)
        return;
      const ReferenceView &r = a.batches.batch[cell.batch].reference;
      for (std::int64_t f = a.faces.face_offsets[cell.faces]; f < a.faces.face_offsets[cell.faces + 1]; ++f)
      {
        const int          face   = a.faces.face_number[f];
        const std::int64_t first  = a.face_terms.point_offsets[a.faces.source[f]];
        const double      *values = r.face_shape_values + std::int64_t(face) * r.n_face_quadrature * r.n_shape;
        if (a.face_terms.robin != nullptr && needs_matrix(cell))
        {
          Number *matrix = unresolved_matrix(cell);
          for (int ij = rank; ij < r.n_shape * r.n_shape; ij += size)
          {
            const int i = ij / r.n_shape, j = ij % r.n_shape;
            Number    sum = 0;
            for (int q = 0; q < r.n_face_quadrature; ++q)
              sum += surface_weight(cell, face, q) * a.face_terms.robin[first + q] *
                     static_cast<Number>(values[q * r.n_shape + i] * values[q * r.n_shape + j]);
            for (int c = 0; c < n_comp; ++c)
              matrix[(std::int64_t(ij) * n_comp + c) * n_comp + c] += sum;
          }
        }
        if (a.face_terms.tangent != nullptr && needs_matrix(cell))
          tangent_of_face(cell, face, first, rank, size);
        if (a.face_terms.load != nullptr)
        {
          Number *vector = unresolved_vector(cell);
          for (int i = rank; i < r.n_shape * n_comp; i += size)
          {
            Number sum = 0;
            for (int q = 0; q < r.n_face_quadrature; ++q)
              sum += surface_weight(cell, face, q) * static_cast<Number>(values[q * r.n_shape + i / n_comp]) *
                     a.face_terms.load[(first + q) * n_comp + i % n_comp];
            vector[i] += sum;
          }
        }
      }
    }

    /** See FacePointGeometry::weight. */
    PATCHFEM_INLINE Number surface_weight(const BufferedCell &cell, const int face, const int q) const
    {
      const BatchView &batch = a.batches.batch[cell.batch];
      return face_point_geometry<dim, Number>(a.batches.points, batch, cell.cell - batch.first_cell, face, q).weight;
    }

    /**
     * Phase 4: A = C^T K C and f = C^T (f - K k), with K the unresolved matrix. A constrained unknown gets |K_ii| on
     * the diagonal (the mean of the cell's if K_ii = 0) and 0 on the right, as deal.II does.
     */
    PATCHFEM_INLINE void resolve(const BufferedCell &cell, const int rank, const int size) const
    {
      if (cell.constrained < 0)
        return;
      const ConstrainedCellsView &c       = a.constrained;
      const std::int64_t          first   = c.node_offsets[cell.constrained] * n_comp;
      const int                   n_shape = a.batches.batch[cell.batch].reference.n_shape;
      const int                   n_block = n_comp * n_comp;
      const Number               *K       = a.buffer_matrix + cell.raw_offset;
      const Number               *f       = a.buffer_vector + cell.raw_vector_offset;
      const auto                  entry   = [&](const int i, const int j) {
        return K[(std::int64_t(i / n_comp) * n_shape + j / n_comp) * n_block + (i % n_comp) * n_comp + j % n_comp];
      };

      if (a.matrix.format != MatrixTarget<Number>::none)
      {
        Number   *A       = a.buffer_matrix + cell.matrix_offset;
        const int n_dense = cell.n_free * cell.n_free;
        for (int k = rank; k < (n_dense + cell.n_rows - cell.n_free) * n_block; k += size)
        {
          const int          block = k / n_block, in = k % n_block;
          const int          R   = block < n_dense ? block / cell.n_free : block - n_dense + cell.n_free;
          const int          S   = block < n_dense ? block % cell.n_free : R;
          const std::int64_t row = first + R * n_comp + in / n_comp, column = first + S * n_comp + in % n_comp;
          Number             sum = 0;
          for (std::int64_t i = c.column_offsets[row]; i < c.column_offsets[row + 1]; ++i)
            for (std::int64_t j = c.column_offsets[column]; j < c.column_offsets[column + 1]; ++j)
              sum += static_cast<Number>(c.column_weight[i] * c.column_weight[j]) *
                     entry(c.column_local[i], c.column_local[j]);
          if (row == column && c.diagonal_local[row] >= 0)
          {
            const int d     = c.diagonal_local[row];
            Number    value = std::fabs(entry(d, d));
            if (value == Number(0))
            {
              for (int l = 0; l < n_shape * n_comp; ++l)
                value += std::fabs(entry(l, l));
              value /= n_shape * n_comp;
            }
            sum += value;
          }
          A[k] = sum;
        }
      }

      Number            *g             = a.buffer_vector + cell.vector_offset;
      const std::int64_t inhomogeneous = c.inhomogeneity_offset[cell.constrained];
      for (int k = rank; k < cell.n_rows * n_comp; k += size)
      {
        Number sum = 0;
        for (std::int64_t i = c.column_offsets[first + k]; i < c.column_offsets[first + k + 1]; ++i)
        {
          Number value = f[c.column_local[i]];
          if (inhomogeneous >= 0)
            for (int j = 0; j < n_shape * n_comp; ++j)
              value -= entry(c.column_local[i], j) * static_cast<Number>(c.inhomogeneity[inhomogeneous + j]);
          sum += static_cast<Number>(c.column_weight[i]) * value;
        }
        g[k] = sum;
      }
    }
  };
} // namespace PatchFEM::kernels
