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
      /// Products [bc][eight columns][lane], then Tile::gradient(), then values of shape functions.
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

      /** Bytes that sums share with the constants, and those before the staged cells. */
      static __host__ __device__ std::size_t shared_bytes(const Body &body)
      {
        const std::size_t sums = (body.a.most_blocks + body.a.patches.rows_per_patch) * sizeof(double);
        return sums > table_bytes ? sums : table_bytes;
      }
      static __host__ __device__ std::size_t first_bytes(const Body &body)
      {
        return (shared_bytes(body) + (body.a.patches.rows_per_patch + 1) * sizeof(int) + 15) / 16 * 16;
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
        static_assert(n_threads == (n_columns + 3) * 32, "A warp for each column of products and each direction.");
        const ReferenceView &r  = Tile{body.a}.batch().reference;
        const int            at = position(lane() / 4);
        if (warp() < n_columns)
        {
          const int number = warp() * 8 + at;
          int       i = number - StagedOctet::diagonal, j = i;
          if (number < StagedOctet::diagonal)
          {
            i = 0;
            PATCHFEM_UNROLL
            for (int k = 1; k < 7; ++k)
              i += number >= PlacesView::pair_number(8, k, k + 1);
            j = number - PlacesView::pair_number(8, i, i + 1) + i + 1;
          }
          const bool exists = number < StagedOctet::load;
          double     g[2][2][3];
          Tile::load_gradients(r, exists ? i : 0, lane(), g[0]);
          Tile::load_gradients(r, exists ? j : 0, lane(), g[1]);
          PATCHFEM_UNROLL
          for (int bc = 0; bc < 6; ++bc)
            constants[(bc * n_columns + warp()) * 32 + lane()] = Tile::product(bc, g[0], g[1]);
        }
        else
          constants[(5 * n_columns + warp()) * 32 + lane()] = Tile::gradient(r, warp() - n_columns, lane());
        if (warp() == n_columns)
        {
          const double *shape = r.shape_values + 2 * (lane() % 4) * 8 + at;
          constants[(6 * n_columns + 3) * 32 + lane()] = make_double2(shape[0], shape[8]);
        }
        if (threadIdx.x < StagedOctet::zeros)
          staged[threadIdx.x] = 0.;
      }

      /** All threads of the block: the constants, then the cells. */
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
        // Numbers are loaded two tiles ahead, corners one, and points of the first tile while the constants are made.
        int    tile = warp() * cells_a_warp, local[2], next[2], corners[2][2];
        typename Tile::Cells data;
        cells.load_constants(data);
        if (n_cells > 0)
        {
          PATCHFEM_UNROLL
          for (int half = 0; half < 2; ++half)
          {
            local[half] = number(tile + 8 * half + lane() / 4);
            next[half]  = number(tile + step + 8 * half + lane() / 4);
          }
          PATCHFEM_UNROLL
          for (int half = 0; half < 2; ++half)
            cells.load_corners(local[half], corners[half]);
        }
        tabulate();
        if (tile < n_cells)
          cells.load_cells(corners, local, data);
        __syncthreads();
        for (; tile < n_cells; tile += step)
        {
          double M[2][6][2], weight[2][2];
          cells.map(data, local, constants + 6 * n_columns * 32, M, weight);
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
            cells.integrate_loads(data, weight, local, shapes, f);
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
          if (tile + step < n_cells)
            cells.load_cells(corners, local, data);
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

      /**
       * All threads of the block, which wait until all cells are staged. Items go to warps in turn; what the next two need
       * is under way while one is summed.
       */
      __device__ void gather(const Body::Scratch &scratch) const
      {
        const GatheredRows<double> rows(body, scratch, patch, staged);
        constexpr int              n_warps = n_threads / 32;
        const int                  n       = (rows.n_items - warp() + n_warps - 1) / n_warps; // of this warp
        bool                       waiting = true;
        for (int begin = 0; begin < n || waiting; begin += 32)
        {
          const int                    n_now = min(n - begin, 32);
          unsigned long long           mine  = 0;
          GatheredRows<double>::Fetched now, next;
          const auto                   fetch = [&](const int k) {
            return rows.fetch(item(mine, min(k, n_now - 1)), lane());
          };
          if (n_now > 0)
          {
            mine = reinterpret_cast<const unsigned long long *>(rows.items)[warp() + n_warps * (begin + min(lane(), n_now - 1))];
            now  = fetch(0);
            next = fetch(1);
          }
          if (waiting)
            __syncthreads();
          waiting = false;
          for (int k = 0; k < n_now; ++k)
          {
            const auto after = fetch(k + 2);
            rows.sum(item(mine, k), now, lane());
            now  = next;
            next = after;
          }
        }
      }

      static __device__ GatherItem item(const unsigned long long mine, const int k)
      {
        const unsigned long long word = __shfl_sync(0xffffffffu, mine, k);
        return {static_cast<std::uint16_t>(word), static_cast<std::uint16_t>(word >> 16),
                static_cast<std::uint16_t>(word >> 32), static_cast<std::uint8_t>(word >> 48),
                static_cast<std::uint8_t>(word >> 56)};
      }

      /** One thread: what the rows gather comes to the second-level cache while cells are staged. */
      __device__ void prefetch() const
      {
        const PatchesView &p     = body.a.patches;
        const int          n     = GatherView::n_slices(p.rows_per_patch);
        const std::int64_t slice = std::int64_t(patch) * n;
        const auto         bring = [](const void *from, const std::int64_t bytes) {
          if (bytes > 0)
            asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(from)),
                         "r"(static_cast<unsigned int>(bytes)));
        };
        const std::int64_t quads = p.gather.quad_offsets[slice], ranks = p.gather.rank_offsets[slice];
        bring(p.gather.sources + quads * 64, (p.gather.quad_offsets[slice + n] - quads) * 256);
        bring(p.gather.places + ranks * 32, (p.gather.rank_offsets[slice + n] - ranks) * 32);
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
