// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_elements.cuh"
#include "matrix_instructions.cuh"

#include <cuda_pipeline.h>

namespace PatchFEM::kernels
{
  /**
   * Matrices of any cells of a symmetric form whose moments are known, in double precision by matrix instructions. With
   * the real gradients g_d(i, q) of the shape functions times the root of the weight in real space they are
   *   sum_d sum_q g_d(i, q) g_d(j, q)           for inner products, where the root of the coefficient is in g too,
   *   G_cd(i, j) = sum_q g_c(i, q) g_d(j, q)    for outer ones, of which the form makes its blocks:
   * products of matrices with a row for each shape function, symmetric to the last bit. A warp maps a few cells, a lane to
   * a point, while the nodes of its next cells are on their way, then multiplies tiles of @p rows shape functions (8: all
   * there are) with themselves and others:
   *
   *   fast memory of a block    [i][q]: shape values; reference gradients [i][b][q]; those of the geometry
   *               of a warp     [cell]: g [d][i][q]; loads [q]; positions of nodes, of these cells and of the next
   *
   * @p extent: how many shape functions and points a cell has; 0: any number. A tile of quadrilaterals of degree 1 has
   * two cells. A triquadratic hexahedron takes 17 KB, some
   * 90,000 (elasticity: 260,000) multiply-adds, and 5.8 (54) KB to far memory.
   */
  template <typename Form, typename Number, int rows, int extent>
  struct StagedMoments
  {
    static constexpr int  dim = Form::dimension, n_comp = Form::n_components, n_block = n_comp * n_comp;
    static constexpr bool outer = moment_kind_of<Form> == MomentKind::outer_product;
    static constexpr int  n_i = rows > 16 ? rows / 16 : 1, n_j = outer ? 1 : rows / 8; ///< instructions of a tile
    static constexpr int  halves       = rows > 8 ? 2 : 1;                             ///< used of an instruction
    static constexpr int  cells_a_tile = extent == 4 ? 2 : 1; ///< whose products with each other are left out
    static constexpr int  most_warps   = rows == 8 ? 8 : 10;

    using Moments = typename Form::template Moments<double>;

    /** Numbers in fast memory. */
    struct Extents
    {
      int any_n, any_n_q, n_geometry;

      explicit Extents(const ReferenceView &r) : any_n(r.n_shape), any_n_q(r.n_quadrature), n_geometry(r.n_geometry) {}

      __host__ __device__ int n() const { return extent > 0 ? extent : any_n; }
      __host__ __device__ int n_q() const { return extent > 0 ? extent : any_n_q; }
      /// Of a row of g: odd multiples of 4 bring a tile's numbers to different banks.
      __host__ __device__ int q_stride() const { return ((n_q() + 3) / 4 | 1) * 4; }
      __host__ __device__ int direction() const { return n() * q_stride(); }
      __host__ __device__ int positions() const { return n_geometry * dim; }
      __host__ __device__ int cell() const // with two nodes to a number
      {
        return dim * direction() + n_comp * q_stride() + 2 * positions() + n_geometry;
      }
      __host__ __device__ int n_cells() const { return n_q() < 32 ? 32 / n_q() : 1; } ///< of a warp at once
      __host__ __device__ int lanes() const { return 32 / n_cells(); }                ///< of a cell
      __host__ __device__ int table() const { return direction() + (n() + n_geometry) * dim * n_q(); }

      __host__ __device__ std::size_t bytes(const int n_warps) const
      {
        // Tiles reach beyond the last row.
        return sizeof(double) * (table() + n_warps * n_cells() * cell() + rows * q_stride());
      }
    };

    const AssemblyArguments<Number> &a;
    const Extents                   &size;
    const double                    *table;
    double                          *cells; ///< of the warp

    static __device__ int lane() { return threadIdx.x % 32; }

    __device__ const BatchView &batch() const { return a.batches.batch[a.computed_batch]; }

    __device__ const double *reference_gradients() const { return table + size.direction(); }
    __device__ const double *geometry_gradients() const { return reference_gradients() + size.n() * dim * size.n_q(); }

    // What a cell has.
    __device__ double *gradients(const int cell) const { return cells + cell * size.cell(); }
    __device__ double *loads(const int cell) const { return gradients(cell) + dim * size.direction(); } ///< [component]
    __device__ double *positions(const int cell, const int parity) const
    {
      return loads(cell) + n_comp * size.q_stride() + parity * size.positions();
    }
    __device__ int *nodes(const int cell, const int parity) const
    {
      return reinterpret_cast<int *>(positions(cell, 2)) + parity * size.n_geometry;
    }

    /** All threads of the block. */
    static __device__ void tabulate(const ReferenceView &r, const Extents &size, double *table)
    {
      const int n = size.n(), n_q = size.n_q(), n_own = n * dim, n_all = n_own + size.n_geometry * dim;
      for (int item = threadIdx.x; item < size.direction(); item += blockDim.x)
      {
        const int i = item / size.q_stride(), q = item % size.q_stride();
        table[item] = q < n_q ? r.shape_values[q * n + i] : 0.;
      }
      for (int item = threadIdx.x; item < n_all * n_q; item += blockDim.x)
      {
        const int row = item / n_q, q = item % n_q;
        table[size.direction() + item] =
            row < n_own ? r.shape_gradients[q * n_own + row] : r.geometry_gradients[q * (n_all - n_own) + row - n_own];
      }
    }

    /** A lane's cell among those of the warp, and which of the cell's lanes it is; beyond n_cells(): none's. */
    struct Lane
    {
      int cell, rank;
    };

    /** Number in the batch of a lane's cell of a group; past the end the last one's. */
    __device__ int number(const Lane &l, const int group) const
    {
      const int slot = group * size.n_cells() + min(l.cell, size.n_cells() - 1);
      return a.staged[min(slot, a.n_staged - 1)] - batch().first_cell;
    }

    __device__ void fetch_nodes(const Lane &l, const int number, const int parity) const
    {
      if (l.cell < size.n_cells())
        for (int v = l.rank; v < size.n_geometry; v += size.lanes())
          __pipeline_memcpy_async(nodes(l.cell, parity) + v,
                                  batch().geometry + std::int64_t(number) * size.n_geometry + v, sizeof(int));
    }

    __device__ void fetch_positions(const Lane &l, const int parity) const
    {
      if (l.cell < size.n_cells())
        for (int x = l.rank; x < size.positions(); x += size.lanes())
          __pipeline_memcpy_async(positions(l.cell, parity) + x,
                                  a.batches.points + std::int64_t(nodes(l.cell, parity)[x / dim]) * dim + x % dim,
                                  sizeof(double));
    }

    /** Which points of the cells are summed: where the form's factor is positive, or, to be subtracted, negative. */
    enum class Points
    {
      positive,
      negative
    };

    /** Real gradients and loads at the points of a lane's cell, which has this number. Whether points are left out. */
    __device__ bool map(const Lane  &l,
                        const int    number,
                        const int    parity,
                        const Points points,
                        const bool   with_matrix,
                        const bool   loaded) const
    {
      const int     n = size.n(), n_q = size.n_q();
      const double *geometry = geometry_gradients(), *x = positions(l.cell, parity);
      bool          left_out = false;
      if (l.cell < size.n_cells())
        for (int q = l.rank; q < n_q; q += size.lanes())
        {
          SmallMatrix<dim, dim, double> J{};
          for (int v = 1; v < size.n_geometry; ++v) // relative to the first
            for (int c = 0; c < dim; ++c)
            {
              const double distance = x[v * dim + c] - x[c];
              for (int b = 0; b < dim; ++b)
                J(c, b) += distance * geometry[(v * dim + b) * n_q + q];
            }
          const double det = determinant(J), weight = det * batch().reference.weights[q];
          if (loaded)
          {
            const Number *f = a.load.at(a.batches, a.computed_batch, number, q);
            for (int c = 0; c < n_comp; ++c)
              loads(l.cell)[c * size.q_stride() + q] = weight * f[c];
          }
          if (!with_matrix)
            continue;
          double scale = weight;
          if constexpr (!outer) // the form is linear in a moment
            scale = finish(a.coefficients.at(a.batches, a.computed_batch, number, q), Moments{{{weight}}})(0, 0);
          if (points == Points::negative)
            scale = -scale;
          left_out |= scale < 0.;
          auto         inverse = adjugate(J);
          const double factor  = scale < 0. ? 0. : sqrt(scale) / det; // not a number remains what it is
          for (int b = 0; b < dim; ++b)
            for (int d = 0; d < dim; ++d)
              inverse(b, d) *= factor;
          const double *from = reference_gradients() + q;
          double       *to   = gradients(l.cell) + q;
#pragma unroll 9
          for (int i = 0; i < n; ++i)
          {
            double reference[dim];
            for (int b = 0; b < dim; ++b)
              reference[b] = from[(i * dim + b) * n_q];
            for (int d = 0; d < dim; ++d)
            {
              double sum = inverse(0, d) * reference[0];
              for (int b = 1; b < dim; ++b)
                sum += inverse(b, d) * reference[b];
              to[d * size.direction() + i * size.q_stride()] = sum;
            }
          }
        }
      return __any_sync(WholeWarp::mask(), left_out);
    }

    static __device__ auto finish(const Number *coefficients, const Moments &moments)
    {
      double k[Form::n_coefficients];
      for (int e = 0; e < Form::n_coefficients; ++e)
        k[e] = coefficients[e];
      return Form::finish(k, moments);
    }

    /** A lane's numbers of a step over @p depth points in an instruction's left and right side. */
    template <int depth>
    struct Step
    {
      double left[depth / 2], right[depth / 4];

      /** Where all shape functions are in 8 rows, the other ones are 0. */
      __device__ void load_left(const double *g, const int q_stride)
      {
        for (int k = 0; k < depth / 4; ++k)
        {
          left[2 * k]     = g[4 * k];
          left[2 * k + 1] = rows > 8 ? g[4 * k + 8 * q_stride] : 0.;
        }
      }
      __device__ void load_right(const double *g)
      {
        for (int k = 0; k < depth / 4; ++k)
          right[k] = g[4 * k];
      }
    };

    static __device__ void multiply(double (&sum)[4], const Step<8> &i, const Step<8> &j)
    {
      multiply_add(sum, i.left, j.right);
    }
    static __device__ void multiply(double (&sum)[4], const Step<4> &i, const Step<4> &j)
    {
      multiply_add(sum, i.left, j.right[0]);
    }

    /** Calls @p step(depth, q) for all points, eight at a time and then four. */
    template <typename Function>
    __device__ void for_points(const Function &step) const
    {
      const int n_q = size.n_q();
#pragma unroll 1
      for (int q = 0; q + 4 < n_q; q += 8)
        step(std::integral_constant<int, 8>(), q);
      if (const int rest = n_q % 8; rest > 0 && rest <= 4)
        step(std::integral_constant<int, 4>(), n_q - rest);
    }

    /** Which of a tile's cells a lane's row is of. */
    static __device__ int cell_of_row()
    {
      return cells_a_tile > 1 ? lane() / 4 / extent : 0;
    }

    /**
     * The tile of shape functions from @p i0 and from @p j0 on of the lane's cell, which has this number and, if it
     * exists, a matrix @p out.
     */
    __device__ void tile(const int    cell,
                         const bool   exists,
                         const int    number,
                         const int    i0,
                         const int    j0,
                         const Points points,
                         Number      *out) const
    {
      constexpr int n_rows = cells_a_tile > 1 ? extent : 8; // of a cell
      const int     g = lane() / 4 % n_rows, t = lane() % 4, q_stride = size.q_stride(), direction = size.direction();
      const bool    own    = exists && 2 * t / n_rows == cell_of_row();
      const int     column = own ? j0 + 2 * t % n_rows : size.n();
      const double *left   = gradients(cell) + (i0 + g) * q_stride + t,
                   *right  = gradients(cell) + (j0 + g) * q_stride + t;
      if constexpr (outer)
      {
        double G[dim][dim][4] = {};
        for_points([&](const auto depth, const int q) {
          Step<depth> i[dim], j[dim];
          for (int d = 0; d < dim; ++d)
          {
            i[d].load_left(left + d * direction + q, q_stride);
            j[d].load_right(right + d * direction + q);
          }
          for (int c = 0; c < dim; ++c)
            for (int d = 0; d < dim; ++d)
              multiply(G[c][d], i[c], j[d]);
        });
        const Number *coefficients = a.coefficients.at(a.batches, a.computed_batch, number, 0);
        for (int h = 0; h < halves; ++h)
        {
          SmallMatrix<n_comp, n_comp, double> block[2];
          for (int s = 0; s < 2; ++s)
          {
            Moments moments;
            for (int c = 0; c < dim; ++c)
              for (int d = 0; d < dim; ++d)
                moments(c, d) = G[c][d][2 * h + s];
            block[s] = finish(coefficients, moments);
          }
          store(i0 + g + 8 * h, column, block, points, out);
        }
      }
      else
      {
        double K[n_i][n_j][4] = {};
#pragma unroll(extent > 0 && extent < 16 ? dim : 1)
        for (int d = 0; d < dim; ++d)
          for_points([&](const auto depth, const int q) {
            Step<depth> i[n_i], j[n_j];
            for (int k = 0; k < n_i; ++k)
              i[k].load_left(left + d * direction + k * 16 * q_stride + q, q_stride);
            for (int l = 0; l < n_j; ++l)
              j[l].load_right(right + d * direction + l * 8 * q_stride + q);
            for (int k = 0; k < n_i; ++k)
              for (int l = 0; l < n_j; ++l)
                multiply(K[k][l], i[k], j[l]);
          });
        PATCHFEM_UNROLL
        for (int k = 0; k < n_i; ++k)
          PATCHFEM_UNROLL
        for (int h = 0; h < halves; ++h)
          PATCHFEM_UNROLL
        for (int l = 0; l < n_j; ++l)
          store(i0 + 16 * k + 8 * h + g, column + 8 * l, {{{{K[k][l][2 * h]}}}, {{{K[k][l][2 * h + 1]}}}}, points, out);
      }
    }

    struct __align__(2 * sizeof(Number)) Two
    {
      Number entry[2];
    };

    /** Blocks (i, j) and (i, j + 1) for an even @p j, where AssemblyArguments::staged_entry() says. */
    __device__ void store(const int i,
                          const int j,
                          const SmallMatrix<n_comp, n_comp, double> (&block)[2],
                          const Points points,
                          Number      *out) const
    {
      const int n = size.n(), n_columns = PatchRoom::even(n);
      if (i >= n || j >= n)
        return;
      for (int e = 0; e < n_block; ++e)
      {
        Two two;
        for (int s = 0; s < 2; ++s)
          two.entry[s] = static_cast<Number>(block[s](e / n_comp, e % n_comp));
        if (a.patches.staged_pairs != nullptr)
        {
          Two &to = *reinterpret_cast<Two *>(out + (i * n_block + e) * n_columns + j);
          if (points == Points::negative)
            two = {{to.entry[0] - two.entry[0], to.entry[1] - two.entry[1]}};
          to = two;
        }
        else
          for (int s = 0; s < 2 && j + s < n; ++s)
          {
            Number &to = out[(i * n + j + s) * n_block + e];
            to         = points == Points::negative ? to - two.entry[s] : two.entry[s];
          }
      }
    }

    /** int f phi_i of @p n_cells of the warp's cells: shape values times loads, of which each is a column. */
    __device__ void store_loads(const int n_cells, Number *out) const
    {
      const int g = lane() / 4, t = lane() % 4, n = size.n(), q_stride = size.q_stride();
      for (int first = 0; first < n_cells * n_comp; first += 8)
      {
        const int     column = min(first + g, n_cells * n_comp - 1);
        const double *right  = loads(column / n_comp) + column % n_comp * q_stride + t;
        for (int i0 = 0; i0 < n; i0 += 8 * halves)
        {
          double F[4] = {};
          for_points([&](const auto depth, const int q) {
            Step<depth> step;
            step.load_left(table + (i0 + g) * q_stride + t + q, q_stride);
            step.load_right(right + q);
            multiply(F, step, step);
          });
          for (int e = 0; e < 2 * halves; ++e)
            if (const int i = i0 + g + e / 2 * 8, its = first + 2 * t + e % 2; i < n && its < n_cells * n_comp)
              out[(its / n_comp * n + i) * n_comp + its % n_comp] = static_cast<Number>(F[e]);
        }
      }
    }

    /** Warp @p first of @p n_warps of the grid. */
    __device__ void run(const int first, const int n_warps, const bool loaded) const
    {
      const bool         with_matrix = a.matrix.format != MatrixTarget<Number>::none;
      const int          n = size.n(), n_cells = size.n_cells();
      const std::int64_t cell_numbers = a.staged_entry(1, n, 0, 0, n_block, 0) - a.staged_matrix;
      const Lane         l{lane() / size.lanes(), lane() % size.lanes()};
      for (int k = lane(); k < n_cells * size.cell(); k += 32)
        cells[k] = 0.; // what fills up the points to whole steps stays so
      __syncwarp();
      int parity = 0, now = number(l, first), next = number(l, first + n_warps), after = number(l, first + 2 * n_warps);
      fetch_nodes(l, now, 0);
      fetch_nodes(l, next, 1);
      __pipeline_commit();
      __pipeline_wait_prior(0);
      __syncwarp();
      fetch_positions(l, 0);
      __pipeline_commit();
      for (int group = first; group * n_cells < a.n_staged; group += n_warps, parity ^= 1)
      {
        __pipeline_wait_prior(0);
        __syncwarp();
        fetch_positions(l, parity ^ 1);
        fetch_nodes(l, after, parity);
        __pipeline_commit();
        const int          n_here = min(n_cells, a.n_staged - group * n_cells);
        const std::int64_t slot   = std::int64_t(group) * n_cells;
        bool               more   = false;
        for (Points points = Points::positive;; points = Points::negative)
        {
          more = map(l, now, parity, points, with_matrix, loaded) && points == Points::positive;
          __syncwarp();
          if (with_matrix)
#pragma unroll 1
            for (int begin = 0; begin < n_here; begin += cells_a_tile)
            {
              const bool exists = begin + cell_of_row() < n_here;
              const int  cell   = exists ? begin + cell_of_row() : begin;
              const int  number = __shfl_sync(WholeWarp::mask(), now, cell * size.lanes());
              Number    *out    = a.buffer_matrix + a.staged_matrix + (slot + cell) * cell_numbers;
#pragma unroll 1
              for (int i0 = 0; i0 < n; i0 += rows)
#pragma unroll 1
                for (int j0 = 0; j0 < n; j0 += 8 * n_j)
                  tile(cell, exists, number, i0, j0, points, out);
            }
          if (!more)
            break;
          __syncwarp();
        }
        if (loaded)
          store_loads(n_here, a.buffer_vector + a.staged_vector + slot * (n * n_comp));
        __syncwarp();
        now   = next;
        next  = after;
        after = number(l, group + 3 * n_warps);
      }
    }
  };

  namespace internal
  {
    template <typename Form, typename Number, int rows, int extent>
    __global__ void __launch_bounds__(StagedMoments<Form, Number, rows, extent>::most_warps * 32)
        stage_moments_kernel(const __grid_constant__ AssemblyArguments<Number>                                   a,
                             const __grid_constant__ typename StagedMoments<Form, Number, rows, extent>::Extents size,
                             const bool                                                                          loaded)
    {
      using Cells = StagedMoments<Form, Number, rows, extent>;
      extern __shared__ __align__(16) unsigned char memory[];
      auto                                         *table   = reinterpret_cast<double *>(memory);
      const int                                     n_warps = blockDim.x / 32, warp = threadIdx.x / 32;
      let_next_begin();
      Cells::tabulate(a.batches.batch[a.computed_batch].reference, size, table);
      wait_for_previous();
      __syncthreads();
      const Cells cells{a, size, table, table + size.table() + warp * size.n_cells() * size.cell()};
      cells.run(blockIdx.x * n_warps + warp, gridDim.x * n_warps, loaded);
    }
  } // namespace internal

  template <typename Form, typename Number, int rows, int extent>
  struct StagedMomentsKernel : public AnyKernel
  {
    static constexpr bool outer  = moment_kind_of<Form> == MomentKind::outer_product;
    static constexpr bool stages = true;
    /// Chunks of the smallest matrices are so short that their ramps count: 3.3 G cells a second in place of 3.1 (H100).
    static constexpr double buffer_share = Form::dimension == 2 && !outer ? PatchRoom::planar_share : 0.25;

    using Cells = StagedMoments<Form, Number, rows, extent>;

    static bool serves(const KernelRequest &r)
    {
      return r.stages && !r.one_point && !(outer && r.varying) &&
             (extent == 0 || (r.reference.n_shape == extent && r.reference.n_quadrature == extent)) &&
             typename Cells::Extents(r.reference).bytes(1) <= r.fast_memory;
    }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      const typename Cells::Extents size(a.batches.batch[a.computed_batch].reference);
      const auto                    kernel  = internal::stage_moments_kernel<Form, Number, rows, extent>;
      int                           n_warps = Cells::most_warps, residency = 0;
      while (n_warps > 1 && size.bytes(n_warps) > a.multiprocessor_memory)
        --n_warps;
      const std::size_t bytes = size.bytes(n_warps);
      PATCHFEM_CUDA_CHECK(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
      PATCHFEM_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&residency, kernel, n_warps * 32, bytes));
      const int n_groups = (a.n_staged + size.n_cells() - 1) / size.n_cells();
      const int n_blocks =
          std::min((n_groups + n_warps - 1) / n_warps, internal::multiprocessor_count() * std::max(residency, 1));
      if (n_blocks > 0)
        internal::launch<true>(where, kernel, n_blocks, n_warps * 32, bytes, a, size,
                               a.rhs != nullptr && a.load.kind != CoefficientView<Number>::none);
      AssemblyArguments<Number> others = a;
      others.n_staged                  = 0;
      ElementsKernel<Form, Number>::launch(where, others);
    }
  };

  /** Kernels for quadrilaterals of degrees 1 and 2, or hexahedra of degree 2, and for any cells. */
  template <typename Form, typename Number>
  auto moments_kernels()
  {
    constexpr MomentKind kind  = moment_kind_of<Form>;
    constexpr bool       outer = kind == MomentKind::outer_product;
    constexpr int        most  = outer ? 16 : 32;
    if constexpr (!is_symmetric<Form> || (kind != MomentKind::inner_product && !outer) ||
                  (!outer && Form::n_components > 1))
      return std::tuple<>();
    else if constexpr (Form::dimension == 2)
      return std::tuple<StagedMomentsKernel<Form, Number, 8, 4>, StagedMomentsKernel<Form, Number, 16, 9>,
                        StagedMomentsKernel<Form, Number, most, 0>>();
    else
      return std::tuple<StagedMomentsKernel<Form, Number, most, 27>, StagedMomentsKernel<Form, Number, most, 0>>();
  }
} // namespace PatchFEM::kernels
