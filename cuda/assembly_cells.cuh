// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "patch_launch.cuh"

#include <patchfem/kernels/cell_records.h>

namespace PatchFEM::kernels
{
  /** Any element and weak form: a warp records a few cells, then a few lanes to a row share out the blocks of each. */
  template <typename Form, typename Number, typename Extents>
  struct WarpCells
  {
    static constexpr int  most_warps = 8, n_threads = most_warps * 32, residency = 0;
    static constexpr int  preferred = 4; ///< patches on a multiprocessor
    static constexpr bool overlaps  = false;

    struct Body : public PatchBody<Form::n_components, Number>
    {
      int cells_per_warp; ///< that a warp maps at once
    };
    using Scratch = typename Body::Scratch;
    using Records = CellRecords<Form, Number, Extents>;

    static constexpr bool can_mirror = is_symmetric<Form> && Form::n_components == 1;

    /** How many warps a patch has, and how many cells each maps at once: enough points for its lanes. */
    struct Shape
    {
      int         n_warps, cells_per_warp;
      std::size_t record_bytes;

      std::size_t bytes() const { return std::size_t(n_warps) * cells_per_warp * record_bytes; }
    };

    static Shape shape(const int n_shape, const int n_quadrature, const std::size_t available)
    {
      Shape s{most_warps, std::max(1, 32 / n_quadrature), Records::record_size(n_shape, n_quadrature) * sizeof(Number)};
      while (s.bytes() > available && s.cells_per_warp > 1)
        s.cells_per_warp /= 2;
      while (s.bytes() > available && s.n_warps > 1)
        s.n_warps /= 2;
      return s;
    }

    const Body    &body;
    const Scratch &scratch;
    const int      patch;
    const Records  cells{body.a};

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

    /** The place of nodes @p i and @p j in the former's row, the diagonal's too; negative: in the latter's. */
    __device__ int
    upper_place(const std::int64_t entry, const int n, const int row_i, const int row_j, const int i, const int j) const
    {
      const PlacesView &places = body.a.patches.places;
      return i == j ? scratch.diagonal[row_i] : places.upper_place(entry, n, scratch.start[row_i], row_i, row_j, i, j);
    }

    __device__ void form(const int position, const Number *record, Blocks &blocks) const
    {
      const PatchesView &p     = body.a.patches;
      const int          first = p.first_row(patch), n_rows = p.end_row(patch) - first;
      const std::int64_t entry = p.cell_offsets[patch] + position;
      const int          local = p.cells[entry] - cells.batch().first_cell;
      const int          lane = threadIdx.x % 32, j = lane % Blocks::team,
                row = lane < Blocks::n ? cells.batch().nodes[std::int64_t(local) * Blocks::n + lane] - first : -1;
      const unsigned int owners = __ballot_sync(WholeWarp::mask(), row >= 0 && row < n_rows);
      const bool         upper  = can_mirror && p.places.upper();
      const int          other  = upper ? __shfl_sync(WholeWarp::mask(), row, j) : 0;
      PATCHFEM_UNROLL
      for (int k = 0; k < Blocks::n_rows_of_lane; ++k)
      {
        const int i   = lane / Blocks::team + k * Blocks::n_teams;
        const int its = __shfl_sync(WholeWarp::mask(), row, i);
        blocks.row[k] = owners >> i & 1u ? its : -1;
        if (blocks.row[k] < 0)
          continue;
        if (body.with_matrix() && j < Blocks::n)
        {
          blocks.place[k] =
              upper ? upper_place(entry, Blocks::n, its, other, i, j)
                    : p.places(p.pair_offsets[patch] + p.cell_pairs[entry] + __popc(owners & ((1u << i) - 1u)),
                               Blocks::n, first + its, i, j);
          blocks.value[k] = cells.block(record, local, i, j);
        }
        if (body.loaded() && j < Form::n_components)
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
          if (body.with_matrix() && j < Blocks::n && blocks.place[k] >= 0)
            body.add(blocks.row[k], blocks.place[k], blocks.value[k], scratch);
          if (body.loaded() && j < Form::n_components)
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
      const bool   upper = can_mirror && p.places.upper();
      std::int64_t pair  = upper ? 0 : p.pair_offsets[patch] + p.cell_pairs[entry];
      for (int base = 0; base < n; base += 32)
      {
        const int          row    = base + lane < n ? nodes[base + lane] - first : -1;
        const unsigned int owners = __ballot_sync(WholeWarp::mask(), row >= 0 && row < n_rows);
        for (int i = group; i < group + min(32, n - base); i += n_groups)
        {
          const int mine = __shfl_sync(WholeWarp::mask(), row, i % 32);
          if (i >= 32 || !(owners >> i & 1u))
            continue;
          const std::int64_t my_pair = pair + __popc(owners & ((1u << i) - 1u));
          if (body.with_matrix())
            for (int j = lane % team; j < n; j += team)
            {
              const int place = upper ? upper_place(entry, n, mine, nodes[j] - first, base + i, j)
                                      : p.places(my_pair, n, first + mine, base + i, j);
              if (place >= 0)
                body.add(mine, place, cells.block(record, local, base + i, j), scratch);
            }
          if (body.loaded())
            for (int c = lane % team; c < Form::n_components; c += team)
              scratch.rhs[mine * Form::n_components + c] += cells.load(record, local, base + i, c);
        }
        pair += __popc(owners);
      }
    }

    __device__ void prepare() const {}

    __device__ void run() const
    {
      add_all(blockDim.x / 32);
      if (body.with_matrix() && body.a.patches.places.upper())
        body.mirror(patch, threadIdx.x, blockDim.x, scratch, [] { __syncthreads(); });
    }

    __device__ void add_all(const int n_warps) const
    {
      const PatchesView &p              = body.a.patches;
      const int          cells_per_warp = body.cells_per_warp, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
      const int          n_q = cells.n_quadrature(), point_size = Records::point_size(cells.n_shape());
      const int          stride  = n_q * point_size;
      Number            *records = static_cast<Number *>(scratch.workers) + warp * cells_per_warp * stride;
      const int          n_cells = static_cast<int>(p.cell_offsets[patch + 1] - p.cell_offsets[patch]);
      PatchLevels        levels(n_cells, scratch.level_ends, n_warps * 32);
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
            levels.commit(mine, stop, [&]() { add(blocks); });
          }
          else
            levels.commit(mine, stop, [&]() { add(mine, records + k * stride); });
        }
      }
    }
  };

  template <typename Form, typename Number, typename Extents>
  struct CellsKernel : public AnyKernel
  {
    using Cells = WarpCells<Form, Number, Extents>;

    // With fixed extents a lane has one component of a load at most.
    static constexpr bool        possible = Extents::n_shape == 0 || Form::n_components <= 4;
    static constexpr const char *name     = name_of_cells<Extents>();

    static bool serves(const KernelRequest &r) { return r.strategy == "patches" && fits<Extents>(r); }

    /** Bytes of workers of one cell. */
    static std::size_t least_bytes(const ReferenceView &r)
    {
      return Cells::shape(r.n_shape, r.n_quadrature, 0).bytes();
    }

    /**
     * Workers have a quarter of the memory, or half if that is too little for four warps: larger patches save fewer
     * integrations than two warps lose (H200, bicubic Laplace in fp64: 192 rows with 2 warps 28 ms, 128 with 4 20 ms).
     */
    static PatchRoom room(const KernelRequest &request)
    {
      const std::size_t bytes = internal::share_of_memory(request, Cells::preferred);
      const auto        shape = [&](const int part) {
        return Cells::shape(request.reference.n_shape, request.reference.n_quadrature, bytes / part);
      };
      PatchRoom room{bytes, shape(shape(4).n_warps < 4 ? 2 : 4).bytes()};
      if (Extents::n_quadrature != 1) // gather was faster for Laplace and elasticity (H100); not measured for others
        room.most_redundant = 1.;
      return room;
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a) { launch_cells<Cells>(where, {{a}, 1}); }

    /** Sums patches by @p AnyCells: Cells, or with a body that has more. */
    template <typename AnyCells>
    static void launch_cells(Cuda where, typename AnyCells::Body body)
    {
      const AssemblyArguments<Number> &a     = body.a;
      const ReferenceView             &r     = a.batches.batch[a.computed_batch].reference;
      typename Cells::Shape            shape = {Cells::most_warps, 1, 0}; // where all cells are buffered
      if (a.most_levels > 0)
      {
        const std::size_t room = internal::room_of_workers(body);
        shape                  = Cells::shape(r.n_shape, a.one_point ? 1 : r.n_quadrature, room);
        require(shape.bytes() <= room, internal::too_many_rows);
      }
      body.cells_per_warp = shape.cells_per_warp;
      internal::launch_patches<AnyCells>(where, body, shape.n_warps * 32, shape.bytes());
    }
  };
} // namespace PatchFEM::kernels
