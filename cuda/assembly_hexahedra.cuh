// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_cells.cuh"
#include "matrix_instructions.cuh"

#include <algorithm>
#include <cmath>

/**
 * @file
 * Trilinear hexahedra by matrix instructions, in double precision. With 8 corners and 8 points, everything is a product
 * of 8 x 8 matrices:
 * - the Jacobians of 8 cells, J_ab(cell, q) = sum_v x_a(cell, v) dN_v/dxi_b(q), 9 products;
 * - outer products, G_ab(i, j) = sum_q g_a(q, i) g_b(q, j), 9 products a cell, g the real gradients times sqrt(w).
 * An instruction takes two 8 x 8 matrices on the left: two directions.
 * Of the result of a product, lane 4 i + p holds entries (i, 2 p) and (i, 2 p + 1), hence whole blocks of the matrix.
 *
 * Some warps of a block map cells, eight at a time, ahead of the others, which form and add the matrices:
 *
 *   warps that map                    ring in fast memory                     warps that add
 *   load_number, _nodes, _data  --->  | slot of 8 records | slot | ... |  --->  form a cell's matrix
 *   of later cells, then map               filled ->  <- emptied                add it when its level has come
 *                                                                               behind a patch's last cell: finish its rows
 *
 * Blocks stay and take one patch after the other, so that the first cells of the next are mapped while the rows of this
 * one are written.
 *
 * Elasticity in double precision keeps the pipeline of fast memory busy for 446 of the 611 clocks of a multiprocessor
 * that an H200 takes for a cell and its 1.9 integrations, in wavefronts of at most 128 bytes, about
 *   233  adding to sums: 72 would do for 8 rows of 8 blocks, read and written, but lanes meet in the same banks by chance
 *    71  reading records: a lane's 18 numbers of each product, however many lanes share them
 *    33  reading finished rows and clearing them
 *    54  writing records, and the rest of reading them
 *    55  to and from far memory
 * That does not bind: where sums of a cell lie in different banks, 339 wavefronts remain and it takes 3 % longer (H100).
 * Where each pair of nodes is summed once, a block to a lane, and copied to its other row at the end, adding takes 156 for
 * 233, as many instructions are executed, and it takes 3 % longer, too (H200); with more than 16 warps registers spill. A
 * warp waits ten clocks an instruction, a fifth of them for cells before its own or for the rows to be written.
 * Registers must not spill, since fast memory leaves little of the first-level cache: nine words of them, loaded back in
 * map(), cost a tenth of the rate.
 */
namespace PatchFEM::kernels
{
  /** Cells are computed in double precision; their sums are of type @p Number. */
  template <typename Form, typename Number>
  struct Hexahedra
  {
    static constexpr bool means  = moment_kind_of<Form> == MomentKind::outer_product_and_means;
    static constexpr int  n_comp = Form::n_components;

    // 16 warps of 128 registers. Those that add numbers of four bytes are faster.
    static constexpr int n_mapping   = sizeof(Number) == 4 ? 4 : 3;
    static constexpr int n_adding    = 16 - n_mapping;
    static constexpr int n_threads   = (n_mapping + n_adding) * 32;
    static constexpr int least_slots = 6; ///< of the ring, that a plan keeps room for
    /// A warp that adds may come back to the ring four slots later, and must not have missed a phase of a slot.
    static constexpr int fewest_slots = 4;
    static_assert(least_slots >= fewest_slots && fewest_slots >= n_mapping, "Every mapping warp needs a slot.");
    static_assert(n_adding <= LevelPhases::n_barriers, "More warps need more barriers.");

    static constexpr int n_coefficients = Form::n_coefficients, n_data = n_coefficients + n_comp;
    static constexpr int data_a_lane = (n_data + 3) / 4; ///< of the four that map a cell
    static constexpr int point_size  = means ? 12 : 10;

    /** What warps that add need of a cell. Weights are those of the points, or, for a constant_load(), int N_i. */
    struct alignas(16) Record
    {
      static constexpr int n_doubles = 8 * point_size + 8 + 8 + n_data;

      double        numbers[8 * point_size]; ///< [point]: sqrt(w) J^-1, weight, for means sqrt(w)
      int2          corner[8];               ///< row of the patch, -1 if it has none, and start of the row
      std::uint16_t columns[32];             ///< places of two blocks for each lane
      double        data[n_data];            ///< coefficients, and the load if it is constant
      /// The cell's in the batch. What follows makes neighbouring cells start at different banks.
      int number[2 * ((5 - n_doubles % 4) % 4 + 1)];

      __device__ double &weight(const int i) { return numbers[i * point_size + 9]; }
    };

    struct Slot
    {
      Record       cell[8];
      PhaseBarrier filled, emptied; ///< the records are there, and they are read
    };
    static constexpr std::size_t barrier_bytes = LevelPhases::n_barriers * sizeof(PhaseBarrier); ///< besides the slots

    using Body    = PatchBody<n_comp, Number>;
    using Scratch = typename Body::Scratch;
    using Moments = SmallMatrix<3, 3, double>;
    static_assert(n_comp <= 4, "A load has a lane for each component.");

    const Body        &body;
    const Scratch     &scratch;
    const unsigned int n_slots; ///< of the ring of records

    __device__ const BatchView &batch() const { return body.a.batches.batch[body.a.computed_batch]; }

    __device__ Slot *slots() const { return static_cast<Slot *>(scratch.workers); }

    /** Groups of eight cells, over all patches that the block takes, use the slots in turn, round after round. */
    __device__ Slot         &slot_of(const unsigned int group) const { return slots()[group % n_slots]; }
    __device__ int           round_of(const unsigned int group) const { return group / n_slots; }
    __device__ PhaseBarrier *level_barriers() const { return reinterpret_cast<PhaseBarrier *>(slots() + n_slots); }

    /** To be called by one thread, once, before all others. */
    __device__ void init_barriers() const
    {
      for (unsigned int slot = 0; slot < n_slots; ++slot)
      {
        slots()[slot].filled.init(1);
        slots()[slot].emptied.init(8); // one for each cell
      }
      for (int k = 0; k < LevelPhases::n_barriers; ++k)
        level_barriers()[k].init(LevelPhases::expected);
    }

    __device__ bool constant_load() const { return body.loaded() && !body.a.load.varies_inside_cells(); }

    static __device__ int lane() { return threadIdx.x % 32; }

    /** Eight cells among those of the block's patches, of which a mapping warp takes every n_mapping-th. */
    struct Group
    {
      int          patch, position;               ///< of the first cell in the patch
      std::int64_t begin = 0, end = 0, pairs = 0; ///< of the patch
    };

    /** Of patch @p number, from cell @p position of the block's patches from it on. */
    __device__ Group group_of(const int number, const int position) const
    {
      const PatchesView &p = body.a.patches;
      if (number >= body.a.end_patch)
        return {number, position};
      return {number, position, p.cell_offsets[number], p.cell_offsets[number + 1], p.pair_offsets[number]};
    }

    /** To a patch that has a cell at the position, or to end_patch or behind it. */
    __device__ void settle(Group &group) const
    {
      while (group.patch < body.a.end_patch && group.position >= group.end - group.begin)
        group =
            group_of(group.patch + gridDim.x, group.position - static_cast<int>(group.end - group.begin + 7) / 8 * 8);
    }

    /**
     * What a lane needs to map its corners lane % 4 and lane % 4 + 4 of the warp's cell lane / 4. It is loaded in
     * three steps, each a round before the next: the number of the cell, its nodes, and what belongs to them. A step
     * computes with what the one before has loaded, and not with its own, so that none waits for far memory.
     */
    struct Corners
    {
      int          patch;
      bool         exists = false;
      int          cell = 0, node[2] = {0, 0}, row[2] = {-1, -1};
      unsigned int pair_of_patch = 0;
      /// Where the patch and its rows begin, modulo 2^32: a patch has fewer blocks, so differences are exact.
      unsigned int first_block = 0, start[2] = {0, 0};
      std::int64_t pair = 0;
      uint2        columns[2];
      double       x[2][3] = {}, data[data_a_lane];
    };

    __device__ void load_number(const Group &group, Corners &c) const
    {
      const PatchesView &p = body.a.patches;
      c.patch              = group.patch;
      c.exists             = group.patch < body.a.end_patch && group.position + lane() / 4 < group.end - group.begin;
      if (!c.exists)
        return;
      const std::int64_t entry = group.begin + group.position + lane() / 4;
      c.cell                   = p.cells[entry];
      c.pair_of_patch          = p.cell_pairs[entry];
      c.pair                   = group.pairs;
    }

    __device__ void load_nodes(Corners &c) const
    {
      c.pair += c.pair_of_patch;
      for (int h = 0; h < 2; ++h)
        if (c.exists)
          c.node[h] = batch().nodes[std::int64_t(c.cell - batch().first_cell) * 8 + lane() % 4 + 4 * h];
    }

    __device__ void load_data(Corners &c) const
    {
      const AssemblyArguments<Number> &a = body.a;
      const PatchesView               &p = a.patches;
      const int    k = lane() / 4, v = lane() % 4, first = p.first_row(c.patch), n_rows = p.end_row(c.patch) - first;
      const int    local = c.cell - batch().first_cell;
      const bool   same  = batch().geometry == batch().nodes;
      unsigned int owners[2]; // of the cell's corners 0 to 3 and 4 to 7
      for (int h = 0; h < 2; ++h)
      {
        if (c.exists)
        {
          const int     point = same ? c.node[h] : batch().geometry[std::int64_t(local) * 8 + v + 4 * h];
          const double *from  = a.batches.points + std::int64_t(point) * 3;
          for (int d = 0; d < 3; ++d)
            c.x[h][d] = from[d];
        }
        const int row = c.node[h] - first;
        c.row[h]      = c.exists && row >= 0 && row < n_rows ? row : -1;
        owners[h]     = __ballot_sync(WholeWarp::mask(), c.row[h] >= 0) >> (4 * k) & 15u;
      }
      for (int h = 0; h < 2; ++h)
        if (c.row[h] >= 0)
        {
          const int before = __popc(owners[h] & ((1u << v) - 1u)) + (h > 0 ? __popc(owners[0]) : 0);
          c.start[h]       = static_cast<unsigned int>(p.row_offsets[first + c.row[h]]);
          c.first_block    = static_cast<unsigned int>(p.row_offsets[first]);
          if (body.with_matrix())
            c.columns[h] = static_cast<const uint2 *>(p.places.view.data)[c.pair + before];
        }
      if (!c.exists)
        return;
      const Number *coefficients = a.coefficients.at(a.batches, a.computed_batch, local, 0);
      const Number *load         = constant_load() ? a.load.at(a.batches, a.computed_batch, local, 0) : nullptr;
      for (int e = 0; e < data_a_lane; ++e)
        if (const int i = v + 4 * e; i < n_coefficients)
          c.data[e] = coefficients[i];
        else if (i < n_data && load != nullptr)
          c.data[e] = load[i - n_coefficients];
    }

    /** A warp makes the records of @p slot; @p roots of the weights at points 2 (lane % 4) and the next. */
    __device__ void map(const Corners &c, const double (&roots)[2], Slot &slot) const
    {
      const ReferenceView &r = batch().reference;
      const int            k = lane() / 4, v = lane() % 4;
      Record              &out = slot.cell[k];
      if (c.exists)
      {
        for (int h = 0; h < 2; ++h)
        {
          out.corner[v + 4 * h] = make_int2(c.row[h], static_cast<int>(c.start[h] - c.first_block));
          if (c.row[h] >= 0 && body.with_matrix())
            reinterpret_cast<uint2 *>(out.columns)[v + 4 * h] = c.columns[h];
        }
        for (int e = 0; e < data_a_lane; ++e)
          if (v + 4 * e < n_data)
            out.data[v + 4 * e] = c.data[e];
        if (v == 0)
          out.number[0] = c.cell - batch().first_cell;
      }

      double x[2][3];
      for (int d = 0; d < 3; ++d)
      {
        const double origin = __shfl_sync(WholeWarp::mask(), c.x[0][d], lane() & 28);
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
      double weight[2] = {}; // of the points, with the determinant
      if (c.exists)
        for (int t = 0; t < 2; ++t)
        {
          const int                 q = 2 * v + t;
          SmallMatrix<3, 3, double> jacobian;
          for (int d = 0; d < 3; ++d)
            for (int b = 0; b < 3; ++b)
              jacobian(d, b) = J[d / 2][b][d % 2 * 2 + t];
          const double det   = determinant(jacobian);
          const auto   adj   = adjugate(jacobian);
          double      *point = out.numbers + q * point_size;
          weight[t]          = det * r.weights[q];
          // sqrt(w det) J^-1, so that both factors of the outer product are the same numbers.
          const double root = roots[t] * rsqrt(det);
          for (int b = 0; b < 3; ++b)
            for (int d = 0; d < 3; ++d)
              point[b * 3 + d] = root * adj(b, d);
          if constexpr (means)
            point[10] = root * det;
        }
      if (constant_load())
      {
        // sum_q w N_i of shape functions 2 v and 2 v + 1; points 2 v are the first four, points 2 v + 1 the others.
        double sum[4] = {};
        multiply_add(sum, {weight[0], 0., weight[1], 0.},
                     {r.shape_values[2 * v * 8 + k], r.shape_values[(2 * v + 1) * 8 + k]});
        weight[0] = sum[0];
        weight[1] = sum[1];
      }
      if (c.exists)
        for (int t = 0; t < 2; ++t)
          out.weight(2 * v + t) = weight[t];
    }

    /** Reference gradients of shape function lane / 4 at points lane % 4 and lane % 4 + 4, by directions. */
    using Reference = double[2][3];

    static __device__ void load_point(const Record &record, const int q, double (&m)[point_size])
    {
      for (int e = 0; e < point_size; e += 2)
      {
        const double2 two = *reinterpret_cast<const double2 *>(record.numbers + q * point_size + e);
        m[e]              = two.x;
        m[e + 1]          = two.y;
      }
    }

    struct Means
    {
      SmallVector<3, double> gradient; ///< its integral, of shape function lane / 4
      double                 volume;
    };

    static __device__ double sum_of_four(double value)
    {
      value += __shfl_xor_sync(WholeWarp::mask(), value, 1);
      return value + __shfl_xor_sync(WholeWarp::mask(), value, 2);
    }

    /** Moments of shape function lane / 4 with 2 (lane % 4) and the next, and means. */
    static __device__ void
    sum_moments(const Record &record, const Reference &reference, Moments (&moments)[2], Means &of_cell)
    {
      double m[point_size];
      double g[3][2], G[2][3][4] = {};
      for (int h = 0; h < 2; ++h)
      {
        const double(&ref)[3] = reference[h];
        load_point(record, lane() % 4 + 4 * h, m);
        for (int d = 0; d < 3; ++d)
          g[d][h] = m[d] * ref[0] + m[3 + d] * ref[1] + m[6 + d] * ref[2];
        if constexpr (means)
        {
          for (int d = 0; d < 3; ++d)
            of_cell.gradient[d] += m[10] * g[d][h];
          of_cell.volume += m[10] * m[10];
        }
      }
      if constexpr (means)
      {
        of_cell.volume = sum_of_four(of_cell.volume);
        for (int d = 0; d < 3; ++d)
          of_cell.gradient[d] = sum_of_four(of_cell.gradient[d]);
      }
      for (int d = 0; d < 3; ++d)
      {
        multiply_add(G[0][d], {g[0][0], g[1][0], g[0][1], g[1][1]}, g[d]);
        multiply_add(G[1][d], {g[2][0], 0., g[2][1], 0.}, g[d]);
      }
      for (int t = 0; t < 2; ++t)
        for (int c = 0; c < 3; ++c)
          for (int d = 0; d < 3; ++d)
            moments[t](c, d) = G[c / 2][d][c % 2 * 2 + t];
    }

    /** Component lane % 4 of the load of shape function lane / 4. */
    __device__ double sum_load(Record &record) const
    {
      const CoefficientView<Number> &f = body.a.load;
      if (!f.varies_inside_cells())
        return record.weight(lane() / 4) * record.data[n_coefficients + min(lane() % 4, n_comp - 1)];
      double result = 0.;
      for (int c = 0; c < n_comp; ++c)
      {
        double sum = 0.;
        for (int h = 0; h < 2; ++h)
        {
          const int q = lane() % 4 + 4 * h;
          sum += record.weight(q) * batch().reference.shape_values[q * 8 + lane() / 4] *
                 f.at(body.a.batches, body.a.computed_batch, record.number[0], q)[c];
        }
        sum = sum_of_four(sum);
        if (lane() % 4 == c)
          result = sum;
      }
      return result;
    }

    /** What a lane has of a cell's matrix and load: shape function lane / 4 with two others. */
    struct Formed
    {
      int2                                corner;
      unsigned int                        columns;
      Number                              load;
      SmallMatrix<n_comp, n_comp, Number> value[2];
    };

    /** A warp forms cell @p mine of a patch of @p n cells; @p first_cell of the block's cells is its first. */
    __device__ void
    form(const int mine, const int n, const int first_cell, const Reference &reference, Formed &formed) const
    {
      if (mine >= n)
        return;
      const int group  = (first_cell + mine) / 8;
      Slot     &slot   = slot_of(group);
      Record   &record = slot.cell[mine % 8];
      slot.filled.wait(round_of(group));
      formed.corner  = record.corner[lane() / 4];
      formed.columns = record.columns[lane()];
      if (body.with_matrix())
      {
        Moments moments[2];
        Means   of_cell{};
        sum_moments(record, reference, moments, of_cell);
        const auto finish = [&](const int t) {
          if constexpr (means)
          {
            SmallVector<3, double> trial; // that of shape function 2 (lane % 4) + t
            for (int d = 0; d < 3; ++d)
              trial[d] = __shfl_sync(WholeWarp::mask(), of_cell.gradient[d], 8 * (lane() % 4) + 4 * t);
            return Form::finish(record.data, moments[t], of_cell.gradient, trial, of_cell.volume);
          }
          else
            return Form::finish(record.data, moments[t]);
        };
        for (int t = 0; t < 2; ++t)
        {
          const auto block = finish(t);
          for (int c = 0; c < n_comp; ++c)
            for (int d = 0; d < n_comp; ++d)
              formed.value[t](c, d) = static_cast<Number>(block(c, d));
        }
      }
      else
      {
        formed.columns = 0; // those of the record are not there
        for (int t = 0; t < 2; ++t)
          formed.value[t] = {};
      }
      formed.load = body.loaded() ? static_cast<Number>(sum_load(record)) : Number(0);
      // Also for the cells that the patch's last group lacks, and for whose records nobody asks.
      __syncwarp();
      if (lane() == 0)
        slot.emptied.arrive(mine + 1 >= n ? 8 - mine % 8 : 1);
    }

    /** Adds a formed cell. Columns of a lane differ, so all sums are read before one is written: one wait. */
    __device__ void add(const Formed &formed) const
    {
      if (formed.corner.x < 0)
        return;
      Number *to[2], *rhs                 = scratch.rhs + formed.corner.x * n_comp + lane() % 4;
      Number  sum[2][Body::n_block], load = Number(0);
      for (int t = 0; t < 2; ++t)
      {
        const int place = static_cast<int>(formed.columns >> (8 * t) & 255u);
        to[t]           = scratch.blocks + (formed.corner.y + place) * Body::n_block;
        for (int e = 0; e < Body::n_block; ++e)
          sum[t][e] = to[t][e];
      }
      if (lane() % 4 < n_comp)
        load = *rhs;
      for (int t = 0; t < 2; ++t)
        for (int e = 0; e < Body::n_block; ++e)
          to[t][e] = sum[t][e] + formed.value[t](e / n_comp, e % n_comp);
      if (lane() % 4 < n_comp)
        *rhs = load + formed.load;
    }

    /** What a warp that adds knows of a patch. */
    struct Patch
    {
      int          number     = -1; ///< -1: none
      int          first_cell = 0;  ///< of those that the block takes, in whole groups of eight
      std::int64_t facts      = 0;  ///< each lane has one of those below; of no patch all are 0

      /// Two offsets each of cells, levels and fed rows, then those of the slices.
      static constexpr int cells = 0, levels = 2, fed = 4, slices = 6, most_slices = 25;

      __device__ std::int64_t fact(const int which) const { return __shfl_sync(WholeWarp::mask(), facts, which); }
      __device__ int          n_of(const int which) const { return static_cast<int>(fact(which + 1) - fact(which)); }
      __device__ int          n_cells() const { return n_of(cells); }
    };

    /** Whether rows of the patch are whole slices of 32 in the matrix. */
    __device__ bool plain(const int patch) const
    {
      const MatrixTarget<Number> &to = body.a.matrix;
      const PatchesView          &p  = body.a.patches;
      return !body.a.add && to.format == MatrixTarget<Number>::sliced_ellpack && to.sliced_view.slice_height == 32 &&
             p.first_row(patch) % 32 == 0 && p.rows_per_patch <= 32 * Patch::most_slices;
    }

    /** Begins to load what is known of patch @p number. */
    __device__ Patch look_up(const int number, const int first_cell) const
    {
      const PatchesView &p = body.a.patches;
      Patch              result;
      if (number >= body.a.end_patch)
        return result;
      result.number     = number;
      result.first_cell = first_cell;
      const int slice = lane() - Patch::slices, first = p.first_row(number);
      if (lane() < Patch::levels)
        result.facts = p.cell_offsets[number + lane()];
      else if (lane() < Patch::fed)
        result.facts = p.level_offsets[number + lane() - Patch::levels];
      else if (lane() < Patch::slices)
        result.facts = p.fed_offsets == nullptr ? 0 : p.fed_offsets[number + lane() - Patch::fed];
      else if (plain(number) && slice <= (p.end_row(number) - first + 31) / 32)
        result.facts = body.a.matrix.sliced_view.slice_offsets[first / 32 + slice];
      return result;
    }

    /** A warp adds its cells of patch @p now, the first of which is formed, and forms its first of patch @p next. */
    __device__ void add_cells(
        const Patch &now, const Patch &next, const Reference &reference, Formed &formed, LevelPhases &phases) const
    {
      const int own = threadIdx.x / 32 - n_mapping, n = now.n_cells();
      phases.begin_patch(now.n_of(Patch::levels), scratch.level_ends);
      int  mine = own;
      bool more = true;
      while (more)
      {
        if (mine < n)
          phases.add(mine, [&]() { add(formed); });
        more            = mine + n_adding < n;
        mine            = more ? mine + n_adding : own;
        const int n_its = more ? n : next.n_cells();
        form(mine, n_its, more ? now.first_cell : next.first_cell, reference, formed);
      }
    }

    /** Writes the rows of a patch of whole slices and leaves zeros. Warps take column after column of a slice. */
    __device__ void write_slices(const Patch &now) const
    {
      const PatchesView               &p     = body.a.patches;
      const SlicedEllpackView<Number> &A     = body.a.matrix.sliced_view;
      const int                        first = p.first_row(now.number), n_rows = p.end_row(now.number) - first;
      int                              k = threadIdx.x / 32 - n_mapping;
      for (int slice = 0; slice * 32 < n_rows; ++slice)
      {
        const std::int64_t offset = now.fact(Patch::slices + slice);
        const int          width  = static_cast<int>((now.fact(Patch::slices + slice + 1) - offset) / 32);
        const int          row    = slice * 32 + lane();
        const int          begin  = row < n_rows ? scratch.start[row] : 0;
        const int          length = row < n_rows ? scratch.start[row + 1] - begin : 0;
        for (; k < width; k += n_adding)
          if (row < n_rows)
          {
            Number *from = scratch.blocks + (begin + k) * Body::n_block;
            Number *to   = A.values + (offset + k * 32) * Body::n_block + lane();
            Number  value[Body::n_block];
            for (int e = 0; e < Body::n_block; ++e)
              value[e] = k < length ? from[e] : Number(0);
            for (int e = 0; e < Body::n_block; ++e)
              to[e * 32] = value[e];
            if (k < length)
              for (int e = 0; e < Body::n_block; ++e)
                from[e] = Number(0);
          }
        k -= width; // the next slice's columns follow
      }
    }

    /** Of the warps that add. */
    static __device__ void barrier() { barrier_of(n_adding * 32); }

    /** The rows' sums are there: adds the buffered cells, writes the rows and leaves zeros. */
    __device__ void finish(const Patch &now) const
    {
      constexpr int      size = n_adding * 32;
      const int          rank = static_cast<int>(threadIdx.x) - n_mapping * 32;
      const PatchesView &p    = body.a.patches;
      barrier();
      if (now.n_of(Patch::fed) > 0)
      {
        const std::int64_t end = now.fact(Patch::fed + 1);
        for (std::int64_t fed = now.fact(Patch::fed) + rank / 32; fed < end; fed += n_adding)
          body.add_buffered(now.number, fed, WholeWarp(), scratch);
        barrier();
      }
      if (plain(now.number))
      {
        const int first = p.first_row(now.number), n = (p.end_row(now.number) - first) * n_comp;
        for (int i = rank; i < n; i += size)
        {
          if (body.a.rhs != nullptr)
            body.a.rhs[std::int64_t(first) * n_comp + i] = scratch.rhs[i];
          scratch.rhs[i] = Number(0);
        }
        write_slices(now);
      }
      else
      {
        body.write(now.number, rank, size, scratch, body.a.add);
        barrier();
        clear(rank, size);
      }
    }

    __device__ void clear(const int rank, const int size) const
    {
      const int n = body.a.most_blocks * Body::n_block + body.a.patches.rows_per_patch * n_comp;
      for (int i = rank; i < n; i += size)
        scratch.blocks[i] = Number(0);
    }

    __device__ void add_patches() const
    {
      constexpr int      size = n_adding * 32;
      const int          rank = static_cast<int>(threadIdx.x) - n_mapping * 32;
      const PatchesView &p    = body.a.patches;
      Reference          reference;
      LevelPhases        phases{level_barriers()};
      Formed             formed;
      Patch              now, next = look_up(body.a.first_patch + blockIdx.x, 0);
      for (int h = 0; h < 2; ++h)
        for (int b = 0; b < 3; ++b)
          reference[h][b] = batch().reference.shape_gradients[((lane() % 4 + 4 * h) * 8 + lane() / 4) * 3 + b];
      while (true)
      {
        add_cells(now, next, reference, formed, phases);
        // What the next patch needs in fast memory comes while the rows of this one are written.
        const int           following   = next.number < 0 ? now.number : next.number;
        const int           n_rows      = p.end_row(following) - p.first_row(following);
        const int           n_levels    = next.n_of(Patch::levels);
        const std::int64_t *row_offsets = p.row_offsets + p.first_row(following);
        const int          *ends        = p.level_ends + next.fact(Patch::levels);
        const std::int64_t  base = row_offsets[0], start = rank <= n_rows ? row_offsets[rank] : 0;
        const int           level_end = rank < n_levels ? ends[rank] : 0;
        if (now.number >= 0 && body.idle(now.number))
          body.pass_over(now.number, rank, size);
        else if (now.number >= 0)
          finish(now);
        if (next.number < 0)
          return;
        barrier();
        for (int i = rank; i <= n_rows; i += size)
          scratch.start[i] = static_cast<int>((i == rank ? start : row_offsets[i]) - base);
        for (int i = rank; i < n_levels; i += size)
          scratch.level_ends[i] = i == rank ? level_end : ends[i];
        barrier();
        now  = next;
        next = look_up(now.number + gridDim.x, now.first_cell + (now.n_cells() + 7) / 8 * 8);
      }
    }

    __device__ void map_patches() const
    {
      constexpr int step = 8 * n_mapping;
      Corners       now, next, after, last;
      double        roots[2]; // of the weights of the lane's two points
      for (int t = 0; t < 2; ++t)
        roots[t] = std::sqrt(batch().reference.weights[2 * (lane() % 4) + t]);
      int        first_cell = static_cast<int>(threadIdx.x) / 32 * 8; // of the warp's group, among all of the block
      Group      group      = group_of(body.a.first_patch + static_cast<int>(blockIdx.x), first_cell);
      const auto take       = [&](Corners &c) {
        settle(group);
        load_number(group, c);
        group.position += step;
      };
      take(now);
      take(next);
      take(after);
      settle(group);
      load_nodes(now);
      load_nodes(next);
      load_data(now);
      for (; now.patch < body.a.end_patch; first_cell += step)
      {
        load_data(next);
        load_nodes(after);
        load_number(group, last);
        group.position += step;
        const int number = first_cell / 8;
        Slot     &slot   = slot_of(number);
        if (round_of(number) > 0)
          slot.emptied.wait(round_of(number) - 1);
        map(now, roots, slot);
        // Groups are announced in their order: who waits for a phase of a barrier then knows that the one before it,
        // from which its parity does not tell it, is complete.
        if (number > 0)
          slot_of(number - 1).filled.wait(round_of(number - 1));
        __syncwarp();
        if (lane() == 0)
          slot.filled.arrive(1);
        now   = next;
        next  = after;
        after = last;
        settle(group);
      }
    }
  };

  namespace internal
  {
    template <typename Form, typename Number>
    __global__ void __launch_bounds__(Hexahedra<Form, Number>::n_threads, 1)
        hexahedra_kernel(const __grid_constant__ PatchBody<Form::n_components, Number> body, const unsigned int n_slots)
    {
      extern __shared__ __align__(16) unsigned char memory[];
      const auto                                    scratch = body.scratch(memory);
      const Hexahedra<Form, Number>                 cells{body, scratch, n_slots};
      cells.clear(threadIdx.x, blockDim.x);
      if (threadIdx.x == 0)
        cells.init_barriers();
      __syncthreads();
      if (threadIdx.x / 32 < Hexahedra<Form, Number>::n_mapping)
        cells.map_patches();
      else
        cells.add_patches();
    }
  } // namespace internal

  /** Trilinear hexahedra by matrix instructions. */
  template <typename Form, typename Number>
  struct HexahedraKernel : public AnyKernel
  {
    static constexpr MomentKind kind = moment_kind_of<Form>;
    /// Of symmetric forms with one component plans have places of pairs.
    static constexpr bool possible =
        Form::dimension == 3 && Form::n_components <= 4 &&
        !(Form::n_components == 1 && is_symmetric<Form>)&&(kind == MomentKind::outer_product ||
                                                           kind == MomentKind::outer_product_and_means);
    static constexpr const char *name = "trilinear hexahedra by matrix instructions";

    using Cells = Hexahedra<Form, Number>;

    static bool serves(const KernelRequest &r)
    {
      return r.strategy == "patches" && fits<MultilinearCube<3>>(r) && !r.varying;
    }

    static PatchRoom room(const KernelRequest &request)
    {
      // Data that vary inside cells need the general kernel, with one cell at least.
      return {internal::share_of_memory(request, 1),
              std::max(CellsKernel<Form, Number, AnyExtents>::least_bytes(request.reference),
                       Cells::least_slots * sizeof(typename Cells::Slot) + Cells::barrier_bytes)};
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      const typename Cells::Body body{a};
      constexpr std::size_t      bytes = sizeof(typename Cells::Slot), extra = Cells::barrier_bytes;
      const std::size_t          room    = std::max(internal::room_of_workers(body), extra);
      const auto                 n_slots = static_cast<unsigned int>((room - extra) / bytes);
      require(n_slots >= Cells::fewest_slots, internal::too_many_rows);
      const int n_blocks = std::min(a.end_patch - a.first_patch, internal::multiprocessor_count());
      internal::launch(where, internal::hexahedra_kernel<Form, Number>, n_blocks, Cells::n_threads,
                       body.row_bytes() + n_slots * bytes + extra, body, n_slots);
    }
  };
} // namespace PatchFEM::kernels
