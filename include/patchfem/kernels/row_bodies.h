// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_row_bodies_h
#define patchfem_kernels_row_bodies_h

#include <patchfem/kernels/assembly.h>
#include <patchfem/kernels/geometry.h>

/**
 * @file
 * Owner computes: the body of one patch. Phases share out their items over @p size workers, with a barrier between
 * them; nothing survives a phase but the scratch memory. In scratch lie the sums of the patch's rows (blocks
 * [slot][n_components][n_components] row after row, as in the sparsity), their right-hand side, how far each row
 * has come, and records of as many of the patch's cells as fit. Cells are staged run by run in ascending order and
 * each row adds its pairs in that order, so that the sums depend neither on the cut nor on the number of workers.
 */
namespace PatchFEM
{
  namespace kernels
  {
    /** Extents that are known when compiling; 0 takes the batch's at run time. */
    template <int shape, int quadrature, int geometry>
    struct FixedExtents
    {
      static constexpr int n_shape      = shape;
      static constexpr int n_quadrature = quadrature;
      static constexpr int n_geometry   = geometry;
    };
    using AnyExtents = FixedExtents<0, 0, 0>;

    /** Copies a word to fast memory; on the device without waiting for it, see wait_for_copies(). */
    PATCHFEM_INLINE void copy_word(std::uint32_t *to, const std::uint32_t *from)
    {
#if defined(__CUDA_ARCH__)
      asm volatile(
          "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
          "l"(from)
          : "memory");
#else
      *to = *from;
#endif
    }

    /** Until this worker's copies have arrived; a barrier shows them to the others. */
    PATCHFEM_INLINE void wait_for_copies()
    {
#if defined(__CUDA_ARCH__)
      asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    }

    /** The workers that share a row; on the host one. */
    struct SerialTeam
    {
      static constexpr int size = 1;
      PATCHFEM_INLINE int  lane() const { return 0; }
      PATCHFEM_INLINE void sync() const {}
    };

    /**
     * With one component a cell's whole matrix is its record: small, and every entry is computed once. With more, the
     * record holds weights and real gradients, and rows form their blocks from it: 9 multiply-adds of a block
     * against 72 bytes to keep it.
     */
    template <typename Form>
    constexpr bool matrix_record()
    {
      return Form::n_components == 1;
    }

    template <typename Form, typename Number, typename Extents>
    struct PatchBody
    {
      static constexpr int  dim     = Form::dimension;
      static constexpr int  n_comp  = Form::n_components;
      static constexpr int  n_block = n_comp * n_comp;
      static constexpr bool whole   = matrix_record<Form>();

      AssemblyArguments<Number> a;

      PATCHFEM_INLINE const BatchView &batch() const { return a.batches.batch[a.computed_batch]; }
      PATCHFEM_INLINE int              n_shape() const
      {
        return Extents::n_shape > 0 ? Extents::n_shape : batch().reference.n_shape;
      }
      PATCHFEM_INLINE int n_geometry() const
      {
        return Extents::n_geometry > 0 ? Extents::n_geometry : batch().reference.n_geometry;
      }
      PATCHFEM_INLINE int n_quadrature() const
      {
        return Extents::n_quadrature > 0 ? Extents::n_quadrature : (a.one_point ? 1 : batch().reference.n_quadrature);
      }

      /** Numbers of a point's record; odd, so that workers at neighbouring points use different banks. */
      static PATCHFEM_HOST_DEVICE int point_size(const int n_shape) { return (1 + n_shape * dim) | 1; }
      static PATCHFEM_HOST_DEVICE int record_size(const int n_shape, const int n_quadrature)
      {
        return whole ? (n_entries(n_shape) + n_shape) | 1 : n_quadrature * point_size(n_shape);
      }

      /** Entries of a cell's matrix that are kept: the upper half of a symmetric one, row by row. */
      static PATCHFEM_HOST_DEVICE int n_entries(const int n_shape)
      {
        return is_symmetric() ? n_shape * (n_shape + 1) / 2 : n_shape * n_shape;
      }

      static PATCHFEM_INLINE int entry(const int n_shape, const int i, const int j)
      {
        if (!is_symmetric())
          return i * n_shape + j;
        const int low = i < j ? i : j, high = i < j ? j : i;
        return low * n_shape - low * (low - 1) / 2 + high - low;
      }

      /** Of a form that promises symmetry the lower half of the matrix is the upper one. */
      static constexpr PATCHFEM_HOST_DEVICE bool is_symmetric() { return IsSymmetric<Form>::value; }

      /** Scratch memory of one patch, in the order it lies there. */
      struct Scratch
      {
        Number        *blocks;
        Number        *rhs;
        Number        *records;
        std::uint32_t *pairs; ///< words of the plan that hold the patch's pairs
        std::uint32_t *slots; ///< and places
        int           *cells;
        int           *next_pair; ///< [row + 1], relative to the patch; later how far the row has come
        int           *end_pair;  ///< [row]
        int           *next_slot; ///< [row]
        int           *start;     ///< [row + 1], blocks of the rows before
      };

      PATCHFEM_HOST_DEVICE int n_pair_words() const { return a.most_pairs * a.patches.pairs.width / 4 + 2; }
      PATCHFEM_HOST_DEVICE int n_slot_words() const { return a.most_slots * a.patches.slots.width / 4 + 2; }

      /** Bytes before the records, a multiple of 16. */
      PATCHFEM_HOST_DEVICE std::size_t plan_bytes() const
      {
        const std::size_t numbers = std::size_t(a.most_blocks) * n_block + a.patches.rows_per_patch * n_comp;
        const std::size_t words   = n_pair_words() + n_slot_words() + a.most_cells + 4 * (a.patches.rows_per_patch + 1);
        return (numbers * sizeof(Number) + words * 4 + 15) / 16 * 16;
      }

      PATCHFEM_INLINE Scratch scratch(void *memory) const
      {
        Scratch s;
        s.blocks    = static_cast<Number *>(memory);
        s.rhs       = s.blocks + std::int64_t(a.most_blocks) * n_block;
        s.pairs     = reinterpret_cast<std::uint32_t *>(s.rhs + a.patches.rows_per_patch * n_comp);
        s.slots     = s.pairs + n_pair_words();
        s.cells     = reinterpret_cast<int *>(s.slots + n_slot_words());
        s.next_pair = s.cells + a.most_cells;
        s.end_pair  = s.next_pair + a.patches.rows_per_patch + 1;
        s.next_slot = s.end_pair + a.patches.rows_per_patch + 1;
        s.start     = s.next_slot + a.patches.rows_per_patch + 1;
        s.records   = reinterpret_cast<Number *>(static_cast<char *>(memory) + plan_bytes());
        return s;
      }

      /** How many cells are staged at once. */
      PATCHFEM_HOST_DEVICE int capacity() const
      {
        const std::size_t record = std::size_t(record_size(n_shape(), n_quadrature())) * sizeof(Number);
        const std::size_t n      = a.fast_memory > plan_bytes() ? (a.fast_memory - plan_bytes()) / record : 0;
        return n < std::size_t(a.most_cells) ? static_cast<int>(n) : a.most_cells;
      }

      PATCHFEM_HOST_DEVICE std::size_t scratch_bytes() const
      {
        return plan_bytes() +
               (a.staged ? std::size_t(capacity()) * record_size(n_shape(), n_quadrature()) * sizeof(Number) : 0);
      }

      /** Copies numbers [begin, end) of @p from, as the whole words they lie in; the first is at first_in_word(). */
      static PATCHFEM_INLINE void copy_words(const PackedView  &from,
                                             const std::int64_t begin,
                                             const std::int64_t end,
                                             const int          rank,
                                             const int          size,
                                             std::uint32_t     *to)
      {
        const std::uint32_t *words = static_cast<const std::uint32_t *>(from.data) + begin * from.width / 4;
        const int            n     = static_cast<int>((end * from.width + 3) / 4 - begin * from.width / 4);
        for (int i = rank; i < n; i += size)
          copy_word(to + i, words + i);
      }

      static PATCHFEM_INLINE int first_in_word(const PackedView &from, const std::int64_t begin)
      {
        return static_cast<int>(begin * from.width % 4 / from.width);
      }

      /** Phase 1: zero sums, and the plan of the patch beside them, so that rows do not wait for far memory. */
      PATCHFEM_INLINE void clear(const int patch, const int rank, const int size, const Scratch &s) const
      {
        const PatchesView &p     = a.patches;
        const int          first = p.first_row(patch), n_rows = p.end_row(patch) - first;
        const std::int64_t first_block = p.row_offsets[first];
        copy_words(p.pairs, p.pair_offsets[patch], p.pair_offsets[patch + 1], rank, size, s.pairs);
        copy_words(p.slots, p.slot_offsets[patch], p.slot_offsets[patch + 1], rank, size, s.slots);
        const int *cells   = p.cells + p.cell_offsets[patch];
        const int  n_cells = static_cast<int>(p.cell_offsets[patch + 1] - p.cell_offsets[patch]);
        for (int i = rank; i < n_cells; i += size)
          copy_word(reinterpret_cast<std::uint32_t *>(s.cells + i), reinterpret_cast<const std::uint32_t *>(cells + i));
        const int pair_shift = first_in_word(p.pairs, p.pair_offsets[patch]);
        const int slot_shift = first_in_word(p.slots, p.slot_offsets[patch]);
        for (int i = rank; i <= n_rows; i += size)
        {
          const int pair = static_cast<int>(p.row_pairs[first + i + patch]) + pair_shift;
          s.start[i]     = static_cast<int>(p.row_offsets[first + i] - first_block);
          if (i > 0)
            s.end_pair[i - 1] = pair;
          if (i < n_rows)
          {
            s.next_pair[i] = pair;
            s.next_slot[i] = static_cast<int>(p.row_slots[first + i]) + slot_shift;
          }
        }
        const int n = static_cast<int>(p.row_offsets[first + n_rows] - first_block) * n_block;
        for (int i = rank; i < n; i += size)
          s.blocks[i] = Number(0);
        for (int i = rank; i < n_rows * n_comp; i += size)
          s.rhs[i] = Number(0);
        wait_for_copies();
      }

      /** Inverse Jacobian and weight of a computed cell at a quadrature point. */
      PATCHFEM_INLINE Number map(const int local, const int q, SmallMatrix<dim, dim, Number> &inverse_jacobian) const
      {
        const ReferenceView &r = batch().reference;
        const auto   J = jacobian<dim, Number>(a.batches.points, batch().geometry + std::int64_t(local) * n_geometry(),
                                             n_geometry(), r.geometry_gradients + q * n_geometry() * dim);
        const Number det = determinant(J);
        inverse_jacobian = inverse(J, det);
        return det * (a.one_point ? reference_volume() : static_cast<Number>(r.weights[q]));
      }

      /** Of the simplex, the only reference cell that one point integrates. */
      static PATCHFEM_INLINE Number reference_volume() { return Number(1) / Number(dim == 2 ? 2 : 6); }

      PATCHFEM_INLINE Number shape_value(const int q, const int i) const
      {
        return a.one_point ? Number(1) / Number(dim + 1)
                           : static_cast<Number>(batch().reference.shape_values[q * n_shape() + i]);
      }

      /** Phase 2: records of the patch's cells [begin, end). */
      PATCHFEM_INLINE void stage(const int begin, const int end, const int rank, const int size, const Scratch &s) const
      {
        const int first = batch().first_cell;
        if constexpr (whole)
        {
          const int stride = record_size(n_shape(), n_quadrature());
          for (int c = begin + rank; c < end; c += size)
            if (s.cells[c] >= 0)
            {
              if constexpr (Extents::n_shape > 0)
                stage_fixed_matrix(s.cells[c] - first, s.records + (c - begin) * stride);
              else
                stage_matrix(s.cells[c] - first, s.records + (c - begin) * stride);
            }
        }
        else
        {
          const int n_q = n_quadrature(), stride = point_size(n_shape());
          if constexpr (Extents::n_shape > 0)
            if (size % n_q == 0)
            {
              // A worker keeps its quadrature point, and the gradients there in registers.
              const int q = rank % n_q;
              Number    reference[Extents::n_shape * dim];
              load_gradients(q, reference);
              for (int c = rank / n_q; c < end - begin; c += size / n_q)
                if (s.cells[begin + c] >= 0)
                  stage_fixed_gradients(s.cells[begin + c] - first, q, reference, s.records + (c * n_q + q) * stride);
              return;
            }
          for (int i = rank; i < (end - begin) * n_q; i += size)
          {
            const int c = i / n_q, q = i % n_q;
            if (s.cells[begin + c] >= 0)
              stage_gradients(s.cells[begin + c] - first, q, s.records + (c * n_q + q) * stride);
          }
        }
      }

      /** Reference gradients of the shape functions at point @p q; with fixed extents they are the geometry's too. */
      PATCHFEM_INLINE void load_gradients(const int q, Number *reference) const
      {
        const double *from = batch().reference.shape_gradients + q * Extents::n_shape * dim;
        PATCHFEM_UNROLL
        for (int k = 0; k < Extents::n_shape * dim; ++k)
          reference[k] = static_cast<Number>(from[k]);
      }

      /** Corners of a cell relative to its first, [corner][dim]. */
      PATCHFEM_INLINE void load_corners(const int local, Number *x) const
      {
        const int    *geometry = batch().geometry + std::int64_t(local) * Extents::n_shape;
        const double *origin   = a.batches.points + std::int64_t(geometry[0]) * dim;
        double        first[dim];
        PATCHFEM_UNROLL
        for (int d = 0; d < dim; ++d)
          first[d] = origin[d];
        PATCHFEM_UNROLL
        for (int g = 0; g < Extents::n_shape; ++g)
        {
          const double *point = a.batches.points + std::int64_t(geometry[g]) * dim;
          PATCHFEM_UNROLL
          for (int d = 0; d < dim; ++d)
            x[g * dim + d] = static_cast<Number>(point[d] - first[d]);
        }
      }

      PATCHFEM_INLINE Number fixed_map(const Number                  *x,
                                       const Number                  *reference,
                                       const int                      q,
                                       SmallMatrix<dim, dim, Number> &inverse_jacobian) const
      {
        SmallMatrix<dim, dim, Number> J;
        J.clear();
        PATCHFEM_UNROLL
        for (int g = 1; g < Extents::n_shape; ++g) // the first corner is the origin
          add_to_jacobian<dim, Number>(J, reference + g * dim, x + g * dim);
        const Number det = determinant(J);
        inverse_jacobian = inverse(J, det);
        return det * (a.one_point ? reference_volume() : static_cast<Number>(batch().reference.weights[q]));
      }

      PATCHFEM_INLINE void
      stage_fixed_gradients(const int local, const int q, const Number *reference, Number *record) const
      {
        Number                        x[Extents::n_shape * dim];
        SmallMatrix<dim, dim, Number> inv;
        load_corners(local, x);
        record[0] = fixed_map(x, reference, q, inv);
        PATCHFEM_UNROLL
        for (int i = 0; i < Extents::n_shape; ++i)
        {
          const auto g = real_gradient<dim, Number>(inv, reference + i * dim);
          PATCHFEM_UNROLL
          for (int d = 0; d < dim; ++d)
            record[1 + i * dim + d] = g[d];
        }
      }

      PATCHFEM_INLINE void stage_gradients(const int local, const int q, Number *record) const
      {
        SmallMatrix<dim, dim, Number> inv;
        record[0] = map(local, q, inv);
        for (int i = 0; i < n_shape(); ++i)
        {
          const auto g = real_gradient<dim, Number>(inv, batch().reference.shape_gradients + (q * n_shape() + i) * dim);
          for (int d = 0; d < dim; ++d)
            record[1 + i * dim + d] = g[d];
        }
      }

      /** The whole matrix of a cell with one component, in registers, then its load. */
      PATCHFEM_INLINE void stage_fixed_matrix(const int local, Number *record) const
      {
        constexpr int m = Extents::n_shape;
        Number        x[m * dim], K[m][m], f[m];
        load_corners(local, x);
        PATCHFEM_UNROLL
        for (int i = 0; i < m; ++i)
        {
          f[i] = Number(0);
          PATCHFEM_UNROLL
          for (int j = 0; j < m; ++j)
            K[i][j] = Number(0);
        }
        for (int q = 0; q < n_quadrature(); ++q)
        {
          Number                        reference[m * dim];
          ShapeFunction<dim, Number>    shape[m];
          SmallMatrix<dim, dim, Number> inv;
          load_gradients(q, reference);
          const Number weight = fixed_map(x, reference, q, inv);
          PATCHFEM_UNROLL
          for (int i = 0; i < m; ++i)
          {
            shape[i].value    = shape_value(q, i);
            shape[i].gradient = real_gradient<dim, Number>(inv, reference + i * dim);
          }
          add_point(local, q, weight, shape, K);
          if (a.load.kind != CoefficientView<Number>::none)
          {
            const Number load = weight * a.load.at(a.batches, a.computed_batch, local, q)[0];
            PATCHFEM_UNROLL
            for (int i = 0; i < m; ++i)
              f[i] += load * shape[i].value;
          }
        }
        finish_matrix(local, K);
        int k = 0;
        PATCHFEM_UNROLL
        for (int i = 0; i < m; ++i)
          PATCHFEM_UNROLL
        for (int j = is_symmetric() ? i : 0; j < m; ++j)
          record[k++] = K[i][j];
        PATCHFEM_UNROLL
        for (int i = 0; i < m; ++i)
          record[k++] = f[i];
      }

      /** The same with extents of the run time, summed in the record. */
      PATCHFEM_INLINE void stage_matrix(const int local, Number *record) const
      {
        const ReferenceView &r = batch().reference;
        const int            n = n_shape(), load = n_entries(n);
        for (int k = 0; k < load + n; ++k)
          record[k] = Number(0);
        for (int q = 0; q < n_quadrature(); ++q)
        {
          SmallMatrix<dim, dim, Number> inv;
          const Number                  weight = map(local, q, inv);
          for (int i = 0; i < n; ++i)
          {
            const ShapeFunction<dim, Number> test{
                shape_value(q, i), real_gradient<dim, Number>(inv, r.shape_gradients + (q * n + i) * dim)};
            for (int j = is_symmetric() ? i : 0; j < n; ++j)
            {
              const ShapeFunction<dim, Number> trial{
                  shape_value(q, j), real_gradient<dim, Number>(inv, r.shape_gradients + (q * n + j) * dim)};
              record[entry(n, i, j)] +=
                  weight * Form::matrix(a.coefficients.at(a.batches, a.computed_batch, local, q), test, trial)(0, 0);
            }
            if (a.load.kind != CoefficientView<Number>::none)
              record[load + i] += weight * test.value * a.load.at(a.batches, a.computed_batch, local, q)[0];
          }
        }
      }

      /** K += the point's contribution; with moments without the coefficient, which finish_matrix() applies. */
      template <int m>
      PATCHFEM_INLINE void add_point(const int    local,
                                     const int    q,
                                     const Number weight,
                                     const ShapeFunction<dim, Number> (&shape)[m],
                                     Number (&K)[m][m]) const
      {
        if constexpr (scalar_moments())
          if (!a.coefficients.varies_inside_cells())
          {
            PATCHFEM_UNROLL
            for (int i = 0; i < m; ++i)
              PATCHFEM_UNROLL
            for (int j = is_symmetric() ? i : 0; j < m; ++j)
            {
              typename Form::template Moments<Number> moments{{{K[i][j]}}};
              Form::add(moments, weight, shape[i], shape[j]);
              K[i][j] = moments(0, 0);
            }
            return;
          }
        const Number *coefficients = a.coefficients.at(a.batches, a.computed_batch, local, q);
        PATCHFEM_UNROLL
        for (int i = 0; i < m; ++i)
          PATCHFEM_UNROLL
        for (int j = is_symmetric() ? i : 0; j < m; ++j)
          K[i][j] += weight * Form::matrix(coefficients, shape[i], shape[j])(0, 0);
      }

      /** Whether a single number for each entry is summed over the points. */
      static constexpr bool scalar_moments()
      {
        if constexpr (HasMoments<Form>::value)
          return std::is_same<typename Form::template Moments<Number>, SmallMatrix<1, 1, Number>>::value;
        else
          return false;
      }

      template <int m>
      PATCHFEM_INLINE void finish_matrix(const int local, Number (&K)[m][m]) const
      {
        if constexpr (scalar_moments())
          if (!a.coefficients.varies_inside_cells())
          {
            const Number *coefficients = a.coefficients.at(a.batches, a.computed_batch, local, 0);
            PATCHFEM_UNROLL
            for (int i = 0; i < m; ++i)
              PATCHFEM_UNROLL
            for (int j = is_symmetric() ? i : 0; j < m; ++j)
              K[i][j] = Form::finish(coefficients, typename Form::template Moments<Number>{{{K[i][j]}}})(0, 0);
          }
      }

      /** Block (i, j) of a staged cell from its weights and gradients. */
      PATCHFEM_INLINE SmallMatrix<n_comp, n_comp, Number>
                      block(const Number *record, const int local, const int i, const int j) const
      {
        const int stride = point_size(n_shape());
        if constexpr (HasMoments<Form>::value)
          if (!a.coefficients.varies_inside_cells())
          {
            typename Form::template Moments<Number> moments;
            moments.clear();
            PATCHFEM_UNROLL
            for (int q = 0; q < n_quadrature(); ++q)
              Form::add(moments, record[q * stride], gradient(record + q * stride, i),
                        gradient(record + q * stride, j));
            return Form::finish(a.coefficients.at(a.batches, a.computed_batch, local, 0), moments);
          }
        SmallMatrix<n_comp, n_comp, Number> sum;
        sum.clear();
        for (int q = 0; q < n_quadrature(); ++q)
        {
          ShapeFunction<dim, Number> test = gradient(record + q * stride, i), trial = gradient(record + q * stride, j);
          test.value       = shape_value(q, i);
          trial.value      = shape_value(q, j);
          const auto entry = Form::matrix(a.coefficients.at(a.batches, a.computed_batch, local, q), test, trial);
          PATCHFEM_UNROLL
          for (int c = 0; c < n_comp; ++c)
            PATCHFEM_UNROLL
          for (int d = 0; d < n_comp; ++d)
            sum(c, d) += record[q * stride] * entry(c, d);
        }
        return sum;
      }

      static PATCHFEM_INLINE ShapeFunction<dim, Number> gradient(const Number *point, const int i)
      {
        ShapeFunction<dim, Number> result;
        result.value = Number(0);
        PATCHFEM_UNROLL
        for (int d = 0; d < dim; ++d)
          result.gradient[d] = point[1 + i * dim + d];
        return result;
      }

      /** Number @p i of the plan's pairs or places; with fixed extents they have the smallest width. */
      static PATCHFEM_INLINE unsigned int pair_at(const std::uint32_t *words, const int width, const int i)
      {
        if constexpr (Extents::n_shape > 0)
          return reinterpret_cast<const std::uint16_t *>(words)[i];
        else
          return PackedView{words, width}[i];
      }

      static PATCHFEM_INLINE unsigned int slot_at(const std::uint32_t *words, const int width, const int i)
      {
        if constexpr (Extents::n_shape > 0)
          return reinterpret_cast<const std::uint8_t *>(words)[i];
        else
          return PackedView{words, width}[i];
      }

      /** Component @p c of the load of shape function @p i from a staged cell's record. */
      PATCHFEM_INLINE Number staged_load(const Number *record, const int local, const int i, const int c) const
      {
        if constexpr (whole)
          return record[n_entries(n_shape()) + i];
        else
        {
          const int stride = point_size(n_shape());
          Number    sum    = Number(0);
          if (!a.load.varies_inside_cells())
          {
            PATCHFEM_UNROLL
            for (int q = 0; q < n_quadrature(); ++q)
              sum += record[q * stride] * shape_value(q, i);
            return sum * a.load.at(a.batches, a.computed_batch, local, 0)[c];
          }
          for (int q = 0; q < n_quadrature(); ++q)
            sum += record[q * stride] * shape_value(q, i) * a.load.at(a.batches, a.computed_batch, local, q)[c];
          return sum;
        }
      }

      /** Phase 3: component @p c of the right-hand side of row @p row adds its pairs with the staged cells. */
      PATCHFEM_INLINE void add_load(const int row, const int c, const int begin, const int end, const Scratch &s) const
      {
        const bool with_load = a.load.kind != CoefficientView<Number>::none;
        const int  last = s.end_pair[row], stride = record_size(n_shape(), n_quadrature());
        Number     sum = s.rhs[row * n_comp + c];
        for (int pair = s.next_pair[row]; pair < last; ++pair)
        {
          const unsigned int packed   = pair_at(s.pairs, a.patches.pairs.width, pair);
          const int          position = static_cast<int>(packed >> a.patches.row_bits);
          const int          i        = static_cast<int>(packed & ((1u << a.patches.row_bits) - 1u));
          if (position >= end)
            break;
          const int cell = s.cells[position];
          if (cell < 0)
            sum += a.buffer_vector[a.buffered[~cell].vector_offset + i * n_comp + c];
          else if (with_load)
            sum += staged_load(s.records + (position - begin) * stride, cell - batch().first_cell, i, c);
        }
        s.rhs[row * n_comp + c] = sum;
      }

      /**
       * Phase 4: row @p row of the patch adds its pairs with the staged cells [begin, end), shared by a team, and
       * remembers how far it has come.
       */
      template <typename Team>
      PATCHFEM_INLINE void
      add_row(const int row, const int begin, const int end, const Team &team, const Scratch &s) const
      {
        const int  last = s.end_pair[row], n = n_shape(), lane = team.lane();
        const bool with_matrix = a.matrix.format != MatrixTarget<Number>::none;
        const bool any_buffer  = a.n_buffered > 0;
        const int  stride = record_size(n, n_quadrature()), row_bits = a.patches.row_bits;
        const int  pair_width = a.patches.pairs.width, slot_width = a.patches.slots.width;
        Number    *sums = s.blocks + s.start[row] * n_block;

        int          pair = s.next_pair[row], slot = s.next_slot[row];
        unsigned int packed = pair_at(s.pairs, pair_width, pair);
        while (pair < last && static_cast<int>(packed >> row_bits) < end)
        {
          const int position = static_cast<int>(packed >> row_bits);
          const int i        = static_cast<int>(packed & ((1u << row_bits) - 1u));
          const int cell     = s.cells[position];
          if (!any_buffer || cell >= 0)
          {
            const int     local  = cell - batch().first_cell;
            const Number *record = s.records + (position - begin) * stride;
            if (with_matrix)
              for (int j = lane; j < n; j += Team::size)
              {
                Number *to = sums + slot_at(s.slots, slot_width, slot + j) * n_block;
                if constexpr (whole)
                  to[0] += record[entry(n, i, j)];
                else
                {
                  const auto value = block(record, local, i, j);
                  PATCHFEM_UNROLL
                  for (int c = 0; c < n_comp; ++c)
                    PATCHFEM_UNROLL
                  for (int d = 0; d < n_comp; ++d)
                    to[c * n_comp + d] += value(c, d);
                }
              }
            slot += n;
          }
          else
          {
            const BufferedCell &buffered = a.buffered[~cell];
            const bool          couples  = i < buffered.n_free;
            const int           n_places = couples ? buffered.n_free : 1;
            if (with_matrix)
            {
              const Number *from = a.buffer_matrix + buffered.matrix_offset +
                                   (couples ? std::int64_t(i) * buffered.n_free
                                            : std::int64_t(buffered.n_free) * buffered.n_free + i - buffered.n_free) *
                                       n_block;
              for (int k = lane; k < n_places * n_block; k += Team::size)
                sums[slot_at(s.slots, slot_width, slot + k / n_block) * n_block + k % n_block] += from[k];
            }
            slot += n_places;
          }
          ++pair;
          packed = pair_at(s.pairs, pair_width, pair); // one past the end is padding
          team.sync(); // the next pair may add to the same entries through other workers
        }
        team.sync(); // all lanes have read where the row starts
        if (lane == 0)
        {
          s.next_pair[row] = pair;
          s.next_slot[row] = slot;
        }
      }

      /** Phase 5: stream the finished rows out, padding included. */
      PATCHFEM_INLINE void write(const int patch, const int rank, const int size, const Scratch &s) const
      {
        const int          first = a.patches.first_row(patch), n_rows = a.patches.end_row(patch) - first;
        const std::int64_t first_block = a.patches.row_offsets[first];
        if (a.rhs != nullptr)
          for (int i = rank; i < n_rows * n_comp; i += size)
            a.rhs[std::int64_t(first) * n_comp + i] = s.rhs[i];

        if (a.matrix.format == MatrixTarget<Number>::csr)
        {
          if constexpr (n_comp == 1)
          {
            for (int i = rank; i < s.start[n_rows]; i += size)
              a.matrix.csr_view.values[first_block + i] = s.blocks[i];
          }
          else
            // Scalar row (row, c) holds its entries block by block; rows of a node follow each other.
            for (int row = 0; row < n_rows; ++row)
            {
              const int length = s.start[row + 1] - s.start[row];
              Number   *to     = a.matrix.csr_view.values + (first_block + s.start[row]) * n_block;
              for (int k = rank; k < length * n_block; k += size)
              {
                const int c = k / (length * n_comp), rest = k % (length * n_comp);
                to[k] = s.blocks[(s.start[row] + rest / n_comp) * n_block + c * n_comp + rest % n_comp];
              }
            }
        }
        else if (a.matrix.format == MatrixTarget<Number>::sliced_ellpack)
        {
          // Group after group of 32 rows, workers take (k, row): neighbours write neighbouring rows, entry after
          // entry. Where slices are groups, as with the default height, nothing is divided.
          const SlicedEllpackView<Number> &A      = a.matrix.sliced_view;
          const int                        height = A.slice_height;
          const bool                       plain  = height == 32 && first % 32 == 0;
          for (int group = 0; group * 32 < n_rows; ++group)
          {
            int widest = 0;
            for (int row = group * 32; row < n_rows && row < group * 32 + 32; row += plain ? 32 : 1)
            {
              const int width = slice_width(A, plain ? (first + row) / 32 : (first + row) / height, plain);
              widest          = width > widest ? width : widest;
            }
            const std::int64_t offset = plain ? A.slice_offsets[first / 32 + group] : 0;
            for (int i = rank; i < widest * 32; i += size)
            {
              const int row = group * 32 + i % 32, k = i / 32;
              if (row >= n_rows || (!plain && k >= slice_width(A, (first + row) / height, false)))
                continue;
              Number       *to     = plain ? A.values + (offset + std::int64_t(k) * 32) * n_block + i % 32
                                           : A.values + A.value_index(first + row, k, 0, 0);
              const int     begin  = s.start[row];
              const Number *from   = s.blocks + (begin + k) * n_block;
              const bool    stored = k < s.start[row + 1] - begin;
              PATCHFEM_UNROLL
              for (int e = 0; e < n_block; ++e)
                to[e * (plain ? 32 : height)] = stored ? from[e] : Number(0);
            }
          }
        }
      }

      static PATCHFEM_INLINE int slice_width(const SlicedEllpackView<Number> &A, const int slice, const bool plain)
      {
        const std::int64_t n = A.slice_offsets[slice + 1] - A.slice_offsets[slice];
        return static_cast<int>(plain ? n / 32 : n / A.slice_height);
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
