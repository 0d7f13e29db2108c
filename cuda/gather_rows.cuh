// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_elements.cuh"

#include <patchfem/kernels/cell_records.h>
#include <patchfem/kernels/recorded_cells.h>

namespace PatchFEM::kernels
{
  /** How rows of cells' matrices with n columns are shared out: teams of lanes, each with a few neighbouring columns. */
  struct RowTeams
  {
    static constexpr int most_columns = 3;

    int lanes, columns; ///< of a team; of a lane

    /** Of those that leave the fewest lanes idle the smallest, of at least @p least lanes, which share what they read. */
    static RowTeams of(const int n, const int least, const int most)
    {
      RowTeams best{0, 0};
      double   busy = 0.;
      for (int columns = 1; columns <= most; ++columns)
      {
        const int    lanes = (n + columns - 1) / columns;
        const double share = lanes <= 32 && lanes >= least ? double(n) * (32 / lanes) / (32 * columns) : 0.;
        if (share > 0. && share >= busy)
        {
          best = {lanes, columns};
          busy = share;
        }
      }
      return best;
    }
  };

  /** The matrix of a staged cell: lanes take its entries from the buffer. */
  template <typename Form, typename Number>
  struct StagedMatrices
  {
    static constexpr int  n_block      = Form::n_components * Form::n_components;
    static constexpr int  most_columns = n_block == 1 ? RowTeams::most_columns : 1, residency = n_block == 1 ? 4 : 3;
    static constexpr bool has_table = false;

    const Number *matrices;
    int           n, lane, columns;

    /** What a lane has of a row of a cell's matrix. */
    template <int most>
    struct Values
    {
      Number entry[most][n_block];
    };

    template <int most>
    __device__ void load(const unsigned int row_of_cell, int, Values<most> &v) const
    {
      const int     first = lane * columns, n_columns = PatchRoom::even(n);
      const Number *from = matrices + std::int64_t(row_of_cell) * (n_columns * n_block) + first;
#pragma unroll
      for (int m = 0; m < most; ++m)
        if (most == 1 || first + m < n)
#pragma unroll
          for (int e = 0; e < n_block; ++e)
            v.entry[m][e] = from[m + e * n_columns];
    }

    template <int most>
    __device__ void add(const Values<most> &v, const int m, int, int, Number *to) const
    {
#pragma unroll
      for (int e = 0; e < n_block; ++e)
        to[e] += v.entry[m][e];
    }
  };

  /** Recorded cells: lanes form entries from the cell's record and integrals of the reference cell. */
  template <typename Form, typename Number, int n_points>
  struct StagedRecords
  {
    using Cells = RecordedCells<Form, Number, n_points>;

    static constexpr int  most_columns = RowTeams::most_columns;
    static constexpr int  residency    = Cells::inner && Cells::n_integrals <= 6 ? 3 : 2;
    static constexpr bool has_table    = true;
    /// How many integrals are read at once; lanes are an odd number of such units apart, in different banks.
    static constexpr int at_once = Cells::n_integrals % 2 == 0 ? 2 : 1;
    /// Whether a lane keeps a whole record on its way.
    static constexpr bool keeps = Cells::record_size * sizeof(Number) <= 128;

    const Number *records;
    int           n, lane, columns;
    Number       *table; ///< [i][lane][column of the lane][integral]

    template <int size>
    struct __align__(size * sizeof(Number)) Numbers
    {
      Number entry[size];
    };
    struct Record
    {
      Numbers<2> numbers[Cells::record_size / 2];
    };
    template <int>
    struct Values
    {
      std::conditional_t<keeps, Record, const Record *> record;
    };

    static __host__ __device__ int lane_stride(const int columns)
    {
      return (columns * Cells::n_integrals / at_once | 1) * at_once;
    }
    static __host__ __device__ int row_stride(const int n, const int columns)
    {
      return (n + columns - 1) / columns * lane_stride(columns);
    }

    /** All threads of the block. */
    __device__ void tabulate(const ReferenceView &r) const
    {
      for (int ij = threadIdx.x; ij < n * n; ij += blockDim.x)
      {
        const int i = ij / n, j = ij % n;
        Number    R[Cells::n_integrals];
        Cells::integrals(r, min(i, j), max(i, j), R);
        Number *to =
            table + i * row_stride(n, columns) + j / columns * lane_stride(columns) + j % columns * Cells::n_integrals;
        for (int e = 0; e < Cells::n_integrals; ++e)
          to[e] = R[e];
      }
    }

    template <int most>
    __device__ void load(unsigned int, const int slot, Values<most> &v) const
    {
      const auto *from = reinterpret_cast<const Record *>(records) + slot;
      if constexpr (keeps)
        v.record = *from;
      else
      {
        v.record = from;
        for (int e = lane * 128; e < int(sizeof(Record)); e += 32 * 128)
          asm volatile("prefetch.global.L1 [%0];" ::"l"(reinterpret_cast<const char *>(from) + e));
      }
    }

    /** Adds column @p j = lane * columns + @p m of row @p i to the block @p to. */
    template <int most>
    __device__ void add(const Values<most> &v, const int m, const int i, const int j, Number *to) const
    {
      const auto *from = reinterpret_cast<const Numbers<at_once> *>(
          table + i * row_stride(n, columns) + lane * lane_stride(columns) + m * Cells::n_integrals);
      Number R[Cells::n_integrals];
#pragma unroll
      for (int e = 0; e < Cells::n_integrals; e += at_once)
      {
        const Numbers<at_once> some = from[e / at_once];
#pragma unroll
        for (int k = 0; k < at_once; ++k)
          R[e + k] = some.entry[k];
      }
      const auto block = [&] {
        if constexpr (keeps)
          return Cells::block(&v.record.numbers[0].entry[0], R);
        else
        {
          const Record record = *v.record;
          return Cells::block(&record.numbers[0].entry[0], R);
        }
      }();
      // Of (j, i) where j < i: matrices are symmetric to the last bit.
      constexpr int n_comp   = Form::n_components;
      const bool    mirrored = j < i;
#pragma unroll
      for (int c = 0; c < n_comp; ++c)
#pragma unroll
        for (int d = 0; d < n_comp; ++d)
          to[n_comp > 1 && mirrored ? d * n_comp + c : c * n_comp + d] += block(c, d);
    }
  };

  /**
   * The rows of a patch, each summed by a team that takes the next row once it is done. A row's cells follow each other;
   * while a team adds one, its share of the next is on its way, and the number of the one after that.
   */
  template <typename Form, typename Number, typename Source>
  struct GatherRows
  {
    static constexpr int  n_threads = 256, residency = Source::residency;
    static constexpr int  n_comp = Form::n_components, n_block = n_comp * n_comp;
    static constexpr bool overlaps = true;

    /** How places are stored: a byte each, in a word for each pair, or otherwise. */
    enum class PlaceKind
    {
      bytes,
      words,
      any
    };

    struct Body : public PatchBody<n_comp, Number>
    {
      RowTeams     teams;
      unsigned int inverse; ///< 2^32 / n_shape, rounded down
      PlaceKind    places;
    };
    using Scratch = typename Body::Scratch;

    const Body    &body;
    const Scratch &scratch;
    const int      patch;

    __device__ const ReferenceView &reference() const { return body.a.batches.batch[body.a.computed_batch].reference; }

    // The workers' memory: the next row in the order, how many are long and short, the pairs before each row, the rows in
    // their order, the source's table.
    __device__ int *next_row() const { return static_cast<int *>(scratch.workers); }
    __device__ int *n_long() const { return next_row() + 1; }
    __device__ int *n_short() const { return next_row() + 2; }
    __device__ int *pairs_before() const { return next_row() + 3; }
    __device__ std::uint16_t *order() const
    {
      return reinterpret_cast<std::uint16_t *>(pairs_before() + body.a.patches.rows_per_patch + 1);
    }

    static __host__ __device__ std::size_t list_bytes(const int n_rows)
    {
      return ((n_rows + 4) * sizeof(int) + n_rows * sizeof(std::uint16_t) + 15) / 16 * 16;
    }

    /** What stays as it is while a lane works. */
    struct Lane
    {
      Source              source;
      const unsigned int *pairs;                      ///< of the patch
      const void         *places;                     ///< likewise, if they are bytes or words
      int                 n, n_rows;                  ///< n_rows: of the patch
      int                 lane, leader, first_column; ///< lane: of the team; leader: the team's first lane
    };

    __device__ Lane lane() const
    {
      const AssemblyArguments<Number> &a       = body.a;
      const int                        in_warp = threadIdx.x % 32, lanes = body.teams.lanes, n = reference().n_shape;
      const int                        leader = min(in_warp / lanes, 32 / lanes - 1) * lanes, lane = in_warp - leader;
      const int                        first_row = a.patches.first_row(patch);
      const std::int64_t               first     = a.patches.staged_offsets[first_row];
      Lane                             l{{a.buffer_matrix + a.staged_matrix, n, lane, body.teams.columns},
             a.patches.staged_pairs + first,
             static_cast<const char *>(a.patches.places.view.data) + first * (body.places == PlaceKind::words ? 2 : n),
             n,
             a.patches.end_row(patch) - first_row,
             lane,
             leader,
             lane * body.teams.columns};
      if constexpr (Source::has_table)
        l.source.table =
            reinterpret_cast<Number *>(static_cast<char *>(scratch.workers) + list_bytes(a.patches.rows_per_patch));
      return l;
    }

    /** Rows with many pairs come first: teams end at about the same time. The order of rows changes no sum. */
    __device__ void prepare() const
    {
      const PatchesView  &p     = body.a.patches;
      const int           first = p.first_row(patch), n_rows = p.end_row(patch) - first;
      const std::int64_t *offsets = p.staged_offsets + first;
      for (int row = threadIdx.x; row <= n_rows; row += blockDim.x)
        pairs_before()[row] = static_cast<int>(offsets[row] - offsets[0]);
      if (threadIdx.x < 3)
        next_row()[threadIdx.x] = 0;
      if constexpr (Source::has_table)
        lane().source.tabulate(reference());
      __syncthreads();
      const int mean = pairs_before()[n_rows] / n_rows;
      for (int row = threadIdx.x; row < n_rows; row += blockDim.x)
      {
        const bool longer = 2 * (pairs_before()[row + 1] - pairs_before()[row]) > 3 * mean;
        order()[longer ? atomicAdd(n_long(), 1) : n_rows - 1 - atomicAdd(n_short(), 1)] =
            static_cast<std::uint16_t>(row);
      }
    }

    /** Where a team is: a row, one of its pairs, and what is read ahead of it. */
    struct Cursor
    {
      int          row, pair, end; ///< past the last row: -1, 0, 1
      unsigned int staged;         ///< slot of the cell * n_shape + row of the cell
    };

    /** What a lane adds in a step; of no row: -1. */
    template <int columns>
    struct Share
    {
      int                                       row, i, place[columns];
      typename Source::template Values<columns> values;
      Number                                    load;
    };

    /** Takes new rows where the pairs of a row have come to their end, and reads ahead. */
    __device__ void settle(const Lane &l, Cursor &cursor) const
    {
      while (__any_sync(WholeWarp::mask(), cursor.pair == cursor.end))
      {
        const bool wants    = cursor.pair == cursor.end;
        int        position = wants && l.lane == 0 ? atomicAdd(next_row(), 1) : 0;
        position            = __shfl_sync(WholeWarp::mask(), position, l.leader);
        if (wants && position < l.n_rows)
        {
          cursor.row  = order()[position];
          cursor.pair = pairs_before()[cursor.row];
          cursor.end  = pairs_before()[cursor.row + 1];
        }
        else if (wants)
          cursor = {-1, 0, 1, 0};
      }
      if (cursor.row >= 0)
        cursor.staged = l.pairs[cursor.pair];
    }

    template <int columns, PlaceKind kind>
    __device__ void load(const Lane &l, Cursor &cursor, Share<columns> &share) const
    {
      share.row = cursor.row;
      if (cursor.row >= 0)
      {
        int slot = static_cast<int>(__umulhi(cursor.staged, body.inverse));
        share.i  = static_cast<int>(cursor.staged - static_cast<unsigned int>(slot) * l.n);
        if (share.i >= l.n)
        {
          ++slot;
          share.i -= l.n;
        }
        if (body.with_matrix())
        {
          l.source.load(cursor.staged, slot, share.values);
#pragma unroll
          for (int m = 0; m < columns; ++m)
            if (const int j = l.first_column + m; columns == 1 || (m < body.teams.columns && j < l.n))
              share.place[m] = place<kind>(l, cursor, share.i, j);
        }
        if (body.loaded() && l.lane < n_comp)
          share.load = body.a.buffer_vector[body.a.staged_vector + std::int64_t(cursor.staged) * n_comp + l.lane];
        ++cursor.pair;
      }
      settle(l, cursor);
    }

    template <PlaceKind kind>
    __device__ int place(const Lane &l, const Cursor &cursor, const int i, const int j) const
    {
      if constexpr (kind == PlaceKind::bytes)
        return static_cast<const std::uint8_t *>(l.places)[static_cast<unsigned int>(cursor.pair * l.n + j)];
      if constexpr (kind == PlaceKind::words)
        return i == j ? scratch.diagonal[cursor.row]
                      : PlacesView::in_word(static_cast<const std::uint16_t *>(l.places)[cursor.pair], j - (j > i));
      const PatchesView &p   = body.a.patches;
      const int          row = p.first_row(patch);
      return p.places(p.staged_offsets[row] + cursor.pair, l.n, row + cursor.row, i, j);
    }

    template <int columns>
    __device__ void add(const Lane &l, const Share<columns> &share) const
    {
      if (share.row >= 0)
      {
        Number *sums = scratch.blocks + scratch.start[share.row] * n_block;
        if (body.with_matrix())
#pragma unroll
          for (int m = 0; m < columns; ++m)
            if (const int j = l.first_column + m; columns == 1 || (m < body.teams.columns && j < l.n))
              l.source.add(share.values, m, share.i, j, sums + share.place[m] * n_block);
        if (body.loaded() && l.lane < n_comp)
          scratch.rhs[share.row * n_comp + l.lane] += share.load;
      }
      __syncwarp(); // the next cell may add to the same entries through other lanes
    }

    template <int columns, PlaceKind kind>
    __device__ void add_all() const
    {
      const Lane l = lane();
      Cursor     cursor{0, 0, 0, 0};
      if (l.lane >= body.teams.lanes) // of no team
        cursor = {-1, 0, 1, 0};
      Share<columns> one, two;
      settle(l, cursor);
      load<columns, kind>(l, cursor, one);
      do
      {
        load<columns, kind>(l, cursor, two);
        add(l, one);
        load<columns, kind>(l, cursor, one);
        add(l, two);
      } while (__any_sync(WholeWarp::mask(), one.row >= 0));
    }

    __device__ void run() const
    {
      constexpr int  most      = Source::most_columns;
      constexpr bool has_words = Form::dimension == 2; // in space rows are longer
      if (has_words && body.places == PlaceKind::words && body.teams.columns == 1)
        add_all<1, has_words ? PlaceKind::words : PlaceKind::any>();
      else if (body.places != PlaceKind::bytes)
        add_all<most, PlaceKind::any>();
      else if (body.teams.columns == 1)
        add_all<1, PlaceKind::bytes>();
      else
        add_all<most, PlaceKind::bytes>();
    }
  };

  /** Rows gather what is staged: entries of matrices, or records of cells. */
  template <typename Form, typename Number, typename Source>
  struct GatherRowsKernel : public AnyKernel
  {
    using Rows = GatherRows<Form, Number, Source>;

    static constexpr bool of_records = Source::has_table;

    static constexpr const char *name = of_records ? "entries formed in rows" : "teams of lanes a row";

    static RowTeams teams(const ReferenceView &r)
    {
      return RowTeams::of(r.n_shape, std::max(std::min(3, r.n_shape), Form::n_components), Source::most_columns);
    }

    static std::size_t table_bytes(const ReferenceView &r)
    {
      if constexpr (of_records)
        return r.n_shape * Source::row_stride(r.n_shape, teams(r).columns) * sizeof(Number);
      return 0;
    }

    static bool serves(const KernelRequest &r)
    {
      if constexpr (of_records)
        if (!Source::Cells::fits(r) || table_bytes(r.reference) > r.fast_memory / (4 * Rows::residency))
          return false;
      return r.strategy == "gather" && teams(r.reference).columns > 0;
    }

    static PatchRoom room(const KernelRequest &r)
    {
      PatchRoom room{internal::share_of_memory(r, Rows::residency), table_bytes(r.reference) + 64,
                     sizeof(int) + sizeof(std::uint16_t)};
      room.most_rows = 512;
      return room;
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      const ReferenceView &r      = a.batches.batch[a.computed_batch].reference;
      const PlacesView    &places = a.patches.places;
      using Kind                  = typename Rows::PlaceKind;
      const Kind kind             = places.compact() ? Kind::words : places.view.width == 1 ? Kind::bytes : Kind::any;
      const typename Rows::Body body{
          {a}, teams(r), static_cast<unsigned int>((std::uint64_t(1) << 32) / r.n_shape), kind};
      internal::launch_patches<Rows>(where, body, Rows::n_threads,
                                     Rows::list_bytes(a.patches.rows_per_patch) + table_bytes(r));
    }
  };

  namespace internal
  {
    template <typename Cells>
    constexpr int record_threads = Cells::record_size > 24 ? 64 : 128;

    /** Records and loads of as many staged cells as a block has threads; they leave it side by side. */
    template <typename Form, typename Number, typename Cells>
    __global__ void __launch_bounds__(record_threads<Cells>)
        stage_records_kernel(const __grid_constant__ AssemblyArguments<Number> a, const bool loaded)
    {
      constexpr int     n_threads = record_threads<Cells>, n_comp = Form::n_components, stride = Cells::record_size | 1;
      __shared__ Number records[n_threads * stride];
      __shared__ int    local[n_threads];
      extern __shared__ __align__(16) unsigned char memory[];

      const CellRecords<Form, Number, AnyExtents> cells{a};
      const int  n = cells.n_shape(), first = blockIdx.x * n_threads, rank = threadIdx.x;
      const int  n_cells = min(n_threads, a.n_staged - first), n_q = Cells::affine ? 1 : cells.n_quadrature();
      const bool sums    = Cells::affine && !a.load.varies_inside_cells();
      Number    *volumes = reinterpret_cast<Number *>(memory); // [point][cell], with the weight if not affine
      Number    *shapes  = volumes + n_q * n_threads;          // integrals of the shape functions
      let_next_begin();
      if (loaded && sums)
        for (int i = rank; i < n; i += n_threads)
        {
          shapes[i] = 0;
          for (int q = 0; q < cells.n_quadrature(); ++q)
            shapes[i] += cells.weight(q) * cells.shape_value(q, i);
        }
      wait_for_previous();
      if (rank < n_cells)
      {
        local[rank] = a.staged[first + rank] - cells.batch().first_cell;
#pragma unroll 1
        for (int p = 0; p < n_q; ++p)
        {
          const auto J                  = Cells::jacobian(a, local[rank], p);
          volumes[p * n_threads + rank] = determinant(J) * (Cells::affine ? Number(1) : cells.weight(p));
          Cells::record(a, local[rank], p, J, records + rank * stride);
        }
      }
      __syncthreads();
      if (a.matrix.format != MatrixTarget<Number>::none)
      {
        Number *to = a.buffer_matrix + a.staged_matrix + std::int64_t(first) * Cells::record_size;
        for (int item = rank; item < n_cells * Cells::record_size; item += n_threads)
          to[item] = records[item / Cells::record_size * stride + item % Cells::record_size];
      }
      if (!loaded)
        return;
      Number *to = a.buffer_vector + a.staged_vector + std::int64_t(first) * n * n_comp;
      for (int item = rank; item < n_cells * n * n_comp; item += n_threads)
      {
        const int  cell = item / (n * n_comp), i = item / n_comp % n, c = item % n_comp;
        const auto f   = [&](const int q) { return a.load.at(a.batches, a.computed_batch, local[cell], q)[c]; };
        Number     sum = 0;
        if (sums)
          sum = volumes[cell] * shapes[i] * f(0);
        else
          for (int q = 0; q < cells.n_quadrature(); ++q)
            sum += (Cells::affine ? volumes[cell] * cells.weight(q) : volumes[q * n_threads + cell]) *
                   cells.shape_value(q, i) * f(q);
        to[item] = sum;
      }
    }
  } // namespace internal

  /** Records of cells, a thread each. */
  template <typename Form, typename Number, int n_points>
  struct StagedRecordsKernel : public AnyKernel
  {
    using Cells = RecordedCells<Form, Number, n_points>;
    using Rows  = GatherRowsKernel<Form, Number, StagedRecords<Form, Number, n_points>>;

    static constexpr bool   stages       = true;
    static constexpr double buffer_share = 0.25;

    static bool serves(const KernelRequest &r) { return Rows::serves(r); }
    static int  numbers_per_cell(const KernelRequest &) { return Cells::record_size; }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      constexpr int        n_threads = internal::record_threads<Cells>;
      const ReferenceView &r         = a.batches.batch[a.computed_batch].reference;
      const int            n_blocks  = (a.n_staged + n_threads - 1) / n_threads;
      if (n_blocks > 0)
        internal::launch<true>(where, internal::stage_records_kernel<Form, Number, Cells>, n_blocks, n_threads,
                               (n_points * n_threads + r.n_shape) * sizeof(Number), a,
                               a.rhs != nullptr && a.load.kind != CoefficientView<Number>::none);
      AssemblyArguments<Number> others = a;
      others.n_staged                  = 0;
      ElementsKernel<Form, Number>::launch(where, others);
    }
  };

  /** Both kernels for cells that n_points record: nothing where a form's moments are not known. */
  template <typename Form, typename Number, int... n_points>
  auto record_kernels()
  {
    if constexpr (RecordedCells<Form, Number, 1>::possible)
      return std::tuple_cat(std::tuple<StagedRecordsKernel<Form, Number, n_points>,
                                       GatherRowsKernel<Form, Number, StagedRecords<Form, Number, n_points>>>()...);
    else
      return std::tuple<>();
  }
} // namespace PatchFEM::kernels
