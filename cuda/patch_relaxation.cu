// SPDX-License-Identifier: LGPL-2.1-or-later
#include "check.cuh"
#include "patch_rows.cuh"

#include "kernels/instantiate.h"
#include <patchfem/base/exceptions.h>
#include <patchfem/kernels/jacobi.h>
#include <patchfem/kernels/runtime.h>

#include <cuda_pipeline.h>

#include <algorithm>
#include <string>

namespace PatchFEM::kernels
{
  namespace
  {
    constexpr int max_threads = 512;

    /// Where two threads share a node, of which each takes 64 registers: three blocks of threads fit a multiprocessor
    /// (H200, blocks of 3 in fp32, 126 nodes to a patch: 307 us with 320 threads, 321 with 384, 330 with 256).
    constexpr int max_threads_of_nodes = 320;

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

    /**
     * The work of a block of threads on its patch, one phase a method. Vectors in shared memory, [component][slot]:
     *
     *   z         what the polynomial has found so far, then x + factor z
     *   t         sums of products with A_P
     *   rhs       what the polynomial is applied to: b, or r - A_P x
     *   second_t  sums of the second thread of each node, where two share one
     *
     *   gather:     rhs = b, z = omega_0 D^-1 rhs        or  rhs = r, z = x   while A_P comes to shared memory
     *   subtract:                                            rhs -= A_P z, z = omega_0 D^-1 rhs
     *   step:       z += omega_k D^-1 (rhs - A_P z), n_sweeps - 1 times
     *   update:     x += factor z, z = x
     *   residual:   r_out = b - A_P z
     *
     * Threads that hold all rows of a node apply D^-1 in the phase that made its argument (`whole`), and go from one
     * step to the next as long as they need nothing of other nodes, unless the last phase of a product reads z of others
     * (`fused`).
     */
    template <bool staged, PatchStorage storage, int static_size, int held, typename Number>
    struct PatchRelaxation
    {
      static constexpr bool whole = held == static_size;
      static constexpr bool fused =
          whole && ((storage == PatchStorage::half && staged) || storage == PatchStorage::half_atomic);

      using NodeRows = Rows<static_size, held, Number>;

      const PatchMatrixView<Number> &A;
      const Inner<Number>           &inner;
      const Slices                  &slices;
      const Number                  *b, *r; ///< r: nullptr where x starts from 0
      Number                        *x;
      Number                         factor;
      int                            nc, n_slots, n_items, parts;
      Number                        *z, *t, *rhs, *second_t;

      __device__ __forceinline__ PatchRelaxation(const PatchMatrixView<Number> &matrix,
                                                 const double *const            weight,
                                                 const Number *const            right_hand_side,
                                                 const Number *const            outer_residual,
                                                 Number *const                  solution,
                                                 const Inner<Number>           &inner_matrix,
                                                 const Slices                  &slices_of_patch,
                                                 Number *const                  vectors)
          : A(matrix), inner(inner_matrix), slices(slices_of_patch), b(right_hand_side), r(outer_residual), x(solution),
            factor(weight != nullptr ? static_cast<Number>(*weight) : Number(1)),
            nc(static_size > 0 ? static_size : matrix.block_size), n_slots(slices_of_patch.n_slots),
            n_items(n_slots * (nc / held)), z(vectors), t(z + n_slots * nc), rhs(t + n_slots * nc),
            second_t(rhs + n_slots * nc)
      {
        // Two threads to a node if there are as many.
        parts =
            n_vectors(storage, static_size, held) == 4 && staged && 2 * n_items <= static_cast<int>(blockDim.x) ? 2 : 1;
      }

      __device__ __forceinline__ NodeRows rows_of(const int item) const { return NodeRows(A, slices, item); }

      template <typename Work>
      __device__ __forceinline__ void for_each_item(const Work &work) const
      {
        for (int item = threadIdx.x; item < n_items; item += blockDim.x)
          work(rows_of(item));
        __syncthreads();
      }

      /** What a product reads ahead for D^-1: nothing where it is not applied. */
      static __device__ __forceinline__ auto diagonal(const NodeRows &rows)
      {
        if constexpr (whole)
          return rows.node_diagonal();
        else
          return 0;
      }

      /** z = omega D^-1 values at the rows. */
      template <typename Diagonal>
      __device__ __forceinline__ void
      start(const NodeRows &rows, const Diagonal &D, const Number (&values)[held], const Number omega) const
      {
        Number steps[held];
        D.multiply(values, steps);
#pragma unroll
        for (int a = 0; a < held; ++a)
          z[rows.place(a)] = omega * steps[a];
      }

      /**
       * use(rows, sums, prepare(rows)) for A_P z, what is prepared being read ahead; t is overwritten. Half storage has
       * each block once: the products with its transpose go to the rows of its columns in a phase of their own.
       */
      template <typename Prepare, typename Use>
      __device__ __forceinline__ void product(const Prepare &prepare, const Use &use) const
      {
        if constexpr (storage == PatchStorage::both)
          for_each_item([&](const NodeRows &rows) {
            Number sums[held];
            rows.template product<staged>(inner.columns, inner.values, z, sums);
            use(rows, sums, prepare(rows));
          });
        else
        {
          multiply_kept();
          add_transposed(prepare, use);
        }
      }

      /** t = products of the blocks that are stored; those with their transposes go to the buffer, or are added to t. */
      __device__ __forceinline__ void multiply_kept() const
      {
        if (storage == PatchStorage::half_atomic)
          for_each_item([&](const NodeRows &rows) {
#pragma unroll
            for (int a = 0; a < held; ++a)
              t[rows.place(a)] = 0;
          });
        for (int item = threadIdx.x; item < parts * n_items; item += blockDim.x)
        {
          const int      part = item < n_items ? 0 : 1;
          const NodeRows rows = rows_of(item - part * n_items);
          Number *const  to   = part == 0 ? t : second_t;
          Number         sums[held];
          rows.template kept_product<staged>(inner.columns, inner.values, z, part, parts, sums,
                                             [&](const int place, const int column, const Number(&products)[held]) {
#pragma unroll
                                               for (int a = 0; a < held; ++a)
                                                 if (storage == PatchStorage::half_atomic)
                                                   atomicAdd(t + (rows.first + a) * n_slots + column, products[a]);
                                                 else if (staged)
                                                   inner.buffer[(rows.first + a) * inner.n_blocks + place] =
                                                       products[a];
                                             });
#pragma unroll
          for (int a = 0; a < held; ++a)
            if (storage == PatchStorage::half_atomic)
              atomicAdd(t + rows.place(a), sums[a]);
            else
              to[rows.place(a)] = sums[a];
        }
        __syncthreads();
      }

      /** The two threads of a node are neighbours here, and add up what they have. */
      template <typename Prepare, typename Use>
      __device__ __forceinline__ void add_transposed(const Prepare &prepare, const Use &use) const
      {
        for (int item = threadIdx.x; item < parts * n_items; item += blockDim.x)
        {
          const int           part     = parts == 2 ? item & 1 : 0;
          const NodeRows      rows     = rows_of(parts == 2 ? item >> 1 : item);
          const auto          prepared = prepare(rows);
          const Number *const from     = part == 0 ? t : second_t;
          Number              sums[held];
#pragma unroll
          for (int a = 0; a < held; ++a)
            sums[a] = from[rows.place(a)];
          if (storage == PatchStorage::half && staged)
            rows.add_mirrored(inner.mirrors, inner.buffer, inner.n_blocks, part, parts, sums);
          else if (storage == PatchStorage::half)
            rows.add_transposed(inner.mirrors, inner.values, z, sums);
          if (parts == 2)
          {
#pragma unroll
            for (int a = 0; a < held; ++a)
              sums[a] += __shfl_xor_sync(0xffffffffu, sums[a], 1);
          }
          if (part == 0)
            use(rows, sums, prepared);
        }
        __syncthreads();
      }

      __device__ __forceinline__ void gather(const Number omega) const
      {
        for_each_item([&](const NodeRows &rows) {
          const Number *const source = r != nullptr ? r : b;
          const int           node   = rows.node();
          const auto          D      = diagonal(rows);
          Number              values[held];
#pragma unroll
          for (int a = 0; a < held; ++a)
          {
            values[a]          = node >= 0 ? source[rows.unknown(node, a)] : Number(0);
            rhs[rows.place(a)] = values[a];
            if (r != nullptr)
              z[rows.place(a)] = node >= 0 ? x[rows.unknown(node, a)] : Number(0);
          }
          if constexpr (whole)
            if (r == nullptr)
              start(rows, D, values, omega);
        });
      }

      /** What padding of the mirrors reads. */
      __device__ __forceinline__ void clear_padding() const
      {
        for (int slot = threadIdx.x; slot < n_slots; slot += blockDim.x)
          for (int c = 0; c < nc; ++c)
          {
            const int h                                                           = height<static_size>(A);
            inner.buffer[c * inner.n_blocks + slices.blocks[slot / h] + slot % h] = 0;
          }
      }

      __device__ __forceinline__ void subtract(const Number omega) const
      {
        product(diagonal, [&](const NodeRows &rows, const Number(&sums)[held], const auto &D) {
          Number values[held];
#pragma unroll
          for (int a = 0; a < held; ++a)
          {
            values[a]          = rhs[rows.place(a)] - sums[a];
            rhs[rows.place(a)] = values[a];
          }
          if constexpr (fused)
            start(rows, D, values, omega);
        });
      }

      /** D^-1 in a phase of its own: z = omega D^-1 from, or z += that. */
      template <bool add>
      __device__ __forceinline__ void apply_diagonal(const Number *const from, const Number omega) const
      {
        for_each_item([&](const NodeRows &rows) {
          Number steps[held];
          rows.diagonal(from, steps);
#pragma unroll
          for (int a = 0; a < held; ++a)
            z[rows.place(a)] = add ? z[rows.place(a)] + omega * steps[a] : omega * steps[a];
        });
      }

      __device__ __forceinline__ void step(const Number omega, const bool last) const
      {
        product(diagonal, [&](const NodeRows &rows, const Number(&sums)[held], const auto &D) {
          Number values[held];
#pragma unroll
          for (int a = 0; a < held; ++a)
            values[a] = rhs[rows.place(a)] - sums[a];
          if constexpr (fused)
          {
            Number steps[held];
            D.multiply(values, steps);
#pragma unroll
            for (int a = 0; a < held; ++a)
            {
              steps[a]         = z[rows.place(a)] + omega * steps[a];
              z[rows.place(a)] = steps[a];
            }
            if (last)
              update(rows, steps);
          }
          else
          {
#pragma unroll
            for (int a = 0; a < held; ++a)
              t[rows.place(a)] = values[a];
          }
        });
        if (!fused)
          apply_diagonal<true>(t, omega);
      }

      __device__ __forceinline__ void update(const NodeRows &rows, const Number (&z_new)[held]) const
      {
        const int node = rows.node();
        if (node < 0)
          return;
#pragma unroll
        for (int a = 0; a < held; ++a)
        {
          const std::int64_t i    = rows.unknown(node, a);
          const Number       next = (r != nullptr ? x[i] : Number(0)) + factor * z_new[a];
          x[i]                    = next;
          z[rows.place(a)]        = next;
        }
      }

      __device__ __forceinline__ void residual(Number *const r_out) const
      {
        product([](const NodeRows &) { return 0; },
                [&](const NodeRows &rows, const Number(&sums)[held], int) {
                  const int node = rows.node();
                  if (node < 0)
                    return;
#pragma unroll
                  for (int a = 0; a < held; ++a)
                    r_out[rows.unknown(node, a)] = b[rows.unknown(node, a)] - sums[a];
                });
      }

      __device__ __forceinline__ void run(Number *const r_out) const
      {
        const Number omega = static_cast<Number>(A.weights[0]);
        gather(omega);
        if (staged)
          arrive();
        if (staged && storage == PatchStorage::half)
          clear_padding();
        if (r != nullptr)
          subtract(omega);
        if (!(r == nullptr ? whole : fused))
          apply_diagonal<false>(rhs, omega);
        for (int sweep = 1; sweep < A.n_sweeps; ++sweep)
          step(static_cast<Number>(A.weights[sweep]), sweep + 1 == A.n_sweeps);
        if (!fused || A.n_sweeps == 1)
          for_each_item([&](const NodeRows &rows) {
            Number z_new[held];
#pragma unroll
            for (int a = 0; a < held; ++a)
              z_new[a] = z[rows.place(a)];
            update(rows, z_new);
          });
        if (r_out != nullptr)
          residual(r_out);
      }
    };

    /** Bytes that A_P of a patch takes in shared memory. */
    template <typename Number>
    PATCHFEM_INLINE std::size_t
    inner_bytes(const PatchStorage storage, const int nc, const std::size_t n_blocks, const std::size_t n_mirrors)
    {
      const std::size_t buffer = storage == PatchStorage::half ? nc * sizeof(Number) : 0;
      return n_blocks * (nc * nc * sizeof(Number) + sizeof(std::uint16_t) + buffer) + n_mirrors * sizeof(std::uint16_t);
    }

    /**
     * One block of threads per patch; see patch_relaxation() and, without @p weight, patch_inverse(). If A_P fits
     * @p room bytes with the vectors, it is copied to shared memory, on its way while the vectors are gathered; else
     * it is read from memory in every sweep.
     */
    template <PatchStorage storage, int static_size, int held, typename Number>
    __global__ void __launch_bounds__(max_threads) relaxation_kernel(const __grid_constant__ PatchMatrixView<Number> A,
                                                                     const std::size_t   room,
                                                                     const double *const weight,
                                                                     const Number *const b,
                                                                     const Number *const r,
                                                                     Number *const       x,
                                                                     Number *const       r_out)
    {
      extern __shared__ __align__(16) unsigned char memory[];
      const int          first_slice = A.patch_slices[blockIdx.x], last_slice = A.patch_slices[blockIdx.x + 1];
      const int          nc       = static_size > 0 ? static_size : A.block_size;
      const std::int64_t begin    = A.inner_offsets[first_slice];
      const std::int64_t n_blocks = A.inner_offsets[last_slice] - begin;
      Inner<Number>      inner{A.inner_columns + begin, nullptr, A.inner_values + begin * nc * nc, nullptr,
                          static_cast<int>(n_blocks)};
      std::int64_t       n_mirrors = 0;
      if (storage == PatchStorage::half)
      {
        inner.mirrors = A.mirrors + A.mirror_offsets[first_slice];
        n_mirrors     = A.mirror_offsets[last_slice] - A.mirror_offsets[first_slice];
      }
      const int    n_slices = last_slice - first_slice;
      int *const   offsets  = reinterpret_cast<int *>(memory);
      const Slices slices{first_slice, n_slices * height<static_size>(A), offsets, offsets + n_slices + 1};
      for (int i = threadIdx.x; i <= n_slices; i += blockDim.x)
      {
        offsets[i] = static_cast<int>(A.inner_offsets[first_slice + i] - begin);
        if (storage == PatchStorage::half)
          offsets[n_slices + 1 + i] =
              static_cast<int>(A.mirror_offsets[first_slice + i] - A.mirror_offsets[first_slice]);
      }
      Number *const vectors  = reinterpret_cast<Number *>(offsets + slice_ints(n_slices));
      const int     n_vector = n_vectors(storage, static_size, held) * slices.n_slots * nc;
      if (slice_ints(n_slices) * sizeof(int) + n_vector * sizeof(Number) +
              inner_bytes<Number>(storage, nc, n_blocks, n_mirrors) >
          room)
        return PatchRelaxation<false, storage, static_size, held, Number>(A, weight, b, r, x, inner, slices, vectors)
            .run(r_out);

      // Slices begin at multiples of 16 bytes in each of the arrays.
      Number *const        staged_values = vectors + n_vector;
      Number *const        buffer        = staged_values + n_blocks * nc * nc;
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
      PatchRelaxation<true, storage, static_size, held, Number>(A, weight, b, r, x, inner, slices, vectors).run(r_out);
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
     * unknown of a solution). With half storage all rows share what is read of a block as well.
     */
    template <typename Number>
    constexpr int rows_held(const int static_size, const PatchStorage storage)
    {
      return static_size > 0 && static_size <= 3 && (sizeof(Number) == 4 || storage != PatchStorage::both) ? static_size
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
        const std::size_t      slices  = slice_ints(A.largest_patch / A.slice_height) * sizeof(int);
        const std::size_t      vectors = std::size_t(3) * A.largest_patch * A.block_size * sizeof(Number) + slices;
        require(vectors <= most, "A patch of " + std::to_string(A.largest_patch) + " nodes with " +
                                     std::to_string(A.block_size) + " unknowns each does not fit the " +
                                     std::to_string(most) + " bytes of shared memory.");
        // Two patches at least share a multiprocessor, so that one is read while the other is worked on.
        const std::size_t staged =
            slices + std::size_t(n_vectors(storage, size, held)) * A.largest_patch * A.block_size * sizeof(Number) +
            inner_bytes<Number>(storage, A.block_size, A.largest_inner, A.largest_mirror);
        const std::size_t bytes        = std::max(vectors, std::min(staged, most / 2 - 1024));
        const bool        shared_nodes = n_vectors(storage, size, held) == 4;
        const int         n_items      = A.largest_patch * (A.block_size / held) * (shared_nodes ? 2 : 1);
        const int  threads = std::min(shared_nodes ? max_threads_of_nodes : max_threads, (n_items + 31) / 32 * 32);
        const auto kernel  = relaxation_kernel<storage, size, held, Number>;
        if (bytes > 49152)
          PATCHFEM_CUDA_CHECK(
              cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
        kernel<<<A.n_patches, threads, bytes, stream_of(where)>>>(A, bytes, weight, b, r, x, r_out);
        PATCHFEM_CUDA_CHECK_LAUNCH();
      };
      with_block_size(A.block_size, [&](auto size) {
        if (A.storage == PatchStorage::half)
          run(size, std::integral_constant<PatchStorage, PatchStorage::half>());
        else if (A.storage == PatchStorage::half_atomic)
          run(size, std::integral_constant<PatchStorage, PatchStorage::half_atomic>());
        else
          run(size, std::integral_constant<PatchStorage, PatchStorage::both>());
      });
    }
  } // namespace

  template <typename Number, typename Where>
  void patch_relaxation(Where                          where,
                        const PatchMatrixView<Number> &A,
                        const double                  *weight,
                        const Number                  *b,
                        const Number                  *r,
                        Number                        *x,
                        Number                        *r_out)
  {
    launch_relaxation(where, A, weight, b, r, x, r_out);
  }

  template <typename Number, typename Where>
  void patch_inverse(Where where, const PatchMatrixView<Number> &A, const Number *src, Number *dst)
  {
    const Number *const from_zero = nullptr;
    launch_relaxation(where, A, nullptr, src, from_zero, dst, static_cast<Number *>(nullptr));
  }

  template <typename Number, typename Where>
  void patch_outer_residual(Where where, const PatchMatrixView<Number> &A, const Number *x, const Number *b, Number *r)
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

  PATCHFEM_INSTANTIATE_PATCH_RELAXATION(Cuda)
} // namespace PatchFEM::kernels
