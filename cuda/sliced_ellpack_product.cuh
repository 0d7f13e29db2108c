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
     * Tuned product: slices of 32 block rows, BR x BC blocks, rows_per_thread neighbouring block rows in each thread.
     * A warp reads, for each block column, rows_per_thread slices of 32 columns and of 32 values per entry, all
     * contiguous; loads of `unroll` blocks are issued before the first is used. Compulsory traffic per block row:
     * width * (BR * BC * sizeof(Number) + 4) in, (BC + BR) * sizeof(Number) for source and destination.
     */
    template <int BR,
              int BC,
              int rows_per_thread,
              int unroll,
              int residency,
              int block_size,
              typename Number,
              typename Target>
    __global__ void __launch_bounds__(block_size, residency)
        sliced_ellpack_32(const SlicedEllpackView<Number> A, const Number *__restrict__ x, const Target target)
    {
      using Sum = typename Target::Sum;
      if (target.skip())
        return;
      const std::int64_t row   = (std::int64_t(blockIdx.x) * block_size + threadIdx.x) * rows_per_thread;
      double             total = 0.;
      if (row < A.n_rows)
      {
        const std::int64_t slice = row / 32;
        const std::int64_t begin = A.slice_offsets[slice];
        const int          width = static_cast<int>((A.slice_offsets[slice + 1] - begin) / 32);
        const int         *c     = A.columns + begin + row % 32;
        const Number      *v     = A.values + begin * (BR * BC) + row % 32;

        Sum sums[rows_per_thread][BR];
#pragma unroll
        for (int r = 0; r < rows_per_thread; ++r)
#pragma unroll
          for (int a = 0; a < BR; ++a)
            sums[r][a] = 0;

        const auto blocks = [&](auto count) {
          constexpr int                 n = decltype(count)::value;
          Pack<int, rows_per_thread>    column[n];
          Pack<Number, rows_per_thread> value[n][BR * BC];
#pragma unroll
          for (int k = 0; k < n; ++k)
            loads::stream(column[k], c + k * 32);
#pragma unroll
          for (int k = 0; k < n; ++k)
#pragma unroll
            for (int e = 0; e < BR * BC; ++e)
              loads::stream(value[k][e], v + (k * BR * BC + e) * 32);
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
                for (int a = 0; a < BR; ++a)
                  sums[r][a] += static_cast<Sum>(value[k][a * BC + b][r]) * x_b;
              }
            }
          c += n * 32;
          v += n * BR * BC * 32;
        };
        int k = 0;
        for (; k + unroll <= width; k += unroll)
          blocks(std::integral_constant<int, unroll>());
        for (; k < width; ++k)
          blocks(std::integral_constant<int, 1>());

#pragma unroll
        for (int r = 0; r < rows_per_thread; ++r)
          if (row + r < A.n_rows)
#pragma unroll
            for (int a = 0; a < BR; ++a)
              total += target.use((row + r) * BR + a, sums[r][a]);
      }
      target.template finish<block_size>(total);
    }

    /**
     * General product: any slice height, one scalar row per thread, neighbouring threads in neighbouring block rows.
     * BC = 0: known at run time.
     */
    template <int BC, int block_size, typename Number, typename Target>
    __global__ void __launch_bounds__(block_size, 4)
        sliced_ellpack_general(const SlicedEllpackView<Number> A, const Number *__restrict__ x, const Target target)
    {
      using Sum = typename Target::Sum;
      if (target.skip())
        return;
      const int          bc       = BC > 0 ? BC : A.block_columns;
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
        const int          width = A.slice_width(static_cast<int>(slice));
        const int         *c     = A.columns + begin + r;
        const Number      *v     = A.values + (begin * A.block_rows + a * h) * bc + r;
        Sum                sum   = 0;
        for (int k = 0; k < width; ++k, c += h, v += h * A.block_rows * bc)
        {
          const Number *source = x + std::int64_t(loads::stream(c)) * bc;
#pragma unroll
          for (int b = 0; b < bc; ++b)
            sum += static_cast<Sum>(loads::stream(v + b * h)) * static_cast<Sum>(__ldg(source + b));
        }
        total = target.use(row * A.block_rows + a, sum);
      }
      target.template finish<block_size>(total);
    }

    template <int BR, int BC, int rows_per_thread, int unroll, int residency, typename Number, typename Target>
    void launch_sliced_ellpack_32(const Cuda                      &where,
                                  const SlicedEllpackView<Number> &A,
                                  const Number                    *x,
                                  const Target                    &target)
    {
      constexpr int      block_size = tuning::block_size;
      const std::int64_t per_block  = std::int64_t(block_size) * rows_per_thread;
      const unsigned int n_blocks   = static_cast<unsigned int>((A.n_rows + per_block - 1) / per_block);
      sliced_ellpack_32<BR, BC, rows_per_thread, unroll, residency, block_size>
          <<<n_blocks, block_size, 0, stream_of(where)>>>(A, x, target);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

    template <int BC, typename Number, typename Target>
    void launch_sliced_ellpack_general(const Cuda                      &where,
                                       const SlicedEllpackView<Number> &A,
                                       const Number                    *x,
                                       const Target                    &target)
    {
      constexpr int      block_size = tuning::block_size;
      const std::int64_t n_threads  = std::int64_t(A.n_slices()) * A.slice_height * A.block_rows;
      const unsigned int n_blocks   = static_cast<unsigned int>((n_threads + block_size - 1) / block_size);
      sliced_ellpack_general<BC, block_size><<<n_blocks, block_size, 0, stream_of(where)>>>(A, x, target);
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
        using Tuning = tuning::SlicedEllpack<Number, br * bc>;
        launch_sliced_ellpack_32<br, bc, Tuning::rows_per_thread, Tuning::unroll, Tuning::residency>(where, A, x,
                                                                                                     target);
      };
      using std::integral_constant;
      const int code = A.slice_height == 32 ? A.block_rows * 16 + A.block_columns : A.block_columns;
      switch (code)
      {
      case 0x11:
        return tuned(integral_constant<int, 1>(), integral_constant<int, 1>());
      case 0x22:
        return tuned(integral_constant<int, 2>(), integral_constant<int, 2>());
      case 0x33:
        return tuned(integral_constant<int, 3>(), integral_constant<int, 3>());
      case 0x23:
        return tuned(integral_constant<int, 2>(), integral_constant<int, 3>());
      case 0x32:
        return tuned(integral_constant<int, 3>(), integral_constant<int, 2>());
      case 0x36:
        return tuned(integral_constant<int, 3>(), integral_constant<int, 6>());
      case 0x63: // six short rows: better one per thread
        return launch_sliced_ellpack_general<3>(where, A, x, target);
      case 0x66:
        return launch_sliced_ellpack_general<6>(where, A, x, target);
      default:
        return launch_sliced_ellpack_general<0>(where, A, x, target);
      }
    }
  } // namespace product
} // namespace PatchFEM

#endif
