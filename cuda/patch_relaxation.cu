// SPDX-License-Identifier: LGPL-2.1-or-later
#include "check.cuh"

#include "kernels/instantiate.h"
#include <patchfem/base/exceptions.h>
#include <patchfem/kernels/jacobi.h>
#include <patchfem/kernels/patch_relaxation.h>
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

    template <int static_size, typename Number>
    __device__ __forceinline__ int height(const PatchMatrixView<Number> &A)
    {
      return static_size > 0 ? patch_slice_height(static_size) : A.slice_height;
    }

    /** Vectors that a patch has in shared memory: z, t, rhs and, where two threads share a node, a second t. */
    constexpr int n_vectors(const PatchStorage storage, const int static_size, const int held)
    {
      return storage == PatchStorage::half && static_size > 1 && held == static_size ? 4 : 3;
    }

    /** Ints of offsets of slices in shared memory; vectors of numbers begin behind them at a multiple of 16 bytes. */
    PATCHFEM_INLINE constexpr int slice_ints(const int n_slices)
    {
      return (2 * (n_slices + 1) + 3) / 4 * 4;
    }

    /** What a thread holds of a vector: entries of one node. */
    template <int n, typename Number>
    struct Entries
    {
      Number values[n] = {};

      __device__ __forceinline__ Number       &operator[](const int a) { return values[a]; }
      __device__ __forceinline__ const Number &operator[](const int a) const { return values[a]; }

      __device__ __forceinline__ Entries operator-(const Entries &other) const
      {
        Entries result;
#pragma unroll
        for (int a = 0; a < n; ++a)
          result[a] = values[a] - other[a];
        return result;
      }

      /** values + factor other */
      __device__ __forceinline__ Entries plus(const Number factor, const Entries &other) const
      {
        Entries result;
#pragma unroll
        for (int a = 0; a < n; ++a)
          result[a] = values[a] + factor * other[a];
        return result;
      }

      __device__ __forceinline__ Entries times(const Number factor) const
      {
        Entries result;
#pragma unroll
        for (int a = 0; a < n; ++a)
          result[a] = factor * values[a];
        return result;
      }
    };

    /** A symmetric block, packed. */
    template <int size, typename Number>
    struct NodeDiagonal
    {
      Number entries[size * (size + 1) / 2];

      __device__ __forceinline__ Entries<size, Number> operator*(const Entries<size, Number> &t) const
      {
        Entries<size, Number> sums;
#pragma unroll
        for (int a = 0; a < size; ++a)
#pragma unroll
          for (int c = 0; c < size; ++c)
            sums[a] += entries[a > c ? a * (a + 1) / 2 + c : c * (c + 1) / 2 + a] * t[c];
        return sums;
      }
    };

    /** A patch as its block of threads sees it. Offsets are counted from its first block. */
    template <typename Number>
    struct Patch
    {
      int                  first_slice; ///< of A
      int                  n_slots, n_blocks;
      const int           *blocks;            ///< [slice + 1], in shared memory
      const int           *mirror_offsets;    ///< [slice + 1], with half storage in a fixed order, there too
      Number              *vectors;           ///< there too, [vector][component][slot]
      const std::uint16_t *columns, *mirrors; ///< in shared memory if staged
      const Number        *values;            ///< likewise
      Number              *buffer;            ///< half storage, staged: [component][block], see PatchMatrixView
    };

    /** A thread's work on rows [first, first + held) of a node. Vectors are [component][slot] in shared memory. */
    template <bool staged, int static_size, int static_held, typename Number>
    struct Rows
    {
      using Held = Entries<static_held, Number>;

      const PatchMatrixView<Number> &A;
      const Patch<Number>           &patch;
      int                            slice, r, first, slot; ///< the slice and the slot are those of the patch

      __device__ __forceinline__ Rows(const PatchMatrixView<Number> &A, const Patch<Number> &patch, const int item)
          : A(A), patch(patch)
      {
        const int h = height<static_size>(A), parts = size() / static_held;
        slice = item / (h * parts);
        r     = item % h;
        first = item / h % parts * static_held;
        slot  = slice * h + r;
      }

      __device__ __forceinline__ int node() const
      {
        return A.nodes[std::int64_t(patch.first_slice) * height<static_size>(A) + slot];
      }

      __device__ __forceinline__ int size() const { return static_size > 0 ? static_size : A.block_size; }
      __device__ __forceinline__ int place(const int a) const { return (first + a) * patch.n_slots + slot; }
      __device__ __forceinline__ std::int64_t unknown(const int node, const int a) const
      {
        return std::int64_t(node) * size() + first + a;
      }

      __device__ __forceinline__ Held load(const Number *vector) const
      {
        Held result;
#pragma unroll
        for (int a = 0; a < static_held; ++a)
          result[a] = vector[place(a)];
        return result;
      }

      __device__ __forceinline__ void store(Number *vector, const Held &values) const
      {
#pragma unroll
        for (int a = 0; a < static_held; ++a)
          vector[place(a)] = values[a];
      }

      /** The same of a vector in memory; 0 in padding. */
      __device__ __forceinline__ Held gather(const int node, const Number *vector) const
      {
        Held result;
#pragma unroll
        for (int a = 0; a < static_held; ++a)
          result[a] = node >= 0 ? vector[unknown(node, a)] : Number(0);
        return result;
      }

      __device__ __forceinline__ void scatter(const int node, Number *vector, const Held &values) const
      {
#pragma unroll
        for (int a = 0; a < static_held; ++a)
          if (node >= 0)
            vector[unknown(node, a)] = values[a];
      }

      /** Rows of A_P z, in the order of their blocks. */
      __device__ __forceinline__ Held product(const Number *z) const
      {
        const int            b = size(), h = height<static_size>(A), base = patch.blocks[slice];
        const int            width   = (patch.blocks[slice + 1] - base) / h;
        const std::uint16_t *columns = patch.columns + base + r;
        const Number        *values  = patch.values + (base * b + first * h) * b + r;
        Held                 sums;
#pragma unroll(static_size == 1 ? 8 : 2)
        for (int k = 0; k < width; ++k)
        {
          const int column = staged ? columns[k * h] : __ldg(columns + k * h);
#pragma unroll
          for (int c = 0; c < b; ++c)
          {
            const Number z_c = z[c * patch.n_slots + column];
#pragma unroll
            for (int a = 0; a < static_held; ++a)
            {
              const Number *entry = values + ((k * b + a) * b + c) * h;
              sums[a] += (staged ? *entry : __ldg(entry)) * z_c;
            }
          }
        }
        return sums;
      }

      /**
     * What kept blocks part, part + parts, ... give of product(), and mirror(place, column, products) for each but
     * the diagonal: its place in the patch, its column and the rows of its transpose times z of the row.
     */
      template <typename Mirror>
      __device__ __forceinline__ Held
      kept_product(const Number *z, const int part, const int parts, const Mirror &mirror) const
      {
        constexpr int        n_own = static_size > 0 ? static_size : 1; // of z of the row, in registers
        constexpr bool       whole = static_held == static_size;
        const int            b = size(), h = height<static_size>(A), base = patch.blocks[slice];
        const int            width = (patch.blocks[slice + 1] - base) / h, n_slots = patch.n_slots;
        const std::uint16_t *columns = patch.columns + base + r;
        const Number        *values  = patch.values + base * b * b + r;
        const auto           entry   = [&](const int k, const int a, const int c) {
          const Number *const place = values + ((k * b + a) * b + c) * h;
          return staged ? *place : __ldg(place);
        };
        Number own[n_own];
#pragma unroll
        for (int c = 0; c < n_own; ++c)
          own[c] = z[c * n_slots + slot];
        const auto own_z = [&](const int c) { return static_size > 0 ? own[c % n_own] : z[c * n_slots + slot]; };
        Held       sums;
#pragma unroll
        for (int c = 0; c < b && part == 0; ++c)
#pragma unroll
          for (int a = 0; a < static_held; ++a)
            sums[a] += entry(0, first + a, c) * own_z(c);
        // Loads do not pass the stores of mirror(): some blocks are loaded before the first of them is passed on.
        const auto blocks = [&](const int k_0, auto n) {
          constexpr int n_blocks = decltype(n)::value;
          int           column[n_blocks];
          Held          products[n_blocks];
#pragma unroll
          for (int i = 0; i < n_blocks; ++i)
            column[i] = staged ? columns[(k_0 + i * parts) * h] : __ldg(columns + (k_0 + i * parts) * h);
#pragma unroll
          for (int i = 0; i < n_blocks; ++i)
#pragma unroll
            for (int c = 0; c < b; ++c)
            {
              const Number z_c = z[c * n_slots + column[i]];
#pragma unroll
              for (int a = 0; a < static_held; ++a)
              {
                const Number value = entry(k_0 + i * parts, first + a, c);
                sums[a] += value * z_c;
                if (whole)
                  products[i][c % static_held] += value * own[a];
                else
                  products[i][0] += entry(k_0 + i * parts, c, first) * own_z(c);
              }
            }
#pragma unroll
          for (int i = 0; i < n_blocks; ++i)
            mirror(base + (k_0 + i * parts) * h + r, column[i], products[i]);
        };
        constexpr int at_once = static_size == 1 ? 4 : 2;
        int           k       = part > 0 ? part : parts;
        for (; k + (at_once - 1) * parts < width; k += at_once * parts)
          blocks(k, std::integral_constant<int, at_once>());
        for (; k < width; k += parts)
          blocks(k, std::integral_constant<int, 1>());
        return sums;
      }

      /** Adds what kept_product() left in the buffer at mirrors part, part + parts, ... */
      __device__ __forceinline__ void add_mirrored(const int part, const int parts, Held &sums) const
      {
        const int            h = height<static_size>(A), begin = patch.mirror_offsets[slice];
        const int            width   = (patch.mirror_offsets[slice + 1] - begin) / h;
        const std::uint16_t *mirrors = patch.mirrors + begin + r;
#pragma unroll(static_size == 1 ? 8 : 4)
        for (int k = part; k < width; k += parts)
        {
          const int place = mirrors[k * h];
#pragma unroll
          for (int a = 0; a < static_held; ++a)
            sums[a] += patch.buffer[(first + a) * patch.n_blocks + place];
        }
      }

      /** The same without a buffer: transposed blocks times z, from memory. */
      __device__ __forceinline__ void add_transposed(const Number *z, Held &sums) const
      {
        const int            b = size(), h = height<static_size>(A), begin = patch.mirror_offsets[slice];
        const int            width   = (patch.mirror_offsets[slice + 1] - begin) / h;
        const std::uint16_t *mirrors = patch.mirrors + begin + r;
        for (int k = 0; k < width; ++k)
        {
          const int place = __ldg(mirrors + k * h);
          if (place == patch.blocks[slice] + r) // padding
            continue;
          int keeper = 0;
          while (patch.blocks[keeper + 1] <= place)
            ++keeper;
          const int     begin = patch.blocks[keeper], lane = (place - begin) % h;
          const Number *block = patch.values + std::int64_t(place - lane) * b * b + lane;
          for (int c = 0; c < b; ++c)
          {
            const Number z_c = z[c * patch.n_slots + keeper * h + lane];
#pragma unroll
            for (int a = 0; a < static_held; ++a)
              sums[a] += __ldg(block + (c * b + first + a) * h) * z_c;
          }
        }
      }

      __device__ __forceinline__ NodeDiagonal<static_held, Number> node_diagonal() const
      {
        const int                         h = height<static_size>(A), packed = A.packed();
        NodeDiagonal<static_held, Number> result;
#pragma unroll
        for (int e = 0; e < static_held * (static_held + 1) / 2; ++e)
          result.entries[e] = __ldg(A.diagonal + (std::int64_t(patch.first_slice + slice) * packed + e) * h + r);
        return result;
      }

      /** Rows of D^-1 t. */
      __device__ __forceinline__ Held diagonal(const Number *t) const
      {
        const int     b = size(), h = height<static_size>(A);
        const Number *D = A.diagonal + std::int64_t(patch.first_slice + slice) * (b * (b + 1) / 2) * h + r;
        Held          sums;
#pragma unroll
        for (int a = 0; a < static_held; ++a)
        {
          const int row = first + a;
#pragma unroll
          for (int c = 0; c < b; ++c)
            sums[a] += __ldg(D + (row > c ? row * (row + 1) / 2 + c : c * (c + 1) / 2 + row) * h) *
                       t[c * patch.n_slots + slot];
        }
        return sums;
      }
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

      using NodeRows = Rows<staged, static_size, held, Number>;
      using Held     = Entries<held, Number>;

      const PatchMatrixView<Number> &A;
      const Patch<Number>           &patch;
      const Number                  *b, *r; ///< r: nullptr where x starts from 0
      Number                        *x;
      Number                         factor;

      const int     nc = static_size > 0 ? static_size : A.block_size, n_slots = patch.n_slots;
      const int     n_items = n_slots * (nc / held);
      Number *const z = patch.vectors, *const t = z + n_slots * nc, *const rhs = t + n_slots * nc;
      Number *const second_t = rhs + n_slots * nc;
      // Two threads to a node if there are as many.
      const int parts =
          n_vectors(storage, static_size, held) == 4 && staged && 2 * n_items <= static_cast<int>(blockDim.x) ? 2 : 1;

      template <typename Work>
      __device__ __forceinline__ void for_each_item(const Work &work) const
      {
        for (int item = threadIdx.x; item < n_items; item += blockDim.x)
          work(NodeRows(A, patch, item));
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

      /**
       * use(rows, sums, prepare(rows)) for A_P z, what is prepared being read ahead; t is overwritten. Half storage has
       * each block once: the products with its transpose go to the rows of its columns in a phase of their own.
       */
      template <typename Prepare, typename Use>
      __device__ __forceinline__ void product(const Prepare &prepare, const Use &use) const
      {
        if constexpr (storage == PatchStorage::both)
          for_each_item([&](const NodeRows &rows) {
            const Held sums = rows.product(z);
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
        constexpr bool atomic = storage == PatchStorage::half_atomic;
        if (atomic)
          for_each_item([&](const NodeRows &rows) { rows.store(t, Held()); });
        for (int item = threadIdx.x; item < parts * n_items; item += blockDim.x)
        {
          const int      part = item < n_items ? 0 : 1;
          const NodeRows rows(A, patch, item - part * n_items);
          const Held     sums =
              rows.kept_product(z, part, parts, [&](const int place, const int column, const Held &products) {
#pragma unroll
                for (int a = 0; a < held; ++a)
                  if (atomic)
                    atomicAdd(t + (rows.first + a) * n_slots + column, products[a]);
                  else if (staged)
                    patch.buffer[(rows.first + a) * patch.n_blocks + place] = products[a];
              });
          if (!atomic)
            rows.store(part == 0 ? t : second_t, sums);
          else
          {
#pragma unroll
            for (int a = 0; a < held; ++a)
              atomicAdd(t + rows.place(a), sums[a]);
          }
        }
        __syncthreads();
      }

      /** The two threads of a node are neighbours here, and add up what they have. */
      template <typename Prepare, typename Use>
      __device__ __forceinline__ void add_transposed(const Prepare &prepare, const Use &use) const
      {
        for (int item = threadIdx.x; item < parts * n_items; item += blockDim.x)
        {
          const int      part = parts == 2 ? item & 1 : 0;
          const NodeRows rows(A, patch, parts == 2 ? item >> 1 : item);
          const auto     prepared = prepare(rows);
          Held           sums     = rows.load(part == 0 ? t : second_t);
          if (storage == PatchStorage::half && staged)
            rows.add_mirrored(part, parts, sums);
          else if (storage == PatchStorage::half)
            rows.add_transposed(z, sums);
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
          const int  node   = rows.node();
          const auto D      = diagonal(rows);
          const Held values = rows.gather(node, r != nullptr ? r : b);
          rows.store(rhs, values);
          if (r != nullptr)
            rows.store(z, rows.gather(node, x));
          if constexpr (whole)
            if (r == nullptr)
              rows.store(z, (D * values).times(omega));
        });
      }

      /** What padding of the mirrors reads. */
      __device__ __forceinline__ void clear_padding() const
      {
        const int h = height<static_size>(A);
        for (int slot = threadIdx.x; slot < n_slots; slot += blockDim.x)
          for (int c = 0; c < nc; ++c)
            patch.buffer[c * patch.n_blocks + patch.blocks[slot / h] + slot % h] = 0;
      }

      __device__ __forceinline__ void subtract(const Number omega) const
      {
        product(diagonal, [&](const NodeRows &rows, const Held &sums, const auto &D) {
          const Held values = rows.load(rhs) - sums;
          rows.store(rhs, values);
          if constexpr (fused)
            rows.store(z, (D * values).times(omega));
        });
      }

      /** D^-1 in a phase of its own: z = omega D^-1 from, or z += that. */
      template <bool add>
      __device__ __forceinline__ void apply_diagonal(const Number *const from, const Number omega) const
      {
        for_each_item([&](const NodeRows &rows) {
          const Held steps = rows.diagonal(from);
          rows.store(z, add ? rows.load(z).plus(omega, steps) : steps.times(omega));
        });
      }

      __device__ __forceinline__ void step(const Number omega, const bool last) const
      {
        product(diagonal, [&](const NodeRows &rows, const Held &sums, const auto &D) {
          const Held values = rows.load(rhs) - sums;
          if constexpr (fused)
          {
            const Held next = rows.load(z).plus(omega, D * values);
            rows.store(z, next);
            if (last)
              update(rows, next);
          }
          else
            rows.store(t, values);
        });
        if (!fused)
          apply_diagonal<true>(t, omega);
      }

      __device__ __forceinline__ void update(const NodeRows &rows, const Held &z_new) const
      {
        const int node = rows.node();
        if (node < 0)
          return;
        const Held next = (r != nullptr ? rows.gather(node, x) : Held()).plus(factor, z_new);
        rows.scatter(node, x, next);
        rows.store(z, next);
      }

      __device__ __forceinline__ void run(Number *const r_out) const
      {
        const Number omega = static_cast<Number>(A.weights[0]);
        gather(omega);
        if (staged) // for what all threads have copied
        {
          __pipeline_wait_prior(0);
          __syncthreads();
        }
        if (staged && storage == PatchStorage::half)
          clear_padding();
        if (r != nullptr)
          subtract(omega);
        if (!(r == nullptr ? whole : fused))
          apply_diagonal<false>(rhs, omega);
        for (int sweep = 1; sweep < A.n_sweeps; ++sweep)
          step(static_cast<Number>(A.weights[sweep]), sweep + 1 == A.n_sweeps);
        if (!fused || A.n_sweeps == 1)
          for_each_item([&](const NodeRows &rows) { update(rows, rows.load(z)); });
        if (r_out != nullptr)
          product([](const NodeRows &) { return 0; },
                  [&](const NodeRows &rows, const Held &sums, int) {
                    const int node = rows.node();
                    rows.scatter(node, r_out, rows.gather(node, b) - sums);
                  });
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
     * One block of threads per patch; see patch_relaxation(). If A_P fits @p room bytes with the vectors, it is copied
     * to shared memory, on its way while the vectors are gathered; else it is read from memory in every sweep.
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
      constexpr bool                                half = storage == PatchStorage::half;
      const int          first_slice = A.patch_slices[blockIdx.x], last_slice = A.patch_slices[blockIdx.x + 1];
      const int          nc = static_size > 0 ? static_size : A.block_size, n_slices = last_slice - first_slice;
      const std::int64_t begin = A.inner_offsets[first_slice], mirror_begin = half ? A.mirror_offsets[first_slice] : 0;
      const std::int64_t n_blocks  = A.inner_offsets[last_slice] - begin;
      const std::int64_t n_mirrors = half ? A.mirror_offsets[last_slice] - mirror_begin : 0;
      int *const         offsets   = reinterpret_cast<int *>(memory);
      for (int i = threadIdx.x; i <= n_slices; i += blockDim.x)
      {
        offsets[i] = static_cast<int>(A.inner_offsets[first_slice + i] - begin);
        if (half)
          offsets[n_slices + 1 + i] = static_cast<int>(A.mirror_offsets[first_slice + i] - mirror_begin);
      }
      Patch<Number> patch{first_slice,
                          n_slices * height<static_size>(A),
                          static_cast<int>(n_blocks),
                          offsets,
                          offsets + n_slices + 1,
                          reinterpret_cast<Number *>(offsets + slice_ints(n_slices)),
                          A.inner_columns + begin,
                          half ? A.mirrors + mirror_begin : nullptr,
                          A.inner_values + begin * nc * nc,
                          nullptr};
      const Number  factor   = weight != nullptr ? static_cast<Number>(*weight) : Number(1);
      const int     n_vector = n_vectors(storage, static_size, held) * patch.n_slots * nc;
      if (slice_ints(n_slices) * sizeof(int) + n_vector * sizeof(Number) +
              inner_bytes<Number>(storage, nc, n_blocks, n_mirrors) >
          room)
        return PatchRelaxation<false, storage, static_size, held, Number>{A, patch, b, r, x, factor}.run(r_out);

      // Slices begin at multiples of 16 bytes in each of the arrays.
      Number *const        staged_values = patch.vectors + n_vector;
      std::uint16_t *const staged_columns =
          reinterpret_cast<std::uint16_t *>(staged_values + n_blocks * nc * (nc + (half ? 1 : 0)));
      const auto copy = [&](void *to, const void *from, const int n_bytes) {
        for (int i = threadIdx.x * 16; i < n_bytes; i += blockDim.x * 16)
          __pipeline_memcpy_async(static_cast<char *>(to) + i, static_cast<const char *>(from) + i, 16);
      };
      copy(staged_values, patch.values, static_cast<int>(n_blocks * nc * nc * sizeof(Number)));
      copy(staged_columns, patch.columns, static_cast<int>(n_blocks * sizeof(std::uint16_t)));
      copy(staged_columns + n_blocks, patch.mirrors, static_cast<int>(n_mirrors * sizeof(std::uint16_t)));
      __pipeline_commit();
      patch.values  = staged_values;
      patch.buffer  = staged_values + n_blocks * nc * nc;
      patch.columns = staged_columns;
      patch.mirrors = staged_columns + n_blocks;
      PatchRelaxation<true, storage, static_size, held, Number>{A, patch, b, r, x, factor}.run(r_out);
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
      const int         threads = std::min(shared_nodes ? max_threads_of_nodes : max_threads, (n_items + 31) / 32 * 32);
      const auto        kernel  = relaxation_kernel<storage, size, held, Number>;
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
