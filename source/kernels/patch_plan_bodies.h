// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_kernels_patch_plan_bodies_h
#define patchfem_source_kernels_patch_plan_bodies_h

#include "kernels/structure_bodies.h"
#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/patch_views.h>

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

    /**
     * A colour for each cell, so that cells of one colour rarely share a node: greedily, in the order of the cells,
     * looking at earlier cells of the same run of cells_per_run cells alone. Runs are independent, and the result is a
     * property of the mesh. Buffered cells get the last colour.
     */
    struct ColourBody
    {
      static constexpr int cells_per_run = 1024;
      static constexpr int n_colours     = 64;

      CellRows             rows;
      const std::int64_t  *pair_offsets; ///< [row]
      const std::int64_t  *pairs;
      const unsigned char *buffered; ///< [cell]
      unsigned char       *colours;  ///< [cell]

      PATCHFEM_INLINE void operator()(const std::int64_t run) const
      {
        const int begin = static_cast<int>(run) * cells_per_run;
        const int end   = begin + cells_per_run < rows.batches.n_cells ? begin + cells_per_run : rows.batches.n_cells;
        for (int cell = begin; cell < end; ++cell)
        {
          if (buffered[cell])
          {
            colours[cell] = n_colours - 1;
            continue;
          }
          std::uint64_t used  = 0;
          const int    *nodes = rows.nodes(cell), n = rows.n_rows(cell);
          for (int r = 0; r < n; ++r)
            for (std::int64_t p = pair_offsets[nodes[r]]; p < pair_offsets[nodes[r] + 1]; ++p)
            {
              const int other = Pair::cell(pairs[p]);
              if (other >= cell)
                break; // pairs of a row are in the order of the cells
              if (other >= begin && !buffered[other])
                used |= std::uint64_t(1) << colours[other];
            }
          int colour = 0;
          while (colour < n_colours - 2 && (used >> colour & 1u))
            ++colour;
          colours[cell] = static_cast<unsigned char>(colour);
        }
      }
    };

    struct ColourKeyBody
    {
      const unsigned char *colours;
      std::uint64_t       *keys;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { keys[i] = colours[i]; }
    };

    /** The lists (see unique_rows.h) of the cells of patches' rows, by their places in the order of the sums. */
    struct PatchRanksLists
    {
      const std::int64_t *pair_offsets; ///< [row]
      const std::int64_t *pairs;
      const int          *ranks; ///< [cell]; nullptr: cells follow their numbers
      int                 rows_per_patch, n_rows;

      int n_patches() const { return (n_rows + rows_per_patch - 1) / rows_per_patch; }

      PATCHFEM_INLINE int rank_of(const std::int64_t pair) const
      {
        const int cell = Pair::cell(pairs[pair]);
        return ranks != nullptr ? ranks[cell] : cell;
      }

      template <typename Emit>
      PATCHFEM_INLINE void visit(const int patch, const int rank, const int size, const Emit &emit) const
      {
        const int begin = patch * rows_per_patch;
        const int end   = begin + rows_per_patch < n_rows ? begin + rows_per_patch : n_rows;
        for (std::int64_t pair = pair_offsets[begin] + rank; pair < pair_offsets[end]; pair += size)
          emit(rank_of(pair));
      }
    };

    /** For each pair the place of its cell in the order of the sums. */
    struct PairRanksBody
    {
      PatchRanksLists lists;
      int            *keys;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { keys[i] = lists.rank_of(i); }
    };

    /** values[i] = table[values[i]]. */
    struct LookUpBody
    {
      const int *table;
      int       *values;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { values[i] = table[values[i]]; }
    };

    /** to[i] = from[positions[i]]. */
    struct GatherBody
    {
      const std::int64_t *from, *positions;
      std::int64_t       *to;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { to[i] = from[positions[i]]; }
    };

    /** counts[i] = offsets[i + 1] - offsets[i]. */
    struct DifferencesBody
    {
      const std::int64_t *offsets;
      int                *counts;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        counts[i] = static_cast<int>(offsets[i + 1] - offsets[i]);
      }
    };

    /** How many blocks the rows of a patch have; none if they have no pairs with cells. */
    struct PatchSizesBody
    {
      const std::int64_t *offsets, *pair_offsets; ///< [row]
      int                 rows_per_patch, n_rows;
      int                *sizes; ///< [patch]

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        const std::int64_t first = p * rows_per_patch, next = first + rows_per_patch,
                           end = next < n_rows ? next : n_rows;
        sizes[p] = pair_offsets[end] > pair_offsets[first] ? static_cast<int>(offsets[end] - offsets[first]) : 0;
      }
    };

    /** How many of a patch's cells the patch computes itself: they stand before its buffered ones. */
    struct CountComputedBody
    {
      const std::int64_t  *cell_offsets; ///< [patch + 1]
      const int           *cells;
      const unsigned char *buffered; ///< [cell]
      int                 *counts;   ///< [patch]

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        std::int64_t low = cell_offsets[p], high = cell_offsets[p + 1];
        while (low < high)
        {
          const std::int64_t middle = (low + high) / 2;
          if (buffered[cells[middle]])
            high = middle;
          else
            low = middle + 1;
        }
        counts[p] = static_cast<int>(low - cell_offsets[p]);
      }
    };

    /**
     * The level of each computed cell of a patch: one more than the highest level of the cells before it that share one
     * of the patch's rows with it. Within a level any order gives the same sums.
     */
    struct LevelsBody
    {
      static constexpr int position_bits = 20, most_levels = 2047;

      BatchView           batch;
      int                 rows_per_patch, n_rows;
      const std::int64_t *from_offsets; ///< [patch + 1], all cells of the patches
      const int          *from;
      const std::int64_t *cell_offsets; ///< [patch + 1], computed cells
      int                *row_levels;   ///< [row], starts at 0
      int                *keys;         ///< [computed cell]: level << position_bits | position in the patch
      int                *n_levels;     ///< [patch]

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        const int first = static_cast<int>(p) * rows_per_patch, n_shape = batch.reference.n_shape;
        const int n_own = n_rows - first < rows_per_patch ? n_rows - first : rows_per_patch;
        const int n     = static_cast<int>(cell_offsets[p + 1] - cell_offsets[p]);
        int       most  = 0;
        for (int k = 0; k < n; ++k)
        {
          const int *nodes = batch.nodes + std::int64_t(from[from_offsets[p] + k] - batch.first_cell) * n_shape;
          int        level = 0;
          for (int i = 0; i < n_shape; ++i)
            if (nodes[i] >= first && nodes[i] < first + n_own)
              level = row_levels[nodes[i]] > level ? row_levels[nodes[i]] : level;
          keys[cell_offsets[p] + k] = (level < most_levels ? level : most_levels) << position_bits | k;
          ++level;
          for (int i = 0; i < n_shape; ++i)
            if (nodes[i] >= first && nodes[i] < first + n_own)
              row_levels[nodes[i]] = level;
          most = level > most ? level : most;
        }
        n_levels[p] = most;
      }
    };

    /** Takes a patch's cells in the order of their levels, and notes where levels end. */
    struct SortedCellsBody
    {
      const std::int64_t *from_offsets, *cell_offsets;
      const int          *from, *keys;
      const std::int64_t *level_offsets; ///< [patch + 1]
      int                *cells;
      int                *level_ends;

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        constexpr int      position = (1 << LevelsBody::position_bits) - 1;
        const std::int64_t begin = cell_offsets[p], end = cell_offsets[p + 1];
        for (std::int64_t k = begin; k < end; ++k)
        {
          cells[k] = from[from_offsets[p] + (keys[k] & position)];
          level_ends[level_offsets[p] + (keys[k] >> LevelsBody::position_bits)] = static_cast<int>(k - begin) + 1;
        }
      }
    };

    /** How many of the patch's rows each of its computed cells touches. */
    struct CountPairsBody
    {
      BatchView           batch;
      int                 rows_per_patch, n_patches;
      const std::int64_t *cell_offsets; ///< [patch + 1]
      const int          *cells;
      int                *counts; ///< [entry of cells]

      PATCHFEM_INLINE int patch_of(const std::int64_t entry) const
      {
        // The last patch that starts at or before the entry and is not empty.
        return static_cast<int>(lower_bound(cell_offsets, cell_offsets + n_patches + 1, entry + 1) - cell_offsets) - 1;
      }

      PATCHFEM_INLINE void operator()(const std::int64_t entry) const
      {
        const int  patch = patch_of(entry), n_shape = batch.reference.n_shape;
        const int *nodes = batch.nodes + std::int64_t(cells[entry] - batch.first_cell) * n_shape;
        int        n     = 0;
        for (int i = 0; i < n_shape; ++i)
          n += nodes[i] / rows_per_patch == patch;
        counts[entry] = n;
      }
    };

    /** Which block of @p row stands in @p column. */
    PATCHFEM_INLINE int place_of(const SparsityView &sparsity, const int row, const int column)
    {
      const int *columns = sparsity.columns + sparsity.row_offsets[row];
      return static_cast<int>(lower_bound(columns, sparsity.columns + sparsity.row_offsets[row + 1], column) - columns);
    }

    /** Finds and stores the places of a pair's columns. */
    struct PlacesWriter
    {
      SparsityView  sparsity;
      PlacesView    places;
      void         *packed_places;
      std::uint8_t *diagonal;

      /** Of pair number @p pair: the row of node @p i of a cell with @p n_shape nodes. */
      PATCHFEM_INLINE void write(const std::int64_t pair, const int *nodes, const int n_shape, const int i) const
      {
        const int   *begin = sparsity.columns + sparsity.row_offsets[nodes[i]];
        const int   *end   = sparsity.columns + sparsity.row_offsets[nodes[i] + 1];
        unsigned int word = 0, shift = 0;
        for (int j = 0; j < n_shape; ++j)
        {
          const auto k = static_cast<unsigned int>(lower_bound(begin, end, nodes[j]) - begin);
          if (!places.compact())
            store_packed(packed_places, places.view.width, pair * n_shape + j, k);
          else if (j == i)
            diagonal[nodes[i]] = static_cast<std::uint8_t>(k); // the same from every cell
          else
          {
            word |= k << shift;
            shift += 5;
          }
        }
        if (places.compact())
          store_packed(packed_places, 2, pair, word);
      }
    };

    /** Finds the places of a cell's columns in the patch's rows. */
    struct PlacesBody
    {
      CountPairsBody      pairs;
      const std::int64_t *positions;    ///< [entry of cells], scan of the counts
      const std::int64_t *pair_offsets; ///< [patch + 1]
      PackedView          cell_pairs;
      void               *packed_cell_pairs;
      PlacesWriter        places;

      PATCHFEM_INLINE void operator()(const std::int64_t entry) const
      {
        const int    patch = pairs.patch_of(entry), n_shape = pairs.batch.reference.n_shape;
        const int   *nodes = pairs.batch.nodes + std::int64_t(pairs.cells[entry] - pairs.batch.first_cell) * n_shape;
        std::int64_t pair  = positions[entry];
        store_packed(packed_cell_pairs, cell_pairs.width, entry, static_cast<unsigned int>(pair - pair_offsets[patch]));
        for (int i = 0; i < n_shape; ++i)
          if (nodes[i] / pairs.rows_per_patch == patch)
            places.write(pair++, nodes, n_shape, i);
      }
    };

    /** Finds the places of a cell's pairs of nodes, in the row that sums both entries (PlacesView). */
    struct UpperPlacesBody
    {
      CountPairsBody plan; ///< for its cells and patches
      SparsityView   sparsity;
      int            pair_bits, width;
      void          *words; ///< [entry of cells]

      PATCHFEM_INLINE void operator()(const std::int64_t entry) const
      {
        const int     patch = plan.patch_of(entry), n_shape = plan.batch.reference.n_shape;
        const int    *nodes = plan.batch.nodes + std::int64_t(plan.cells[entry] - plan.batch.first_cell) * n_shape;
        std::uint64_t word  = 0;
        for (int i = 0; i < n_shape; ++i)
          for (int j = i + 1; j < n_shape; ++j)
          {
            const bool own_i = nodes[i] / plan.rows_per_patch == patch, own_j = nodes[j] / plan.rows_per_patch == patch;
            if (!own_i && !own_j)
              continue;
            const bool in_i = own_i && (!own_j || nodes[i] < nodes[j]);
            const int  k    = place_of(sparsity, nodes[in_i ? i : j], nodes[in_i ? j : i]);
            word |= static_cast<std::uint64_t>(k) << (pair_bits * PlacesView::pair_number(n_shape, i, j));
          }
        if (width == 8)
          static_cast<std::uint64_t *>(words)[entry] = word;
        else
          store_packed(words, width, entry, static_cast<unsigned int>(word));
      }
    };

    /** For each block of a row the patch's block in which its sum stands, and the place of the diagonal. */
    struct SumsBody
    {
      SparsityView  sparsity;
      int           rows_per_patch, width;
      void         *sums; ///< [block]
      std::uint8_t *diagonal;

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        const std::int64_t *offsets = sparsity.row_offsets;
        const int          *columns = sparsity.columns;
        const std::int64_t  first   = row / rows_per_patch * rows_per_patch;
        for (std::int64_t e = offsets[row]; e < offsets[row + 1]; ++e)
        {
          std::int64_t sum = e;
          if (columns[e] == row)
            diagonal[row] = static_cast<std::uint8_t>(e - offsets[row]);
          else if (columns[e] >= first && columns[e] < row)
            sum = offsets[columns[e]] + place_of(sparsity, columns[e], static_cast<int>(row));
          store_packed(sums, width, e, static_cast<unsigned int>(sum - offsets[first]));
        }
      }
    };

    /** How many buffered cells feed a row, and how many places of theirs the plan notes. */
    struct CountFedBody
    {
      CellRows             rows;
      const std::int64_t  *pair_offsets; ///< [row]
      const std::int64_t  *pairs;
      const unsigned char *buffered;                   ///< [cell]
      int                 *flags, *n_pairs, *n_places; ///< [row]

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        int pair_count = 0, place_count = 0;
        for (std::int64_t p = pair_offsets[row]; p < pair_offsets[row + 1]; ++p)
          if (buffered[Pair::cell(pairs[p])])
          {
            const int n_free = rows.n_free(Pair::cell(pairs[p]));
            ++pair_count;
            place_count += Pair::row(pairs[p]) < n_free ? n_free : 1;
          }
        flags[row]    = pair_count > 0;
        n_pairs[row]  = pair_count;
        n_places[row] = place_count;
      }
    };

    /** Notes the pairs of a fed row with buffered cells and the places of their columns. */
    struct FedRowsBody
    {
      CellRows             rows;
      SparsityView         sparsity;
      const std::int64_t  *pair_offsets; ///< [row]
      const std::int64_t  *pairs;
      const unsigned char *buffered; ///< [cell]
      int                  rows_per_patch;
      const int           *chunk_of_patch;
      const std::int64_t  *chunk_offsets;
      const BufferedCell  *list;
      const std::int64_t  *positions;                          ///< [row], scan of the flags
      const std::int64_t  *fed_pair_starts, *fed_place_starts; ///< [row], scans
      int                 *fed_rows;
      std::int64_t        *fed_pair_offsets, *fed_place_offsets; ///< [fed row + 1], start at 0
      std::int64_t        *fed_pairs;
      void                *fed_places;
      int                  place_width;

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        const std::int64_t k           = positions[row];
        std::int64_t       pair        = fed_pair_starts[row];
        std::int64_t       place       = fed_place_starts[row];
        const int         *columns     = sparsity.columns + sparsity.row_offsets[row];
        const int         *columns_end = sparsity.columns + sparsity.row_offsets[row + 1];
        const int          chunk       = chunk_of_patch[row / rows_per_patch];
        bool               fed         = false;
        for (std::int64_t p = pair_offsets[row]; p < pair_offsets[row + 1]; ++p)
        {
          const int cell = Pair::cell(pairs[p]), r = Pair::row(pairs[p]);
          if (!buffered[cell])
            continue;
          fed              = true;
          std::int64_t low = chunk_offsets[chunk], high = chunk_offsets[chunk + 1];
          while (low < high)
          {
            const std::int64_t middle = (low + high) / 2;
            if (list[middle].cell < cell)
              low = middle + 1;
            else
              high = middle;
          }
          fed_pairs[pair++] = Pair::make(static_cast<int>(low - chunk_offsets[chunk]), r);
          const int  n_free = rows.n_free(cell);
          const int *nodes  = rows.nodes(cell);
          const auto store  = [&](const int column) {
            store_packed(fed_places, place_width, place++,
                          static_cast<unsigned int>(lower_bound(columns, columns_end, column) - columns));
          };
          if (r >= n_free)
            store(static_cast<int>(row));
          else
            for (int s = 0; s < n_free; ++s)
              store(nodes[s]);
        }
        if (fed)
        {
          fed_rows[k]              = static_cast<int>(row);
          fed_pair_offsets[k + 1]  = pair;
          fed_place_offsets[k + 1] = place;
        }
      }
    };

    /** How many staged cells a row has. */
    struct CountStagedBody
    {
      const std::int64_t  *pair_offsets; ///< [row]
      const std::int64_t  *pairs;
      const unsigned char *buffered; ///< [cell]
      int                 *counts;   ///< [row]

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        int n = 0;
        for (std::int64_t p = pair_offsets[row]; p < pair_offsets[row + 1]; ++p)
          n += !buffered[Pair::cell(pairs[p])];
        counts[row] = n;
      }
    };

    /** Notes the pairs of a row with staged cells and the places of their columns. */
    struct StagedRowsBody
    {
      BatchView            batch;
      const std::int64_t  *pair_offsets; ///< [row]
      const std::int64_t  *pairs;
      const unsigned char *buffered; ///< [cell]
      int                  rows_per_patch;
      const int           *chunk_of_patch;
      const std::int64_t  *chunk_offsets; ///< [chunk + 1]
      const int           *staged;        ///< cells of the chunks
      const std::int64_t  *staged_offsets;
      unsigned int        *staged_pairs;
      PlacesWriter         places;

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        const int    chunk = chunk_of_patch[row / rows_per_patch];
        const int   *first = staged + chunk_offsets[chunk], *end = staged + chunk_offsets[chunk + 1];
        const int    n_shape = batch.reference.n_shape;
        std::int64_t pair    = staged_offsets[row];
        for (std::int64_t p = pair_offsets[row]; p < pair_offsets[row + 1]; ++p)
        {
          const int cell = Pair::cell(pairs[p]), i = Pair::row(pairs[p]);
          if (buffered[cell])
            continue;
          staged_pairs[pair] = static_cast<unsigned int>((lower_bound(first, end, cell) - first) * n_shape + i);
          places.write(pair++, batch.nodes + std::int64_t(cell - batch.first_cell) * n_shape, n_shape, i);
        }
      }
    };

    /** Keeps the cell of the first key of each run, and counts a chunk's cells. */
    struct StagedListBody
    {
      const std::uint64_t *keys;
      const int           *first;
      const std::int64_t  *positions; ///< scan of first
      int                 *cells;
      int                 *chunk_sizes; ///< [chunk], starts at 0

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        if (!first[i])
          return;
        cells[positions[i]] = static_cast<int>(keys[i] & 0xffffffffu);
        atomic_increment(chunk_sizes + static_cast<int>(keys[i] >> 32));
      }
    };

    /** 1 for each entry of the patches' cells that is buffered, or that is not. */
    struct BufferedFlagBody
    {
      const int           *cells;
      const unsigned char *buffered; ///< [cell]
      unsigned char        wanted;
      int                 *flags;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { flags[i] = buffered[cells[i]] == wanted; }
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

    /** Matrix entries that the buffered, or all, cells of a patch need, in units of 1024, rounded up. */
    struct PatchBufferBody
    {
      CellRows             rows;
      int                  n_components;
      const std::int64_t  *cell_offsets;
      const int           *cells;
      const unsigned char *buffered;
      bool                 all;
      int                 *sizes; ///< [patch]

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        std::int64_t n = 0;
        for (std::int64_t i = cell_offsets[p]; i < cell_offsets[p + 1]; ++i)
          if (all || buffered[cells[i]])
            n += buffered_matrix_size(rows, cells[i], n_components);
        sizes[p] = static_cast<int>((n + 1023) / 1024);
      }
    };

    /** For each flagged entry of the patches' cells: chunk << 32 | cell. */
    struct ChunkKeyBody
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
  } // namespace kernels
} // namespace PatchFEM

#endif
