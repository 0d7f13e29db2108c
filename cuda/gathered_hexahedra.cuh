// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_cuda_gathered_hexahedra_cuh
#define patchfem_cuda_gathered_hexahedra_cuh

#include "hexahedra_tile.cuh"

#include <patchfem/kernels/gathered_rows.h>

namespace PatchFEM
{
  namespace kernels
  {
    /**
     * A patch stages its trilinear hexahedra in shared memory, sixteen to a warp at a time, then its rows gather. The 36
     * different entries of a cell's matrix and 4 that nobody needs are 5 products of 8 columns, 6 steps each. Where the
     * constants lie while cells are staged, the rows are summed later.
     */
    template <typename Form>
    struct GatheredHexahedra
    {
      static constexpr int n_threads = 256, residency = 2, n_columns = 5, cells_a_warp = 16;
      /// Products [bc][column of eight][lane], then Tile::gradient(), then values of shape functions.
      static constexpr int n_constants = (6 * n_columns + 3 + 1) * 32;
      static constexpr std::size_t table_bytes = n_constants * sizeof(double2);

      using Tile = HexahedraTile<Form>;
      using Body = PatchBody<1, double>;

      const Body &body;
      double2    *constants;
      double     *staged;
      const int   patch;

      static __device__ int lane() { return threadIdx.x % 32; }
      static __device__ int warp() { return static_cast<int>(threadIdx.x) / 32; }

      /** Bytes before the staged cells. */
      static __host__ __device__ std::size_t first_bytes(const Body &body)
      {
        return body.row_bytes() > table_bytes ? body.row_bytes() : table_bytes;
      }

      static std::size_t bytes(const Body &body)
      {
        return first_bytes(body) + StagedOctet::begin(body.a.most_cells) * sizeof(double);
      }

      /**
       * Which position in its group of eight, columns 8 u to 8 u + 7, column @p n of a product has: lane t of four holds
       * columns 2 t and 2 t + 1, and four lanes store four neighbours.
       */
      static __device__ int position(const int n) { return n % 2 * 4 + n / 2; }

      /** All threads of the block. */
      __device__ void tabulate() const
      {
        const ReferenceView &r = Tile{body.a}.batch().reference;
        for (int e = threadIdx.x; e < n_constants; e += n_threads)
        {
          const int l = e % 32, row = e / 32, at = position(l / 4);
          double2   two = make_double2(0., 0.);
          if (row < 6 * n_columns)
          {
            const int number = row % n_columns * 8 + at;
            int       i = number - StagedOctet::diagonal, j = i;
            if (number < StagedOctet::diagonal)
            {
              i = 0;
              while (PlacesView::pair_number(8, i + 1, i + 2) <= number)
                ++i;
              j = number - PlacesView::pair_number(8, i, i + 1) + i + 1;
            }
            if (number < StagedOctet::load)
              two = Tile::product(r, row / n_columns, i, j, l);
          }
          else if (row < 6 * n_columns + 3)
            two = Tile::gradient(r, row - 6 * n_columns, l);
          else
          {
            const double *shape = r.shape_values + 2 * (l % 4) * 8 + at;
            two                 = make_double2(shape[0], shape[8]);
          }
          constants[e] = two;
        }
        if (threadIdx.x < StagedOctet::zeros)
          staged[threadIdx.x] = 0.;
      }

      __device__ void stage() const
      {
        const AssemblyArguments<double> &a = body.a;
        const Tile                       cells{a};
        const std::int64_t               first   = a.patches.cell_offsets[patch];
        const int                        n_cells = static_cast<int>(a.patches.cell_offsets[patch + 1] - first);
        const int                        step    = n_threads / 32 * cells_a_warp;
        const auto                       number  = [&](const int slot) {
          return a.patches.cells[first + min(slot, n_cells - 1)] - cells.batch().first_cell;
        };
        int tile = warp() * cells_a_warp;
        if (tile >= n_cells)
          return;
        int local[2], next[2], corners[2][2];
        PATCHFEM_UNROLL
        for (int half = 0; half < 2; ++half)
        {
          local[half] = number(tile + 8 * half + lane() / 4);
          next[half]  = number(tile + step + 8 * half + lane() / 4);
        }
        PATCHFEM_UNROLL
        for (int half = 0; half < 2; ++half)
          cells.load_corners(local[half], corners[half]);
        for (; tile < n_cells; tile += step)
        {
          double M[2][6][2], weight[2][2];
          cells.map(corners, local, constants + 6 * n_columns * 32, M, weight);
          PATCHFEM_UNROLL
          for (int half = 0; half < 2; ++half)
            cells.load_corners(next[half], corners[half]);
          double *out[2];
          bool    exists[2];
          PATCHFEM_UNROLL
          for (int half = 0; half < 2; ++half)
          {
            const int slot = tile + 8 * half + lane() / 4;
            exists[half]   = slot < n_cells;
            out[half]      = staged + StagedOctet::begin(slot) + lane() % 4;
          }
          if (body.with_matrix())
            store_matrices(M, exists, out);
          if (body.loaded())
          {
            const double2 shapes = constants[(6 * n_columns + 3) * 32 + lane()];
            double        f[4];
            cells.integrate_loads(weight, local, shapes, f);
            PATCHFEM_UNROLL
            for (int half = 0; half < 2; ++half)
              if (exists[half])
              {
                out[half][StagedOctet::load]     = f[2 * half];
                out[half][StagedOctet::load + 4] = f[2 * half + 1];
              }
          }
          PATCHFEM_UNROLL
          for (int half = 0; half < 2; ++half)
          {
            local[half] = next[half];
            next[half]  = number(tile + 2 * step + 8 * half + lane() / 4);
          }
        }
      }

      __device__ void
      store_matrices(const double (&M)[2][6][2], const bool (&exists)[2], double *const (&out)[2]) const
      {
        double K[n_columns][4] = {};
        PATCHFEM_UNROLL
        for (int e = 0; e < 6; ++e)
          PATCHFEM_UNROLL
        for (int u = 0; u < n_columns; ++u)
        {
          const double2 two = constants[(e * n_columns + u) * 32 + lane()];
          multiply_add(K[u], {M[0][e][0], M[1][e][0], M[0][e][1], M[1][e][1]}, {two.x, two.y});
        }
        PATCHFEM_UNROLL
        for (int half = 0; half < 2; ++half)
          if (exists[half])
            PATCHFEM_UNROLL
        for (int u = 0; u < n_columns; ++u)
          PATCHFEM_UNROLL
        for (int h = 0; h < 2; ++h)
          if (8 * u + 4 * h < StagedOctet::load)
            out[half][8 * u + 4 * h] = K[u][2 * half + h];
      }

      /** Items to warps in turn; what the next one needs is under way while one is summed. */
      __device__ void gather(const Body::Scratch &scratch) const
      {
        const GatheredRows<double> rows{body, scratch, patch, staged};
        constexpr int              n_warps = n_threads / 32;
        const GatherItem          *items   = body.a.patches.gather.items;
        std::int64_t               item    = rows.first_item() + warp();
        const std::int64_t         end     = rows.end_item();
        if (item >= end)
          return;
        auto       now  = rows.fetch(items[item], lane());
        GatherItem next = items[min(item + n_warps, end - 1)];
        for (; item < end; item += n_warps)
        {
          const auto after = rows.fetch(next, lane());
          next             = items[min(item + 2 * n_warps, end - 1)];
          rows.sum(now, lane());
          now = after;
        }
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
