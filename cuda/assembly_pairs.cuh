// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_cells.cuh"
#include "loads.cuh"

#include <patchfem/kernels/cube_pairs.h>

#include <type_traits>

namespace PatchFEM::kernels
{
  /** The places of a cell's pairs of nodes (PlacesView), as they are loaded. */
  template <int n, int pair_bits>
  struct PairPlaces
  {
    using Word = std::conditional_t<n == 4 && pair_bits == 8,
                                    std::uint64_t,
                                    std::conditional_t<n == 3 && pair_bits == 5, std::uint16_t, std::uint32_t>>;

    Word word;

    __device__ unsigned int operator[](const int pair) const
    {
      return static_cast<unsigned int>(word >> (pair_bits * pair)) & ((1u << pair_bits) - 1u);
    }
  };
  template <int pair_bits>
  struct alignas(16) PairPlaces<8, pair_bits>
  {
    uint4 blocks[PlacesView::numbers_of_eight / 2 / 8]; ///< of a lane, 8 of 16 bits each

    __device__ unsigned int operator[](const int pair) const
    {
      const uint4       &some = blocks[pair / 8];
      const int          word = pair % 8 / 2;
      const unsigned int two  = word == 0 ? some.x : word == 1 ? some.y : word == 2 ? some.z : some.w;
      return pair % 2 == 0 ? two & 0xffffu : two >> 16;
    }
  };

  /** What a thread brings of a cell that @p lanes of them share: entries of pairs of nodes, and loads of nodes, in order. */
  template <int n, int lanes, typename Number>
  struct PairEntries
  {
    static constexpr int n_pairs = n * (n - 1) / 2 / lanes;

    Number pair[n_pairs], load[n / lanes];
  };

  /**
   * Barycentric simplices, coefficients that do not vary inside cells. With e_i = x_i - x_0 the gradients are c_i / det, where
   * c_i are the cofactors of (e_1, ..., e_dim) and c_0 = -(c_1 + ... + c_dim). Where @p loads_vary inside cells they are
   * summed over points, for which the others have no registers.
   */
  template <typename Form_, typename Number_, int bits, bool loads_vary>
  struct LinearPairs
  {
    using Form   = Form_;
    using Number = Number_;

    static constexpr int dim = Form::dimension, n = dim + 1, pair_bits = bits, lanes = 1;
    /// Three blocks at once, with 384 rows of tetrahedra in each, for which 196 of 228 KB of fast memory do, so that the
    /// first level of cache has 60. On an H200 416 rows, which leave it 28, took a sixth longer, and four blocks with
    /// fewer rows or registers were slower, too.
    static constexpr int n_threads = 256, residency = 3, for_cache = 11 << 10;

    /** Of the reference cell, and the share of it that a node has of a load. */
    static constexpr double volume = dim == 2 ? 1. / 2. : 1. / 6., share = volume / n;

    /** Cofactors of the edges [1 ... dim], and minus their sum first. Returns the determinant. */
    static __device__ Number cofactors(const Number (&e)[n][dim], Number (&c)[n][dim])
    {
      if constexpr (dim == 3)
      {
        for (int i = 1; i < n; ++i)
        {
          const int j = i % 3 + 1, k = j % 3 + 1;
          for (int d = 0; d < dim; ++d)
            c[i][d] = e[j][(d + 1) % 3] * e[k][(d + 2) % 3] - e[j][(d + 2) % 3] * e[k][(d + 1) % 3];
        }
      }
      else
      {
        c[1][0] = e[2][1];
        c[1][1] = -e[2][0];
        c[2][0] = -e[1][1];
        c[2][1] = e[1][0];
      }
      Number det = Number(0);
      for (int d = 0; d < dim; ++d)
      {
        det += e[1][d] * c[1][d];
        c[0][d] = -c[1][d];
        for (int i = 2; i < n; ++i)
          c[0][d] -= c[i][d];
      }
      return det;
    }

    using Out = PairEntries<n, lanes, Number>;

    /** Entries and loads of the cell at position @p local; @p cells are PairCells. */
    template <typename Cells>
    static __device__ void integrate(const Cells &cells, const Number (&x)[n][dim], const int local, Out &out)
    {
      Number       c[n][dim];
      const Number det = cofactors(x, c);
      sum_loads(cells, det, local, out);
      if (!cells.body.with_matrix())
        return;
      const Number one_over_det = quotient(Number(1), det);
      if constexpr (moment_kind_of<Form> == MomentKind::inner_product)
      {
        const Number scale = one_over_det * cells.factor(local, 0);
        for (int i = 0; i < n; ++i)
          for (int j = i + 1; j < n; ++j)
          {
            Number sum = c[i][0] * c[j][0];
            for (int d = 1; d < dim; ++d)
              sum += c[i][d] * c[j][d];
            out.pair[PlacesView::pair_number(n, i, j)] = scale * sum;
          }
      }
      else
      {
        const Number              *coefficients = cells.coefficients(local, 0);
        ShapeFunction<dim, Number> shape[n];
        for (int i = 0; i < n; ++i)
        {
          shape[i].value = Number(1) / Number(n);
          for (int d = 0; d < dim; ++d)
            shape[i].gradient[d] = one_over_det * c[i][d];
        }
        for (int i = 0; i < n; ++i)
          for (int j = i + 1; j < n; ++j)
            out.pair[PlacesView::pair_number(n, i, j)] =
                det * Number(volume) * Form::matrix(coefficients, shape[i], shape[j])(0, 0);
      }
    }

  private:
    template <typename Cells>
    static __device__ void sum_loads(const Cells &cells, const Number det, const int local, Out &out)
    {
      if constexpr (loads_vary)
      {
        const AssemblyArguments<Number> &a = cells.body.a;
        const ReferenceView             &r = a.batches.batch[a.computed_batch].reference;
        for (int i = 0; i < n; ++i)
          out.load[i] = Number(0);
        for (int q = 0; q < r.n_quadrature; ++q)
        {
          const Number load =
              det * static_cast<Number>(r.weights[q]) * a.load.at(a.batches, a.computed_batch, local, q)[0];
          for (int i = 0; i < n; ++i)
            out.load[i] += load * static_cast<Number>(r.shape_values[q * n + i]);
        }
      }
      else
      {
        const Number load = det * cells.load(local, 0);
        for (int i = 0; i < n; ++i)
          out.load[i] = load;
      }
    }
  };

  template <typename Form, typename Number, int bits>
  using SimplexPairs = LinearPairs<Form, Number, bits, false>;
  template <typename Form, typename Number, int bits>
  using SimplexPairsOfVaryingLoads = LinearPairs<Form, Number, bits, true>;

  /**
   * Multilinear cubes of forms whose moments are inner products; data may vary inside them. Two lanes share a hexahedron:
   * each sums a layer of its points, for which 128 registers suffice, and has half of the pairs in the end. The second
   * sees the hexahedron turned over (CubePairs::integrate_layer), so that both do the same.
   */
  template <typename Form_, typename Number_, int bits>
  struct MultilinearPairs
  {
    using Form   = Form_;
    using Number = Number_;

    static constexpr int    dim = Form::dimension, n = 1 << dim, pair_bits = bits, lanes = dim == 3 ? 2 : 1;
    static constexpr int    n_threads = dim == 2 ? 192 : 256, residency = dim == 2 ? 3 : 2, for_cache = 0;
    static constexpr double volume = 1., share = 1.; // CubePairs has the weights

    using Out = PairEntries<n, lanes, Number>;

    template <typename Cells>
    static __device__ void integrate(const Cells &cells, const Number (&x)[n][dim], const int local, Out &out)
    {
      const int  first              = lanes == 1 ? 0 : threadIdx.x % 2 * 4; // of the lane's points
      const bool coefficients_vary  = cells.body.a.coefficients.varies_inside_cells(),
                 loads_vary         = cells.body.a.load.varies_inside_cells();
      const Number           factor = cells.factor(local, 0), load = cells.load(local, 0);
      CubePairs<dim, Number> entries;
      entries.integrate_layer(
          x, first == 0 ? 1. : -1.,
          [&](const int q) { return coefficients_vary ? cells.factor(local, first + q) : factor; },
          [&](const int q) { return loads_vary ? cells.load(local, first + q) : load; });
      if constexpr (lanes == 1)
      {
        for (int k = 0; k < Out::n_pairs; ++k)
          out.pair[k] = entries.pair[k];
        for (int i = 0; i < n; ++i)
          out.load[i] = entries.load[i];
      }
      else
      {
        for (int i = 0; i < 4; ++i)
          out.load[i] = entries.load[i] + of_other(entries.load[i + 4]);
        // In the order of PlacesView::position_of_eight().
        const auto pair = [&](const int i, const int j) { return entries.pair[PlacesView::pair_number(n, i, j)]; };
        int        k    = 0;
        for (int i = 0; i < 4; ++i)
          for (int j = i + 1; j < 4; ++j)
          {
            out.pair[k++] = pair(i, j) + of_other(pair(i + 4, j + 4));
            out.pair[k++] = pair(i, j + 4) + of_other(pair(j, i + 4));
          }
        for (int i = 0; i < 2; ++i)
        {
          const Number one = pair(i, i + 4), other = pair(i + 2, i + 6), sent = of_other(first == 0 ? other : one);
          out.pair[k++] = (first == 0 ? one : other) + sent;
        }
      }
    }

  private:
    /** What the other lane of the cell has as @p mine. */
    static __device__ Number of_other(const Number mine) { return __shfl_xor_sync(WholeWarp::mask(), mine, 1); }
  };

  /**
   * Cells whose points are numbered as nodes, of a symmetric form with one component that depends on gradients alone: a
   * thread, or a few, compute a cell (SimplexPairs, MultilinearPairs). Each pair of nodes is summed once (PlacesView). Since
   * gradients add up to zero, so do the rows of a cell, and a diagonal entry is minus the sum of the others.
   *
   * A warp takes consecutive cells at a time and adds those of a level once all cells of the levels before are
   * added, which a barrier for each level tells. Warps share no other barrier: some compute while others add.
   */
  template <typename Pairs>
  struct PairCells
  {
    using Form   = typename Pairs::Form;
    using Number = typename Pairs::Number;

    static constexpr int          dim = Pairs::dim, n = Pairs::n, n_pairs = n * (n - 1) / 2;
    static constexpr int          n_threads = Pairs::n_threads, residency = Pairs::residency;
    static constexpr std::size_t  for_cache = Pairs::for_cache; ///< bytes of a block's share that are better as cache
    static constexpr int          lanes = Pairs::lanes, a_warp = 32 / lanes, n_own = n_pairs / lanes; ///< a_warp: cells
    static constexpr bool         overlaps = false;
    static constexpr unsigned int foreign  = 1u << 31; ///< in place of a row or a block

    using Body    = PatchBody<1, Number>;
    using Scratch = typename Body::Scratch;
    using Places  = PairPlaces<n, Pairs::pair_bits>;

    const Body    &body;
    const Scratch &scratch; ///< workers: Constants, coordinates of the patch's nodes, [row][dim], barriers, [level]
    const int      patch;

    static constexpr std::size_t bytes_per_row = dim * sizeof(double), bytes_per_level = sizeof(PhaseBarrier);

    /** What is the same for all cells, if it is. */
    struct Constants
    {
      double factor, load;
    };

    static std::size_t bytes(const AssemblyArguments<Number> &a)
    {
      return sizeof(Constants) + a.patches.rows_per_patch * bytes_per_row + a.most_levels * bytes_per_level;
    }

    __device__ Constants    &constants() const { return *static_cast<Constants *>(scratch.workers); }
    __device__ double       *points() const { return static_cast<double *>(scratch.workers) + 2; }
    __device__ PhaseBarrier &added(const int level) const
    {
      return reinterpret_cast<PhaseBarrier *>(points() + body.a.patches.rows_per_patch * dim)[level];
    }

    /** Coordinates of the patch's nodes and barriers to fast memory. */
    __device__ void prepare() const
    {
      const PatchesView &p     = body.a.patches;
      const int          first = p.first_row(patch), n_numbers = (p.end_row(patch) - first) * dim;
      const double      *from = body.a.batches.points + std::int64_t(first) * dim;
      for (int i = threadIdx.x; i < n_numbers; i += n_threads)
        points()[i] = from[i];
      if (threadIdx.x == 0)
        load_constants();
      const int *ends     = p.level_ends + p.level_offsets[patch];
      const int  n_levels = static_cast<int>(p.level_offsets[patch + 1] - p.level_offsets[patch]);
      for (int level = threadIdx.x; level < n_levels; level += n_threads)
        added(level).init(ends[level] - (level > 0 ? ends[level - 1] : 0));
    }

    /** Of a cell, loaded at once where they are whole words of 16 bytes; to the second lane of a cell, turned over. */
    struct alignas(n % 4 == 0 ? 16 : 4) Nodes
    {
      int node[n];
    };
    struct alignas(16) FourNodes
    {
      int node[4];
    };

    __device__ Nodes load_nodes(const int *all, const int local) const
    {
      if constexpr (lanes == 1)
        return reinterpret_cast<const Nodes *>(all)[local];
      else
      {
        const auto     *from = reinterpret_cast<const FourNodes *>(all) + 2 * std::int64_t(local);
        const FourNodes near = from[threadIdx.x % 2], far = from[1 - threadIdx.x % 2];
        Nodes           result;
        for (int i = 0; i < 4; ++i)
        {
          result.node[i]     = near.node[i];
          result.node[i + 4] = far.node[i];
        }
        return result;
      }
    }

    /** A thread's share of its cell while it waits for its turn. */
    struct Cell
    {
      unsigned int                  row[n / lanes]; ///< of the patch, or foreign
      unsigned int                  block[n_own];   ///< in which the pair is summed; two lanes: also of foreign ones
      PairEntries<n, lanes, Number> entries;
    };

    __device__ const Number *coefficients(const int local, const int q) const
    {
      return body.a.coefficients.at(body.a.batches, body.a.computed_batch, local, q);
    }

    /** What turns an inner product of gradients into an entry, volume included: finish() is linear. */
    static __device__ Number factor(const Number *coefficients)
    {
      return Form::finish(coefficients, SmallMatrix<1, 1, Number>{{{Number(Pairs::volume)}}})(0, 0);
    }
    __device__ Number factor(const int local, const int q) const
    {
      return body.a.coefficients.kind == CoefficientView<Number>::constant ? static_cast<Number>(constants().factor)
                                                                           : factor(coefficients(local, q));
    }

    /** The load times a node's share. */
    __device__ Number load(const int local, const int q) const
    {
      const AssemblyArguments<Number> &a = body.a;
      return a.load.kind <= CoefficientView<Number>::constant
                 ? static_cast<Number>(constants().load)
                 : a.load.at(a.batches, a.computed_batch, local, q)[0] * Number(Pairs::share);
    }

    __device__ void load_constants() const
    {
      const AssemblyArguments<Number> &a = body.a;
      if constexpr (moment_kind_of<Form> == MomentKind::inner_product)
        if (a.coefficients.kind == CoefficientView<Number>::constant)
          constants().factor = factor(a.coefficients.values[a.computed_batch]);
      constants().load = a.load.kind == CoefficientView<Number>::constant
                             ? a.load.values[a.computed_batch][0] * Number(Pairs::share)
                             : Number(0);
    }

    __device__ void compute(const int local, const Nodes &nodes, const Places places, Cell &cell) const
    {
      const AssemblyArguments<Number> &a      = body.a;
      const int                        first  = a.patches.first_row(patch);
      const unsigned int               n_rows = a.patches.end_row(patch) - first;
      // Of either memory by the same instruction, so that lanes do not take turns.
      const double *const own_points = points() - std::int64_t(first) * dim;
      double              x[n][dim];
      for (int i = 0; i < n; ++i)
      {
        const unsigned int row  = nodes.node[i] - first;
        const double      *from = (row < n_rows ? own_points : a.batches.points) + std::int64_t(nodes.node[i]) * dim;
        for (int d = 0; d < dim; ++d)
          x[i][d] = from[d];
      }
      Number from_first[n][dim];
      for (int i = 0; i < n; ++i)
        for (int d = 0; d < dim; ++d)
          from_first[i][d] = static_cast<Number>(x[i][d] - x[0][d]);
      Pairs::integrate(*this, from_first, local, cell.entries);
      unsigned int row[n];
      for (int i = 0; i < n; ++i)
      {
        row[i] = nodes.node[i] - first;
        row[i] = row[i] < n_rows ? row[i] : foreign;
      }
      if constexpr (lanes == 2)
      {
        for (int i = 0; i < n / 2; ++i)
          cell.row[i] = row[i];
        for (int k = 0; k < n_own; ++k)
          cell.block[k] = places[k];
      }
      else
      {
        unsigned int start[n];
        for (int i = 0; i < n; ++i)
        {
          cell.row[i] = row[i];
          start[i]    = row[i] != foreign ? static_cast<unsigned int>(scratch.start[row[i]]) : foreign;
        }
        for (int i = 0; i < n; ++i)
          for (int j = i + 1; j < n; ++j)
          {
            // Rows start one after the other, so that the first of two is the one that starts first.
            const int          pair  = PlacesView::pair_number(n, i, j);
            const unsigned int begin = min(start[i], start[j]);
            cell.block[pair]         = begin == foreign ? foreign : begin + places[pair];
          }
      }
    }

    /** Pairs of two lanes that are foreign meet at diagonals, which sum_diagonals() overwrites without reading them. */
    __device__ void add(const Cell &cell) const
    {
      if (body.with_matrix())
      {
        Number sum[n_own];
        for (int k = 0; k < n_own; ++k)
          if (lanes == 2 || cell.block[k] != foreign)
            sum[k] = scratch.blocks[cell.block[k]] + cell.entries.pair[k];
        for (int k = 0; k < n_own; ++k)
          if (lanes == 2 || cell.block[k] != foreign)
            scratch.blocks[cell.block[k]] = sum[k];
      }
      if (body.a.rhs != nullptr)
      {
        for (int i = 0; i < n / lanes; ++i)
          if (cell.row[i] != foreign)
            scratch.rhs[cell.row[i]] += cell.entries.load[i];
      }
    }

    /** The cells [@p begin, @p end) of the patch, which lanes of the warp have, level by level from @p level on. */
    __device__ void commit(int begin, const int end, int &level, const Cell &cell) const
    {
      const int lane = threadIdx.x % 32, mine = begin + lane / lanes;
      while (begin < end)
      {
        while (scratch.level_ends[level] <= begin)
          ++level;
        const int stop = min(scratch.level_ends[level], end);
        if (level > 0)
          added(level - 1).wait(0);
        if (mine >= begin && mine < stop)
          add(cell);
        __syncwarp();
        if (lane == 0)
          added(level).arrive(stop - begin);
        begin = stop;
      }
    }

    __device__ void run() const
    {
      add_all();
      if (threadIdx.x == 0)
        prefetch(patch + residency * n_multiprocessors());
      if (!body.with_matrix())
        return;
      body.mirror(patch, threadIdx.x, blockDim.x, scratch, [] { __syncthreads(); });
      __syncthreads();
      sum_diagonals();
    }

    __device__ void add_all() const
    {
      const AssemblyArguments<Number> &a       = body.a;
      const PatchesView               &p       = a.patches;
      const std::int64_t               offset  = p.cell_offsets[patch];
      const int                        n_cells = static_cast<int>(p.cell_offsets[patch + 1] - offset);
      const int                       *cells   = p.cells + offset;
      const auto      *places = static_cast<const Places *>(p.places.view.data) + offset * lanes + threadIdx.x % lanes;
      const BatchView &batch  = a.batches.batch[a.computed_batch];
      const int        rank = threadIdx.x / lanes, last = n_cells - 1, step = n_threads / lanes;
      if (rank / a_warp * a_warp >= n_cells)
        return;
      int        level    = 0;
      const auto local_of = [&](const int position) { return cells[min(position, last)] - batch.first_cell; };
      // Of the thread's next cells one is known by its nodes, and the one after it by its number.
      int   local = local_of(rank), next = local_of(rank + step);
      Nodes nodes = load_nodes(batch.nodes, local);
      for (int begin = rank / a_warp * a_warp; begin < n_cells; begin += step)
      {
        const int mine = begin + rank % a_warp;
        Cell      cell;
        if (lanes > 1) // they exchange sums, also where there is no cell
          compute(local, nodes, places[min(mine, last) * lanes], cell);
        else if (mine < n_cells)
          compute(local, nodes, places[mine], cell);
        local = next;
        nodes = load_nodes(batch.nodes, local);
        next  = local_of(mine + 2 * step);
        commit(begin, min(begin + a_warp, n_cells), level, cell);
      }
    }

    /** Of the device, or a few more. */
    static __device__ int n_multiprocessors()
    {
      int result;
      asm("mov.u32 %0, %%nsmid;" : "=r"(result));
      return result;
    }

    /** Lets what is read of far memory for patch @p later alone come into the second level of cache; by one thread. */
    __device__ void prefetch(const int later) const
    {
      const PatchesView &p = body.a.patches;
      if (later >= body.a.end_patch)
        return;
      // What lies on both sides of a multiple of 16 bytes belongs to the patches beside it, too.
      const auto list = [](const void *data, const std::int64_t begin, const std::int64_t end, const int size) {
        const std::int64_t first = begin * size / 16 * 16, last = end * size / 16 * 16;
        if (last > first)
          loads::prefetch(static_cast<const char *>(data) + first, static_cast<unsigned int>(last - first));
      };
      const std::int64_t begin = p.cell_offsets[later], end = p.cell_offsets[later + 1];
      const int          first = p.first_row(later), end_row = p.end_row(later);
      list(p.places.view.data, begin * lanes, end * lanes, sizeof(Places));
      list(p.cells, begin, end, sizeof(int));
      list(p.places.copies.data, p.places.copy_offsets[later], p.places.copy_offsets[later + 1],
           2 * p.places.copies.width);
      list(body.a.batches.points, first, end_row, dim * sizeof(double));
      list(p.row_offsets, first, end_row, sizeof(std::int64_t));
    }

    /** The rows of a cell add up to zero, and so do these. */
    __device__ void sum_diagonals() const
    {
      const int n_rows = body.a.patches.end_row(patch) - body.a.patches.first_row(patch);
      for (int row = threadIdx.x; row < n_rows; row += n_threads)
      {
        Number    sum      = Number(0);
        const int diagonal = scratch.start[row] + scratch.diagonal[row];
        for (int k = scratch.start[row]; k < scratch.start[row + 1]; ++k)
          if (k != diagonal)
            sum += scratch.blocks[k];
        scratch.blocks[diagonal] = Number(0) - sum;
      }
    }
  };

  /** What kernels of PairCells share, for places of 5 and of 8 bits. */
  template <typename Form, template <typename, typename, int> class Pairs, typename Number>
  struct PairsKernel : public AnyKernel
  {
    using Cells = PairCells<Pairs<Form, Number, 8>>;

    static constexpr bool possible = Form::n_components == 1 && is_symmetric<Form> && depends_on_gradients_only<Form>;

    static PatchRoom room(const KernelRequest &request)
    {
      const std::size_t share    = internal::share_of_memory(request, Cells::residency);
      const bool        is_ample = request.concurrent == 0 && share >= 4 * Cells::for_cache;
      return {share - (is_ample ? Cells::for_cache : 0), sizeof(typename Cells::Constants), Cells::bytes_per_row,
              Cells::bytes_per_level};
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      const typename Cells::Body body{a};
      const std::size_t          bytes = Cells::bytes(a);
      require(bytes <= internal::room_of_workers(body), internal::too_many_rows);
      require(Cells::lanes == 1 || a.patches.places.view.width == 2, internal::too_many_rows);
      if constexpr (Cells::lanes == 1)
        if (a.patches.places.pair_bits == 5)
          return internal::launch_patches<PairCells<Pairs<Form, Number, 5>>>(where, body, Cells::n_threads, bytes);
      internal::launch_patches<Cells>(where, body, Cells::n_threads, bytes);
    }
  };

  template <typename Form, typename Number>
  struct SimplicesKernel : public PairsKernel<Form, SimplexPairs, Number>
  {
    static constexpr const char *name = "linear simplices, a thread each";

    static bool serves(const KernelRequest &r)
    {
      return r.strategy == "patches" && r.reference.barycentric && r.points_are_nodes && !r.varying;
    }

    static void launch(const Cuda where, const AssemblyArguments<Number> &a)
    {
      if (a.load.varies_inside_cells())
        PairsKernel<Form, SimplexPairsOfVaryingLoads, Number>::launch(where, a);
      else
        PairsKernel<Form, SimplexPairs, Number>::launch(where, a);
    }
  };

  template <typename Form, typename Number>
  struct MultilinearKernel : public PairsKernel<Form, MultilinearPairs, Number>
  {
    static constexpr bool possible =
        PairsKernel<Form, MultilinearPairs, Number>::possible && moment_kind_of<Form> == MomentKind::inner_product;
    static constexpr const char *name = "multilinear cubes, pairs of nodes";

    static bool serves(const KernelRequest &r)
    {
      return r.strategy == "patches" && fits<MultilinearCube<Form::dimension>>(r) && r.reference.multilinear &&
             r.points_are_nodes;
    }
  };
} // namespace PatchFEM::kernels
