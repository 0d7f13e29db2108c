// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "hexahedra_kernel.cuh"
#include "hexahedra_tile.cuh"
#include "overlap.cuh"

#include <patchfem/kernels/element_bodies.h>

/**
 * @file
 * The gather strategy: matrices of cells, each formed once, go to a buffer of a chunk, and rows add theirs. For trilinear
 * hexahedra with one component a cell costs 512 bytes to the buffer and as many back, 8 pairs of 12 bytes and the row's
 * 27 entries of 8: 1.3 KB. A chunk that fits into the cache would save most of the buffer's share in far memory, but the
 * ramps and tails of its kernels cost more.
 */
namespace PatchFEM::kernels
{
  /**
   * Trilinear hexahedra of forms whose moments are inner products, in double precision. With M = w J^-1 J^-T,
   *   K(i, j) = sum_q sum_bc M_bc(q) dN_i/dxi_b(q) dN_j/dxi_c(q),
   * a product of the cells' 48 numbers M_bc(q), b <= c, with a constant matrix of 48 x 64; see HexahedraTile.
   */
  template <typename Form>
  struct StagedHexahedra
  {
    static constexpr int n_threads = 256, residency = 2, cells_a_warp = 16;
    static constexpr int n_columns = 8; ///< of eight entries: the rows of K
    /// Products [bc][row of K][lane], then HexahedraTile::gradient(), then values of shape functions.
    static constexpr int n_constants = (6 * n_columns + 3 + 1) * 32;

    using Tile = HexahedraTile<Form>;

    const AssemblyArguments<double> &a;
    double2                         *constants;

    __device__ const BatchView &batch() const { return a.batches.batch[a.computed_batch]; }
    static __device__ int       lane() { return threadIdx.x % 32; }

    /** All threads of the block. */
    __device__ void tabulate() const
    {
      const ReferenceView &r = batch().reference;
      for (int unit = threadIdx.x / 32; unit < n_columns + 4; unit += n_threads / 32)
        if (unit < n_columns)
        {
          double g[2][2][3];
          Tile::load_gradients(r, unit, lane(), g[0]);
          Tile::load_gradients(r, lane() / 4, lane(), g[1]);
          for (int bc = 0; bc < 6; ++bc)
            constants[(bc * n_columns + unit) * 32 + lane()] = Tile::product(bc, g[0], g[1]);
        }
        else if (unit < n_columns + 3)
          constants[(5 * n_columns + unit) * 32 + lane()] = Tile::gradient(r, unit - n_columns, lane());
        else
        {
          const double *shape                             = r.shape_values + 2 * (lane() % 4) * 8 + lane() / 4;
          constants[(5 * n_columns + unit) * 32 + lane()] = make_double2(shape[0], shape[8]);
        }
    }

    /** Number in the batch of this lane's cell in one half of a tile; past the end the last one's. */
    __device__ int load_number(const int tile, const int half) const
    {
      return a.staged[min(tile + 8 * half + lane() / 4, a.n_staged - 1)] - batch().first_cell;
    }

    /** Entries of a row: two neighbours from each lane. */
    static __device__ void store(double *to, const double first, const double second)
    {
      *reinterpret_cast<double2 *>(to) = make_double2(first, second);
    }

    /** The products of one tile with the constants: 16 bytes of each row of its two cells from each lane. */
    __device__ void store_matrices(const double (&M)[2][6][2], const int tile) const
    {
      double *out[2];
      bool    exists[2];
      for (int half = 0; half < 2; ++half)
      {
        const int slot = tile + 8 * half + lane() / 4;
        exists[half]   = slot < a.n_staged;
        out[half]      = a.buffer_matrix + a.staged_matrix + std::int64_t(slot) * 64 + 2 * (lane() % 4);
      }
#pragma unroll 1
      for (int i = 0; i < n_columns; ++i)
      {
        double K[4] = {};
        for (int e = 0; e < 6; ++e)
        {
          const double2 two = constants[(e * n_columns + i) * 32 + lane()];
          multiply_add(K, {M[0][e][0], M[1][e][0], M[0][e][1], M[1][e][1]}, {two.x, two.y});
        }
        for (int half = 0; half < 2; ++half)
          if (exists[half])
            store(out[half] + i * 8, K[2 * half], K[2 * half + 1]);
      }
    }

    /** int f phi_i of the cells of a tile. */
    __device__ void store_loads(const double (&weight)[2][2], const int (&local)[2], const int tile) const
    {
      double f[4];
      Tile{a}.integrate_loads(weight, local, constants[(6 * n_columns + 3) * 32 + lane()], f);
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
      for (int half = 0; half < 2; ++half)
      {
        local[half] = load_number(tile, half);
        next[half]  = load_number(tile + step, half);
        Tile{a}.load_corners(local[half], corners[half]);
      }
      for (; tile < a.n_staged; tile += step)
      {
        double M[2][6][2], weight[2][2];
        Tile{a}.map(corners, local, constants + 6 * n_columns * 32, M, weight);
        for (int half = 0; half < 2; ++half)
          Tile{a}.load_corners(next[half], corners[half]);
        if (with_matrix)
          store_matrices(M, tile);
        if (loaded)
          store_loads(weight, local, tile);
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
      for (int pass = 0; pass < n_passes; ++pass)
      {
        const int global = p.first_row(patch) + pass * rows_a_pass + static_cast<int>(threadIdx.x) / team;
        Row      &row    = rows[pass];
        if (global >= p.end_row(patch))
          continue;
        row.begin = p.staged_offsets[global];
        row.n     = static_cast<int>(p.staged_offsets[global + 1] - row.begin);
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
      const auto *places =
          static_cast<const std::uint16_t *>(body.a.patches.places.view.data) + (row.begin + half * team) * 4 + lane();
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
        for (int u = 0; u < team; ++u)
          sum += __shfl_sync(WarpTeam::all, four.load, u, team);
        if (row.n > 0 && lane() == 0)
          scratch.rhs[local] = sum;
      }
    }
  };

  namespace internal
  {
    constexpr int element_threads = 128;

    template <typename Form, typename Number>
    __global__ void __launch_bounds__(element_threads)
        element_kernel(const __grid_constant__ ElementBody<Form, Number> body)
    {
      extern __shared__ __align__(16) unsigned char memory[];
      Number                                       *scratch = reinterpret_cast<Number *>(memory);
      const BufferedCell                            cell    = body.cell(blockIdx.x);
      const int                                     rank = threadIdx.x, size = blockDim.x;
      body.geometry(cell, rank, size, scratch);
      __syncthreads();
      body.integrate(cell, rank, size, scratch);
      __syncthreads();
      body.boundary(cell, rank, size);
      __syncthreads();
      body.resolve(cell, rank, size);
    }

    /** Rows gather by GatherRows or GatherOctets. */
    template <typename Gather, int n_comp, typename Number>
    __global__ void __launch_bounds__(Gather::n_threads, Gather::residency)
        gather_kernel(const __grid_constant__ PatchBody<n_comp, Number> body)
    {
      extern __shared__ __align__(16) unsigned char memory[];
      const auto                                    scratch = body.scratch(memory);
      const int                                     patch   = body.a.first_patch + blockIdx.x;
      Gather                                        rows{body, scratch, patch};
      let_next_begin();
      if (body.idle(patch))
      {
        wait_for_previous();
        return body.pass_over(patch, threadIdx.x, blockDim.x);
      }
      rows.prepare();
      body.clear(patch, threadIdx.x, blockDim.x, scratch);
      wait_for_previous();
      __syncthreads();
      rows.run();
      finish_patch(body, scratch, patch);
    }

    template <typename Form>
    __global__ void __launch_bounds__(StagedHexahedra<Form>::n_threads, StagedHexahedra<Form>::residency)
        stage_hexahedra_kernel(const __grid_constant__ AssemblyArguments<double> a)
    {
      __shared__ double2          constants[StagedHexahedra<Form>::n_constants];
      const StagedHexahedra<Form> cells{a, constants};
      let_next_begin();
      cells.tabulate();
      wait_for_previous();
      __syncthreads();
      cells.run();
    }
  } // namespace internal

  /** A block for each cell of a chunk's buffer, resolved or staged. */
  template <typename Form, typename Number>
  struct ElementsKernel : public AnyKernel
  {
    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      const ElementBody<Form, Number> body{a};
      if (body.n_cells() == 0)
        return;
      const std::size_t bytes  = body.scratch_size(a.batches) * sizeof(Number);
      const auto        kernel = internal::element_kernel<Form, Number>;
      // More than the 48 KB that need no permission from 9^3 quadrature points on.
      PATCHFEM_CUDA_CHECK(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
      kernel<<<body.n_cells(), internal::element_threads, bytes, stream_of(where)>>>(body);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }
  };

  /** Sixteen staged hexahedra at a time, by StagedHexahedra. */
  template <typename Form, typename Number>
  struct StagedHexahedraKernel : public AnyKernel
  {
    static constexpr bool possible    = HexahedraKernel<Form, Number>::possible && HexahedraKernel<Form, Number>::inner;
    static constexpr const char *name = "trilinear hexahedra by matrix instructions, ";
    /// Every chunk costs about 20 us, in which the first blocks of its kernels wait for far memory and the last ones run
    /// out: on an H200 10 million cells took 5.2 ms in 26 chunks, 4.9 in 13 and 4.8 in 7.
    static constexpr double buffer_share = 0.25;

    static bool serves(const KernelRequest &r)
    {
      return r.strategy == "gather" && r.isoparametric && r.reference.n_shape == 8 && r.reference.n_quadrature == 8;
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      using Cells           = StagedHexahedra<Form>;
      constexpr int a_block = Cells::n_threads / 32 * Cells::cells_a_warp;
      const int     n_blocks =
          std::min((a.n_staged + a_block - 1) / a_block, internal::multiprocessor_count() * Cells::residency);
      if (n_blocks > 0)
        launch_overlapping(internal::stage_hexahedra_kernel<Form>, n_blocks, Cells::n_threads, 0, stream_of(where), a);
      AssemblyArguments<Number> others = a;
      others.n_staged                  = 0;
      ElementsKernel<Form, Number>::launch(where, others);
    }
  };

  /** Rows gather staged cells by @p Gather. */
  template <typename Form, typename Number, typename Gather>
  struct GatherKernel : public AnyKernel
  {
    static constexpr bool        octets   = std::is_same<Gather, GatherOctets<Number>>::value;
    static constexpr bool        possible = !octets || Form::n_components == 1;
    static constexpr const char *name     = octets ? "rows of eight, four lanes each" : "a warp a row";

    static bool serves(const KernelRequest &r)
    {
      return r.strategy == "gather" && (!octets || (r.reference.n_shape == 8 && r.short_places));
    }

    /** Only rows are in fast memory; a quarter of it lets several patches run side by side. */
    static PatchRoom room(const KernelRequest &request) { return {request.fast_memory / 4}; }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      const PatchBody<Form::n_components, Number> body{a};
      const auto                                  kernel = internal::gather_kernel<Gather, Form::n_components, Number>;
      PATCHFEM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(body.row_bytes())));
      launch_overlapping(kernel, a.end_patch - a.first_patch, Gather::n_threads, body.row_bytes(), stream_of(where),
                         body);
    }
  };
} // namespace PatchFEM::kernels
