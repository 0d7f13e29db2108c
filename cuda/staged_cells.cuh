// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_cuda_staged_cells_cuh
#define patchfem_cuda_staged_cells_cuh

#include "assembly_hexahedra.cuh"

/**
 * @file
 * The gather strategy: matrices of cells, each formed once, go to a buffer of a chunk, and rows add theirs. For trilinear
 * hexahedra with one component a cell costs 512 bytes to the buffer and as many back, 8 pairs of 12 bytes and the row's
 * 27 entries of 8: 1.3 KB, of which the buffer's share stays in the cache if a chunk fits there.
 */
namespace PatchFEM
{
  namespace kernels
  {
    /**
     * Trilinear hexahedra of forms whose moments are inner products, in double precision. With M = w J^-1 J^-T,
     *   K(i, j) = sum_q sum_bc M_bc(q) dN_i/dxi_b(q) dN_j/dxi_c(q),
     * a product of the cells' 48 numbers M_bc(q), b <= c, with a constant matrix of 48 x 64. A warp takes sixteen cells;
     * each lane computes M at two points of each of two cells, which is how the matrix instruction wants its left side.
     */
    template <typename Form>
    struct StagedHexahedra
    {
      static constexpr int n_threads = 256, residency = 2, cells_a_warp = 16;
      static constexpr int n_products = 6 * 8 * 32;

      const AssemblyArguments<double> &a;
      double2                         *products; ///< [bc][i][lane], for points 2 (lane % 4) and the next, j = lane / 4

      __device__ const BatchView &batch() const { return a.batches.batch[a.computed_batch]; }
      static __device__ int       lane() { return threadIdx.x % 32; }

      /** All threads of the block: the right side, symmetric in i and j to the last bit. */
      __device__ void tabulate() const
      {
        for (int e = threadIdx.x; e < n_products; e += n_threads)
        {
          const int l = e % 32, i = e / 32 % 8, j = l / 4, bc = e / 256;
          const int b = bc < 3 ? 0 : (bc < 5 ? 1 : 2), c = bc < 3 ? bc : (bc < 5 ? bc - 2 : 2);
          double    result[2];
          for (int h = 0; h < 2; ++h)
          {
            const double *g = batch().reference.shape_gradients + (2 * (l % 4) + h) * 24;
            const double  p = __dmul_rn(g[i * 3 + b], g[j * 3 + c]);
            result[h]       = b == c ? p : __dadd_rn(p, __dmul_rn(g[i * 3 + c], g[j * 3 + b]));
          }
          products[e] = make_double2(result[0], result[1]);
        }
      }

      /** Where this lane's corners lane % 4 and lane % 4 + 4 of a cell are. */
      __device__ void load_corners(const int local, int (&corners)[2]) const
      {
        const int *geometry = batch().geometry + std::int64_t(local) * 8 + lane() % 4;
        corners[0]          = geometry[0];
        corners[1]          = geometry[4];
      }

      /** M at points 2 (lane % 4) and the next of the cell with these corners, [bc][point], and the weights there. */
      __device__ void map(const int (&corners)[2], double (&M)[6][2], double (&weight)[2]) const
      {
        const ReferenceView &r         = batch().reference;
        const double        *gradients = r.geometry_gradients + (lane() / 4 * 8 + lane() % 4) * 3; // of the corners
        double               x[2][3];
        PATCHFEM_UNROLL
        for (int h = 0; h < 2; ++h)
        {
          const double *from = a.batches.points + std::int64_t(corners[h]) * 3;
          PATCHFEM_UNROLL
          for (int d = 0; d < 3; ++d)
            x[h][d] = from[d];
        }
        PATCHFEM_UNROLL
        for (int d = 0; d < 3; ++d)
        {
          const double origin = __shfl_sync(WarpTeam::all, x[0][d], lane() & 28);
          x[0][d] -= origin;
          x[1][d] -= origin;
        }
        double J[2][3][4] = {}; // directions 0 and 1, then 2, at the two points
        PATCHFEM_UNROLL
        for (int b = 0; b < 3; ++b)
        {
          const double two[2] = {gradients[b], gradients[12 + b]};
          multiply_add(J[0][b], {x[0][0], x[0][1], x[1][0], x[1][1]}, two);
          multiply_add(J[1][b], {x[0][2], 0., x[1][2], 0.}, two);
        }
        PATCHFEM_UNROLL
        for (int t = 0; t < 2; ++t)
        {
          SmallMatrix<3, 3, double> jacobian;
          PATCHFEM_UNROLL
          for (int d = 0; d < 3; ++d)
            PATCHFEM_UNROLL
          for (int b = 0; b < 3; ++b)
            jacobian(d, b) = J[d / 2][b][d % 2 * 2 + t];
          const double w = r.weights[2 * (lane() % 4) + t], det = determinant(jacobian), factor = w / det;
          const auto   adj = adjugate(jacobian);
          weight[t]        = w * det;
          int e            = 0;
          PATCHFEM_UNROLL
          for (int b = 0; b < 3; ++b)
            PATCHFEM_UNROLL
          for (int c = b; c < 3; ++c)
            M[e++][t] = factor * (adj(b, 0) * adj(c, 0) + adj(b, 1) * adj(c, 1) + adj(b, 2) * adj(c, 2));
        }
      }

      /** Number in the batch of this lane's cell in one half of a tile; past the end the last one's. */
      __device__ int load_number(const int tile, const int half) const
      {
        return a.staged[min(tile + 8 * half + lane() / 4, a.n_staged - 1)] - batch().first_cell;
      }

      /** The products of one tile with the constants: 16 bytes of each row of its two cells from each lane. */
      __device__ void store_matrices(const double (&M)[2][6][2], const int (&local)[2], const int tile) const
      {
        double  k[2][Form::n_coefficients];
        double *out[2];
        bool    exists[2];
        PATCHFEM_UNROLL
        for (int half = 0; half < 2; ++half)
        {
          const int slot     = tile + 8 * half + lane() / 4;
          exists[half]       = slot < a.n_staged;
          out[half]          = a.buffer_matrix + a.staged_matrix + std::int64_t(slot) * 64 + 2 * (lane() % 4);
          const double *from = a.coefficients.at(a.batches, a.computed_batch, local[half], 0);
          PATCHFEM_UNROLL
          for (int c = 0; c < Form::n_coefficients; ++c)
            k[half][c] = from[c];
        }
#pragma unroll 1
        for (int i = 0; i < 8; ++i)
        {
          double K[4] = {};
          PATCHFEM_UNROLL
          for (int e = 0; e < 6; ++e)
          {
            const double2 two = products[(e * 8 + i) * 32 + lane()];
            multiply_add(K, {M[0][e][0], M[1][e][0], M[0][e][1], M[1][e][1]}, {two.x, two.y});
          }
          PATCHFEM_UNROLL
          for (int half = 0; half < 2; ++half)
            if (exists[half])
              *reinterpret_cast<double2 *>(out[half] + i * 8) =
                  make_double2(Form::finish(k[half], SmallMatrix<1, 1, double>{{{K[2 * half]}}})(0, 0),
                               Form::finish(k[half], SmallMatrix<1, 1, double>{{{K[2 * half + 1]}}})(0, 0));
        }
      }

      /** int f phi_i of the cells of a tile. */
      __device__ void store_loads(const double (&weight)[2][2], const int (&local)[2], const int tile) const
      {
        const double *shape = batch().reference.shape_values + 2 * (lane() % 4) * 8 + lane() / 4;
        double        left[4], f[4] = {};
        PATCHFEM_UNROLL
        for (int half = 0; half < 2; ++half)
          PATCHFEM_UNROLL
        for (int h = 0; h < 2; ++h)
          left[half + 2 * h] =
              weight[half][h] * a.load.at(a.batches, a.computed_batch, local[half], 2 * (lane() % 4) + h)[0];
        multiply_add(f, left, {shape[0], shape[8]});
        PATCHFEM_UNROLL
        for (int half = 0; half < 2; ++half)
        {
          const int slot = tile + 8 * half + lane() / 4;
          double   *out  = a.buffer_vector + a.staged_vector + std::int64_t(slot) * 8 + 2 * (lane() % 4);
          if (slot < a.n_staged)
            for (int h = 0; h < 2; ++h)
              out[h] = f[2 * half + h];
        }
      }

      __device__ void run() const
      {
        const bool with_matrix = a.matrix.format != MatrixTarget<double>::none;
        const bool loaded      = a.rhs != nullptr && a.load.kind != CoefficientView<double>::none;
        const int  step        = gridDim.x * (n_threads / 32) * cells_a_warp;
        int        tile        = (blockIdx.x * n_threads + static_cast<int>(threadIdx.x)) / 32 * cells_a_warp;
        if (tile >= a.n_staged)
          return;
        // Numbers are loaded two tiles ahead and corners one, so that a tile waits for its points alone.
        int local[2], next[2], corners[2][2];
        PATCHFEM_UNROLL
        for (int half = 0; half < 2; ++half)
        {
          local[half] = load_number(tile, half);
          next[half]  = load_number(tile + step, half);
          load_corners(local[half], corners[half]);
        }
        for (; tile < a.n_staged; tile += step)
        {
          double M[2][6][2], weight[2][2];
          PATCHFEM_UNROLL
          for (int half = 0; half < 2; ++half)
            map(corners[half], M[half], weight[half]);
          PATCHFEM_UNROLL
          for (int half = 0; half < 2; ++half)
            load_corners(next[half], corners[half]);
          if (with_matrix)
            store_matrices(M, local, tile);
          if (loaded)
            store_loads(weight, local, tile);
          PATCHFEM_UNROLL
          for (int half = 0; half < 2; ++half)
          {
            local[half] = next[half];
            next[half]  = load_number(tile + 2 * step, half);
          }
        }
      }
    };

    /** Rows of a patch add their rows of the staged matrices, a warp to a row. */
    template <int n_comp, typename Number>
    struct GatherRows
    {
      static constexpr int n_threads = 256, residency = 4;

      const PatchBody<n_comp, Number>                   &body;
      const typename PatchBody<n_comp, Number>::Scratch &scratch;
      const int                                          patch;

      __device__ void prepare() {}
      __device__ void run() const { add_rows_of_teams(32); }

      /** A warp adds, one after the other, the rows that its teams of @p team lanes would have. */
      __device__ void add_rows_of_teams(const int team) const
      {
        const int n_rows = body.a.patches.end_row(patch) - body.a.patches.first_row(patch);
        const int a_warp = 32 / team;
        for (int base = threadIdx.x / 32 * a_warp; base < n_rows; base += blockDim.x / team)
          for (int row = base; row < base + a_warp && row < n_rows; ++row)
            body.add_staged(patch, row, WarpTeam(), scratch);
      }
    };

    /**
     * Matrices of 8 x 8 scalars and places of one byte: four lanes to a row, two neighbouring entries to a lane, so that a
     * row of a matrix is two whole sectors of one access. Cells are added four at a time, while what the next four bring
     * is under way.
     */
    template <typename Number>
    struct GatherOctets
    {
      static constexpr int n_threads = 256, residency = 3, team = 4;
      static constexpr int n_passes = 2, rows_a_pass = n_threads / team, most_cells = 2 * team;

      const PatchBody<1, Number>                   &body;
      const typename PatchBody<1, Number>::Scratch &scratch;
      const int                                     patch;

      /** A row of this lane's team, and of its pairs those of cells lane() and lane() + team. */
      struct Row
      {
        int          n = 0;
        std::int64_t begin;
        unsigned int pairs[2] = {0, 0};
      } rows[n_passes];
      bool plain = true; ///< no row of the warp has more than most_cells

      struct __align__(2 * sizeof(Number)) Two { Number entry[2]; };

      /** What four cells bring to a row: two entries for each lane with their places, and the load of the lane's cell. */
      struct Four
      {
        Two           x[team];
        std::uint16_t places[team];
        Number        load;
      };

      static __device__ int lane() { return threadIdx.x % team; }

      /** Before the barrier that run() needs between itself and clear(): loads what does not depend on that. */
      __device__ void prepare()
      {
        const PatchesView &p = body.a.patches;
        PATCHFEM_UNROLL
        for (int pass = 0; pass < n_passes; ++pass)
        {
          const int global = p.first_row(patch) + pass * rows_a_pass + static_cast<int>(threadIdx.x) / team;
          Row      &row    = rows[pass];
          if (global >= p.end_row(patch))
            continue;
          row.begin = p.staged_offsets[global];
          row.n     = static_cast<int>(p.staged_offsets[global + 1] - row.begin);
          PATCHFEM_UNROLL
          for (int h = 0; h < 2; ++h)
            if (lane() + team * h < row.n)
              row.pairs[h] = p.staged_pairs[row.begin + lane() + team * h];
          plain = plain && row.n <= most_cells;
        }
        plain = __all_sync(WarpTeam::all, plain) && p.rows_per_patch <= n_passes * rows_a_pass;
      }

      __device__ void run() const
      {
        if (!plain)
        {
          GatherRows<1, Number>{body, scratch, patch}.add_rows_of_teams(team);
          return;
        }
        Four now = load(rows[0], 0);
        PATCHFEM_UNROLL
        for (int step = 0; step < 2 * n_passes; ++step)
        {
          Four next;
          if (step + 1 < 2 * n_passes)
            next = load(rows[(step + 1) / 2], (step + 1) % 2);
          add(rows[step / 2], step / 2, step % 2, now);
          now = next;
        }
      }

      __device__ Four load(const Row &row, const int half) const
      {
        Four        result;
        const auto *matrices = reinterpret_cast<const Two *>(body.a.buffer_matrix + body.a.staged_matrix) + lane();
        const auto *places   = static_cast<const std::uint16_t *>(body.a.patches.places.view.data) +
                             (row.begin + half * team) * 4 + lane();
        PATCHFEM_UNROLL
        for (int u = 0; u < team; ++u)
        {
          const unsigned int pair = __shfl_sync(WarpTeam::all, row.pairs[half], u, team);
          if (half * team + u < row.n && body.with_matrix())
          {
            result.x[u]      = matrices[std::int64_t(pair) * 4];
            result.places[u] = places[u * 4];
          }
        }
        if (body.loaded())
          result.load =
              half * team + lane() < row.n ? body.a.buffer_vector[body.a.staged_vector + row.pairs[half]] : Number(0);
        return result;
      }

      __device__ void add(const Row &row, const int pass, const int half, const Four &four) const
      {
        const int local = pass * rows_a_pass + static_cast<int>(threadIdx.x) / team;
        Number   *sums  = scratch.blocks + (row.n > 0 ? scratch.start[local] : 0);
        PATCHFEM_UNROLL
        for (int u = 0; u < team; ++u)
        {
          if (half * team + u < row.n && body.with_matrix())
          {
            const int    one = four.places[u] & 255, two = four.places[u] >> 8;
            const Number sum[2] = {sums[one] + four.x[u].entry[0], sums[two] + four.x[u].entry[1]};
            sums[one]           = sum[0];
            sums[two]           = sum[1];
          }
          __syncwarp(); // the next cell may add to the same entries through other lanes
        }
        if (body.loaded())
        {
          // One after the other, as rows of any number of cells are summed.
          Number sum = row.n > 0 ? scratch.rhs[local] : Number(0);
          PATCHFEM_UNROLL
          for (int u = 0; u < team; ++u)
            sum += __shfl_sync(WarpTeam::all, four.load, u, team);
          if (row.n > 0 && lane() == 0)
            scratch.rhs[local] = sum;
        }
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
