// SPDX-License-Identifier: LGPL-2.1-or-later
#include "check.cuh"
#include "parallel_for.cuh"

#include <patchfem/base/exceptions.h>
#include <patchfem/kernels/patch_matrix_bodies.h>
#include <patchfem/kernels/runtime.h>

#include <algorithm>
#include <string>

namespace PatchFEM
{
  namespace kernels
  {
    namespace
    {
      constexpr int max_threads = 512;

      template <int static_size, typename Number>
      __device__ __forceinline__ int height(const PatchMatrixView<Number> &A)
      {
        return static_size > 0 ? patch_slice_height(static_size) : A.slice_height;
      }

      /**
       * What a thread does for the rows [first, first + held) of one node of a patch. Vectors of the patch are
       * [component][slot] in shared memory.
       */
      template <int static_size, int static_held, typename Number>
      struct Rows
      {
        const PatchMatrixView<Number> &A;
        std::int64_t                   slice; ///< of A
        int                            r, first, slot, n_slots, node;

        __device__ __forceinline__
        Rows(const PatchMatrixView<Number> &A, const int first_slice, const int n_slots, const int item)
            : A(A), n_slots(n_slots)
        {
          const int h = height<static_size>(A), parts = size() / static_held;
          const int in_patch = item / (h * parts);
          slice              = first_slice + in_patch;
          r                  = item % h;
          first              = item / h % parts * static_held;
          slot               = in_patch * h + r;
          node               = A.nodes[slice * h + r];
        }

        __device__ __forceinline__ int size() const { return static_size > 0 ? static_size : A.block_size; }
        __device__ __forceinline__ int place(const int a) const { return (first + a) * n_slots + slot; }
        __device__ __forceinline__ std::int64_t unknown(const int a) const
        {
          return std::int64_t(node) * size() + first + a;
        }

        /** Rows of A_P z, in the order of their blocks. */
        template <typename Sum>
        __device__ __forceinline__ void product(const Number *z, Sum (&sums)[static_held]) const
        {
          const int            b = size(), h = height<static_size>(A);
          const std::int64_t   begin   = A.inner_offsets[slice];
          const int            width   = static_cast<int>(A.inner_offsets[slice + 1] - begin) / h;
          const std::uint16_t *columns = A.inner_columns + begin + r;
          const Number        *values  = A.inner_values + (begin * b + first * h) * b + r;
#pragma unroll
          for (int a = 0; a < static_held; ++a)
            sums[a] = 0;
#pragma unroll(static_size == 1 ? 8 : (static_size == 3 ? 3 : 1))
          for (int k = 0; k < width; ++k)
          {
            const int column = __ldg(columns + k * h);
#pragma unroll
            for (int c = 0; c < b; ++c)
            {
              const Sum z_c = z[c * n_slots + column];
#pragma unroll
              for (int a = 0; a < static_held; ++a)
                sums[a] += static_cast<Sum>(__ldg(values + ((k * b + a) * b + c) * h)) * z_c;
            }
          }
        }

        /** Rows of D^-1 t. */
        __device__ __forceinline__ void diagonal(const Number *t, Number (&sums)[static_held]) const
        {
          const int     b = size(), h = height<static_size>(A);
          const Number *D = A.diagonal + slice * (b * (b + 1) / 2) * h + r;
#pragma unroll
          for (int a = 0; a < static_held; ++a)
          {
            const int row = first + a;
            sums[a]       = 0;
#pragma unroll
            for (int c = 0; c < b; ++c)
              sums[a] +=
                  __ldg(D + (row > c ? row * (row + 1) / 2 + c : c * (c + 1) / 2 + row) * h) * t[c * n_slots + slot];
          }
        }
      };

      /** One block of threads per patch; see patch_relaxation() and, without @p weight, patch_inverse(). */
      template <int static_size, int held, typename Number>
      __global__ void __launch_bounds__(max_threads)
          relaxation_kernel(const __grid_constant__ PatchMatrixView<Number> A,
                            const double *const                             weight,
                            const Number *const                             b,
                            const Number *const                             r,
                            Number *const                                   x,
                            Number *const                                   r_out)
      {
        extern __shared__ double memory[];
        const int                first_slice = A.patch_slices[blockIdx.x];
        const int                nc          = static_size > 0 ? static_size : A.block_size;
        const int                n_slots     = (A.patch_slices[blockIdx.x + 1] - first_slice) * height<static_size>(A);
        const int                n_items     = n_slots * (nc / held);
        Number *const            z           = reinterpret_cast<Number *>(memory);
        Number *const            t           = z + n_slots * nc;
        Number *const            rhs         = t + n_slots * nc;

        const auto for_each_item = [&](const auto &work) {
          for (int item = threadIdx.x; item < n_items; item += blockDim.x)
            work(Rows<static_size, held, Number>(A, first_slice, n_slots, item));
          __syncthreads();
        };
        for_each_item([&](const auto &rows) {
          const Number *const source = r != nullptr ? r : b;
#pragma unroll
          for (int a = 0; a < held; ++a)
          {
            rhs[rows.place(a)] = rows.node >= 0 ? source[rows.unknown(a)] : Number(0);
            if (r != nullptr)
              z[rows.place(a)] = rows.node >= 0 ? x[rows.unknown(a)] : Number(0);
          }
        });
        if (r != nullptr)
          for_each_item([&](const auto &rows) {
            double sums[held];
            rows.product(z, sums);
#pragma unroll
            for (int a = 0; a < held; ++a)
              rhs[rows.place(a)] = static_cast<Number>(static_cast<double>(rhs[rows.place(a)]) - sums[a]);
          });

        Number omega = static_cast<Number>(A.weights[0]);
        for_each_item([&](const auto &rows) {
          Number sums[held];
          rows.diagonal(rhs, sums);
#pragma unroll
          for (int a = 0; a < held; ++a)
            z[rows.place(a)] = omega * sums[a];
        });
        for (int sweep = 1; sweep < A.n_sweeps; ++sweep)
        {
          for_each_item([&](const auto &rows) {
            Number sums[held];
            rows.product(z, sums);
#pragma unroll
            for (int a = 0; a < held; ++a)
              t[rows.place(a)] = rhs[rows.place(a)] - sums[a];
          });
          omega = static_cast<Number>(A.weights[sweep]);
          for_each_item([&](const auto &rows) {
            Number sums[held];
            rows.diagonal(t, sums);
#pragma unroll
            for (int a = 0; a < held; ++a)
              z[rows.place(a)] += omega * sums[a];
          });
        }

        const Number factor = weight != nullptr ? static_cast<Number>(*weight) : Number(1);
        for_each_item([&](const auto &rows) {
          if (rows.node < 0)
            return;
#pragma unroll
          for (int a = 0; a < held; ++a)
          {
            const std::int64_t i    = rows.unknown(a);
            const Number       next = (r != nullptr ? x[i] : Number(0)) + factor * z[rows.place(a)];
            x[i]                    = next;
            z[rows.place(a)]        = next;
          }
        });
        if (r_out != nullptr)
          for_each_item([&](const auto &rows) {
            double sums[held];
            rows.product(z, sums);
            if (rows.node < 0)
              return;
#pragma unroll
            for (int a = 0; a < held; ++a)
              r_out[rows.unknown(a)] = static_cast<Number>(static_cast<double>(b[rows.unknown(a)]) - sums[a]);
          });
      }

      /** One thread per held rows of a node; r = b - A_B x. */
      template <int static_size, int held, typename Number>
      __global__ void __launch_bounds__(256) outer_residual_kernel(const __grid_constant__ PatchMatrixView<Number> A,
                                                                   const Number *__restrict__ x,
                                                                   const Number *b,
                                                                   Number       *r)
      {
        const int          nc   = static_size > 0 ? static_size : A.block_size;
        const int          h    = height<static_size>(A);
        const std::int64_t item = std::int64_t(blockIdx.x) * 256 + threadIdx.x, slice = item / (h * (nc / held));
        if (slice >= A.n_slices)
          return;
        const int          lane = static_cast<int>(item % h), first = static_cast<int>(item / h % (nc / held)) * held;
        const std::int64_t begin = A.outer_offsets[slice];
        const int          width = static_cast<int>(A.outer_offsets[slice + 1] - begin) / h;
        const int          node  = A.nodes[slice * h + lane];
        if (node < 0 || (width == 0 && b == r))
          return;
        const int    *columns = A.outer_columns + begin + lane;
        const Number *values  = A.outer_values + (begin * nc + first * h) * nc + lane;
        double        sums[held];
#pragma unroll
        for (int a = 0; a < held; ++a)
          sums[a] = 0.;
#pragma unroll(static_size == 1 ? 4 : 1)
        for (int k = 0; k < width; ++k)
        {
          const Number *source = x + std::int64_t(__ldcs(columns + k * h)) * nc;
#pragma unroll
          for (int c = 0; c < nc; ++c)
          {
            const double x_c = static_cast<double>(__ldg(source + c));
#pragma unroll
            for (int a = 0; a < held; ++a)
              sums[a] += static_cast<double>(__ldcs(values + ((k * nc + a) * nc + c) * h)) * x_c;
          }
        }
#pragma unroll
        for (int a = 0; a < held; ++a)
        {
          const std::int64_t i = std::int64_t(node) * nc + first + a;
          r[i]                 = static_cast<Number>(static_cast<double>(b[i]) - sums[a]);
        }
      }

      /** Rows of a block that one thread holds. */
      constexpr int rows_held(const int static_size)
      {
        return static_size == 6 ? 2 : (static_size > 0 ? static_size : 1);
      }

      template <typename Number>
      void launch_relaxation(const Cuda                    &where,
                             const PatchMatrixView<Number> &A,
                             const double                  *weight,
                             const Number                  *b,
                             const Number                  *r,
                             Number                        *x,
                             Number                        *r_out)
      {
        if (A.n_patches == 0)
          return;
        with_block_size(A.block_size, [&](auto static_size) {
          constexpr int     size = decltype(static_size)::value, held = rows_held(size);
          const std::size_t bytes   = std::size_t(3) * A.largest_patch * A.block_size * sizeof(Number);
          const int         threads = std::min(max_threads, (A.largest_patch * (A.block_size / held) + 31) / 32 * 32);
          const auto        kernel  = relaxation_kernel<size, held, Number>;
          if (bytes > 49152)
          {
            const std::size_t most = cuda_runtime::shared_memory_per_block();
            require(bytes <= most, "A patch of " + std::to_string(A.largest_patch) + " nodes with " +
                                       std::to_string(A.block_size) + " unknowns each does not fit the " +
                                       std::to_string(most) + " bytes of shared memory.");
            PATCHFEM_CUDA_CHECK(
                cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
          }
          kernel<<<A.n_patches, threads, bytes, stream_of(where)>>>(A, weight, b, r, x, r_out);
          PATCHFEM_CUDA_CHECK_LAUNCH();
        });
      }
    } // namespace

    template <typename Number>
    void patch_relaxation(Cuda                           where,
                          const PatchMatrixView<Number> &A,
                          const double                  *weight,
                          const Number                  *b,
                          const Number                  *r,
                          Number                        *x,
                          Number                        *r_out)
    {
      launch_relaxation(where, A, weight, b, r, x, r_out);
    }

    template <typename Number>
    void patch_inverse(Cuda where, const PatchMatrixView<Number> &A, const Number *src, Number *dst)
    {
      const Number *const from_zero = nullptr;
      launch_relaxation(where, A, nullptr, src, from_zero, dst, static_cast<Number *>(nullptr));
    }

    template <typename Number>
    void patch_outer_residual(Cuda where, const PatchMatrixView<Number> &A, const Number *x, const Number *b, Number *r)
    {
      if (A.n_slices == 0)
        return;
      with_block_size(A.block_size, [&](auto static_size) {
        constexpr int      size = decltype(static_size)::value, held = rows_held(size);
        const std::int64_t n_threads = std::int64_t(A.n_slices) * A.slice_height * (A.block_size / held);
        outer_residual_kernel<size, held>
            <<<static_cast<unsigned int>((n_threads + 255) / 256), 256, 0, stream_of(where)>>>(A, x, b, r);
        PATCHFEM_CUDA_CHECK_LAUNCH();
      });
    }

#define INSTANTIATE_BODY(...) template void parallel_for(Cuda, std::int64_t, const __VA_ARGS__ &)

    INSTANTIATE_BODY(AllPatchOffsetsBody);
    INSTANTIATE_BODY(PatchOfNodeBody);
    INSTANTIATE_BODY(PatchRowKeyBody);
    INSTANTIATE_BODY(PatchSlicesBody);
    INSTANTIATE_BODY(NarrowBody);
    INSTANTIATE_BODY(SlotBody);
    INSTANTIATE_BODY(PatchSliceSizesBody);

#define INSTANTIATE(Number)                                                                             \
  INSTANTIATE_BODY(CountInnerBody<Number>);                                                             \
  INSTANTIATE_BODY(FillPatchMatrixBody<Number>);                                                        \
  INSTANTIATE_BODY(PatchDiagonalBody<Number>);                                                          \
  template void patch_relaxation(Cuda, const PatchMatrixView<Number> &, const double *, const Number *, \
                                 const Number *, Number *, Number *);                                   \
  template void patch_inverse(Cuda, const PatchMatrixView<Number> &, const Number *, Number *);         \
  template void patch_outer_residual(Cuda, const PatchMatrixView<Number> &, const Number *, const Number *, Number *)
    INSTANTIATE(float);
    INSTANTIATE(double);
  } // namespace kernels
} // namespace PatchFEM
