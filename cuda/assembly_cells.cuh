// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_cuda_assembly_cells_cuh
#define patchfem_cuda_assembly_cells_cuh

#include "patch_levels.cuh"

#include <patchfem/kernels/cell_records.h>

namespace PatchFEM
{
  namespace kernels
  {
    /**
     * Cells of any element and weak form: a warp keeps the records of a few cells, then shares out the blocks of one
     * after the other, a few lanes to a row.
     */
    template <typename Form, typename Number, typename Extents>
    struct WarpCells
    {
      static constexpr int most_warps = 8;
      static constexpr int residency  = 4; ///< patches on a multiprocessor

      using Body    = PatchBody<Form::n_components, Number>;
      using Scratch = typename Body::Scratch;
      using Records = CellRecords<Form, Number, Extents>;

      /** How many warps a patch has, and how many cells each maps at once: enough points for its lanes. */
      struct Shape
      {
        int         n_warps, cells_per_warp;
        std::size_t record_bytes;

        std::size_t bytes() const { return std::size_t(n_warps) * cells_per_warp * record_bytes; }
      };

      /** The shape that fits into @p available bytes. */
      static Shape shape(const int n_shape, const int n_quadrature, const std::size_t available)
      {
        Shape s{most_warps, std::max(1, 32 / n_quadrature),
                Records::record_size(n_shape, n_quadrature) * sizeof(Number)};
        while (s.bytes() > available && s.cells_per_warp > 1)
          s.cells_per_warp /= 2;
        while (s.bytes() > available && s.n_warps > 1)
          s.n_warps /= 2;
        return s;
      }

      const Body    &body;
      const Scratch &scratch;
      const Records &cells;
      const int      patch;

      /** Lanes that share a row: a power of two, one for each of the cell's nodes if there are so many. */
      static __host__ __device__ constexpr int row_lanes(const int n)
      {
        return n <= 4 ? 4 : (n <= 8 ? 8 : (n <= 16 ? 16 : 32));
      }

      /** The blocks of a lane, where they are few: they are formed before the cell's turn to be added. */
      struct Blocks
      {
        static constexpr int n = Extents::n_shape > 0 ? Extents::n_shape : 1, team = row_lanes(n), n_teams = 32 / team,
                             n_rows_of_lane = (n + n_teams - 1) / n_teams;
        int                                                         row[n_rows_of_lane], place[n_rows_of_lane];
        SmallMatrix<Form::n_components, Form::n_components, Number> value[n_rows_of_lane];
        Number                                                      load[n_rows_of_lane];
      };

      __device__ bool loaded() const
      {
        return body.a.rhs != nullptr && body.a.load.kind != CoefficientView<Number>::none;
      }

      __device__ void form(const int position, const Number *record, Blocks &blocks) const
      {
        const PatchesView &p     = body.a.patches;
        const int          first = p.first_row(patch), n_rows = p.end_row(patch) - first;
        const std::int64_t entry = p.cell_offsets[patch] + position;
        const int          local = p.cells[entry] - cells.batch().first_cell;
        const int          lane = threadIdx.x % 32, j = lane % Blocks::team,
                  row = lane < Blocks::n ? cells.batch().nodes[std::int64_t(local) * Blocks::n + lane] - first : -1;
        const unsigned int owners = __ballot_sync(WarpTeam::all, row >= 0 && row < n_rows);
        PATCHFEM_UNROLL
        for (int k = 0; k < Blocks::n_rows_of_lane; ++k)
        {
          const int i   = lane / Blocks::team + k * Blocks::n_teams;
          const int its = __shfl_sync(WarpTeam::all, row, i);
          blocks.row[k] = owners >> i & 1u ? its : -1;
          if (blocks.row[k] < 0)
            continue;
          const std::int64_t pair = p.pair_offsets[patch] + p.cell_pairs[entry] + __popc(owners & ((1u << i) - 1u));
          if (body.with_matrix() && j < Blocks::n)
          {
            blocks.place[k] = p.places(pair, Blocks::n, first + its, i, j);
            blocks.value[k] = cells.block(record, local, i, j);
          }
          if (loaded() && j < Form::n_components)
            blocks.load[k] = cells.load(record, local, i, j);
        }
      }

      __device__ void add(const Blocks &blocks) const
      {
        const int j = threadIdx.x % Blocks::team;
        PATCHFEM_UNROLL
        for (int k = 0; k < Blocks::n_rows_of_lane; ++k)
          if (blocks.row[k] >= 0)
          {
            if (body.with_matrix() && j < Blocks::n)
              body.add(blocks.row[k], blocks.place[k], blocks.value[k], scratch);
            if (loaded() && j < Form::n_components)
              scratch.rhs[blocks.row[k] * Form::n_components + j] += blocks.load[k];
          }
      }

      /** Forms and adds the blocks of a cell with any number of nodes in its turn. */
      __device__ void add(const int position, const Number *record) const
      {
        const AssemblyArguments<Number> &a     = body.a;
        const PatchesView               &p     = a.patches;
        const int                        first = p.first_row(patch), n_rows = p.end_row(patch) - first;
        const std::int64_t               entry = p.cell_offsets[patch] + position;
        const int                        local = p.cells[entry] - cells.batch().first_cell;
        const int                        n     = cells.n_shape();
        const int                       *nodes = cells.batch().nodes + std::int64_t(local) * n;
        const int    lane = threadIdx.x % 32, team = row_lanes(n), group = lane / team, n_groups = 32 / team;
        std::int64_t pair = p.pair_offsets[patch] + p.cell_pairs[entry];
        for (int base = 0; base < n; base += 32)
        {
          const int          row    = base + lane < n ? nodes[base + lane] - first : -1;
          const unsigned int owners = __ballot_sync(WarpTeam::all, row >= 0 && row < n_rows);
          for (int i = group; i < group + min(32, n - base); i += n_groups)
          {
            const int mine = __shfl_sync(WarpTeam::all, row, i % 32);
            if (i >= 32 || !(owners >> i & 1u))
              continue;
            const std::int64_t my_pair = pair + __popc(owners & ((1u << i) - 1u));
            if (body.with_matrix())
              for (int j = lane % team; j < n; j += team)
                body.add(mine, p.places(my_pair, n, first + mine, base + i, j), cells.block(record, local, base + i, j),
                         scratch);
            if (loaded())
              for (int c = lane % team; c < Form::n_components; c += team)
                scratch.rhs[mine * Form::n_components + c] += cells.load(record, local, base + i, c);
          }
          pair += __popc(owners);
        }
      }

      /** All computed cells of the patch, with blocks of s.n_warps warps. */
      __device__ void run(const int n_warps, const int cells_per_warp) const
      {
        const PatchesView &p    = body.a.patches;
        const int          warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        const int          n_q = cells.n_quadrature(), point_size = Records::point_size(cells.n_shape());
        const int          stride  = n_q * point_size;
        Number            *records = static_cast<Number *>(scratch.workers) + warp * cells_per_warp * stride;
        const int          n_cells = static_cast<int>(p.cell_offsets[patch + 1] - p.cell_offsets[patch]);
        LevelBarrier       barrier{n_warps * 32};
        PatchLevels        levels(n_cells, scratch.level_ends, barrier);
        for (int begin = 0; begin < n_cells; begin += n_warps * cells_per_warp)
        {
          __syncwarp(); // the warp has read the records that are overwritten now
          for (int item = lane; item < cells_per_warp * n_q; item += 32)
          {
            const int k = item / n_q, q = item % n_q, position = begin + warp + n_warps * k;
            if (position < n_cells)
              cells.stage(p.cells[p.cell_offsets[patch] + position] - cells.batch().first_cell, q,
                          records + k * stride + q * point_size);
          }
          __syncwarp();
          for (int k = 0; k < cells_per_warp && begin + n_warps * k < n_cells; ++k)
          {
            const int mine = begin + n_warps * k + warp, stop = min(begin + n_warps * (k + 1), n_cells);
            if constexpr (Extents::n_shape > 0)
            {
              Blocks blocks;
              if (mine < stop)
                form(mine, records + k * stride, blocks);
              levels.template commit<1>(mine, stop, [&](int) { add(blocks); });
            }
            else
              levels.template commit<1>(mine, stop, [&](int) { add(mine, records + k * stride); });
          }
        }
      }
    };

    /** Barycentric simplices with one component and data that need one point: a thread computes a cell. */
    template <typename Form, typename Number>
    struct SimplexCells
    {
      static constexpr int dim = Form::dimension, n = dim + 1;
      /// The registers allow three blocks at once, which hide each other's barriers. Patches are sized for four: with
      /// 384 rows of tetrahedra they were a fifth faster on an H200 than with the 512 that three would allow.
      static constexpr int n_threads = 256, residency = 3, concurrent = 4;

      using Body    = PatchBody<1, Number>;
      using Scratch = typename Body::Scratch;
      using Records = CellRecords<Form, Number, FixedExtents<n, 1, n>>;

      const Body    &body;
      const Scratch &scratch;
      const Records &cells;
      const int      patch;

      /** A thread's cell. */
      struct Cell
      {
        int           local, row[n]; ///< negative: of another patch, or past the end
        std::uint32_t words[n];      ///< the pairs' places as the plan packs them
        double        x[n][dim];
      };

      __device__ void load_cell(const int position, Cell &c) const
      {
        const PatchesView &p     = body.a.patches;
        const int          first = p.first_row(patch), n_rows = p.end_row(patch) - first;
        const std::int64_t entry = p.cell_offsets[patch] + position;
        std::int64_t       pair  = p.pair_offsets[patch] + p.cell_pairs[entry];
        c.local                  = p.cells[entry] - cells.batch().first_cell;
        const int *nodes         = cells.batch().nodes + std::int64_t(c.local) * n;
        const int *vertices      = cells.batch().geometry + std::int64_t(c.local) * n;
        PATCHFEM_UNROLL
        for (int i = 0; i < n; ++i)
        {
          const double *point = body.a.batches.points + std::int64_t(vertices[i]) * dim;
          PATCHFEM_UNROLL
          for (int d = 0; d < dim; ++d)
            c.x[i][d] = point[d];
          const int row = nodes[i] - first;
          c.row[i]      = row < n_rows ? row : -1;
          if (c.row[i] >= 0)
            c.words[i] = p.places.compact() ? static_cast<const std::uint16_t *>(p.places.view.data)[pair++]
                                            : load_bytes(p.places, pair++);
        }
      }

      /** All entries of a cell, and the load of each row. */
      __device__ void compute(const Cell &cell, Number (&K)[n][n], Number &load) const
      {
        const AssemblyArguments<Number> &a = body.a;
        SmallMatrix<dim, dim, Number>    J;
        PATCHFEM_UNROLL
        for (int i = 1; i < n; ++i)
          PATCHFEM_UNROLL
        for (int d = 0; d < dim; ++d)
          J(d, i - 1) = static_cast<Number>(cell.x[i][d] - cell.x[0][d]);
        const Number det = determinant(J), weight = det * cells.reference_volume();
        const auto   inverse_jacobian = inverse(J, det);
        load                          = Number(0);
        if (a.load.kind != CoefficientView<Number>::none)
          load = weight * (Number(1) / Number(n)) * a.load.at(a.batches, a.computed_batch, cell.local, 0)[0];
        if (!body.with_matrix())
          return;
        const Number              *coefficients = a.coefficients.at(a.batches, a.computed_batch, cell.local, 0);
        ShapeFunction<dim, Number> shape[n];
        PATCHFEM_UNROLL
        for (int d = 0; d < dim; ++d)
        {
          shape[0].gradient[d] = Number(0);
          PATCHFEM_UNROLL
          for (int i = 1; i < n; ++i)
          {
            shape[i].gradient[d] = inverse_jacobian(i - 1, d);
            shape[0].gradient[d] -= inverse_jacobian(i - 1, d);
          }
        }
        PATCHFEM_UNROLL
        for (int i = 0; i < n; ++i)
          shape[i].value = Number(1) / Number(n);
        PATCHFEM_UNROLL
        for (int i = 0; i < n; ++i)
          PATCHFEM_UNROLL
        for (int j = 0; j < n; ++j)
          K[i][j] = IsSymmetric<Form>::value && j < i ? K[j][i]
                                                      : weight * Form::matrix(coefficients, shape[i], shape[j])(0, 0);
      }

      __device__ void run() const
      {
        const AssemblyArguments<Number> &a       = body.a;
        const PatchesView               &p       = a.patches;
        const int                        n_cells = static_cast<int>(p.cell_offsets[patch + 1] - p.cell_offsets[patch]);
        LevelBarrier                     barrier{n_threads};
        PatchLevels                      levels(n_cells, scratch.level_ends, barrier);
        for (int begin = 0; begin < n_cells; begin += n_threads)
        {
          const int mine = begin + static_cast<int>(threadIdx.x);
          Cell      cell;
          Number    K[n][n], load = Number(0);
          if (mine < n_cells)
          {
            load_cell(mine, cell);
            compute(cell, K, load);
          }
          levels.template commit<1>(mine, min(begin + n_threads, n_cells), [&](int) {
            PATCHFEM_UNROLL
            for (int i = 0; i < n; ++i)
              if (cell.row[i] >= 0)
              {
                if (body.with_matrix())
                {
                  Number *sums = scratch.blocks + scratch.start[cell.row[i]];
                  int     place[n];
                  Number  sum[n];
                  PATCHFEM_UNROLL
                  for (int j = 0; j < n; ++j)
                    place[j] = !p.places.compact() ? static_cast<int>(cell.words[i] >> (8 * j) & 255u)
                               : i == j            ? scratch.diagonal[cell.row[i]]
                                                   : PlacesView::in_word(cell.words[i], j - (j > i ? 1 : 0));
                  PATCHFEM_UNROLL
                  for (int j = 0; j < n; ++j)
                    sum[j] = sums[place[j]] + K[i][j];
                  PATCHFEM_UNROLL
                  for (int j = 0; j < n; ++j)
                    sums[place[j]] = sum[j];
                }
                if (a.rhs != nullptr)
                  scratch.rhs[cell.row[i]] += load;
              }
          });
        }
      }

      /** n places of one byte each. */
      static __device__ std::uint32_t load_bytes(const PlacesView &places, const std::int64_t pair)
      {
        std::uint32_t result = 0;
        PATCHFEM_UNROLL
        for (int j = 0; j < n; ++j)
          result |= static_cast<const std::uint8_t *>(places.view.data)[pair * n + j] << (8 * j);
        return result;
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
