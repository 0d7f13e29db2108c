// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loads.cuh"
#include "parallel_for.cuh"
#include "product.cuh"
#include "tuning.cuh"

#include <patchfem/kernels/symmetric_ellpack_bodies.h>

namespace PatchFEM
{
  namespace product
  {
    namespace
    {
      /**
       * One block of threads per patch, rows_per_thread neighbouring positions a thread. The source of the patch lies in
       * shared memory. A thread adds the products of its rows' blocks to sums in registers; those of the inner blocks'
       * transposes it leaves in slots of shared memory, where after a barrier the threads of the mirrored rows
       * collect them in the order of their lists. Outer blocks are spread over the chunks so that all warps come to a
       * barrier with about the same number of blocks behind them: rows with few inner blocks have many outer ones.
       */
      template <int b,
                int chunk,
                int rows_per_thread,
                int n_threads,
                int residency,
                int inner_unroll,
                int outer_unroll,
                int n_collected, ///< slots whose numbers are loaded before the barrier
                typename Number,
                typename Target>
      __global__ void __launch_bounds__(n_threads, residency)
          symmetric_ellpack(const SymmetricEllpackView<Number> A, const Number *__restrict__ x, const Target target)
      {
        using Sum = typename Target::Sum;
        if (target.skip())
          return;
        constexpr int h = SymmetricEllpackView<Number>::slice_height, patch_rows = n_threads * rows_per_thread;
        constexpr int n_slots = chunk * patch_rows + rows_per_thread; // the last ones are 0
        constexpr int stride  = patch_rows + 16 / b;                  // components of a row lie in different banks
        static_assert(chunk % inner_unroll == 0, "steps of a chunk do not reach into the slots of the next one");
        extern __shared__ __align__(16) unsigned char memory[];
        Sum *const                                    slots  = reinterpret_cast<Sum *>(memory); // [b][n_slots]
        Sum *const                                    result = slots + b * n_slots;             // [b][stride]
        Number *const                                 source = reinterpret_cast<Number *>(result);

        const int          patch     = blockIdx.x;
        const int          n         = A.n_rows_of(patch);
        const std::int64_t first_row = std::int64_t(patch) * patch_rows;
        const int          position  = threadIdx.x * rows_per_thread;
        const int          r_0       = position % h;
        const std::int64_t slice     = (first_row + position) / h;

#pragma unroll
        for (int j = 0; j < b * rows_per_thread; ++j)
        {
          const int i = j * n_threads + threadIdx.x;
          if (i < n * b)
            source[i % b * stride + i / b] = __ldg(x + first_row * b + i);
        }
        if (threadIdx.x < b)
          slots[threadIdx.x * n_slots + chunk * patch_rows] = 0;

        const int          inner_width = static_cast<int>((A.inner_offsets[slice + 1] - A.inner_offsets[slice]) / h);
        const int          outer_width = static_cast<int>((A.outer_offsets[slice + 1] - A.outer_offsets[slice]) / h);
        const std::int64_t chunk_begin = A.chunk_offsets[patch];
        const int          n_chunks    = static_cast<int>(A.chunk_offsets[patch + 1] - chunk_begin);
        int                row[rows_per_thread], n_inner = 0, n_outer = 0;
#pragma unroll
        for (int r = 0; r < rows_per_thread; ++r)
        {
          const std::uint32_t word = __ldg(A.rows + first_row + position + r);
          row[r]                   = SymmetricRow::row(word);
          n_inner                  = max(n_inner, SymmetricRow::n_inner(word, inner_width));
          n_outer                  = max(n_outer, SymmetricRow::n_outer(word, outer_width));
        }
        constexpr int                 n_diagonal = b * (b + 1) / 2;
        Pack<Number, rows_per_thread> diagonal[n_diagonal];
#pragma unroll
        for (int e = 0; e < n_diagonal; ++e)
          loads::stream(diagonal[e], A.diagonal + slice * (h * n_diagonal) + e * h + r_0);

        __syncthreads();
        Sum own[rows_per_thread][b], sums[rows_per_thread][b];
#pragma unroll
        for (int r = 0; r < rows_per_thread; ++r)
        {
#pragma unroll
          for (int a = 0; a < b; ++a)
            own[r][a] = static_cast<Sum>(source[a * stride + row[r]]);
#pragma unroll
          for (int a = 0; a < b; ++a)
          {
            sums[r][a] = 0;
#pragma unroll
            for (int c = 0; c < b; ++c)
            {
              const int low = a < c ? a : c, high = a < c ? c : a;
              sums[r][a] += static_cast<Sum>(diagonal[low * b - low * (low - 1) / 2 + high - low][r]) * own[r][c];
            }
          }
        }

        // Blocks k, k + 1, ... of the rows, those from n_inner on being 0; loads first, so that they are on their way together.
        std::int64_t inner_at     = A.inner_offsets[slice]; // of the block that is read next
        const auto   inner_blocks = [&](auto count, const int k, const int slot) {
          constexpr int                        m = decltype(count)::value;
          Pack<std::uint16_t, rows_per_thread> column[m];
          Pack<Number, rows_per_thread>        value[m][b * b];
#pragma unroll
          for (int u = 0; u < m; ++u)
          {
            if (k + u < n_inner)
            {
              loads::stream(column[u], A.inner_columns + inner_at + (u * h + r_0));
#pragma unroll
              for (int e = 0; e < b * b; ++e)
                loads::stream(value[u][e], A.inner_values + inner_at * (b * b) + ((u * b * b + e) * h + r_0));
            }
            else
#pragma unroll
              for (int r = 0; r < rows_per_thread; ++r)
              {
                column[u][r] = static_cast<std::uint16_t>(row[r]);
#pragma unroll
                for (int e = 0; e < b * b; ++e)
                  value[u][e][r] = 0;
              }
          }
          inner_at += m * h;
#pragma unroll
          for (int u = 0; u < m; ++u)
          {
            Pack<Sum, rows_per_thread> mirrored[b];
#pragma unroll
            for (int r = 0; r < rows_per_thread; ++r)
            {
#pragma unroll
              for (int c = 0; c < b; ++c)
              {
                const Sum other = static_cast<Sum>(source[c * stride + column[u][r]]);
                Sum       sum   = 0;
#pragma unroll
                for (int a = 0; a < b; ++a)
                {
                  const Sum v = static_cast<Sum>(value[u][a * b + c][r]);
                  sums[r][a] += v * other;
                  sum += v * own[r][a];
                }
                mirrored[c][r] = sum;
              }
            }
#pragma unroll
            for (int c = 0; c < b; ++c)
              *reinterpret_cast<Pack<Sum, rows_per_thread> *>(slots + c * n_slots + (slot + u) * patch_rows +
                                                              position) = mirrored[c];
          }
        };
        std::int64_t outer_at     = A.outer_offsets[slice];
        const auto   outer_blocks = [&](auto count, const int k) {
          constexpr int                 m = decltype(count)::value;
          Pack<int, rows_per_thread>    column[m];
          Pack<Number, rows_per_thread> value[m][b * b];
#pragma unroll
          for (int u = 0; u < m; ++u)
            if (k + u < n_outer)
            {
              loads::stream(column[u], A.outer_columns + outer_at + (u * h + r_0));
#pragma unroll
              for (int e = 0; e < b * b; ++e)
                loads::stream(value[u][e], A.outer_values + outer_at * (b * b) + ((u * b * b + e) * h + r_0));
            }
          outer_at += m * h;
#pragma unroll
          for (int u = 0; u < m; ++u)
            if (k + u < n_outer)
#pragma unroll
              for (int r = 0; r < rows_per_thread; ++r)
#pragma unroll
                for (int c = 0; c < b; ++c)
                {
                  const Sum other = static_cast<Sum>(__ldg(x + std::int64_t(column[u][r]) * b + c));
#pragma unroll
                  for (int a = 0; a < b; ++a)
                    sums[r][a] += static_cast<Sum>(value[u][a * b + c][r]) * other;
                }
        };

        using std::integral_constant;
        int k_outer = 0; // the same for all threads of a warp
        for (int c = 0; c < n_chunks; ++c)
        {
          const int k_begin = c * chunk, k_end = min(k_begin + chunk, inner_width);
          int       k = k_begin;
          for (; k < k_end; k += inner_unroll)
            inner_blocks(integral_constant<int, inner_unroll>(), k, k - k_begin);
          const int behind = min(k_begin + chunk, inner_width); // inner blocks that are done
          const int share  = static_cast<int>(std::int64_t(inner_width + outer_width) * (c + 1) / n_chunks);
          const int last   = min(share - behind, outer_width);
          for (; k_outer < last; k_outer += outer_unroll)
            outer_blocks(integral_constant<int, outer_unroll>(), k_outer);

          const std::int64_t  *offsets = A.mirror_offsets + (chunk_begin + c) * (patch_rows / h) + position / h;
          const std::uint16_t *mirrors = A.mirrors + offsets[0] + r_0;
          const int            width   = static_cast<int>((offsets[1] - offsets[0]) / h);
          Pack<std::uint16_t, rows_per_thread> slot[n_collected];
#pragma unroll
          for (int u = 0; u < n_collected; ++u)
            if (u < width)
              loads::stream(slot[u], mirrors + u * h);
          __syncthreads();
#pragma unroll
          for (int u = 0; u < n_collected; ++u)
            if (u < width)
#pragma unroll
              for (int r = 0; r < rows_per_thread; ++r)
#pragma unroll
                for (int a = 0; a < b; ++a)
                  sums[r][a] += slots[a * n_slots + slot[u][r]];
          for (int u = n_collected; u < width; ++u)
          {
            loads::stream(slot[0], mirrors + u * h);
#pragma unroll
            for (int r = 0; r < rows_per_thread; ++r)
#pragma unroll
              for (int a = 0; a < b; ++a)
                sums[r][a] += slots[a * n_slots + slot[0][r]];
          }
          if (c + 1 < n_chunks)
            __syncthreads();
        }
        for (; k_outer < outer_width; k_outer += outer_unroll)
          outer_blocks(integral_constant<int, outer_unroll>(), k_outer);
        if (n_chunks == 0)
          __syncthreads();

          // The source is not needed any more. Sums leave in the order of rows, side by side.
#pragma unroll
        for (int r = 0; r < rows_per_thread; ++r)
          if (position + r < n)
#pragma unroll
            for (int a = 0; a < b; ++a)
              result[a * stride + row[r]] = sums[r][a];
        __syncthreads();
        double total = 0.;
#pragma unroll
        for (int j = 0; j < b * rows_per_thread; ++j)
        {
          const int i = j * n_threads + threadIdx.x;
          if (i < n * b)
            total += target.use(first_row * b + i, result[i % b * stride + i / b]);
        }
        target.template finish<n_threads>(total);
      }

      template <int b, typename Number, typename Target>
      void launch(const Cuda &where, const SymmetricEllpackView<Number> &A, const Number *x, const Target &target)
      {
        using Tuning             = tuning::SymmetricEllpack<Number, b>;
        using Sum                = typename Target::Sum;
        constexpr int patch_rows = kernels::symmetric_patch_rows(b), chunk = kernels::symmetric_chunk(b);
        constexpr int n_threads = patch_rows / Tuning::rows_per_thread;
        const auto    kernel =
            symmetric_ellpack<b, chunk, Tuning::rows_per_thread, n_threads, Tuning::residency, Tuning::inner_unroll,
                              Tuning::outer_unroll, Tuning::n_collected, Number, Target>;
        constexpr int bytes = b * (chunk * patch_rows + Tuning::rows_per_thread + patch_rows + 16 / b) * sizeof(Sum);
        PATCHFEM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        kernel<<<A.n_patches(), n_threads, bytes, stream_of(where)>>>(A, x, target);
        PATCHFEM_CUDA_CHECK_LAUNCH();
      }

      template <typename Number, typename Target>
      void launch_symmetric_ellpack(const Cuda                         &where,
                                    const SymmetricEllpackView<Number> &A,
                                    const Number                       *x,
                                    const Target                       &target)
      {
        if (A.n_rows == 0)
          return;
        using std::integral_constant;
        const auto tuned = [&](auto b) { launch<b>(where, A, x, target); };
        switch (A.block_size)
        {
        case 1:
          return tuned(integral_constant<int, 1>());
        case 2:
          return tuned(integral_constant<int, 2>());
        case 3:
          return tuned(integral_constant<int, 3>());
        case 6:
          return tuned(integral_constant<int, 6>());
        }
      }
    } // namespace
  }   // namespace product

  namespace kernels
  {
    template <typename Number>
    void vmult(Cuda where, const SymmetricEllpackView<Number> &A, const Number *src, Number *dst)
    {
      product::launch_symmetric_ellpack(where, A, src, product::Overwrite<Number>{dst});
    }

    template <typename Number>
    void vmult_add(Cuda where, const SymmetricEllpackView<Number> &A, const Number *src, Number *dst)
    {
      product::launch_symmetric_ellpack(where, A, src, product::Add<Number>{dst});
    }

    template <typename Number>
    void residual(Cuda where, const SymmetricEllpackView<Number> &A, const Number *x, const Number *b, Number *r)
    {
      product::launch_symmetric_ellpack(where, A, x, product::Residual<Number>{b, r});
    }

    template <typename Number>
    void cg_product(Cuda where, const SymmetricEllpackView<Number> &A, const Number *p, Number *q, const CGView &cg)
    {
      product::launch_symmetric_ellpack(where, A, p, product::ConjugateGradients<Number>{p, q, cg});
    }

    template <typename Number>
    void polynomial_step(Cuda where, const SymmetricEllpackView<Number> &A, const PolynomialStep<Number> &step)
    {
      product::launch_symmetric_ellpack(where, A, step.y, product::Polynomial<Number>{step});
    }

    template void parallel_for(Cuda, std::int64_t, const SymmetricKeyBody &);
    template void parallel_for(Cuda, std::int64_t, const SymmetricSliceBody &);
    template void parallel_for(Cuda, std::int64_t, const SymmetricChunksBody &);
    template void parallel_for(Cuda, std::int64_t, const FillShortBody &);

#define INSTANTIATE(Number)                                                                                          \
  template void vmult<Number>(Cuda, const SymmetricEllpackView<Number> &, const Number *, Number *);                 \
  template void vmult_add<Number>(Cuda, const SymmetricEllpackView<Number> &, const Number *, Number *);             \
  template void residual<Number>(Cuda, const SymmetricEllpackView<Number> &, const Number *, const Number *,         \
                                 Number *);                                                                          \
  template void cg_product<Number>(Cuda, const SymmetricEllpackView<Number> &, const Number *, Number *,             \
                                   const CGView &);                                                                  \
  template void polynomial_step<Number>(Cuda, const SymmetricEllpackView<Number> &, const PolynomialStep<Number> &); \
  template void parallel_for(Cuda, std::int64_t, const RowMagnitudeBody<Number> &);                                  \
  template void parallel_for(Cuda, std::int64_t, const SymmetryCheckBody<Number> &);                                 \
  template void parallel_for(Cuda, std::int64_t, const SymmetricKindsBody<Number> &);                                \
  template void parallel_for(Cuda, std::int64_t, const SymmetricOwnersBody<Number> &);                               \
  template void parallel_for(Cuda, std::int64_t, const SymmetricRanksBody<Number> &);                                \
  template void parallel_for(Cuda, std::int64_t, const SymmetricPartnersBody<Number> &);                             \
  template void parallel_for(Cuda, std::int64_t, const SymmetricMirrorsBody<Number> &);                              \
  template void parallel_for(Cuda, std::int64_t, const SymmetricFillBody<Number> &);                                 \
  template void parallel_for(Cuda, std::int64_t, const SymmetricBlockDiagonalBody<Number> &);
    INSTANTIATE(float)
    INSTANTIATE(double)
#undef INSTANTIATE
  } // namespace kernels
} // namespace PatchFEM
