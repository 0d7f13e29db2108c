// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_patch_plan_bodies_h
#define patchfem_kernels_patch_plan_bodies_h

#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/patch_views.h>
#include <patchfem/kernels/structure_bodies.h>

/** @file Bodies (see parallel_for.h) that cut rows into patches and record what each row sums. */
namespace PatchFEM
{
  namespace kernels
  {
    /** Stores @p value as number @p i of width bytes. */
    PATCHFEM_INLINE void store_packed(void *data, const int width, const std::int64_t i, const unsigned int value)
    {
      if (width == 1)
        static_cast<std::uint8_t *>(data)[i] = static_cast<std::uint8_t>(value);
      else if (width == 2)
        static_cast<std::uint16_t *>(data)[i] = static_cast<std::uint16_t>(value);
      else
        static_cast<std::uint32_t *>(data)[i] = value;
    }

    /** offsets[p] = of[min(p * rows_per_patch, n_rows)]. */
    struct PatchOffsetsBody
    {
      const std::int64_t *of;
      int                 rows_per_patch, n_rows;
      std::int64_t       *offsets;

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        const std::int64_t row = p * rows_per_patch;
        offsets[p]             = of[row < n_rows ? row : n_rows];
      }
    };

    struct PairCellsBody
    {
      const std::int64_t *pairs;
      int                *cells;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { cells[i] = Pair::cell(pairs[i]); }
    };

    /** How many blocks, pairs or places, whatever the offsets count, the rows of a patch have. */
    struct PatchSizesBody
    {
      const std::int64_t *offsets; ///< [row]
      int                 rows_per_patch, n_rows;
      int                *sizes; ///< [patch]

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        const std::int64_t first = p * rows_per_patch, end = first + rows_per_patch;
        sizes[p] = static_cast<int>(offsets[end < n_rows ? end : n_rows] - offsets[first]);
      }
    };

    /** Packs the pairs of a row and the places of their columns; starts relative to the patch. */
    struct PackRowsBody
    {
      CellRows            rows;
      SparsityView        sparsity;
      const std::int64_t *pair_offsets; ///< [row]
      const std::int64_t *pairs;
      const std::int64_t *slot_starts; ///< [row]
      PatchesView         patches;     ///< cell_offsets, cells, pair_offsets and slot_offsets are filled
      std::uint32_t      *row_pairs;
      std::uint32_t      *row_slots;
      void               *packed_pairs;
      void               *packed_slots;

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        const int  patch       = static_cast<int>(row / patches.rows_per_patch);
        const int *cells       = patches.cells + patches.cell_offsets[patch],
                  *cells_end   = patches.cells + patches.cell_offsets[patch + 1];
        const int *columns     = sparsity.columns + sparsity.row_offsets[row];
        const int *columns_end = sparsity.columns + sparsity.row_offsets[row + 1];

        row_pairs[row + patch] = static_cast<std::uint32_t>(pair_offsets[row] - patches.pair_offsets[patch]);
        row_slots[row]         = static_cast<std::uint32_t>(slot_starts[row] - patches.slot_offsets[patch]);
        if (row + 1 == patches.end_row(patch))
          row_pairs[row + patch + 1] = static_cast<std::uint32_t>(pair_offsets[row + 1] - patches.pair_offsets[patch]);

        std::int64_t slot = slot_starts[row];
        for (std::int64_t p = pair_offsets[row]; p < pair_offsets[row + 1]; ++p)
        {
          const int  cell = Pair::cell(pairs[p]), r = Pair::row(pairs[p]), n_free = rows.n_free(cell);
          const auto position = static_cast<unsigned int>(lower_bound(cells, cells_end, cell) - cells);
          store_packed(packed_pairs, patches.pairs.width, p,
                       (position << patches.row_bits) | static_cast<unsigned int>(r));
          const int *nodes = rows.nodes(cell);
          if (r >= n_free)
            store_packed(packed_slots, patches.slots.width, slot++,
                         static_cast<unsigned int>(lower_bound(columns, columns_end, static_cast<int>(row)) - columns));
          else
            for (int s = 0; s < n_free; ++s)
              store_packed(packed_slots, patches.slots.width, slot++,
                           static_cast<unsigned int>(lower_bound(columns, columns_end, nodes[s]) - columns));
        }
      }
    };

    /** 1 for each entry of the patches' cells whose matrix goes to the buffer. */
    struct BufferedFlagBody
    {
      const int           *cells;
      const unsigned char *buffered; ///< [cell]
      int                 *flags;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { flags[i] = buffered[cells[i]]; }
    };

    /** Entries of the buffer that a cell needs, for its matrix. */
    PATCHFEM_INLINE int buffered_matrix_size(const CellRows &rows, const int cell, const int n_components)
    {
      const int n_free = rows.n_free(cell), n_rows = rows.n_rows(cell);
      int       n = (n_free * n_free + n_rows - n_free) * n_components * n_components;
      if (rows.index(cell) >= 0)
      {
        const int n_raw = rows.batches.batch[rows.batches.batch_of(cell)].reference.n_shape * n_components;
        n += n_raw * n_raw;
      }
      return n;
    }

    PATCHFEM_INLINE int buffered_vector_size(const CellRows &rows, const int cell, const int n_components)
    {
      int n = rows.n_rows(cell) * n_components;
      if (rows.index(cell) >= 0)
        n += rows.batches.batch[rows.batches.batch_of(cell)].reference.n_shape * n_components;
      return n;
    }

    /** Matrix entries that the buffered cells of a patch need, in units of 1024, rounded up. */
    struct PatchBufferBody
    {
      CellRows             rows;
      int                  n_components;
      const std::int64_t  *cell_offsets;
      const int           *cells;
      const unsigned char *buffered;
      int                 *sizes; ///< [patch]

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        std::int64_t n = 0;
        for (std::int64_t i = cell_offsets[p]; i < cell_offsets[p + 1]; ++i)
          if (buffered[cells[i]])
            n += buffered_matrix_size(rows, cells[i], n_components);
        sizes[p] = static_cast<int>((n + 1023) / 1024);
      }
    };

    /** For each buffered entry of the patches' cells: chunk << 32 | cell. */
    struct BufferedKeyBody
    {
      const std::int64_t *cell_offsets; ///< [patch + 1]
      int                 n_patches;
      const int          *chunk_of_patch;
      const int          *cells;
      const int          *flags;
      const std::int64_t *positions; ///< scan of flags
      std::uint64_t      *keys;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        if (!flags[i])
          return;
        // The patch is the last one that starts at or before entry i and is not empty.
        const std::int64_t *end   = cell_offsets + n_patches + 1;
        const int           patch = static_cast<int>(lower_bound(cell_offsets, end, i + 1) - cell_offsets) - 1;
        keys[positions[i]]        = (std::uint64_t(chunk_of_patch[patch]) << 32) | static_cast<unsigned int>(cells[i]);
      }
    };

    struct FirstOfRunBody
    {
      const std::uint64_t *keys;
      int                 *flags;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { flags[i] = i == 0 || keys[i] != keys[i - 1]; }
    };

    /** Keeps the first key of each run, counts a chunk's cells, and finds how much buffer each needs. */
    struct BufferedListBody
    {
      CellRows             rows;
      FacesView            faces;
      int                  n_components;
      const std::uint64_t *keys;
      const int           *first;
      const std::int64_t  *positions; ///< scan of first
      BufferedCell        *list;
      int                 *chunk_sizes; ///< [chunk], starts at 0
      int                 *matrix_sizes, *vector_sizes;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        if (!first[i])
          return;
        const int          cell = static_cast<int>(keys[i] & 0xffffffffu);
        const std::int64_t k    = positions[i];
        const int         *face = lower_bound(faces.cells, faces.cells + faces.n_cells, cell);
        BufferedCell      &out  = list[k];
        out.cell                = cell;
        out.batch               = rows.batches.batch_of(cell);
        out.constrained         = rows.index(cell);
        out.faces  = face != faces.cells + faces.n_cells && *face == cell ? static_cast<int>(face - faces.cells) : -1;
        out.n_free = rows.n_free(cell);
        out.n_rows = rows.n_rows(cell);
        matrix_sizes[k] = buffered_matrix_size(rows, cell, n_components);
        vector_sizes[k] = buffered_vector_size(rows, cell, n_components);
        atomic_increment(chunk_sizes + static_cast<int>(keys[i] >> 32));
      }
    };

    /** Offsets into the buffer, relative to the chunk. */
    struct BufferedOffsetsBody
    {
      int                 n_components;
      int                 n_chunks;
      const std::int64_t *chunk_offsets; ///< [chunk + 1], positions in list
      const std::int64_t *matrix_offsets, *vector_offsets;
      BufferedCell       *list;

      PATCHFEM_INLINE void operator()(const std::int64_t k) const
      {
        const std::int64_t *chunk = lower_bound(chunk_offsets, chunk_offsets + n_chunks + 1, k + 1) - 1;
        BufferedCell       &cell  = list[k];
        const int           block = n_components * n_components;
        cell.matrix_offset        = matrix_offsets[k] - matrix_offsets[*chunk];
        cell.raw_offset =
            cell.matrix_offset + (std::int64_t(cell.n_free) * cell.n_free + cell.n_rows - cell.n_free) * block;
        cell.vector_offset     = vector_offsets[k] - vector_offsets[*chunk];
        cell.raw_vector_offset = cell.vector_offset + std::int64_t(cell.n_rows) * n_components;
      }
    };

    /** Replaces each buffered entry of the patches' cells by ~(position in its chunk). */
    struct BufferedEntryBody
    {
      const std::int64_t *cell_offsets; ///< [patch + 1]
      int                 n_patches;
      const int          *chunk_of_patch;
      const std::int64_t *chunk_offsets;
      const BufferedCell *list;
      const int          *flags;
      int                *cells;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        if (!flags[i])
          return;
        const std::int64_t *end   = cell_offsets + n_patches + 1;
        const int           patch = static_cast<int>(lower_bound(cell_offsets, end, i + 1) - cell_offsets) - 1;
        const std::int64_t  first = chunk_offsets[chunk_of_patch[patch]];
        std::int64_t        low = first, high = chunk_offsets[chunk_of_patch[patch] + 1];
        while (low < high)
        {
          const std::int64_t middle = (low + high) / 2;
          if (list[middle].cell < cells[i])
            low = middle + 1;
          else
            high = middle;
        }
        cells[i] = ~static_cast<int>(low - first);
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
