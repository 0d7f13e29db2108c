// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_gather_plan_bodies_h
#define patchfem_kernels_gather_plan_bodies_h

#include <patchfem/kernels/patch_plan_bodies.h>

/** @file Bodies (see parallel_for.h) that plan what patches gather from the cells in their fast memory; see GatherItem. */
namespace PatchFEM
{
  namespace kernels
  {
    /** Slices of the patches' rows. The last slice of a patch may have fewer rows, those of the last patch none. */
    struct RowSlices
    {
      int rows_per_patch, n_rows;

      PATCHFEM_INLINE int per_patch() const { return GatherView::n_slices(rows_per_patch); }
      PATCHFEM_INLINE int patch(const std::int64_t slice) const { return static_cast<int>(slice / per_patch()); }
      /** The first row of a slice, of its patch. */
      PATCHFEM_INLINE int first_row(const std::int64_t slice) const
      {
        return static_cast<int>(slice % per_patch()) * GatherItem::n_rows;
      }
      /** Number of the row, or -1 where the slice has no row. */
      PATCHFEM_INLINE int row(const std::int64_t slice, const int lane) const
      {
        const int of_patch = first_row(slice) + lane, row = patch(slice) * rows_per_patch + of_patch;
        return of_patch < rows_per_patch && row < n_rows ? row : -1;
      }
    };

    /** How many of a patch's cells are not buffered. */
    struct CountStagedCellsBody
    {
      const std::int64_t  *cell_offsets; ///< [patch + 1]
      const int           *cells;
      const unsigned char *buffered; ///< [cell]
      int                 *counts;   ///< [patch]

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        int n = 0;
        for (std::int64_t i = cell_offsets[p]; i < cell_offsets[p + 1]; ++i)
          n += !buffered[cells[i]];
        counts[p] = n;
      }
    };

    /** Keeps them, in their order. */
    struct KeepStagedCellsBody
    {
      const std::int64_t  *from_offsets, *cell_offsets; ///< [patch + 1]
      const int           *from;
      const unsigned char *buffered; ///< [cell]
      int                 *cells;

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        std::int64_t k = cell_offsets[p];
        for (std::int64_t i = from_offsets[p]; i < from_offsets[p + 1]; ++i)
          if (!buffered[from[i]])
            cells[k++] = from[i];
      }
    };

    /** Replaces the numbers of a patch's cells by their slots in the chunk's buffer. */
    struct FindSlotsBody
    {
      const std::int64_t *cell_offsets; ///< [patch + 1]
      const std::int64_t *begin, *end;  ///< [patch], of the chunk's cells in staged
      const int          *staged;
      int                *cells;

      PATCHFEM_INLINE void operator()(const std::int64_t p) const
      {
        const int *first = staged + begin[p], *last = staged + end[p];
        for (std::int64_t i = cell_offsets[p]; i < cell_offsets[p + 1]; ++i)
          cells[i] = static_cast<int>(lower_bound(first, last, cells[i]) - first);
      }
    };

    /** The longest row of each slice. */
    struct CountRanksBody
    {
      RowSlices           slices;
      const std::int64_t *row_offsets;
      int                *counts; ///< [slice]

      PATCHFEM_INLINE void operator()(const std::int64_t slice) const
      {
        int longest = 0;
        for (int lane = 0; lane < GatherItem::n_rows; ++lane)
        {
          const int row = slices.row(slice, lane);
          if (row >= 0)
          {
            const int length = static_cast<int>(row_offsets[row + 1] - row_offsets[row]);
            longest          = length > longest ? length : longest;
          }
        }
        counts[slice] = longest;
      }
    };

    /** The cells of rows that patches stage. */
    struct StagedCellsOfRows
    {
      BatchView            batch;
      SparsityView         sparsity;
      const std::int64_t  *pair_offsets; ///< [row]
      const std::int64_t  *pairs;
      const unsigned char *buffered; ///< [cell]

      /** Calls @p visit(cell, i, j, place) for nodes i and j of each cell whose node i is the row, in the cells' order. */
      template <typename Visitor>
      PATCHFEM_INLINE void for_each(const int row, const Visitor &visit) const
      {
        for (std::int64_t p = pair_offsets[row]; p < pair_offsets[row + 1]; ++p)
        {
          const int cell = Pair::cell(pairs[p]), i = Pair::row(pairs[p]);
          if (buffered[cell])
            continue;
          const int *nodes = batch.nodes + std::int64_t(cell - batch.first_cell) * StagedOctet::n_nodes;
          for (int j = 0; j < StagedOctet::n_nodes; ++j)
            visit(cell, i, j, place_of(sparsity, row, nodes[j]));
        }
      }
    };

    /** Ranks the entries of a row by the number of cells that feed them, the diagonal first. */
    struct RankPlacesBody
    {
      RowSlices           slices;
      StagedCellsOfRows   rows;
      const std::int64_t *rank_offsets; ///< [slice + 1]
      std::uint8_t       *places;       ///< [rank][lane]
      std::uint16_t      *counts;       ///< [rank][lane], cells

      /** Number @p index is that of a row of a slice. */
      PATCHFEM_INLINE void operator()(const std::int64_t index) const
      {
        const std::int64_t slice = index / GatherItem::n_rows, begin = rank_offsets[slice];
        const int          lane = static_cast<int>(index % GatherItem::n_rows), row = slices.row(slice, lane),
                  n_ranks = static_cast<int>(rank_offsets[slice + 1] - begin);
        std::uint16_t n_cells[GatherItem::no_place];
        int           length = 0, diagonal = -1;
        if (row >= 0)
        {
          length = static_cast<int>(rows.sparsity.row_offsets[row + 1] - rows.sparsity.row_offsets[row]);
          for (int k = 0; k < length; ++k)
            n_cells[k] = 0;
          rows.for_each(row, [&](int, int, int, const int place) { ++n_cells[place]; });
          diagonal = place_of(rows.sparsity, row, row);
        }
        for (int k = 0; k < n_ranks; ++k)
        {
          int rank = k;
          if (k < length)
          {
            rank = 0;
            for (int other = 0; other < length && k != diagonal; ++other)
              rank += other == diagonal || n_cells[other] > n_cells[k] || (n_cells[other] == n_cells[k] && other < k);
          }
          const std::int64_t to = (begin + rank) * GatherItem::n_rows + lane;
          places[to]            = static_cast<std::uint8_t>(k < length ? k : GatherItem::no_place);
          counts[to]            = k < length ? n_cells[k] : std::uint16_t(0);
        }
      }
    };

    /** How the ranks of slices make items. */
    struct ItemsOfSlices
    {
      const std::int64_t  *rank_offsets; ///< [slice + 1]
      const std::uint16_t *counts;       ///< [rank][lane]

      PATCHFEM_INLINE int width(const std::int64_t rank) const
      {
        int most = 0;
        for (int lane = 0; lane < GatherItem::n_rows; ++lane)
          most = counts[rank * GatherItem::n_rows + lane] > most ? counts[rank * GatherItem::n_rows + lane] : most;
        return most;
      }

      /** Calls @p visit(first rank, number of ranks, number of quads) for every item. */
      template <typename Visitor>
      PATCHFEM_INLINE void for_each(const std::int64_t slice, const Visitor &visit) const
      {
        const std::int64_t begin = rank_offsets[slice], end = rank_offsets[slice + 1];
        for (std::int64_t rank = begin; rank < end;)
        {
          const int w = width(rank), left = static_cast<int>(end - rank);
          int       n_ranks = 1; // of the diagonal, and of entries of more than two cells
          if (rank > begin && w <= 2)
            n_ranks = w == 2 ? (left < 2 ? left : 2) : (left < 4 ? left : 4);
          visit(rank, n_ranks, w <= 4 ? 1 : (w + 3) / 4);
          rank += n_ranks;
        }
      }
    };

    struct CountItemsBody
    {
      ItemsOfSlices of;
      int          *n_items, *n_quads; ///< [slice]

      PATCHFEM_INLINE void operator()(const std::int64_t slice) const
      {
        int items = 0, quads = 0;
        of.for_each(slice, [&](std::int64_t, int, const int n) {
          ++items;
          quads += n;
        });
        n_items[slice] = items;
        n_quads[slice] = quads;
      }
    };

    struct WriteItemsBody
    {
      RowSlices           slices;
      ItemsOfSlices       of;
      const std::int64_t *item_offsets, *quad_offsets; ///< [slice + 1]
      GatherItem         *items;
      std::int64_t       *starts; ///< [rank], four times the quad plus the position in it of its first source

      PATCHFEM_INLINE void operator()(const std::int64_t slice) const
      {
        const std::int64_t first = slice - slice % slices.per_patch();
        std::int64_t       item = item_offsets[slice], quad = quad_offsets[slice];
        of.for_each(slice, [&](const std::int64_t rank, const int n_ranks, const int n) {
          GatherItem &to = items[item++];
          to.quad        = static_cast<std::uint16_t>(quad - quad_offsets[first]);
          to.rank        = static_cast<std::uint16_t>(rank - of.rank_offsets[first]);
          to.n_quads     = static_cast<std::uint16_t>(n);
          to.slice       = static_cast<std::uint8_t>(slice - first);
          to.n_ranks     = static_cast<std::uint8_t>(rank == of.rank_offsets[slice] ? 0 : n_ranks);
          for (int k = 0; k < n_ranks; ++k)
            starts[rank + k] = 4 * quad + k * (n_ranks == 2 ? 2 : 1);
          quad += n;
        });
      }
    };

    /** Where in fast memory the summands of a row's entries lie. What is not written is the position of a 0. */
    struct WriteSourcesBody
    {
      RowSlices           slices;
      StagedCellsOfRows   rows;
      const std::int64_t *rank_offsets; ///< [slice + 1]
      const std::uint8_t *places;
      const std::int64_t *starts;       ///< [rank]
      const std::int64_t *cell_offsets; ///< [patch + 1]
      const int          *cells;
      std::uint32_t      *sources; ///< starts at 0

      PATCHFEM_INLINE void operator()(const std::int64_t index) const
      {
        const std::int64_t slice = index / GatherItem::n_rows;
        const int          lane = static_cast<int>(index % GatherItem::n_rows), row = slices.row(slice, lane);
        if (row < 0)
          return;
        std::int64_t next[GatherItem::no_place];
        for (std::int64_t rank = rank_offsets[slice]; rank < rank_offsets[slice + 1]; ++rank)
        {
          const int place = places[rank * GatherItem::n_rows + lane];
          if (place != GatherItem::no_place)
            next[place] = starts[rank];
        }
        const int  patch = slices.patch(slice);
        const int *first = cells + cell_offsets[patch], *end = cells + cell_offsets[patch + 1];
        rows.for_each(row, [&](const int cell, const int i, const int j, const int place) {
          const int          slot = static_cast<int>(lower_bound(first, end, cell) - first);
          const std::int64_t to   = next[place]++;
          sources[(to / 4 * GatherItem::n_rows + lane) * 2 + to % 4 / 2] |=
              static_cast<std::uint32_t>(StagedOctet::begin(slot) + StagedOctet::position(i, j)) << 16 * (to % 2);
        });
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
