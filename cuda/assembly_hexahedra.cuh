// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_cuda_assembly_hexahedra_cuh
#define patchfem_cuda_assembly_hexahedra_cuh

#include "patch_levels.cuh"

#include <patchfem/kernels/cell_records.h>

#include <cmath>

/**
 * @file
 * Trilinear hexahedra in double precision by matrix instructions. With 8 corners and 8 points, everything is a product
 * of 8 x 8 matrices:
 * - the Jacobians of 8 cells, J_ab(cell, q) = sum_v x_a(cell, v) dN_v/dxi_b(q), 9 products;
 * - outer products, G_ab(i, j) = sum_q g_a(q, i) g_b(q, j), 9 products a cell, g the real gradients times sqrt(w);
 * - inner products, sum_b sum_q (sum_c M_bc(q) dN_i/dxi_c(q)) dN_j/dxi_b(q) with M = w J^-1 J^-T, 3 products a cell.
 * An instruction takes two 8 x 8 matrices on the left: two directions, or two cells where the right one is the same.
 * Of the result of a product, lane 4 i + p holds entries (i, 2 p) and (i, 2 p + 1), hence whole blocks of the matrix.
 */
namespace PatchFEM
{
  namespace kernels
  {
    /**
     * d += a b for a 16 x 8 and an 8 x 8 matrix. With g = lane / 4 and t = lane % 4 a lane holds a(g, t), a(g + 8, t),
     * a(g, t + 4), a(g + 8, t + 4); b(t, g), b(t + 4, g); d(g, 2 t), d(g, 2 t + 1), d(g + 8, 2 t), d(g + 8, 2 t + 1).
     * The 8 x 8 x 4 instruction of earlier devices took about 7 clocks of a multiprocessor on an H200, fewer
     * multiply-adds a clock than plain instructions give.
     */
    __device__ __forceinline__ void multiply_add(double (&d)[4], const double (&a)[4], const double (&b)[2])
    {
#if __CUDA_ARCH__ >= 900
      asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
          "%3};"
          : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
          : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
      for (int half = 0; half < 2; ++half)
        for (int k = 0; k < 2; ++k)
          asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
              : "+d"(d[2 * half]), "+d"(d[2 * half + 1])
              : "d"(a[half + 2 * k]), "d"(b[k]));
#endif
    }

    template <typename Form>
    struct Hexahedra
    {
      static constexpr bool outer  = MomentsOf<Form>::kind == MomentKind::outer_product;
      static constexpr int  n_comp = Form::n_components;

      // Some warps map cells, eight at a time, ahead of the others, which form and add the matrices.
      static constexpr int n_mapping    = outer ? 3 : 5; // 16 warps of 128 registers, or twice 10 of 96
      static constexpr int n_adding     = outer ? 13 : 5;
      static constexpr int n_threads    = (n_mapping + n_adding) * 32;
      static constexpr int residency    = outer ? 1 : 2; ///< blocks on a multiprocessor
      static constexpr int cells_a_warp = outer ? 1 : 2; ///< whose matrices a warp forms at once

      // The record of a cell, in doubles: its points; for inner products their weights; row and start of each corner;
      // places; coefficients; load; position in the batch.
      static constexpr int point_size   = outer ? 10 : 6; // sqrt(w) J^-1 and w, or M
      static constexpr int weights      = 8 * point_size;
      static constexpr int rows         = weights + (outer ? 0 : 8);
      static constexpr int places       = rows + 8;
      static constexpr int coefficients = places + 8;
      static constexpr int load         = coefficients + Form::n_coefficients;
      static constexpr int number       = load + n_comp;
      // A multiple of 16 bytes that lets neighbouring cells start at different banks.
      static constexpr int record_size = (number + 2) / 2 * 2 + ((number + 2) / 2 * 2 % 16 % 4 == 0 ? 2 : 0);

      static constexpr int n_extra = Form::n_coefficients > n_comp ? Form::n_coefficients : n_comp;

      /// Of eight cells: their records, a barrier that says that these are there, and one that they are read.
      static constexpr std::size_t slot_bytes  = 8 * record_size * sizeof(double) + 2 * sizeof(PhaseBarrier);
      static constexpr int         least_slots = 6; ///< at least n_mapping
      /// Besides the slots: the barrier of the levels.
      static constexpr std::size_t barrier_bytes = 16;
      static_assert(least_slots >= n_mapping, "Every mapping warp needs a slot.");

      using Body    = PatchBody<n_comp, double>;
      using Scratch = typename Body::Scratch;
      using Moments = typename Form::template Moments<double>;
      static_assert(std::is_same<Moments, SmallMatrix<outer ? 3 : 1, outer ? 3 : 1, double>>::value,
                    "Moments of this kind are a 1 x 1 or a dim x dim matrix.");
      static_assert(n_comp <= 4, "A load has a lane for each component.");

      const Body    &body;
      const Scratch &scratch;
      const int      n_slots; ///< a ring: group g of eight cells of all that the block takes is in slot g % n_slots
      const int      patch;
      const int      first_group; ///< of the patch

      __device__ const BatchView &batch() const { return body.a.batches.batch[body.a.computed_batch]; }

      __device__ double *records(const int group) const
      {
        return static_cast<double *>(scratch.workers) + group % n_slots * 8 * record_size;
      }
      __device__ PhaseBarrier &filled(const int group) const { return barriers()[group % n_slots]; }
      __device__ PhaseBarrier &emptied(const int group) const { return barriers()[n_slots + group % n_slots]; }
      __device__ PhaseBarrier &level_barrier() const { return barriers()[2 * n_slots]; }
      __device__ PhaseBarrier *barriers() const
      {
        return reinterpret_cast<PhaseBarrier *>(static_cast<double *>(scratch.workers) + n_slots * 8 * record_size);
      }

      /** To be called by one thread, once, before all others. */
      __device__ void init_barriers() const
      {
        for (int slot = 0; slot < n_slots; ++slot)
        {
          filled(slot).init(1);
          emptied(slot).init(8); // one for each cell
        }
        level_barrier().init(n_adding);
      }

      __device__ int n_cells() const
      {
        return static_cast<int>(body.a.patches.cell_offsets[patch + 1] - body.a.patches.cell_offsets[patch]);
      }

      static __device__ int lane() { return threadIdx.x % 32; }

      /**
       * What a lane needs to map its corners lane % 4 and lane % 4 + 4 of the warp's cell lane / 4. It is loaded in
       * three steps, each a round before the next, so that no round waits for far memory: the number of the cell, its
       * nodes, and what belongs to them.
       */
      struct Corners
      {
        bool         exists = false;
        int          local = 0, row[2] = {-1, -1}, start[2] = {0, 0};
        unsigned int owners[2] = {0, 0}; ///< of the cell's corners 0 to 3 and 4 to 7
        std::int64_t pair      = 0;
        uint2        columns[2];
        double       x[2][3] = {}, extra[n_extra]; ///< coefficients on lanes 4 k, load on lanes 4 k + 1
      };

      __device__ void load_number(const int position, const int n_cells, Corners &c) const
      {
        const PatchesView &p = body.a.patches;
        c.exists             = position + lane() / 4 < n_cells;
        if (!c.exists)
          return;
        const std::int64_t entry = p.cell_offsets[patch] + position + lane() / 4;
        c.local                  = p.cells[entry] - batch().first_cell;
        c.pair                   = p.pair_offsets[patch] + p.cell_pairs[entry];
      }

      __device__ void load_nodes(Corners &c) const
      {
        for (int h = 0; h < 2; ++h)
          if (c.exists)
            c.row[h] = batch().nodes[std::int64_t(c.local) * 8 + lane() % 4 + 4 * h] - body.a.patches.first_row(patch);
      }

      __device__ void load_data(Corners &c) const
      {
        const AssemblyArguments<double> &a = body.a;
        const PatchesView               &p = a.patches;
        const int  k = lane() / 4, v = lane() % 4, first = p.first_row(patch), n_rows = p.end_row(patch) - first;
        const bool same = batch().geometry == batch().nodes;
        for (int h = 0; h < 2; ++h)
        {
          if (c.exists)
          {
            const int     point = same ? first + c.row[h] : batch().geometry[std::int64_t(c.local) * 8 + v + 4 * h];
            const double *from  = a.batches.points + std::int64_t(point) * 3;
            for (int d = 0; d < 3; ++d)
              c.x[h][d] = from[d];
          }
          c.row[h]    = c.exists && c.row[h] >= 0 && c.row[h] < n_rows ? c.row[h] : -1;
          c.owners[h] = __ballot_sync(WarpTeam::all, c.row[h] >= 0) >> (4 * k) & 15u;
        }
        for (int h = 0; h < 2; ++h)
          if (c.row[h] >= 0)
          {
            const int before = __popc(c.owners[h] & ((1u << v) - 1u)) + (h > 0 ? __popc(c.owners[0]) : 0);
            c.start[h]       = static_cast<int>(p.row_offsets[first + c.row[h]] - p.row_offsets[first]);
            if (body.with_matrix())
              c.columns[h] = static_cast<const uint2 *>(p.places.view.data)[c.pair + before];
          }
        if (c.exists && v == 0)
        {
          const double *from = a.coefficients.at(a.batches, a.computed_batch, c.local, 0);
          for (int e = 0; e < Form::n_coefficients; ++e)
            c.extra[e] = from[e];
        }
        if (c.exists && v == 1 && loaded() && !a.load.varies_inside_cells())
        {
          const double *from = a.load.at(a.batches, a.computed_batch, c.local, 0);
          for (int e = 0; e < n_comp; ++e)
            c.extra[e] = from[e];
        }
      }

      /** A warp makes eight records; @p roots of the weights at points 2 (lane % 4) and the next. */
      __device__ void map(const Corners &c, const double (&roots)[2], double *eight) const
      {
        const ReferenceView &r = batch().reference;
        const int            k = lane() / 4, v = lane() % 4;
        const bool           exists = c.exists;
        double              *out    = eight + k * record_size;
        if (exists)
        {
          for (int h = 0; h < 2; ++h)
          {
            reinterpret_cast<int2 *>(out + rows)[v + 4 * h] = make_int2(c.row[h], c.start[h]);
            if (c.row[h] >= 0 && body.with_matrix())
              reinterpret_cast<uint2 *>(out + places)[v + 4 * h] = c.columns[h];
          }
          if (v == 0)
            for (int e = 0; e < Form::n_coefficients; ++e)
              out[coefficients + e] = c.extra[e];
          if (v == 1 && loaded() && !body.a.load.varies_inside_cells())
            for (int e = 0; e < n_comp; ++e)
              out[load + e] = c.extra[e];
          if (v == 2)
            *reinterpret_cast<int *>(out + number) = c.local;
        }

        double x[2][3];
        for (int d = 0; d < 3; ++d)
        {
          const double origin = __shfl_sync(WarpTeam::all, c.x[0][d], lane() & 28);
          for (int h = 0; h < 2; ++h)
            x[h][d] = c.x[h][d] - origin;
        }
        double J[2][3][4] = {}; // directions 0 and 1, then 2, of cell k at points 2 v and 2 v + 1
        for (int b = 0; b < 3; ++b)
        {
          // Derivatives by direction b of corners v and v + 4 at point k.
          const double gradient[2] = {r.geometry_gradients[(k * 8 + v) * 3 + b],
                                      r.geometry_gradients[(k * 8 + v + 4) * 3 + b]};
          multiply_add(J[0][b], {x[0][0], x[0][1], x[1][0], x[1][1]}, gradient);
          multiply_add(J[1][b], {x[0][2], 0., x[1][2], 0.}, gradient);
        }
        if (!exists)
          return;
        for (int t = 0; t < 2; ++t)
        {
          const int                 q = 2 * v + t;
          SmallMatrix<3, 3, double> jacobian;
          for (int d = 0; d < 3; ++d)
            for (int b = 0; b < 3; ++b)
              jacobian(d, b) = J[d / 2][b][d % 2 * 2 + t];
          const double det   = determinant(jacobian);
          const auto   adj   = adjugate(jacobian);
          double      *point = out + q * point_size;
          if constexpr (outer)
          {
            // sqrt(w det) J^-1, so that both factors of the outer product are the same numbers.
            const double root = roots[t] * rsqrt(det);
            for (int b = 0; b < 3; ++b)
              for (int d = 0; d < 3; ++d)
                point[b * 3 + d] = root * adj(b, d);
            point[9] = det * r.weights[q];
          }
          else
          {
            const double weight = r.weights[q], factor = weight / det;
            int          e = 0;
            for (int b = 0; b < 3; ++b)
              for (int a = b; a < 3; ++a)
                point[e++] = factor * (adj(b, 0) * adj(a, 0) + adj(b, 1) * adj(a, 1) + adj(b, 2) * adj(a, 2));
            out[weights + q] = det * weight;
          }
        }
      }

      __device__ bool loaded() const
      {
        return body.a.rhs != nullptr && body.a.load.kind != CoefficientView<double>::none;
      }

      /** Reference gradients and values of shape function lane / 4 at points lane % 4 and lane % 4 + 4. */
      struct Reference
      {
        double gradient[2][3], value[2];

        __device__ explicit Reference(const ReferenceView &r)
        {
          for (int h = 0; h < 2; ++h)
          {
            const int entry = (lane() % 4 + 4 * h) * 8 + lane() / 4;
            value[h]        = r.shape_values[entry];
            for (int b = 0; b < 3; ++b)
              gradient[h][b] = r.shape_gradients[entry * 3 + b];
          }
        }
      };

      static __device__ void load_point(const double *record, const int q, double (&m)[point_size])
      {
        for (int e = 0; e < point_size; e += 2)
        {
          const double2 two = *reinterpret_cast<const double2 *>(record + q * point_size + e);
          m[e]              = two.x;
          m[e + 1]          = two.y;
        }
      }

      /** Moments of shape function lane / 4 with 2 (lane % 4) and the next, of @p cells_a_warp cells. */
      static __device__ void
      sum_moments(const double *record, const Reference &reference, Moments (&moments)[cells_a_warp][2])
      {
        double m[point_size];
        if constexpr (outer)
        {
          double g[3][2], G[2][3][4] = {};
          for (int h = 0; h < 2; ++h)
          {
            const double(&ref)[3] = reference.gradient[h];
            load_point(record, lane() % 4 + 4 * h, m);
            for (int d = 0; d < 3; ++d)
              g[d][h] = m[d] * ref[0] + m[3 + d] * ref[1] + m[6 + d] * ref[2];
          }
          for (int d = 0; d < 3; ++d)
          {
            multiply_add(G[0][d], {g[0][0], g[1][0], g[0][1], g[1][1]}, g[d]);
            multiply_add(G[1][d], {g[2][0], 0., g[2][1], 0.}, g[d]);
          }
          for (int t = 0; t < 2; ++t)
            for (int c = 0; c < 3; ++c)
              for (int d = 0; d < 3; ++d)
                moments[0][t](c, d) = G[c / 2][d][c % 2 * 2 + t];
        }
        else
        {
          double tested[3][4], K[4] = {}; // test gradients times M: [direction][cell + 2 h]
          for (int cell = 0; cell < 2; ++cell)
            for (int h = 0; h < 2; ++h)
            {
              const double(&ref)[3] = reference.gradient[h];
              load_point(record + cell * record_size, lane() % 4 + 4 * h, m);
              tested[0][cell + 2 * h] = m[0] * ref[0] + m[1] * ref[1] + m[2] * ref[2];
              tested[1][cell + 2 * h] = m[1] * ref[0] + m[3] * ref[1] + m[4] * ref[2];
              tested[2][cell + 2 * h] = m[2] * ref[0] + m[4] * ref[1] + m[5] * ref[2];
            }
          for (int d = 0; d < 3; ++d)
            multiply_add(K, tested[d], {reference.gradient[0][d], reference.gradient[1][d]});
          for (int cell = 0; cell < 2; ++cell)
            for (int t = 0; t < 2; ++t)
              moments[cell][t](0, 0) = K[2 * cell + t];
        }
      }

      /** Component lane % 4 of the load of shape function lane / 4. */
      __device__ double sum_load(const double *record, const Reference &reference) const
      {
        const auto weighted = [&](const int h) {
          const int q = lane() % 4 + 4 * h;
          return (outer ? record[q * point_size + 9] : record[weights + q]) * reference.value[h];
        };
        const auto over_points = [](double sum) {
          sum += __shfl_xor_sync(WarpTeam::all, sum, 1);
          return sum + __shfl_xor_sync(WarpTeam::all, sum, 2);
        };
        const CoefficientView<double> &f = body.a.load;
        if (!f.varies_inside_cells())
          return over_points(weighted(0) + weighted(1)) * record[load + min(lane() % 4, n_comp - 1)];
        const int local  = *reinterpret_cast<const int *>(record + number);
        double    result = 0.;
        for (int c = 0; c < n_comp; ++c)
        {
          double sum = 0.;
          for (int h = 0; h < 2; ++h)
            sum += weighted(h) * f.at(body.a.batches, body.a.computed_batch, local, lane() % 4 + 4 * h)[c];
          sum = over_points(sum);
          if (lane() % 4 == c)
            result = sum;
        }
        return result;
      }

      /** A warp forms the matrices and loads of cell @p mine of the patch and the next and adds them in their turn. */
      __device__ void
      add(const int mine, const int stop, const Reference &reference, PatchLevels<LevelPhases> &levels) const
      {
        int2                                corner[cells_a_warp];
        unsigned int                        columns[cells_a_warp];
        double                              f[cells_a_warp];
        SmallMatrix<n_comp, n_comp, double> value[cells_a_warp][2];
        if (mine < stop)
        {
          const int     group  = first_group + mine / 8; // cells of a warp are of one group
          const double *record = records(group) + mine % 8 * record_size;
          filled(group).wait(group / n_slots);
          for (int cell = 0; cell < cells_a_warp; ++cell)
          {
            corner[cell]  = reinterpret_cast<const int2 *>(record + cell * record_size + rows)[lane() / 4];
            columns[cell] = reinterpret_cast<const std::uint16_t *>(record + cell * record_size + places)[lane()];
          }
          if (body.with_matrix())
          {
            Moments moments[cells_a_warp][2];
            sum_moments(record, reference, moments);
            for (int cell = 0; cell < cells_a_warp; ++cell)
              for (int t = 0; t < 2; ++t)
                value[cell][t] = Form::finish(record + cell * record_size + coefficients, moments[cell][t]);
          }
          if (loaded())
            for (int cell = 0; cell < cells_a_warp; ++cell)
              f[cell] = mine + cell < stop ? sum_load(record + cell * record_size, reference) : 0.;
          // Also for the cells that the patch's last group lacks, and for whose records nobody asks.
          __syncwarp();
          if (lane() == 0)
            emptied(group).arrive(mine + cells_a_warp >= n_cells() ? 8 - mine % 8 : cells_a_warp);
        }
        levels.template commit<cells_a_warp>(mine, stop, [&](const int cell) {
          if (corner[cell].x < 0)
            return;
          if (body.with_matrix())
            for (int t = 0; t < 2; ++t)
            {
              double *to =
                  scratch.blocks + (corner[cell].y + static_cast<int>(columns[cell] >> (8 * t) & 255u)) * Body::n_block;
              for (int c = 0; c < n_comp; ++c)
                for (int d = 0; d < n_comp; ++d)
                  to[c * n_comp + d] += value[cell][t](c, d);
            }
          if (loaded() && lane() % 4 < n_comp)
            scratch.rhs[corner[cell].x * n_comp + lane() % 4] += f[cell];
        });
      }

      /** A mapping warp makes the records of every n_mapping-th group. */
      __device__ void map_cells() const
      {
        const int     n = n_cells(), n_groups = (n + 7) / 8, warp = threadIdx.x / 32;
        constexpr int step = 8 * n_mapping;
        // Groups are dealt out over the patches.
        const int first = (warp - first_group % n_mapping + n_mapping) % n_mapping;
        Corners   now, next, after;
        double    roots[2]; // of the weights of the lane's two points
        for (int t = 0; t < 2; ++t)
          roots[t] = std::sqrt(batch().reference.weights[2 * (lane() % 4) + t]);
        load_number(first * 8, n, now);
        load_number(first * 8 + step, n, next);
        load_number(first * 8 + 2 * step, n, after);
        load_nodes(now);
        load_nodes(next);
        load_data(now);
        for (int k = first; k < n_groups; k += n_mapping)
        {
          const int group = first_group + k;
          load_data(next);
          load_nodes(after);
          if (group >= n_slots)
            emptied(group).wait(group / n_slots - 1);
          map(now, roots, records(group));
          // Groups are announced in their order: who waits for a phase of a barrier then knows that the one before it,
          // from which its parity does not tell it, is complete.
          if (group > 0)
            filled(group - 1).wait((group - 1) / n_slots);
          __syncwarp();
          if (lane() == 0)
            filled(group).arrive(1);
          now  = next;
          next = after;
          load_number(k * 8 + 3 * step, n, after);
        }
      }

      /** The other warps add the cells. */
      __device__ void add_cells(const Reference &reference, LevelPhases &phases) const
      {
        const int                n = n_cells();
        PatchLevels<LevelPhases> levels(n, scratch.level_ends, phases);
        constexpr int            step = n_adding * cells_a_warp;
        for (int position = 0; position < n; position += step)
          add(position + (threadIdx.x / 32 - n_mapping) * cells_a_warp, min(position + step, n), reference, levels);
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
