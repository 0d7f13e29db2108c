// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_kernels_patch_matrix_bodies_h
#define patchfem_source_kernels_patch_matrix_bodies_h

#include <patchfem/kernels/jacobi.h>
#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/parallel_for.h>
#include <patchfem/kernels/patch_relaxation.h>

/** @file Bodies (see parallel_for.h) that bring a matrix into patches: see PatchMatrixView. */
namespace PatchFEM
{
  namespace kernels
  {
    /** Offsets of all patches: those given, and behind them patches of @p size nodes that take what is left. */
    struct AllPatchOffsetsBody
    {
      const int *given; ///< [n_given + 1]
      int        n_given, size, n_nodes;
      int       *offsets;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const std::int64_t end = i <= n_given ? given[i] : given[n_given] + (i - n_given) * size;
        offsets[i]             = static_cast<int>(end < n_nodes ? end : n_nodes);
      }
    };

    /** The patch of each node, patch by patch. */
    struct PatchOfNodeBody
    {
      const int *offsets; ///< [patch + 1]
      const int *nodes;   ///< by patch
      int       *patch;   ///< [node]

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        for (int i = offsets[p]; i < offsets[p + 1]; ++i)
          patch[nodes[i]] = static_cast<int>(p);
      }
    };

    /**
     * How many blocks of a row lie in its patch, the diagonal included, and how many of them are kept; with half storage
     * the diagonal is one of these even if A does not have it.
     */
    template <typename Number>
    struct CountInnerBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths; ///< [row]
      const int                *patch;   ///< [node]
      bool                      half;
      int                      *inner, *kept; ///< [node]

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int row         = static_cast<int>(i);
        int       n_neighbors = 0, n_kept = 0, n_diagonal = half ? 1 : 0;
        for (int k = 0; k < lengths[row]; ++k)
        {
          const int column = A.columns[A.block_index(row, k)];
          if (patch[column] != patch[row])
            continue;
          if (column == row)
            n_diagonal = 1;
          else
          {
            ++n_neighbors;
            n_kept += !half || keeps_block(row, column);
          }
        }
        inner[row] = n_diagonal + n_neighbors;
        kept[row]  = n_diagonal + n_kept;
      }
    };

    /** Sorts nodes by patch, falling number of kept blocks and, with half storage, falling number of the others. */
    struct PatchRowKeyBody
    {
      const int     *nodes;         ///< by patch
      const int     *patch;         ///< [node]
      const int     *inner, *kept;  ///< [node]
      int            bits, longest; ///< 0 <= inner <= longest < 2^bits
      bool           half;
      std::uint64_t *keys;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int     node = nodes[i];
        std::uint64_t key =
            (static_cast<std::uint64_t>(patch[node]) << bits) | static_cast<unsigned>(longest - kept[node]);
        if (half)
          key = (key << bits) | static_cast<unsigned>(longest - (inner[node] - kept[node]));
        keys[i] = key;
      }
    };

    struct PatchSlicesBody
    {
      const int *offsets; ///< [patch + 1]
      int        slice_height;
      int       *counts; ///< [patch]

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        counts[p] = PatchFEM::n_slices(offsets[p + 1] - offsets[p], slice_height);
      }
    };

    /** What a patch takes of a sliced array. */
    struct PatchBlocksBody
    {
      const int          *patch_slices; ///< [patch + 1]
      const std::int64_t *offsets;      ///< [slice + 1]
      int                *n_blocks;     ///< [patch]

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        n_blocks[p] = static_cast<int>(offsets[patch_slices[p + 1]] - offsets[patch_slices[p]]);
      }
    };

    /** to = from, where it is known to fit. */
    struct NarrowBody
    {
      const std::int64_t *from;
      int                *to;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { to[i] = static_cast<int>(from[i]); }
    };

    /** Where the i-th node by patch stands. */
    struct SlotBody
    {
      const int *nodes;        ///< by patch, sorted
      const int *patch;        ///< [node]
      const int *offsets;      ///< [patch + 1]
      const int *patch_slices; ///< [patch + 1]
      int        slice_height;
      int       *nodes_of_slots; ///< starts at -1
      int       *local;          ///< [node], slot counted from the first of the patch

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int node = nodes[i], p = patch[node];
        local[node]                                                                = static_cast<int>(i) - offsets[p];
        nodes_of_slots[std::int64_t(patch_slices[p]) * slice_height + local[node]] = node;
      }
    };

    /** What a slice takes of kept, mirrored and outer blocks: slice_height times its longest row. */
    struct PatchSliceSizesBody
    {
      const int *nodes;        ///< [slot]
      const int *lengths;      ///< [node]
      const int *inner, *kept; ///< [node]
      int        slice_height;
      int       *inner_sizes, *mirror_sizes, *outer_sizes; ///< [slice]

      PATCHFEM_INLINE void operator()(const std::int64_t slice) const
      {
        int inner_width = 0, mirror_width = 0, outer_width = 0;
        for (int r = 0; r < slice_height; ++r)
        {
          const int node = nodes[slice * slice_height + r];
          if (node < 0)
            continue;
          const int outer = lengths[node] - inner[node], mirrored = inner[node] - kept[node];
          inner_width  = kept[node] > inner_width ? kept[node] : inner_width;
          mirror_width = mirrored > mirror_width ? mirrored : mirror_width;
          outer_width  = outer > outer_width ? outer : outer_width;
        }
        inner_sizes[slice]  = inner_width * slice_height;
        mirror_sizes[slice] = mirror_width * slice_height;
        outer_sizes[slice]  = outer_width * slice_height;
      }
    };

    /**
     * Columns and values of the row in a slot, or one of both where the other's arrays are null. Padding has value 0 and
     * the column of its row.
     */
    template <typename Number>
    struct FillPatchMatrixBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths; ///< [row]
      const int                *nodes;   ///< [slot]
      const int                *patch;   ///< [node]
      const int                *local;   ///< [node]
      const std::int64_t       *inner_offsets, *outer_offsets;
      int                       slice_height;
      bool                      half;
      std::uint16_t            *inner_columns;
      int                      *outer_columns;
      Number                   *inner_values, *outer_values;

      PATCHFEM_INLINE void
      write(Number *values, const std::int64_t begin, const int place, const int r, const int row, const int k) const
      {
        const int b = A.block_rows;
        for (int a = 0; values != nullptr && a < b; ++a)
          for (int c = 0; c < b; ++c)
            values[((begin + std::int64_t(place) * slice_height) * b + std::int64_t(a) * slice_height) * b +
                   std::int64_t(c) * slice_height + r] = k >= 0 ? A.values[A.value_index(row, k, a, c)] : Number(0);
      }

      PATCHFEM_INLINE void operator()(const std::int64_t slot) const
      {
        const std::int64_t slice = slot / slice_height, inner_begin = inner_offsets[slice],
                           outer_begin = outer_offsets[slice];
        const int  r                   = static_cast<int>(slot % slice_height);
        const int  inner_width         = static_cast<int>((inner_offsets[slice + 1] - inner_begin) / slice_height);
        const int  outer_width         = static_cast<int>((outer_offsets[slice + 1] - outer_begin) / slice_height);
        const int  row                 = nodes[slot];
        const auto inner               = [&](const int place, const int column, const int k) {
          if (inner_columns != nullptr)
            inner_columns[inner_begin + std::int64_t(place) * slice_height + r] = static_cast<std::uint16_t>(column);
          write(inner_values, inner_begin, place, r, row, k);
        };
        const auto outer = [&](const int place, const int column, const int k) {
          if (outer_columns != nullptr)
            outer_columns[outer_begin + std::int64_t(place) * slice_height + r] = column;
          write(outer_values, outer_begin, place, r, row, k);
        };
        // With half storage the first place is the diagonal's.
        const int own     = row >= 0 ? local[row] : 0;
        int       n_inner = half ? 1 : 0, n_outer = 0;
        if (half && inner_width > 0)
          inner(0, own, -1);
        for (int k = 0; row >= 0 && k < lengths[row]; ++k)
        {
          const int column = A.columns[A.block_index(row, k)];
          if (patch[column] != patch[row])
            outer(n_outer++, column, k);
          else if (half && column == row)
            inner(0, own, k);
          else if (!half || keeps_block(row, column))
            inner(n_inner++, local[column], k);
        }
        for (; n_inner < inner_width; ++n_inner)
          inner(n_inner, own, -1);
        for (; n_outer < outer_width; ++n_outer)
          outer(n_outer, row >= 0 ? row : 0, -1);
      }
    };

    /** The mirrors of the row in a slot, in the order of its columns: see PatchMatrixView. */
    template <typename Number>
    struct MirrorsBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths;      ///< [row]
      const int                *nodes;        ///< [slot]
      const int                *patch;        ///< [node]
      const int                *local;        ///< [node]
      const int                *patch_slices; ///< [patch + 1]
      const std::int64_t       *inner_offsets, *mirror_offsets;
      const std::uint16_t      *inner_columns;
      int                       slice_height;
      std::uint16_t            *mirrors;

      PATCHFEM_INLINE void operator()(const std::int64_t slot) const
      {
        const int          h = slice_height, r = static_cast<int>(slot % h), row = nodes[slot];
        const std::int64_t slice = slot / h, mirror_begin = mirror_offsets[slice] + r;
        const int          width = static_cast<int>((mirror_offsets[slice + 1] - mirror_offsets[slice]) / h);
        if (width == 0)
          return;
        // Padding of the last slice belongs to the patch of its first row.
        const int          first_slice = patch_slices[patch[nodes[row >= 0 ? slot : slice * h]]];
        const std::int64_t begin       = inner_offsets[first_slice];
        int                n           = 0;
        for (int k = 0; row >= 0 && k < lengths[row]; ++k)
        {
          const int column = A.columns[A.block_index(row, k)];
          if (column == row || patch[column] != patch[row] || keeps_block(row, column))
            continue;
          const std::int64_t keeper = first_slice + local[column] / h;
          std::int64_t       place  = inner_offsets[keeper] + local[column] % h + h;
          while (inner_columns[place] != local[row])
            place += h;
          mirrors[mirror_begin + std::int64_t(n++) * h] = static_cast<std::uint16_t>(place - begin);
        }
        for (; n < width; ++n)
          mirrors[mirror_begin + std::int64_t(n) * h] = static_cast<std::uint16_t>(inner_offsets[slice] - begin + r);
      }
    };

    /** D^-1 in the order of slots; 0 in padding. */
    template <typename Number>
    struct PatchDiagonalBody
    {
      BlockDiagonalView<Number> D;     ///< D^-1
      const int                *nodes; ///< [slot]
      int                       slice_height;
      Number                   *diagonal;

      PATCHFEM_INLINE void operator()(const std::int64_t slot) const
      {
        const std::int64_t slice  = slot / slice_height;
        const int          packed = D.block_size * (D.block_size + 1) / 2, node = nodes[slot];
        for (int e = 0; e < packed; ++e)
          diagonal[(slice * packed + e) * slice_height + slot % slice_height] =
              node >= 0 ? D.values[e * D.stride + node] : Number(0);
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
