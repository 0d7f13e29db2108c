// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/patch_relaxation.h>

/** @file What a thread computes for a node of a patch; see patch_relaxation.h. */
namespace PatchFEM::kernels
{
  template <int static_size, typename Number>
  __device__ __forceinline__ int height(const PatchMatrixView<Number> &A)
  {
    return static_size > 0 ? patch_slice_height(static_size) : A.slice_height;
  }

  /** A symmetric block, packed. */
  template <int size, typename Number>
  struct NodeDiagonal
  {
    Number entries[size * (size + 1) / 2];

    __device__ __forceinline__ void multiply(const Number (&t)[size], Number (&sums)[size]) const
    {
#pragma unroll
      for (int a = 0; a < size; ++a)
      {
        sums[a] = 0;
#pragma unroll
        for (int c = 0; c < size; ++c)
          sums[a] += entries[a > c ? a * (a + 1) / 2 + c : c * (c + 1) / 2 + a] * t[c];
      }
    }
  };

  /** Vectors that a patch has in shared memory: z, t, rhs and, where two threads share a node, a second t. */
  constexpr int n_vectors(const PatchStorage storage, const int static_size, const int held)
  {
    return storage == PatchStorage::half && static_size > 1 && held == static_size ? 4 : 3;
  }

  /** The slices of a patch; offsets are counted from the patch's first block and in shared memory. */
  struct Slices
  {
    int        first; ///< of A
    int        n_slots;
    const int *blocks;  ///< [slice + 1]
    const int *mirrors; ///< [slice + 1], with half storage in a fixed order
  };

  /** Ints of Slices in shared memory; vectors of numbers begin behind them at a multiple of 16 bytes. */
  PATCHFEM_INLINE constexpr int slice_ints(const int n_slices)
  {
    return (2 * (n_slices + 1) + 3) / 4 * 4;
  }

  /**
   * What a thread does for the rows [first, first + held) of one node of a patch. Vectors of the patch are
   * [component][slot] in shared memory.
   */
  template <int static_size, int static_held, typename Number>
  struct Rows
  {
    const PatchMatrixView<Number> &A;
    const Slices                  &slices;
    int                            slice, r, first, slot; ///< the slice and the slot are those of the patch

    __device__ __forceinline__ Rows(const PatchMatrixView<Number> &A, const Slices &slices, const int item)
        : A(A), slices(slices)
    {
      const int h = height<static_size>(A), parts = size() / static_held;
      slice = item / (h * parts);
      r     = item % h;
      first = item / h % parts * static_held;
      slot  = slice * h + r;
    }

    __device__ __forceinline__ int node() const
    {
      return A.nodes[std::int64_t(slices.first) * height<static_size>(A) + slot];
    }

    __device__ __forceinline__ int size() const { return static_size > 0 ? static_size : A.block_size; }
    __device__ __forceinline__ int place(const int a) const { return (first + a) * slices.n_slots + slot; }
    __device__ __forceinline__ std::int64_t unknown(const int node, const int a) const
    {
      return std::int64_t(node) * size() + first + a;
    }

    /**
     * Rows of A_P z, in the order of their blocks; @p columns and @p values are those of the patch, in shared
     * memory if @p staged.
     */
    template <bool staged>
    __device__ __forceinline__ void
    product(const std::uint16_t *columns, const Number *values, const Number *z, Number (&sums)[static_held]) const
    {
      const int b = size(), h = height<static_size>(A), base = slices.blocks[slice];
      const int width = (slices.blocks[slice + 1] - base) / h, n_slots = slices.n_slots;
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
     * What kept blocks part, part + parts, ... give of product(), and mirror(place, column, products) for each but
     * the diagonal: its place in the patch, its column and the rows of its transpose times z of the row.
     */
    template <bool staged, typename Mirror>
    __device__ __forceinline__ void kept_product(const std::uint16_t *columns,
                                                 const Number        *values,
                                                 const Number        *z,
                                                 const int            part,
                                                 const int            parts,
                                                 Number (&sums)[static_held],
                                                 const Mirror &mirror) const
    {
      constexpr int  n_own = static_size > 0 ? static_size : 1; // of z of the row, in registers
      constexpr bool whole = static_held == static_size;
      const int      b = size(), h = height<static_size>(A), base = slices.blocks[slice];
      const int      width = (slices.blocks[slice + 1] - base) / h, n_slots = slices.n_slots;
      columns += base + r;
      values += base * b * b + r;
      const auto entry = [&](const int k, const int a, const int c) {
        const Number *const place = values + ((k * b + a) * b + c) * h;
        return staged ? *place : __ldg(place);
      };
      Number own[n_own];
#pragma unroll
      for (int c = 0; c < n_own; ++c)
        own[c] = z[c * n_slots + slot];
      const auto own_z = [&](const int c) { return static_size > 0 ? own[c % n_own] : z[c * n_slots + slot]; };
#pragma unroll
      for (int a = 0; a < static_held; ++a)
        sums[a] = 0;
#pragma unroll
      for (int c = 0; c < b && part == 0; ++c)
#pragma unroll
        for (int a = 0; a < static_held; ++a)
          sums[a] += entry(0, first + a, c) * own_z(c);
      // Loads do not pass the stores of mirror(): some blocks are loaded before the first of them is passed on.
      const auto blocks = [&](const int k_0, auto n) {
        constexpr int n_blocks = decltype(n)::value;
        int           column[n_blocks];
        Number        products[n_blocks][static_held];
#pragma unroll
        for (int i = 0; i < n_blocks; ++i)
        {
          column[i] = staged ? columns[(k_0 + i * parts) * h] : __ldg(columns + (k_0 + i * parts) * h);
#pragma unroll
          for (int a = 0; a < static_held; ++a)
            products[i][a] = 0;
        }
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
    }

    /** Adds what kept_product() left in @p buffer, [component][block], at mirrors part, part + parts, ... */
    __device__ __forceinline__ void add_mirrored(const std::uint16_t *mirrors,
                                                 const Number        *buffer,
                                                 const int            n_blocks,
                                                 const int            part,
                                                 const int            parts,
                                                 Number (&sums)[static_held]) const
    {
      const int h = height<static_size>(A), width = (slices.mirrors[slice + 1] - slices.mirrors[slice]) / h;
      mirrors += slices.mirrors[slice] + r;
#pragma unroll(static_size == 1 ? 8 : 4)
      for (int k = part; k < width; k += parts)
      {
        const int place = mirrors[k * h];
#pragma unroll
        for (int a = 0; a < static_held; ++a)
          sums[a] += buffer[(first + a) * n_blocks + place];
      }
    }

    /** The same without a buffer: transposed blocks times z, from the patch's @p values in memory. */
    __device__ __forceinline__ void add_transposed(const std::uint16_t *mirrors,
                                                   const Number        *values,
                                                   const Number        *z,
                                                   Number (&sums)[static_held]) const
    {
      const int b = size(), h = height<static_size>(A);
      const int width = (slices.mirrors[slice + 1] - slices.mirrors[slice]) / h;
      mirrors += slices.mirrors[slice] + r;
      for (int k = 0; k < width; ++k)
      {
        const int place = __ldg(mirrors + k * h);
        if (place == slices.blocks[slice] + r) // padding
          continue;
        int keeper = 0;
        while (slices.blocks[keeper + 1] <= place)
          ++keeper;
        const int     begin = slices.blocks[keeper], lane = (place - begin) % h;
        const Number *block = values + std::int64_t(place - lane) * b * b + lane;
        for (int c = 0; c < b; ++c)
        {
          const Number z_c = z[c * slices.n_slots + keeper * h + lane];
#pragma unroll
          for (int a = 0; a < static_held; ++a)
            sums[a] += __ldg(block + (c * b + first + a) * h) * z_c;
        }
      }
    }

    /** D^-1 of the node in registers. */
    __device__ __forceinline__ NodeDiagonal<static_held, Number> node_diagonal() const
    {
      const int                         h = height<static_size>(A), packed = A.packed();
      NodeDiagonal<static_held, Number> result;
#pragma unroll
      for (int e = 0; e < static_held * (static_held + 1) / 2; ++e)
        result.entries[e] = __ldg(A.diagonal + (std::int64_t(slices.first + slice) * packed + e) * h + r);
      return result;
    }

    /** Rows of D^-1 t. */
    __device__ __forceinline__ void diagonal(const Number *t, Number (&sums)[static_held]) const
    {
      const int     b = size(), h = height<static_size>(A);
      const Number *D = A.diagonal + std::int64_t(slices.first + slice) * (b * (b + 1) / 2) * h + r;
#pragma unroll
      for (int a = 0; a < static_held; ++a)
      {
        const int row = first + a;
        sums[a]       = 0;
#pragma unroll
        for (int c = 0; c < b; ++c)
          sums[a] +=
              __ldg(D + (row > c ? row * (row + 1) / 2 + c : c * (c + 1) / 2 + row) * h) * t[c * slices.n_slots + slot];
      }
    }
  };
} // namespace PatchFEM::kernels
