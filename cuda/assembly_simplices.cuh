// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_cells.cuh"

#include <type_traits>

namespace PatchFEM::kernels
{
  /**
   * Barycentric simplices whose points are numbered as nodes, a symmetric form with one component that depends on gradients alone, and data that do not
   * vary inside cells: a thread computes a cell. With e_i = x_i - x_0 the gradients are c_i / det, where c_i are the
   * cofactors of (e_1, ..., e_dim) and c_0 = -(c_1 + ... + c_dim). Each pair of nodes is summed once (PlacesView).
   * Since gradients add up to zero, so do the rows of a cell, and a diagonal entry is minus the sum of the others.
   *
   * A warp takes 32 consecutive cells at a time and adds those of a level once all cells of the levels before are
   * added, which a barrier for each level tells. Warps share no other barrier: some compute while others add.
   */
  template <typename Form, typename Number, int pair_bits>
  struct SimplexCells
  {
    static constexpr int dim = Form::dimension, n = dim + 1, n_pairs = n * dim / 2;
    /// Three blocks at once, with 384 rows of tetrahedra in each. On an H200 four with fewer rows or registers were
    /// slower, and so were more rows, which leave little to the first level of cache.
    static constexpr int          n_threads = 256, residency = 3;
    static constexpr bool         overlaps = false;
    static constexpr unsigned int foreign  = 1u << 31; ///< in place of a row or a block

    using Body    = PatchBody<1, Number>;
    using Scratch = typename Body::Scratch;
    using Word    = std::conditional_t<n == 4 && pair_bits == 8,
                                    std::uint64_t,
                                    std::conditional_t<n == 3 && pair_bits == 5, std::uint16_t, std::uint32_t>>;

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

    /** Of a cell, loaded at once where it is a power of two. */
    struct alignas(n == 4 ? 16 : 4) Nodes
    {
      int node[n];
    };

    /** A thread's cell while it waits for its turn. */
    struct Cell
    {
      unsigned int row[n];         ///< of the patch, or foreign
      unsigned int block[n_pairs]; ///< of the patch that sums the pair, or foreign
      Number       value[n_pairs];
      Number       load;
    };

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

    /** Of the reference cell. */
    static __device__ Number volume() { return Number(1) / Number(dim == 2 ? 2 : 6); }

    static constexpr bool scales_products = moment_kind_of<Form> == MomentKind::inner_product;

    /** What turns det (grad phi_i . grad phi_j) into an entry: finish() is linear. */
    static __device__ Number factor(const Number *coefficients)
    {
      return Form::finish(coefficients, SmallMatrix<1, 1, Number>{{{volume()}}})(0, 0);
    }

    __device__ bool same_coefficients() const { return body.a.coefficients.kind == CoefficientView<Number>::constant; }
    __device__ bool same_load() const { return body.a.load.kind <= CoefficientView<Number>::constant; }

    __device__ void load_constants() const
    {
      const AssemblyArguments<Number> &a = body.a;
      if constexpr (scales_products)
        if (same_coefficients())
          constants().factor = factor(a.coefficients.values[a.computed_batch]);
      constants().load = Number(0);
      if (a.load.kind == CoefficientView<Number>::constant)
        constants().load = a.load.values[a.computed_batch][0] * (volume() / Number(n));
    }

    /** Entries of the pairs of nodes from the cofactors. */
    __device__ void
    integrate(const Number (&c)[n][dim], const Number det, const int local, Number (&value)[n_pairs]) const
    {
      const AssemblyArguments<Number> &a            = body.a;
      const Number                     one_over_det = Number(1) / det;
      if constexpr (scales_products)
      {
        const Number scale =
            one_over_det * (same_coefficients() ? static_cast<Number>(constants().factor)
                                                : factor(a.coefficients.at(a.batches, a.computed_batch, local, 0)));
        for (int i = 0; i < n; ++i)
          for (int j = i + 1; j < n; ++j)
          {
            Number sum = c[i][0] * c[j][0];
            for (int d = 1; d < dim; ++d)
              sum += c[i][d] * c[j][d];
            value[PlacesView::pair_number(n, i, j)] = scale * sum;
          }
      }
      else
      {
        const Number              *coefficients = a.coefficients.at(a.batches, a.computed_batch, local, 0);
        ShapeFunction<dim, Number> shape[n];
        for (int i = 0; i < n; ++i)
        {
          shape[i].value = Number(1) / Number(n);
          for (int d = 0; d < dim; ++d)
            shape[i].gradient[d] = one_over_det * c[i][d];
        }
        for (int i = 0; i < n; ++i)
          for (int j = i + 1; j < n; ++j)
            value[PlacesView::pair_number(n, i, j)] =
                det * volume() * Form::matrix(coefficients, shape[i], shape[j])(0, 0);
      }
    }

    __device__ void compute(const int local, const Nodes &nodes, const Word word, Cell &cell) const
    {
      const AssemblyArguments<Number> &a      = body.a;
      const int                        first  = a.patches.first_row(patch);
      const unsigned int               n_rows = a.patches.end_row(patch) - first;
      double                           x[n][dim];
      for (int i = 0; i < n; ++i)
      {
        const unsigned int row = nodes.node[i] - first;
        if (row < n_rows)
        {
          for (int d = 0; d < dim; ++d)
            x[i][d] = points()[row * dim + d];
        }
        else
        {
          const double *point = a.batches.points + std::int64_t(nodes.node[i]) * dim;
          for (int d = 0; d < dim; ++d)
            x[i][d] = point[d];
        }
      }
      Number e[n][dim], c[n][dim];
      for (int i = 1; i < n; ++i)
        for (int d = 0; d < dim; ++d)
          e[i][d] = static_cast<Number>(x[i][d] - x[0][d]);
      const Number det = cofactors(e, c);
      cell.load        = det * (same_load() ? static_cast<Number>(constants().load)
                                            : a.load.at(a.batches, a.computed_batch, local, 0)[0] * (volume() / Number(n)));
      if (body.with_matrix())
        integrate(c, det, local, cell.value);
      unsigned int start[n];
      for (int i = 0; i < n; ++i)
      {
        const unsigned int row = nodes.node[i] - first;
        cell.row[i]            = row < n_rows ? row : foreign;
        start[i]               = row < n_rows ? static_cast<unsigned int>(scratch.start[row]) : foreign;
      }
      for (int i = 0; i < n; ++i)
        for (int j = i + 1; j < n; ++j)
        {
          // Rows start one after the other, so that the first of two is the one that starts first.
          const int          pair  = PlacesView::pair_number(n, i, j);
          const unsigned int begin = min(start[i], start[j]);
          cell.block[pair] =
              begin == foreign
                  ? foreign
                  : begin + (static_cast<unsigned int>(word >> (pair_bits * pair)) & ((1u << pair_bits) - 1u));
        }
    }

    __device__ void add(const Cell &cell) const
    {
      if (body.with_matrix())
      {
        Number sum[n_pairs];
        for (int k = 0; k < n_pairs; ++k)
          if (cell.block[k] != foreign)
            sum[k] = scratch.blocks[cell.block[k]] + cell.value[k];
        for (int k = 0; k < n_pairs; ++k)
          if (cell.block[k] != foreign)
            scratch.blocks[cell.block[k]] = sum[k];
      }
      if (body.a.rhs != nullptr)
      {
        for (int i = 0; i < n; ++i)
          if (cell.row[i] != foreign)
            scratch.rhs[cell.row[i]] += cell.load;
      }
    }

    /** The cells [@p begin, @p end) of the patch, which the lanes of the warp have, level by level from @p level on. */
    __device__ void commit(int begin, const int end, int &level, const Cell &cell) const
    {
      const int lane = threadIdx.x % 32, mine = begin + lane;
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
      if (!body.with_matrix())
        return;
      __syncthreads();
      body.mirror(patch, threadIdx.x, blockDim.x, scratch);
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
      const Word                      *words   = static_cast<const Word *>(p.places.view.data) + offset;
      const BatchView                 &batch   = a.batches.batch[a.computed_batch];
      const int                        rank = threadIdx.x, last = n_cells - 1;
      if (rank / 32 * 32 >= n_cells)
        return;
      int        level    = 0;
      const auto local_of = [&](const int position) { return cells[min(position, last)] - batch.first_cell; };
      // Of the thread's next cells one is known by its nodes, and the one after it by its number.
      const auto *all_nodes = reinterpret_cast<const Nodes *>(batch.nodes);
      int         local = local_of(rank), next = local_of(rank + n_threads);
      Nodes       nodes = all_nodes[local];
      for (int begin = rank / 32 * 32; begin < n_cells; begin += n_threads)
      {
        const int mine = begin + rank % 32;
        Cell      cell;
        if (mine < n_cells)
          compute(local, nodes, words[mine], cell);
        local = next;
        nodes = all_nodes[local];
        next  = local_of(mine + 2 * n_threads);
        commit(begin, min(begin + 32, n_cells), level, cell);
      }
    }

    /** The rows of a cell add up to zero, and so do these. Diagonal entries are 0 before. */
    __device__ void sum_diagonals() const
    {
      const int n_rows = body.a.patches.end_row(patch) - body.a.patches.first_row(patch);
      for (int row = threadIdx.x; row < n_rows; row += n_threads)
      {
        Number sum = Number(0);
        for (int k = scratch.start[row]; k < scratch.start[row + 1]; ++k)
          sum += scratch.blocks[k];
        scratch.blocks[scratch.start[row] + scratch.diagonal[row]] = Number(0) - sum;
      }
    }
  };

  template <typename Form, typename Number>
  struct SimplicesKernel : public AnyKernel
  {
    static constexpr bool        possible = Form::n_components == 1 && is_symmetric<Form>;
    static constexpr const char *name     = "linear simplices, a thread each";

    using Cells = SimplexCells<Form, Number, 5>;

    static bool serves(const KernelRequest &r)
    {
      return r.strategy == "patches" && fits<LinearSimplex<Form::dimension>>(r) && r.points_are_nodes;
    }

    static PatchRoom room(const KernelRequest &request)
    {
      return {internal::share_of_memory(request, Cells::residency),
              CellsKernel<Form, Number, AnyExtents>::least_bytes(request.reference), // if data vary inside cells
              Cells::bytes_per_row, Cells::bytes_per_level};
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      const typename Cells::Body body{a};
      const std::size_t          bytes = Cells::bytes(a);
      require(bytes <= internal::room_of_workers(body), internal::too_many_rows);
      if (a.patches.places.pair_bits == 5)
        internal::launch_patches<SimplexCells<Form, Number, 5>>(where, body, Cells::n_threads, bytes);
      else
        internal::launch_patches<SimplexCells<Form, Number, 8>>(where, body, Cells::n_threads, bytes);
    }
  };
} // namespace PatchFEM::kernels
