// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "check.cuh"
#include "loads.cuh"
#include "product.cuh"
#include "tuning.cuh"

#include <patchfem/kernels/matrix_views.h>

namespace PatchFEM::product
{
  /**
   * Tuned product: BR x BC blocks in slices of @p height block rows or, where that is 0, of any height of which
   * rows_per_thread is a divisor; @p Tuning as in tuning.cuh. A thread holds BR / parts scalar rows of rows_per_thread
   * neighbouring block rows; threads 32 / rows_per_thread further hold what is left of the blocks. For each block
   * column half a warp or a whole one reads 32 columns and 32 values per entry, each value once, contiguous in slices
   * of 32 or more; from lower ones pieces as long as a slice is high, whole sectors of 32 bytes from 8 on. Loads of
   * `unroll` blocks are issued before the first is used. Compulsory traffic per block row:
   * width * (BR * BC * sizeof(Value) + 4) in, (BC + BR) * sizeof(Number) for source and destination; columns and source
   * are read by every part, from caches after the first. Scalar rows read 2 bytes instead of 4 in slices whose columns
   * are known by steps of 16 bits. With skip_padding, threads stop at the end of their longest row (ELLPACK-R).
   */
  template <int height, int BR, int BC, typename Tuning, typename Value, typename Number, typename Target>
  __global__ void __launch_bounds__(block_size, Tuning::residency) sliced_ellpack_tuned(
      const SlicedEllpackView<Value> A, const Number *__restrict__ x, const Target target, const Blocks launched)
  {
    constexpr int parts = Tuning::parts, rows_per_thread = Tuning::rows_per_thread, unroll = Tuning::unroll;
    static_assert(BR % parts == 0 && 32 % rows_per_thread == 0 && height % rows_per_thread == 0,
                  "threads share blocks and slices evenly");
    static_assert(unroll <= 8, "what is left behind the last full group is up to 4, 2 and 1 blocks");
    using Sum = typename Target::Sum;
    if (skip(target))
      return;
    constexpr int      held   = BR / parts; // scalar rows of a block
    constexpr int      lanes  = 32 / rows_per_thread;
    const std::int64_t thread = launched.thread();
    const int          first  = static_cast<int>(thread / lanes % parts) * held;
    const std::int64_t row    = thread / (parts * lanes) * 32 + static_cast<int>(thread % lanes) * rows_per_thread;
    double             total  = 0.;
    if (row < A.n_rows)
    {
      // The end of a row is counted in blocks where the height is known, else in slots of the slice: no division.
      using Count              = std::conditional_t<height == 0, std::int64_t, int>;
      const int          h     = height > 0 ? height : A.slice_height;
      const int          slice = static_cast<int>(static_cast<unsigned int>(row) / static_cast<unsigned int>(h));
      const int          r_0   = static_cast<int>(row) - slice * h;
      const std::int64_t begin = A.slice_offsets[slice];
      const Count        one   = height > 0 ? 1 : h;
      Count              left  = static_cast<Count>((A.slice_offsets[slice + 1] - begin) / (height > 0 ? height : 1));
      const int         *c     = A.columns + begin + r_0;
      const Value       *v     = A.values + begin * (BR * BC) + std::int64_t(first * BC) * h + r_0;
      if constexpr (height == 0)
        if (A.skip_padding)
        {
          int longest = 0;
#pragma unroll
          for (int r = 0; r < rows_per_thread; ++r)
            longest = max(longest, row + r < A.n_rows ? __ldg(A.row_lengths + row + r) : 0);
          left = std::int64_t(longest) * h;
        }

      Sum sums[rows_per_thread][held];
#pragma unroll
      for (int r = 0; r < rows_per_thread; ++r)
#pragma unroll
        for (int a = 0; a < held; ++a)
          sums[r][a] = 0;

      // The columns of n blocks: loads first, so that they are on their way together.
      Pack<int, rows_per_thread> last; // column of the block before, where columns are known by steps
      const std::uint16_t       *steps = nullptr;
      const auto                 plain = [&](auto count, auto &column) {
        constexpr int n = decltype(count)::value;
#pragma unroll
        for (int k = 0; k < n; ++k)
          loads::stream(column[k], c + std::int64_t(k) * h);
        c += std::int64_t(n) * h;
        return [] {};
      };
      const auto by_steps = [&](auto count, auto &column) {
        constexpr int                        n = decltype(count)::value;
        Pack<std::uint16_t, rows_per_thread> step[n];
#pragma unroll
        for (int k = 0; k < n; ++k)
          loads::stream(step[k], steps + k * h);
        steps += n * h;
        return [&column, &last, step] {
#pragma unroll
          for (int k = 0; k < n; ++k)
#pragma unroll
            for (int r = 0; r < rows_per_thread; ++r)
              column[k][r] = last[r] += step[k][r];
        };
      };
      const auto blocks = [&](auto count, const auto &load_columns) {
        constexpr int                n = decltype(count)::value;
        Pack<int, rows_per_thread>   column[n];
        Pack<Value, rows_per_thread> value[n][held * BC];
        const auto                   decode = load_columns(count, column);
#pragma unroll
        for (int k = 0; k < n; ++k)
#pragma unroll
          for (int e = 0; e < held * BC; ++e)
            loads::stream(value[k][e], v + std::int64_t(k * BR * BC + e) * h);
        decode();
#pragma unroll
        for (int k = 0; k < n; ++k)
#pragma unroll
          for (int r = 0; r < rows_per_thread; ++r)
          {
            const Number *source = x + std::int64_t(column[k][r]) * BC;
#pragma unroll
            for (int b = 0; b < BC; ++b)
            {
              const Sum x_b = static_cast<Sum>(__ldg(source + b));
#pragma unroll
              for (int a = 0; a < held; ++a)
                sums[r][a] += static_cast<Sum>(value[k][a * BC + b][r]) * x_b;
            }
          }
        v += std::int64_t(n * BR * BC) * h;
      };
      // What is left behind the last full group goes in groups of half as many, and so on: rows may be short.
      const auto all_blocks = [&](const auto &load_columns) {
        using std::integral_constant;
        for (; left >= unroll * one; left -= unroll * one)
          blocks(integral_constant<int, unroll>(), load_columns);
        if (unroll > 4 && left >= 4 * one)
        {
          blocks(integral_constant<int, (unroll > 4 ? 4 : 1)>(), load_columns);
          left -= 4 * one;
        }
        if (unroll > 2 && left >= 2 * one)
        {
          blocks(integral_constant<int, (unroll > 2 ? 2 : 1)>(), load_columns);
          left -= 2 * one;
        }
        if (unroll > 1 && left > 0)
          blocks(integral_constant<int, 1>(), load_columns);
      };
      bool stepwise = false;
      if constexpr (BR == 1 && BC == 1 && height == 32)
        if (A.column_steps != nullptr && left > 0)
        {
          steps    = A.column_steps + begin + r_0;
          stepwise = *steps == 1;
          loads::stream(last, c);
#pragma unroll
          for (int r = 0; r < rows_per_thread; ++r)
            --last[r];
        }
      if (stepwise)
        all_blocks(by_steps);
      else
        all_blocks(plain);

#pragma unroll
      for (int r = 0; r < rows_per_thread; ++r)
        if (row + r < A.n_rows)
#pragma unroll
          for (int a = 0; a < held; ++a)
            total += target.use((row + r) * BR + first + a, sums[r][a]);
    }
    finish<block_size>(target, total, launched);
  }

  /** How many sets of rows a warp takes: with the eight warps of a block at least kernels::cg_rows_per_partial. */
  template <int BR, int blocks>
  constexpr int sets_of_block_rows()
  {
    constexpr int rows_of_set = 32 / (BR * blocks) * BR * (tuning::block_size / 32);
    return (kernels::cg_rows_per_partial + rows_of_set - 1) / rows_of_set;
  }

  /**
   * Slices of one row, which are compressed rows of BR x BC blocks. BR * blocks lanes walk along a row of blocks, each
   * with a scalar row of one block at a time, so that they read its values as they stand in memory; at its end
   * their sums are added up from lane to lane. `unroll` blocks of a lane are on their way together. So that no more sums
   * are left of a block of threads than cg_n_partials() has room for, a warp takes several rows, one set of
   * them after the other. Pieces begin inside of sectors: they go through the first-level cache.
   */
  template <int BR, int BC, int blocks, int unroll, typename Value, typename Number, typename Target>
  __global__ void __launch_bounds__(block_size, 4) block_rows(const SlicedEllpackView<Value> A,
                                                              const Number *__restrict__ x,
                                                              const Target target,
                                                              const Blocks launched)
  {
    using Sum = typename Target::Sum;
    if (skip(target))
      return;
    constexpr int      wide  = BC % 2 == 0 ? 2 : 1; // of a load
    constexpr int      lanes = BR * blocks, rows_at_once = 32 / lanes, n_sets = sets_of_block_rows<BR, blocks>();
    const int          lane  = threadIdx.x % 32;
    const int          block = lane % lanes / BR; // among those side by side
    const int          a     = lane % BR;
    const std::int64_t warp  = launched.thread() / 32;
    const std::int64_t first = warp * (n_sets * rows_at_once) + lane / lanes;
    double             total = 0.;
    for (int set = 0; set < n_sets; ++set)
    {
      const std::int64_t row   = first + set * rows_at_once;
      const bool         works = lane < lanes * rows_at_once && row < A.n_rows;
      const std::int64_t begin = works ? A.slice_offsets[row] : 0;
      const int          width = works ? static_cast<int>(A.slice_offsets[row + 1] - begin) : 0;
      const int         *c     = A.columns + begin;
      const Value       *v     = A.values + begin * (BR * BC) + a * BC;
      Sum                sum   = 0;
      for (int k = block; k < width; k += unroll * blocks)
      {
        int               column[unroll];
        Pack<Value, wide> value[unroll][BC / wide];
#pragma unroll
        for (int u = 0; u < unroll; ++u)
          column[u] = k + u * blocks < width ? __ldg(c + (k + u * blocks)) : -1;
#pragma unroll
        for (int u = 0; u < unroll; ++u)
          if (k + u * blocks < width)
#pragma unroll
            for (int e = 0; e < BC / wide; ++e)
              value[u][e] =
                  *reinterpret_cast<const Pack<Value, wide> *>(v + std::int64_t(k + u * blocks) * (BR * BC) + e * wide);
#pragma unroll
        for (int u = 0; u < unroll; ++u)
          if (column[u] >= 0)
          {
            const Number *source = x + std::int64_t(column[u]) * BC;
#pragma unroll
            for (int b = 0; b < BC; ++b)
              sum += static_cast<Sum>(value[u][b / wide][b % wide]) * static_cast<Sum>(__ldg(source + b));
          }
      }
      const Sum own = sum;
#pragma unroll
      for (int k = 1; k < blocks; ++k)
        sum += __shfl_down_sync(0xffffffffu, own, k * BR);
      if (works && block == 0)
        total += target.use(row * BR + a, sum);
    }
    finish<block_size>(target, total, launched);
  }

  /** Any slice height: one row per thread, neighbours in neighbouring block rows. skip_padding stops at a row's end. */
  template <typename Value, typename Number, typename Target>
  __global__ void __launch_bounds__(block_size, 4) sliced_ellpack_general(const SlicedEllpackView<Value> A,
                                                                          const Number *__restrict__ x,
                                                                          const Target target,
                                                                          const Blocks launched)
  {
    using Sum = typename Target::Sum;
    if (skip(target))
      return;
    const int          bc     = A.block_columns;
    const std::int64_t thread = launched.thread();
    const unsigned int warp   = static_cast<unsigned int>(thread / 32);
    const int          a      = static_cast<int>(warp % static_cast<unsigned int>(A.block_rows));
    const std::int64_t row    = std::int64_t(warp / static_cast<unsigned int>(A.block_rows)) * 32 + thread % 32;
    double             total  = 0.;
    if (row < A.n_rows)
    {
      const std::int64_t h      = A.slice_height;
      const int          slice  = static_cast<int>(static_cast<unsigned int>(row) / static_cast<unsigned int>(h));
      const int          r      = static_cast<int>(row - slice * h);
      const std::int64_t begin  = A.slice_offsets[slice];
      const std::int64_t stored = A.skip_padding ? A.row_lengths[row] * h : A.slice_offsets[slice + 1] - begin;
      const int         *c      = A.columns + begin + r;
      const Value       *v      = A.values + (begin * A.block_rows + a * h) * bc + r;
      Sum                sum    = 0;
      for (std::int64_t k = 0; k < stored; k += h, c += h, v += h * A.block_rows * bc)
      {
        const Number *source = x + std::int64_t(loads::stream(c)) * bc;
        for (int b = 0; b < bc; ++b)
          sum += static_cast<Sum>(loads::stream(v + b * h)) * static_cast<Sum>(__ldg(source + b));
      }
      total = target.use(row * A.block_rows + a, sum);
    }
    finish<block_size>(target, total, launched);
  }

  /**
   * Slices of 32 rows of matrices that have so few of them that the device would wait for the longest, as on coarse
   * levels. The warps of a block share the blocks of a slice, warp w takes those with the numbers w, w + n_warps and so on
   * of each row, and their sums are added up in the order of the warps. A thread holds `held` scalar rows of a block
   * row; what is left of the blocks is held by the next blocks of threads. Reads what the tuned product does.
   */
  template <int BR, int BC, int held, int unroll, typename Value, typename Number, typename Target>
  __global__ void __launch_bounds__(block_size, 3) shared_slices(const SlicedEllpackView<Value> A,
                                                                 const Number *__restrict__ x,
                                                                 const Target target,
                                                                 const Blocks launched)
  {
    using Sum              = typename Target::Sum;
    constexpr int  n_warps = block_size / 32;
    constexpr int  parts   = BR / held;
    constexpr int  wide    = BC % 2 == 0 ? 2 : 1; // of a load from the source
    __shared__ Sum sums_of_warps[n_warps][held][32];
    static_assert(BR % held == 0 && held <= n_warps, "a warp adds up a row of each block");
    if (skip(target))
      return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int block = static_cast<int>(launched.first + blockIdx.x), slice = block / parts,
              first_row      = block % parts * held;
    const std::int64_t begin = A.slice_offsets[slice];
    const int          width = static_cast<int>((A.slice_offsets[slice + 1] - begin) / 32);
    const int         *c     = A.columns + begin + lane;
    const Value       *v     = A.values + (begin * BR + first_row * 32) * BC + lane;
    Sum                sums[held];
#pragma unroll
    for (int a = 0; a < held; ++a)
      sums[a] = 0;
    for (int k = warp; k < width; k += unroll * n_warps)
    {
      int   column[unroll];
      Value value[unroll][held * BC];
#pragma unroll
      for (int u = 0; u < unroll; ++u)
        column[u] = k + u * n_warps < width ? __ldg(c + (k + u * n_warps) * 32) : -1;
#pragma unroll
      for (int u = 0; u < unroll; ++u)
        if (k + u * n_warps < width)
#pragma unroll
          for (int e = 0; e < held * BC; ++e)
            value[u][e] = __ldg(v + (std::int64_t(k + u * n_warps) * (BR * BC) + e) * 32);
#pragma unroll
      for (int u = 0; u < unroll; ++u)
        if (column[u] >= 0)
        {
          const Number *source = x + std::int64_t(column[u]) * BC;
#pragma unroll
          for (int b = 0; b < BC; b += wide)
          {
            const Pack<Number, wide> x_b = *reinterpret_cast<const Pack<Number, wide> *>(source + b);
#pragma unroll
            for (int a = 0; a < held; ++a)
#pragma unroll
              for (int i = 0; i < wide; ++i)
                sums[a] += static_cast<Sum>(value[u][a * BC + b + i]) * static_cast<Sum>(x_b[i]);
          }
        }
    }
#pragma unroll
    for (int a = 0; a < held; ++a)
      sums_of_warps[warp][a][lane] = sums[a];
    __syncthreads();
    const std::int64_t row   = std::int64_t(slice) * 32 + lane;
    double             total = 0.;
    if (warp < held && row < A.n_rows)
    {
      Sum sum = sums_of_warps[0][warp][lane];
#pragma unroll
      for (int w = 1; w < n_warps; ++w)
        sum += sums_of_warps[w][warp][lane];
      total = target.use(row * BR + first_row + warp, sum);
    }
    finish<block_size>(target, total, launched);
  }

  template <int height, int BR, int BC, typename Tuning, typename Value, typename Number, typename Target>
  void launch_sliced_ellpack_tuned(const Cuda                     &where,
                                   const SlicedEllpackView<Value> &A,
                                   const Number                   *x,
                                   const Target                   &target)
  {
    launch_rows(where, sliced_ellpack_tuned<height, BR, BC, Tuning, Value, Number, Target>, 32,
                Tuning::parts * 32 / Tuning::rows_per_thread, A, x, target);
  }

  /** Targets of square matrices alone, which have no tuned variants for blocks that are not square. */
  template <typename Target>
  constexpr bool is_square = false;
  template <typename Number>
  constexpr bool is_square<kernels::ConjugateGradients<Number>> = true;
  template <typename Number>
  constexpr bool is_square<kernels::PolynomialStep<Number>> = true;
  template <typename Number>
  constexpr bool is_square<kernels::ScaledDifference<Number>> = true;

  /** The variant that tuning.cuh names for the sizes of @p A. */
  template <typename Value, typename Number, typename Target>
  void
  launch_sliced_ellpack(const Cuda &where, const SlicedEllpackView<Value> &A, const Number *x, const Target &target)
  {
    if (A.n_rows == 0)
      return finish_empty(where, target);
    const auto general = [&] {
      launch_rows(where, sliced_ellpack_general<Value, Number, Target>, 32, 32 * A.block_rows, A, x, target);
    };
    const bool is_32 = A.slice_height == 32 && !A.skip_padding;
    const auto tuned = [&](auto br, auto bc) {
      using Shared                = tuning::SharedSlices<br, bc>;
      const std::int64_t n_blocks = std::int64_t(n_slices(A.n_rows, 32)) * (br / Shared::held);
      if (n_blocks <= tuning::few_blocks && A.column_steps == nullptr)
        return launch_rows(where, shared_slices<br, bc, Shared::held, Shared::unroll, Value, Number, Target>, 32,
                           br / Shared::held * block_size, A, x, target);
      launch_sliced_ellpack_tuned<32, br, bc, tuning::SlicedEllpack<Value, Number, br, bc>>(where, A, x, target);
    };
    const auto square = [&](auto b) {
      if constexpr (b > 1)
        if (A.slice_height == 1)
        {
          using Tuning       = tuning::BlockRows<b>;
          constexpr int rows = 32 / (b * Tuning::blocks) * sets_of_block_rows<b, Tuning::blocks>(); // of a warp
          return launch_rows(where, block_rows<b, b, Tuning::blocks, Tuning::unroll, Value, Number, Target>, rows, 32,
                             A, x, target);
        }
      if constexpr (b == 1)
        if (A.slice_height % 32 == 0)
          return launch_sliced_ellpack_tuned<0, 1, 1, tuning::HighSlices<Value, Number>>(where, A, x, target);
      launch_sliced_ellpack_tuned<0, b, b, tuning::AnyHeight<b, b>>(where, A, x, target);
    };
    const bool is_tuned = kernels::with_tuned_block_size(A.block_rows, A.block_columns, [&](auto br, auto bc) {
      if constexpr (br != bc && is_square<Target>)
        general();
      else if (is_32)
        tuned(br, bc);
      else if constexpr (br == bc)
        square(br);
      else
        general();
    });
    if (!is_tuned)
      general();
  }
} // namespace PatchFEM::product
