// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_cuda_sliced_ellpack_product_cuh
#define patchfem_cuda_sliced_ellpack_product_cuh

#include "check.cuh"
#include "loads.cuh"
#include "product.cuh"
#include "tuning.cuh"

#include <patchfem/kernels/matrix_views.h>

namespace PatchFEM
{
  namespace product
  {
    /**
     * Tuned product: slices of 32 block rows, BR x BC blocks. A thread holds BR / parts scalar rows of rows_per_thread
     * neighbouring block rows; what is left of the blocks is held by the threads 32 / rows_per_thread further. Half a
     * warp or a whole one reads, for each block column, 32 columns and 32 values per entry, all contiguous, and each
     * value once; loads of `unroll` blocks are issued before the first is used. Compulsory traffic per block row:
     * width * (BR * BC * sizeof(Number) + 4) in, (BC + BR) * sizeof(Number) for source and destination; columns and
     * source are read by every part, the second time from the caches. Scalar rows read 2 bytes instead of 4 in slices
     * whose columns are known by steps of 16 bits.
     */
    template <int BR,
              int BC,
              int parts,
              int rows_per_thread,
              int unroll,
              int residency,
              int block_size,
              typename Number,
              typename Target>
    __global__ void __launch_bounds__(block_size, residency)
        sliced_ellpack_32(const SlicedEllpackView<Number> A, const Number *__restrict__ x, const Target target)
    {
      static_assert(BR % parts == 0 && 32 % rows_per_thread == 0, "threads share blocks and slices evenly");
      using Sum = typename Target::Sum;
      if (target.skip())
        return;
      constexpr int      held   = BR / parts; // scalar rows of a block
      constexpr int      lanes  = 32 / rows_per_thread;
      const std::int64_t thread = std::int64_t(blockIdx.x) * block_size + threadIdx.x;
      const std::int64_t slice  = thread / (parts * lanes);
      const int          first  = static_cast<int>(thread / lanes % parts) * held;
      const int          r_0    = static_cast<int>(thread % lanes) * rows_per_thread;
      const std::int64_t row    = slice * 32 + r_0;
      double             total  = 0.;
      if (row < A.n_rows)
      {
        const std::int64_t begin = A.slice_offsets[slice];
        const int          width = static_cast<int>((A.slice_offsets[slice + 1] - begin) / 32);
        const int         *c     = A.columns + begin + r_0;
        const Number      *v     = A.values + begin * (BR * BC) + first * BC * 32 + r_0;

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
            loads::stream(column[k], c + k * 32);
          c += n * 32;
          return [] {};
        };
        const auto by_steps = [&](auto count, auto &column) {
          constexpr int                        n = decltype(count)::value;
          Pack<std::uint16_t, rows_per_thread> step[n];
#pragma unroll
          for (int k = 0; k < n; ++k)
            loads::stream(step[k], steps + k * 32);
          steps += n * 32;
          return [&column, &last, step] {
#pragma unroll
            for (int k = 0; k < n; ++k)
#pragma unroll
              for (int r = 0; r < rows_per_thread; ++r)
                column[k][r] = last[r] += step[k][r];
          };
        };
        const auto blocks = [&](auto count, const auto &load_columns) {
          constexpr int                 n = decltype(count)::value;
          Pack<int, rows_per_thread>    column[n];
          Pack<Number, rows_per_thread> value[n][held * BC];
          const auto                    decode = load_columns(count, column);
#pragma unroll
          for (int k = 0; k < n; ++k)
#pragma unroll
            for (int e = 0; e < held * BC; ++e)
              loads::stream(value[k][e], v + (k * BR * BC + e) * 32);
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
          v += n * BR * BC * 32;
        };
        // What is left behind the last full group goes in groups of half as many, and so on: rows may be short.
        const auto all_blocks = [&](const auto &load_columns) {
          using std::integral_constant;
          int k = 0;
          for (; k + unroll <= width; k += unroll)
            blocks(integral_constant<int, unroll>(), load_columns);
          if (unroll > 4 && k + 4 <= width)
          {
            blocks(integral_constant<int, (unroll > 4 ? 4 : 1)>(), load_columns);
            k += 4;
          }
          if (unroll > 2 && k + 2 <= width)
          {
            blocks(integral_constant<int, (unroll > 2 ? 2 : 1)>(), load_columns);
            k += 2;
          }
          if (unroll > 1 && k < width)
            blocks(integral_constant<int, 1>(), load_columns);
        };
        bool stepwise = false;
        if constexpr (BR == 1 && BC == 1)
          if (A.column_steps != nullptr && width > 0)
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
      target.template finish<block_size>(total);
    }

    /**
     * General product: any slice height, one scalar row per thread, neighbouring threads in neighbouring block rows.
     * With row_lengths it stops at the end of the row (ELLPACK-R), else at that of the slice.
     */
    template <int block_size, typename Number, typename Target>
    __global__ void __launch_bounds__(block_size, 4)
        sliced_ellpack_general(const SlicedEllpackView<Number> A, const Number *__restrict__ x, const Target target)
    {
      using Sum = typename Target::Sum;
      if (target.skip())
        return;
      const int          bc       = A.block_columns;
      const std::int64_t thread   = std::int64_t(blockIdx.x) * block_size + threadIdx.x;
      const std::int64_t in_slice = std::int64_t(A.slice_height) * A.block_rows;
      const std::int64_t slice    = thread / in_slice;
      const int          a        = static_cast<int>(thread % in_slice / A.slice_height);
      const int          r        = static_cast<int>(thread % A.slice_height);
      const std::int64_t row      = slice * A.slice_height + r;
      double             total    = 0.;
      if (slice < A.n_slices() && row < A.n_rows)
      {
        const std::int64_t h     = A.slice_height;
        const std::int64_t begin = A.slice_offsets[slice];
        const int     width = A.row_lengths != nullptr ? A.row_lengths[row] : A.slice_width(static_cast<int>(slice));
        const int    *c     = A.columns + begin + r;
        const Number *v     = A.values + (begin * A.block_rows + a * h) * bc + r;
        Sum           sum   = 0;
        for (int k = 0; k < width; ++k, c += h, v += h * A.block_rows * bc)
        {
          const Number *source = x + std::int64_t(loads::stream(c)) * bc;
          for (int b = 0; b < bc; ++b)
            sum += static_cast<Sum>(loads::stream(v + b * h)) * static_cast<Sum>(__ldg(source + b));
        }
        total = target.use(row * A.block_rows + a, sum);
      }
      target.template finish<block_size>(total);
    }

    template <int BR,
              int BC,
              int parts,
              int rows_per_thread,
              int unroll,
              int residency,
              typename Number,
              typename Target>
    void launch_sliced_ellpack_32(const Cuda                      &where,
                                  const SlicedEllpackView<Number> &A,
                                  const Number                    *x,
                                  const Target                    &target)
    {
      constexpr int      block_size = tuning::block_size;
      const std::int64_t n_threads  = std::int64_t(A.n_slices()) * (parts * 32 / rows_per_thread);
      const unsigned int n_blocks   = static_cast<unsigned int>((n_threads + block_size - 1) / block_size);
      sliced_ellpack_32<BR, BC, parts, rows_per_thread, unroll, residency, block_size>
          <<<n_blocks, block_size, 0, stream_of(where)>>>(A, x, target);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

    template <typename Number, typename Target>
    void launch_sliced_ellpack_general(const Cuda                      &where,
                                       const SlicedEllpackView<Number> &A,
                                       const Number                    *x,
                                       const Target                    &target)
    {
      constexpr int      block_size = tuning::block_size;
      const std::int64_t n_threads  = std::int64_t(A.n_slices()) * A.slice_height * A.block_rows;
      const unsigned int n_blocks   = static_cast<unsigned int>((n_threads + block_size - 1) / block_size);
      sliced_ellpack_general<block_size><<<n_blocks, block_size, 0, stream_of(where)>>>(A, x, target);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

    /** The variant that tuning.cuh names for the sizes of @p A. */
    template <typename Number, typename Target>
    void
    launch_sliced_ellpack(const Cuda &where, const SlicedEllpackView<Number> &A, const Number *x, const Target &target)
    {
      if (A.n_rows == 0)
        return;
      const auto tuned = [&](auto br, auto bc) {
        using Tuning = tuning::SlicedEllpack<Number, br, bc>;
        launch_sliced_ellpack_32<br, bc, Tuning::parts, Tuning::rows_per_thread, Tuning::unroll, Tuning::residency>(
            where, A, x, target);
      };
      using std::integral_constant;
      switch (A.slice_height == 32 && A.row_lengths == nullptr ? A.block_rows * 16 + A.block_columns : 0)
      {
      case 0x11:
        return tuned(integral_constant<int, 1>(), integral_constant<int, 1>());
      case 0x22:
        return tuned(integral_constant<int, 2>(), integral_constant<int, 2>());
      case 0x33:
        return tuned(integral_constant<int, 3>(), integral_constant<int, 3>());
      case 0x66:
        return tuned(integral_constant<int, 6>(), integral_constant<int, 6>());
      case 0x23:
        return tuned(integral_constant<int, 2>(), integral_constant<int, 3>());
      case 0x32:
        return tuned(integral_constant<int, 3>(), integral_constant<int, 2>());
      case 0x36:
        return tuned(integral_constant<int, 3>(), integral_constant<int, 6>());
      case 0x63:
        return tuned(integral_constant<int, 6>(), integral_constant<int, 3>());
      default:
        return launch_sliced_ellpack_general(where, A, x, target);
      }
    }
  } // namespace product
} // namespace PatchFEM

#endif
