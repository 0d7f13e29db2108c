// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_elements.cuh"
#include "assembly_hexahedra.cuh"
#include "cells_of_warps.cuh"
#include "gather_rows.cuh"
#include "staged_moments.cuh"
#include "staged_tangents.cuh"

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
   * Trilinear hexahedra of forms whose moments are inner products, computed in double precision, sixteen in a warp. With
   * M = k w J^-1 J^-T,
   *   K(i, j) = sum_q sum_bc M_bc(q) dN_i/dxi_b(q) dN_j/dxi_c(q),
   * a product of the cells' 48 numbers M_bc(q), b <= c, with a constant matrix of 48 x 64. Each lane computes M at points
   * 2 (lane % 4) and the next of cells lane / 4 and lane / 4 + 8, which is how the instruction wants its left side.
   */
  template <typename Form, typename Number>
  struct StagedHexahedra
  {
    static constexpr int n_threads = 256, residency = 2, cells_a_warp = 16;

    struct __align__(2 * sizeof(Number)) Two { Number entry[2]; };

    /** What a lane has on the right side of an instruction: two numbers of each matrix. */
    struct Constants
    {
      double2 product[6][8][32]; ///< [bc][row of K]
      double2 gradient[3][32];   ///< by direction b, of corners lane % 4 and lane % 4 + 4 at point lane / 4
      double2 shape[32];         ///< values of function lane / 4 at points 2 (lane % 4) and the next
    };

    const AssemblyArguments<Number> &a;
    Constants                       &constants;

    __device__ const BatchView &batch() const { return a.batches.batch[a.computed_batch]; }
    static __device__ int       lane() { return threadIdx.x % 32; }

    /** All threads of the block. */
    __device__ void tabulate() const
    {
      const ReferenceView &r = batch().reference;
      const int            l = lane(), i = l / 4, v = l % 4;
      // Gradients of shape function i at points 2 v and the next, [point][direction].
      const auto load = [&](const int i, double(&g)[2][3]) {
        for (int h = 0; h < 2; ++h)
          for (int b = 0; b < 3; ++b)
            g[h][b] = r.shape_gradients[((2 * v + h) * 8 + i) * 3 + b];
      };
      for (int unit = threadIdx.x / 32; unit < 12; unit += n_threads / 32)
        if (unit < 8)
        {
          double row[2][3], column[2][3];
          load(unit, row);
          load(i, column);
          for (int bc = 0; bc < 6; ++bc)
            constants.product[bc][unit][l] = product(bc, row, column);
        }
        else if (unit < 11)
        {
          const double *from              = r.geometry_gradients + (i * 8 + v) * 3 + unit - 8;
          constants.gradient[unit - 8][l] = make_double2(from[0], from[12]);
        }
        else
          constants.shape[l] = make_double2(r.shape_values[2 * v * 8 + i], r.shape_values[(2 * v + 1) * 8 + i]);
    }

    /** Share of M_bc, number @p bc of six, in entry (i, j) at two points: symmetric in i and j to the last bit. */
    static __device__ double2 product(const int bc, const double (&i)[2][3], const double (&j)[2][3])
    {
      const int b = bc < 3 ? 0 : (bc < 5 ? 1 : 2), c = bc < 3 ? bc : (bc < 5 ? bc - 2 : 2);
      double    result[2];
      for (int h = 0; h < 2; ++h)
      {
        const double p = __dmul_rn(i[h][b], j[h][c]);
        result[h]      = b == c ? p : __dadd_rn(p, __dmul_rn(i[h][c], j[h][b]));
      }
      return make_double2(result[0], result[1]);
    }

    /** Where this lane's corners lane % 4 and lane % 4 + 4 of a cell are. */
    __device__ void load_corners(const int local, int (&corners)[2]) const
    {
      const int *geometry = batch().geometry + std::int64_t(local) * 8 + lane() % 4;
      corners[0]          = geometry[0];
      corners[1]          = geometry[4];
    }

    /** 1 / @p det to 2 units in the last place, for cells whose determinants are no subnormal numbers. */
    static __device__ double reciprocal(const double det)
    {
      double r;
      asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(det));
      for (int step = 0; step < 2; ++step)
        r = __fma_rn(__fma_rn(-det, r, 1.), r, r);
      return r;
    }

    /** a b - c d, c d rounded: the compiler's choice differs between a lane's cells; bits would depend on the slot. */
    static __device__ double minor(const double a, const double b, const double c, const double d)
    {
      return __fma_rn(a, b, -__dmul_rn(c, d));
    }
    static __device__ double dot(const double (&u)[3], const double (&v)[3])
    {
      return __fma_rn(u[2], v[2], __fma_rn(u[1], v[1], __dmul_rn(u[0], v[0])));
    }

    /**
     * M, [cell][bc][point], and the weights in real space, of cells with these corners. Of J each direction is three
     * products: two coordinates of one cell, two of the other, the third of both.
     */
    __device__ void
    map(const int (&corners)[2][2], const int (&local)[2], double (&M)[2][6][2], double (&weight)[2][2]) const
    {
      double x[2][2][3]; // [cell][corner]
      for (int half = 0; half < 2; ++half)
        for (int h = 0; h < 2; ++h)
          for (int d = 0; d < 3; ++d)
            x[half][h][d] = a.batches.points[std::int64_t(corners[half][h]) * 3 + d];
      for (int half = 0; half < 2; ++half)
        for (int d = 0; d < 3; ++d)
        {
          // Relative to each cell's first corner.
          const double origin = __shfl_sync(0xffffffffu, x[half][0][d], lane() & 28);
          x[half][0][d] -= origin;
          x[half][1][d] -= origin;
        }
      double J[3][3][4] = {};
      for (int b = 0; b < 3; ++b)
      {
        const double2 two = constants.gradient[b][lane()];
        for (int half = 0; half < 2; ++half)
          multiply_add(J[half][b], {x[half][0][0], x[half][0][1], x[half][1][0], x[half][1][1]}, {two.x, two.y});
        multiply_add(J[2][b], {x[0][0][2], x[1][0][2], x[0][1][2], x[1][1][2]}, {two.x, two.y});
      }
      const bool inside = a.coefficients.varies_inside_cells();
      for (int half = 0; half < 2; ++half)
        for (int t = 0; t < 2; ++t)
        {
          double row[3][3], adj[3][3]; // of J by directions; of its adjugate
          for (int b = 0; b < 3; ++b)
          {
            row[0][b] = J[half][b][t];
            row[1][b] = J[half][b][2 + t];
            row[2][b] = J[2][b][2 * half + t];
          }
          for (int b = 0; b < 3; ++b)
            for (int d = 0; d < 3; ++d)
              adj[b][d] = minor(row[(d + 1) % 3][(b + 1) % 3], row[(d + 2) % 3][(b + 2) % 3],
                                row[(d + 1) % 3][(b + 2) % 3], row[(d + 2) % 3][(b + 1) % 3]);
          const int     q         = 2 * (lane() % 4) + t;
          const double  column[3] = {row[0][0], row[1][0], row[2][0]};
          const double  w = batch().reference.weights[q], det = dot(column, adj[0]);
          const Number *from = a.coefficients.at(a.batches, a.computed_batch, local[half], inside ? q : 0);
          double        k[Form::n_coefficients];
          for (int e = 0; e < Form::n_coefficients; ++e)
            k[e] = from[e];
          // The form is linear in a moment.
          const double factor = Form::finish(k, SmallMatrix<1, 1, double>{{{__dmul_rn(w, reciprocal(det))}}})(0, 0);
          weight[half][t]     = __dmul_rn(w, det);
          int e               = 0;
          for (int b = 0; b < 3; ++b)
            for (int c = b; c < 3; ++c)
              M[half][e++][t] = __dmul_rn(factor, dot(adj[b], adj[c]));
        }
    }

    /** Number in the batch of this lane's cell in one half of a tile; past the end the last one's. */
    __device__ int load_number(const int tile, const int half) const
    {
      return a.staged[min(tile + 8 * half + lane() / 4, a.n_staged - 1)] - batch().first_cell;
    }

    /** The products of one tile with the constants: two numbers of each row of its two cells from each lane. */
    __device__ void store_matrices(const double (&M)[2][6][2], const int tile) const
    {
      Number *out[2];
      bool    exists[2];
      for (int half = 0; half < 2; ++half)
      {
        const int slot = tile + 8 * half + lane() / 4;
        exists[half]   = slot < a.n_staged;
        out[half]      = a.buffer_matrix + a.staged_matrix + std::int64_t(slot) * 64 + 2 * (lane() % 4);
      }
#pragma unroll 1
      for (int i = 0; i < 8; ++i)
      {
        double K[4] = {};
        for (int e = 0; e < 6; ++e)
        {
          const double2 two = constants.product[e][i][lane()];
          multiply_add(K, {M[0][e][0], M[1][e][0], M[0][e][1], M[1][e][1]}, {two.x, two.y});
        }
        for (int half = 0; half < 2; ++half)
          if (exists[half])
            *reinterpret_cast<Two *>(out[half] + i * 8) = {
                {static_cast<Number>(K[2 * half]), static_cast<Number>(K[2 * half + 1])}};
      }
    }

    /** int f phi_i of the cells of a tile. */
    __device__ void store_loads(const double (&weight)[2][2], const int (&local)[2], const int tile) const
    {
      const double2 shapes = constants.shape[lane()];
      double        left[4], f[4] = {}; // [cell + 2 h]
      for (int half = 0; half < 2; ++half)
        for (int h = 0; h < 2; ++h)
          left[half + 2 * h] =
              weight[half][h] * a.load.at(a.batches, a.computed_batch, local[half], 2 * (lane() % 4) + h)[0];
      multiply_add(f, left, {shapes.x, shapes.y});
      for (int half = 0; half < 2; ++half)
      {
        const int slot = tile + 8 * half + lane() / 4;
        Number   *out  = a.buffer_vector + a.staged_vector + std::int64_t(slot) * 8 + 2 * (lane() % 4);
        if (slot < a.n_staged)
          for (int h = 0; h < 2; ++h)
            out[h] = static_cast<Number>(f[2 * half + h]);
      }
    }

    __device__ void run() const
    {
      const bool with_matrix = a.matrix.format != MatrixTarget<Number>::none;
      const bool loaded      = a.rhs != nullptr && a.load.kind != CoefficientView<Number>::none;
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
        load_corners(local[half], corners[half]);
      }
      for (; tile < a.n_staged; tile += step)
      {
        double M[2][6][2], weight[2][2];
        map(corners, local, M, weight);
        for (int half = 0; half < 2; ++half)
          load_corners(next[half], corners[half]);
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

  /** Rows of a patch add their rows of the staged matrices, which may have any number of columns, a warp to a row. */
  template <int n_comp, typename Number>
  struct GatherLongRows
  {
    static constexpr int  n_threads = 256, residency = 4;
    static constexpr bool overlaps = true;

    using Body = PatchBody<n_comp, Number>;

    const Body                   &body;
    const typename Body::Scratch &scratch;
    const int                     patch;

    __device__ void prepare() {}
    __device__ void run() const
    {
      const int n_rows = body.a.patches.end_row(patch) - body.a.patches.first_row(patch);
      for (int row = threadIdx.x / 32; row < n_rows; row += blockDim.x / 32)
        body.add_staged(patch, row, WholeWarp(), scratch);
    }
  };

  /**
   * Matrices of 4 x 4 or 8 x 8 scalars, with places in a word or of one byte: a lane for two neighbouring entries of a row,
   * so that a row of a matrix is whole sectors of one access. Cells are added four at a time, while what the next four
   * bring is under way.
   */
  template <typename Number, int n_shape>
  struct GatherShortRows
  {
    static constexpr bool in_words = n_shape == 4, overlaps = true;
    static constexpr int  n_threads = 256, residency = in_words && sizeof(Number) == 4 ? 4 : 3, team = n_shape / 2,
                         at_once  = 4;
    static constexpr int n_passes = 2, rows_a_pass = n_threads / team, n_steps = 2, most_cells = n_steps * at_once;
    static constexpr int pairs_a_lane = at_once / team; ///< of a step

    using Body = PatchBody<1, Number>;

    const Body                   &body;
    const typename Body::Scratch &scratch;
    const int                     patch;

    /** A row of this lane's team, and of its pairs those of cells lane() + k team. */
    struct Row
    {
      int          n = 0;
      std::int64_t begin;
      unsigned int pairs[n_steps * pairs_a_lane];
    } rows[n_passes];
    bool plain    = true; ///< no row of the patch has more than most_cells
    bool one_step = true; ///< no row of the warp has more than one step's

    struct __align__(2 * sizeof(Number)) Two { Number entry[2]; };

    /** What the cells of a step bring to a row: two entries for each lane with their places, and the load of its cells. */
    struct Step
    {
      Two           x[at_once];
      std::uint16_t places[at_once];
      Number        load[pairs_a_lane];
    };

    static __device__ int lane() { return threadIdx.x % team; }

    __device__ void prepare()
    {
      const PatchesView &p = body.a.patches;
      for (int pass = 0; pass < n_passes; ++pass)
      {
        const int global = p.first_row(patch) + pass * rows_a_pass + static_cast<int>(threadIdx.x) / team;
        Row      &row    = rows[pass];
        for (unsigned int &pair : row.pairs)
          pair = 0;
        if (global >= p.end_row(patch))
          continue;
        row.begin = p.staged_offsets[global];
        row.n     = static_cast<int>(p.staged_offsets[global + 1] - row.begin);
        for (int k = 0; k < n_steps * pairs_a_lane; ++k)
          if (lane() + k * team < row.n)
            row.pairs[k] = p.staged_pairs[row.begin + lane() + k * team];
        plain    = plain && row.n <= most_cells;
        one_step = one_step && row.n <= at_once;
      }
      one_step = __all_sync(WholeWarp::mask(), one_step);
      plain = __syncthreads_and(plain) && p.rows_per_patch <= n_passes * rows_a_pass && p.places.compact() == in_words;
    }

    __device__ void run() const
    {
      if (!plain)
      {
        GatherLongRows<1, Number>{body, scratch, patch}.run();
        return;
      }
      if (one_step)
        add_all<1>();
      else
        add_all<n_steps>();
    }

    /** So many steps of each row. */
    template <int n_steps>
    __device__ void add_all() const
    {
      Step now = load(rows[0], 0);
      for (int k = 0; k < n_steps * n_passes; ++k)
      {
        Step next;
        if (k + 1 < n_steps * n_passes)
          next = load(rows[(k + 1) / n_steps], (k + 1) % n_steps);
        add(rows[k / n_steps], k / n_steps, k % n_steps, now);
        now = next;
      }
    }

    __device__ Step load(const Row &row, const int step) const
    {
      Step        result;
      const auto *matrices = reinterpret_cast<const Two *>(body.a.buffer_matrix + body.a.staged_matrix) + lane();
      const auto *places   = static_cast<const std::uint16_t *>(body.a.patches.places.view.data);
      for (int u = 0; u < at_once; ++u)
      {
        const unsigned int pair =
            __shfl_sync(WholeWarp::mask(), row.pairs[step * pairs_a_lane + u / team], u % team, team);
        const int k = step * at_once + u;
        if (k < row.n && body.with_matrix())
        {
          result.x[u] = matrices[std::int64_t(pair) * team];
          if constexpr (in_words)
            result.places[u] = two_places(places[row.begin + k], pair % n_shape);
          else
            result.places[u] = places[(row.begin + k) * team + lane()];
        }
      }
      if (body.loaded())
        for (int h = 0; h < pairs_a_lane; ++h)
          result.load[h] = step * at_once + h * team + lane() < row.n
                               ? body.a.buffer_vector[body.a.staged_vector + row.pairs[step * pairs_a_lane + h]]
                               : Number(0);
      return result;
    }

    /** Of this lane's nodes in the row of the cell's node @p i; its own is on_diagonal. */
    static constexpr int on_diagonal = 255;
    static __device__ std::uint16_t two_places(const unsigned int word, const int i)
    {
      int place[2];
      for (int h = 0; h < 2; ++h)
      {
        const int j = 2 * lane() + h;
        place[h]    = i == j ? on_diagonal : PlacesView::in_word(word, j - (j > i ? 1 : 0));
      }
      return static_cast<std::uint16_t>(place[0] | place[1] << 8);
    }

    __device__ void add(const Row &row, const int pass, const int step, const Step &brought) const
    {
      const int local    = pass * rows_a_pass + static_cast<int>(threadIdx.x) / team;
      Number   *sums     = scratch.blocks + (row.n > 0 ? scratch.start[local] : 0);
      const int diagonal = in_words && row.n > 0 ? scratch.diagonal[local] : 0;
      for (int u = 0; u < at_once; ++u)
      {
        if (step * at_once + u < row.n && body.with_matrix())
        {
          int one = brought.places[u] & 255, two = brought.places[u] >> 8;
          if constexpr (in_words)
          {
            one = one == on_diagonal ? diagonal : one;
            two = two == on_diagonal ? diagonal : two;
          }
          const Number sum[2] = {sums[one] + brought.x[u].entry[0], sums[two] + brought.x[u].entry[1]};
          sums[one]           = sum[0];
          sums[two]           = sum[1];
        }
        __syncwarp(); // the next cell may add to the same entries through other lanes
      }
      if (body.loaded())
      {
        // One after the other, as rows of any number of cells are summed.
        Number sum = row.n > 0 ? scratch.rhs[local] : Number(0);
        for (int u = 0; u < at_once; ++u)
          sum += __shfl_sync(WholeWarp::mask(), brought.load[u / team], u % team, team);
        if (row.n > 0 && lane() == 0)
          scratch.rhs[local] = sum;
      }
    }
  };

  namespace internal
  {
    template <typename Form, typename Number>
    __global__ void __launch_bounds__(StagedHexahedra<Form, Number>::n_threads,
                                      StagedHexahedra<Form, Number>::residency)
        stage_hexahedra_kernel(const __grid_constant__ AssemblyArguments<Number> a)
    {
      __shared__ typename StagedHexahedra<Form, Number>::Constants constants;
      const StagedHexahedra<Form, Number>                          cells{a, constants};
      let_next_begin();
      cells.tabulate();
      wait_for_previous();
      __syncthreads();
      cells.run();
    }
  } // namespace internal

  template <typename Form, typename Number>
  struct StagedHexahedraKernel : public AnyKernel
  {
    static constexpr bool stages = true;
    static constexpr bool possible =
        Form::n_components == 1 && Form::dimension == 3 && moment_kind_of<Form> == MomentKind::inner_product;
    static constexpr const char *name = "trilinear hexahedra by matrix instructions, ";
    /// Every chunk costs about 20 us, in which the first blocks of its kernels wait for far memory and the last ones run
    /// out: on an H200 10 million cells took 5.2 ms in 26 chunks, 4.9 in 13 and 4.8 in 7.
    static constexpr double buffer_share = 0.25;

    static bool serves(const KernelRequest &r)
    {
      return r.stages && r.isoparametric && r.reference.n_shape == 8 && r.reference.n_quadrature == 8;
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      using Cells           = StagedHexahedra<Form, Number>;
      constexpr int a_block = Cells::n_threads / 32 * Cells::cells_a_warp;
      const int     n_blocks =
          std::min((a.n_staged + a_block - 1) / a_block, internal::multiprocessor_count() * Cells::residency);
      if (n_blocks > 0)
        internal::launch<true>(where, internal::stage_hexahedra_kernel<Form, Number>, n_blocks, Cells::n_threads, 0, a);
      AssemblyArguments<Number> others = a;
      others.n_staged                  = 0;
      ElementsKernel<Form, Number>::launch(where, others);
    }
  };

  /** Warps stage cells; those with something to resolve have a block each. */
  template <typename Form, typename Number>
  struct StagedCellsKernel : public AnyKernel
  {
    static constexpr bool   stages       = true;
    static constexpr double buffer_share = 0.25;

    static bool serves(const KernelRequest &r)
    {
      return r.stages && bytes_of_cell<Form, Number, AnyExtents>(r.reference, r.one_point) <= r.fast_memory / 4;
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      const WriteToBuffer<Form::n_components, Number> target{a};
      compute_cells<Form, Number, AnyExtents>(where, a, 0, a.n_staged, a.matrix.format != MatrixTarget<Number>::none,
                                              a.rhs != nullptr && a.load.kind != CoefficientView<Number>::none, target);
      AssemblyArguments<Number> others = a;
      others.n_staged                  = 0;
      ElementsKernel<Form, Number>::launch(where, others);
    }
  };

  template <typename Form, typename Number>
  struct GatherLongRowsKernel : public AnyKernel
  {
    using Gather = GatherLongRows<Form::n_components, Number>;

    static constexpr const char *name = "a warp a row";

    static bool serves(const KernelRequest &r) { return r.strategy == "gather"; }

    /** A quarter of fast memory lets several patches run side by side; GatherRows may step in, with its lists. */
    static PatchRoom room(const KernelRequest &r)
    {
      return {r.fast_memory / 4, 64, sizeof(int) + sizeof(std::uint16_t)};
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      internal::launch_patches<Gather>(where, {a}, Gather::n_threads, 0);
    }
  };

  template <typename Form, typename Number, int n_shape>
  struct GatherShortRowsKernel : public AnyKernel
  {
    using Gather = GatherShortRows<Number, n_shape>;

    static constexpr bool        possible = Form::n_components == 1;
    static constexpr const char *name     = "short rows, two entries to a lane";

    static bool serves(const KernelRequest &r)
    {
      return r.strategy == "gather" && r.reference.n_shape == n_shape && r.short_places;
    }

    static PatchRoom room(const KernelRequest &r)
    {
      PatchRoom room = GatherLongRowsKernel<Form, Number>::room(r);
      room.most_rows = Gather::n_passes * Gather::rows_a_pass;
      return room;
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      internal::launch_patches<Gather>(where, {a}, Gather::n_threads, 0);
    }
  };
} // namespace PatchFEM::kernels

namespace PatchFEM
{
  template <typename Form, typename Number>
  auto strategies::Gather::kernels(Cuda)
  {
    using namespace PatchFEM::kernels;
    // Affine cells, and quadrilaterals of degree 1 with vectors.
    const auto of_records = [] {
      if constexpr (Form::dimension == 2 && Form::n_components > 1)
        return record_kernels<Form, Number, 1, 4>();
      else
        return record_kernels<Form, Number, 1>();
    }();
    return std::tuple_cat(
        of_records, std::tuple<StagedHexahedraKernel<Form, Number>>(), moments_kernels<Form, Number>(),
        std::tuple<StagedTangentsKernel<Form, Number, StagedCellsKernel<Form, Number>>, StagedCellsKernel<Form, Number>,
                   GatherShortRowsKernel<Form, Number, Form::dimension == 2 ? 4 : 8>,
                   GatherRowsKernel<Form, Number, StagedMatrices<Form, Number>>, GatherLongRowsKernel<Form, Number>>());
  }
} // namespace PatchFEM
