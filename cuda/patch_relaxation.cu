// SPDX-License-Identifier: LGPL-2.1-or-later
#include "check.cuh"
#include "parallel_for.cuh"

#include <patchfem/base/exceptions.h>
#include <patchfem/kernels/patch_matrix_bodies.h>
#include <patchfem/kernels/runtime.h>

#include <cuda_pipeline.h>

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
        int                            first_slice, r, first, slot, n_slots, node;

        __device__ __forceinline__
        Rows(const PatchMatrixView<Number> &A, const int first_slice, const int n_slots, const int item)
            : A(A), first_slice(first_slice), n_slots(n_slots)
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

        /** Of the patch, the first of the slice's stored blocks. */
        __device__ __forceinline__ int first_block() const
        {
          return static_cast<int>(A.inner_offsets[slice] - A.inner_offsets[first_slice]);
        }

        /**
         * Rows of A_P z, in the order of their blocks; @p columns and @p values are those of the patch, in shared
         * memory if @p staged.
         */
        template <bool staged>
        __device__ __forceinline__ void
        product(const std::uint16_t *columns, const Number *values, const Number *z, Number (&sums)[static_held]) const
        {
          const int b = size(), h = height<static_size>(A), base = first_block(), width = A.inner_width(slice);
          columns += base + r;
          values += (base * b + first * h) * b + r;
#pragma unroll
          for (int a = 0; a < static_held; ++a)
            sums[a] = 0;
#pragma unroll(static_size == 1 ? 8 : 2)
          for (int k = 0; k < width; ++k)
          {
            const int column = staged ? columns[k * h] : __ldg(columns + k * h);
#pragma unroll
            for (int c = 0; c < b; ++c)
            {
              const Number z_c = z[c * n_slots + column];
#pragma unroll
              for (int a = 0; a < static_held; ++a)
              {
                const Number *entry = values + ((k * b + a) * b + c) * h;
                sums[a] += (staged ? *entry : __ldg(entry)) * z_c;
              }
            }
          }
        }

        /**
         * The part of product() of the kept blocks, and mirror(place, column, products) for each but the diagonal: its
         * place in the patch, its column and the rows of its transpose times z of the row.
         */
        template <bool staged, typename Mirror>
        __device__ __forceinline__ void kept_product(const std::uint16_t *columns,
                                                     const Number        *values,
                                                     const Number        *z,
                                                     Number (&sums)[static_held],
                                                     const Mirror &mirror) const
        {
          const int b = size(), h = height<static_size>(A), base = first_block(), width = A.inner_width(slice);
          columns += base + r;
          values += base * b * b + r;
          const auto entry = [&](const int k, const int a, const int c) {
            const Number *const place = values + ((k * b + a) * b + c) * h;
            return staged ? *place : __ldg(place);
          };
#pragma unroll
          for (int a = 0; a < static_held; ++a)
            sums[a] = 0;
#pragma unroll
          for (int c = 0; c < b && width > 0; ++c)
#pragma unroll
            for (int a = 0; a < static_held; ++a)
              sums[a] += entry(0, first + a, c) * z[c * n_slots + slot];
#pragma unroll(static_size == 1 ? 8 : 2)
          for (int k = 1; k < width; ++k)
          {
            const int column = staged ? columns[k * h] : __ldg(columns + k * h);
            Number    products[static_held];
#pragma unroll
            for (int a = 0; a < static_held; ++a)
              products[a] = 0;
#pragma unroll
            for (int c = 0; c < b; ++c)
            {
              const Number z_c = z[c * n_slots + column];
              if (static_held == static_size)
              {
#pragma unroll
                for (int a = 0; a < static_held; ++a)
                {
                  const Number value = entry(k, a, c);
                  sums[a] += value * z_c;
                  products[c % static_held] += value * z[a * n_slots + slot];
                }
              }
              else
              {
                sums[0] += entry(k, first, c) * z_c;
                products[0] += entry(k, c, first) * z[c * n_slots + slot];
              }
            }
            mirror(base + k * h + r, column, products);
          }
        }

        /** Adds what kept_product() left in @p buffer, [component][block]. */
        __device__ __forceinline__ void add_mirrored(const std::uint16_t *mirrors,
                                                     const Number        *buffer,
                                                     const int            n_blocks,
                                                     Number (&sums)[static_held]) const
        {
          const int h = height<static_size>(A), width = A.mirror_width(slice);
          mirrors += static_cast<int>(A.mirror_offsets[slice] - A.mirror_offsets[first_slice]) + r;
#pragma unroll(static_size == 1 ? 8 : 4)
          for (int k = 0; k < width; ++k)
          {
            const int place = mirrors[k * h];
#pragma unroll
            for (int a = 0; a < static_held; ++a)
              sums[a] += buffer[(first + a) * n_blocks + place];
          }
        }

        /** The same without a buffer: transposed blocks times z, from the patch's @p values in memory. */
        __device__ __forceinline__ void
        add_transposed(const std::uint16_t *mirrors, const Number *values, const Number *z, Number (&sums)[static_held])
            const
        {
          const int           b = size(), h = height<static_size>(A), width = A.mirror_width(slice);
          const std::int64_t *offsets = A.inner_offsets + first_slice;
          mirrors += A.mirror_offsets[slice] - A.mirror_offsets[first_slice] + r;
          for (int k = 0; k < width; ++k)
          {
            const int place = __ldg(mirrors + k * h);
            if (place == first_block() + r) // padding
              continue;
            int keeper = 0;
            while (offsets[keeper + 1] - offsets[0] <= place)
              ++keeper;
            const int     begin = static_cast<int>(offsets[keeper] - offsets[0]), lane = (place - begin) % h;
            const Number *block = values + ((begin + (place - begin) / h * h) * b + 0) * b + lane;
            for (int c = 0; c < b; ++c)
            {
              const Number z_c = z[c * n_slots + keeper * h + lane];
#pragma unroll
              for (int a = 0; a < static_held; ++a)
                sums[a] += __ldg(block + (c * b + first + a) * h) * z_c;
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

      /** Waits for what all threads have copied. */
      __device__ __forceinline__ void arrive()
      {
        __pipeline_wait_prior(0);
        __syncthreads();
      }

      /** A_P of a patch, in shared memory if staged. */
      template <typename Number>
      struct Inner
      {
        const std::uint16_t *columns, *mirrors;
        const Number        *values;
        Number              *buffer; ///< half storage, staged: [component][block], see PatchMatrixView
        int                  n_blocks;
      };

      /** The work of a block of threads on its patch; A_P may still be on its way to shared memory. */
      template <bool staged, PatchStorage storage, int static_size, int held, typename Number>
      __device__ __forceinline__ void relax_patch(const PatchMatrixView<Number> &A,
                                                  const double *const            weight,
                                                  const Number *const            b,
                                                  const Number *const            r,
                                                  Number *const                  x,
                                                  Number *const                  r_out,
                                                  const Inner<Number>           &inner,
                                                  Number *const                  z)
      {
        // Where the last phase of a product reads nothing of z, threads with whole nodes go on to z there.
        constexpr bool in_place = (storage == PatchStorage::half && staged) || storage == PatchStorage::half_atomic;
        constexpr bool fused    = in_place && held == static_size;
        const int     first_slice = A.patch_slices[blockIdx.x];
        const int     nc          = static_size > 0 ? static_size : A.block_size;
        const int     n_slots     = (A.patch_slices[blockIdx.x + 1] - first_slice) * height<static_size>(A);
        const int     n_items     = n_slots * (nc / held);
        Number *const t           = z + n_slots * nc;
        Number *const rhs         = t + n_slots * nc;

        const auto for_each_item = [&](const auto &work) {
          for (int item = threadIdx.x; item < n_items; item += blockDim.x)
            work(Rows<static_size, held, Number>(A, first_slice, n_slots, item));
          __syncthreads();
        };
        /** use(rows, sums) for A_P z; t is overwritten. */
        const auto product = [&](const auto &use) {
          if constexpr (storage == PatchStorage::both)
            for_each_item([&](const auto &rows) {
              Number sums[held];
              rows.template product<staged>(inner.columns, inner.values, z, sums);
              use(rows, sums);
            });
          else
          {
            if (storage == PatchStorage::half_atomic)
              for_each_item([&](const auto &rows) {
#pragma unroll
                for (int a = 0; a < held; ++a)
                  t[rows.place(a)] = 0;
              });
            for_each_item([&](const auto &rows) {
              Number sums[held];
              rows.template kept_product<staged>(
                  inner.columns, inner.values, z, sums,
                  [&](const int place, const int column, const Number(&products)[held]) {
#pragma unroll
                    for (int a = 0; a < held; ++a)
                      if (storage == PatchStorage::half_atomic)
                        atomicAdd(t + (rows.first + a) * n_slots + column, products[a]);
                      else if (staged)
                        inner.buffer[(rows.first + a) * inner.n_blocks + place] = products[a];
                  });
#pragma unroll
              for (int a = 0; a < held; ++a)
                if (storage == PatchStorage::half_atomic)
                  atomicAdd(t + rows.place(a), sums[a]);
                else
                  t[rows.place(a)] = sums[a];
            });
            for_each_item([&](const auto &rows) {
              Number sums[held];
#pragma unroll
              for (int a = 0; a < held; ++a)
                sums[a] = t[rows.place(a)];
              if (storage == PatchStorage::half && staged)
                rows.add_mirrored(inner.mirrors, inner.buffer, inner.n_blocks, sums);
              else if (storage == PatchStorage::half)
                rows.add_transposed(inner.mirrors, inner.values, z, sums);
              use(rows, sums);
            });
          }
        };
        if (staged && storage == PatchStorage::half) // what padding of the mirrors reads
          for (int item = threadIdx.x; item < n_slots * nc; item += blockDim.x)
          {
            const int h = height<static_size>(A), slot = item % n_slots, slice = slot / h;
            inner.buffer[item / n_slots * inner.n_blocks + slot % h +
                         static_cast<int>(A.inner_offsets[first_slice + slice] - A.inner_offsets[first_slice])] = 0;
          }
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
        {
          if (staged)
            arrive();
          product([&](const auto &rows, const Number(&sums)[held]) {
#pragma unroll
            for (int a = 0; a < held; ++a)
              rhs[rows.place(a)] -= sums[a];
          });
        }

        Number omega = static_cast<Number>(A.weights[0]);
        for_each_item([&](const auto &rows) {
          Number sums[held];
          rows.diagonal(rhs, sums);
#pragma unroll
          for (int a = 0; a < held; ++a)
            z[rows.place(a)] = omega * sums[a];
        });
        if (staged && r == nullptr)
          arrive();
        for (int sweep = 1; sweep < A.n_sweeps; ++sweep)
        {
          omega = static_cast<Number>(A.weights[sweep]);
          product([&](const auto &rows, const Number(&sums)[held]) {
#pragma unroll
            for (int a = 0; a < held; ++a)
              t[rows.place(a)] = rhs[rows.place(a)] - sums[a];
            if (!fused)
              return;
            Number steps[held];
            rows.diagonal(t, steps);
#pragma unroll
            for (int a = 0; a < held; ++a)
              z[rows.place(a)] += omega * steps[a];
          });
          if (fused)
            continue;
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
          product([&](const auto &rows, const Number(&sums)[held]) {
            if (rows.node < 0)
              return;
#pragma unroll
            for (int a = 0; a < held; ++a)
              r_out[rows.unknown(a)] = b[rows.unknown(a)] - sums[a];
          });
      }

      /** Bytes that A_P of a patch takes in shared memory. */
      template <typename Number>
      PATCHFEM_INLINE std::size_t
      inner_bytes(const PatchStorage storage, const int nc, const std::size_t n_blocks, const std::size_t n_mirrors)
      {
        const std::size_t buffer = storage == PatchStorage::half ? nc * sizeof(Number) : 0;
        return n_blocks * (nc * nc * sizeof(Number) + sizeof(std::uint16_t) + buffer) +
               n_mirrors * sizeof(std::uint16_t);
      }

      /**
       * One block of threads per patch; see patch_relaxation() and, without @p weight, patch_inverse(). If A_P fits
       * @p room bytes, it is copied to shared memory, on its way while the vectors are gathered; else it is read from
       * memory in every sweep.
       */
      template <PatchStorage storage, int static_size, int held, typename Number>
      __global__ void __launch_bounds__(max_threads)
          relaxation_kernel(const __grid_constant__ PatchMatrixView<Number> A,
                            const std::size_t                               room,
                            const double *const                             weight,
                            const Number *const                             b,
                            const Number *const                             r,
                            Number *const                                   x,
                            Number *const                                   r_out)
      {
        extern __shared__ __align__(16) unsigned char memory[];
        const int            first_slice = A.patch_slices[blockIdx.x], last_slice = A.patch_slices[blockIdx.x + 1];
        const int            nc       = static_size > 0 ? static_size : A.block_size;
        const std::int64_t   begin    = A.inner_offsets[first_slice];
        const std::int64_t   n_blocks = A.inner_offsets[last_slice] - begin;
        Inner<Number>        inner{A.inner_columns + begin, nullptr, A.inner_values + begin * nc * nc, nullptr,
                            static_cast<int>(n_blocks)};
        std::int64_t         n_mirrors = 0;
        if (storage == PatchStorage::half)
        {
          inner.mirrors = A.mirrors + A.mirror_offsets[first_slice];
          n_mirrors     = A.mirror_offsets[last_slice] - A.mirror_offsets[first_slice];
        }
        Number *const vectors = reinterpret_cast<Number *>(memory);
        if (inner_bytes<Number>(storage, nc, n_blocks, n_mirrors) > room)
          return relax_patch<false, storage, static_size, held>(A, weight, b, r, x, r_out, inner, vectors);

        // Slices begin at multiples of 16 bytes in each of the arrays.
        Number *const staged_values = vectors + 3 * (last_slice - first_slice) * height<static_size>(A) * nc;
        Number *const buffer        = staged_values + n_blocks * nc * nc;
        std::uint16_t *const staged_columns =
            reinterpret_cast<std::uint16_t *>(buffer + (storage == PatchStorage::half ? n_blocks * nc : 0));
        std::uint16_t *const staged_mirrors = staged_columns + n_blocks;
        const auto           copy           = [&](void *to, const void *from, const int n_bytes) {
          for (int i = threadIdx.x * 16; i < n_bytes; i += blockDim.x * 16)
            __pipeline_memcpy_async(static_cast<char *>(to) + i, static_cast<const char *>(from) + i, 16);
        };
        copy(staged_values, inner.values, static_cast<int>(n_blocks * nc * nc * sizeof(Number)));
        copy(staged_columns, inner.columns, static_cast<int>(n_blocks * sizeof(std::uint16_t)));
        copy(staged_mirrors, inner.mirrors, static_cast<int>(n_mirrors * sizeof(std::uint16_t)));
        __pipeline_commit();
        inner.values  = staged_values;
        inner.buffer  = buffer;
        inner.columns = staged_columns;
        inner.mirrors = staged_mirrors;
        relax_patch<true, storage, static_size, held>(A, weight, b, r, x, r_out, inner, vectors);
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

      /**
       * Rows of a block that one thread holds. All of them share what is read of z; but in double, and for large blocks
       * in small patches, more threads with a row each are faster (H200, blocks of 3 in fp64: 38 against 51 ns for each
       * unknown of a solution).
       */
      template <typename Number>
      constexpr int rows_held(const int static_size, const PatchStorage storage)
      {
        return static_size > 0 && static_size <= 3 && (sizeof(Number) == 4 || storage != PatchStorage::both)
                   ? static_size
                   : 1;
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
        const auto run = [&](auto static_size, auto static_storage) {
          constexpr int          size    = decltype(static_size)::value;
          constexpr PatchStorage storage = decltype(static_storage)::value;
          constexpr int          held    = rows_held<Number>(size, storage);
          const std::size_t      most    = cuda_runtime::shared_memory_per_block();
          const std::size_t      vectors = std::size_t(3) * A.largest_patch * A.block_size * sizeof(Number);
          require(vectors <= most, "A patch of " + std::to_string(A.largest_patch) + " nodes with " +
                                       std::to_string(A.block_size) + " unknowns each does not fit the " +
                                       std::to_string(most) + " bytes of shared memory.");
          // Two patches at least share a multiprocessor, so that one is read while the other is worked on.
          const std::size_t half    = most / 2 - 1024;
          const std::size_t inner   = inner_bytes<Number>(storage, A.block_size, A.largest_inner, A.largest_mirror);
          const std::size_t room    = vectors < half ? std::min(half - vectors, inner) : 0;
          const std::size_t bytes   = vectors + room;
          const int         threads = std::min(max_threads, (A.largest_patch * (A.block_size / held) + 31) / 32 * 32);
          const auto        kernel  = relaxation_kernel<storage, size, held, Number>;
          if (bytes > 49152)
            PATCHFEM_CUDA_CHECK(
                cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
          kernel<<<A.n_patches, threads, bytes, stream_of(where)>>>(A, room, weight, b, r, x, r_out);
          PATCHFEM_CUDA_CHECK_LAUNCH();
        };
        with_block_size(A.block_size, [&](auto size) {
          switch (A.storage)
          {
          case PatchStorage::both:
            return run(size, std::integral_constant<PatchStorage, PatchStorage::both>());
          case PatchStorage::half:
            return run(size, std::integral_constant<PatchStorage, PatchStorage::half>());
          case PatchStorage::half_atomic:
            return run(size, std::integral_constant<PatchStorage, PatchStorage::half_atomic>());
          }
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
        constexpr int      size = decltype(static_size)::value, held = rows_held<Number>(size, PatchStorage::both);
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
    INSTANTIATE_BODY(PatchBlocksBody);
    INSTANTIATE_BODY(NarrowBody);
    INSTANTIATE_BODY(SlotBody);
    INSTANTIATE_BODY(PatchSliceSizesBody);
#define INSTANTIATE(Number)                                                                             \
  INSTANTIATE_BODY(CountInnerBody<Number>);                                                             \
  INSTANTIATE_BODY(FillPatchMatrixBody<Number>);                                                        \
  INSTANTIATE_BODY(MirrorsBody<Number>);                                                                \
  INSTANTIATE_BODY(PatchDiagonalBody<Number>);                                                          \
  template void patch_relaxation(Cuda, const PatchMatrixView<Number> &, const double *, const Number *, \
                                 const Number *, Number *, Number *);                                   \
  template void patch_inverse(Cuda, const PatchMatrixView<Number> &, const Number *, Number *);         \
  template void patch_outer_residual(Cuda, const PatchMatrixView<Number> &, const Number *, const Number *, Number *)
    INSTANTIATE(float);
    INSTANTIATE(double);
  } // namespace kernels
} // namespace PatchFEM
