// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "distinct_values.h"
#include "kernels/launch.h"
#include "lac/graph/graph_tools.h"

#include "kernels/structure_bodies.h"
#include <patchfem/assembly/assembly_strategy.h>
#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/patch_views.h>

#include <algorithm>

/**
 * @file
 * What plans of all strategies share: patches, their cells, chunks, buffered cells, and rows fed by them. A strategy is
 * a class whose loops (see launch.h) the host compiler and nvcc make, each for its side, in assembly_strategy.cc and the
 * .cu file of its name.
 */
namespace PatchFEM
{
  namespace
  {
    using graph_tools::maximum;
    using graph_tools::scan;
    using Source = Patches::Source;

    /** Different cells of each chunk, ascending. */
    struct ChunkCells
    {
      Array<int>          cells;
      Array<std::int64_t> offsets; ///< [chunk + 1]
    };

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

    /** The last patch that starts at or before @p entry and is not empty; entries of patches start at @p offsets. */
    PATCHFEM_INLINE int patch_of(const std::int64_t *offsets, const int n_patches, const std::int64_t entry)
    {
      return static_cast<int>(kernels::lower_bound(offsets, offsets + n_patches + 1, entry + 1) - offsets) - 1;
    }

    /** The lists (see unique_rows.h) of the cells of patches' rows, by their places in the order of the sums. */
    struct PatchRanksLists
    {
      kernels::RowCellsView rows;
      const int            *ranks; ///< [cell]; nullptr: cells follow their numbers
      int                   rows_per_patch, n_rows;

      PATCHFEM_INLINE int rank_of(const std::int64_t pair) const
      {
        const int cell = kernels::Pair::cell(rows.pairs[pair]);
        return ranks != nullptr ? ranks[cell] : cell;
      }

      template <typename Emit>
      PATCHFEM_INLINE void visit(const int patch, int, int, const Emit &emit) const
      {
        const int begin = patch * rows_per_patch;
        const int end   = begin + rows_per_patch < n_rows ? begin + rows_per_patch : n_rows;
        for (std::int64_t pair = rows.offsets[begin]; pair < rows.offsets[end]; ++pair)
          emit(rank_of(pair));
      }
    };

    /** Which block of @p row stands in @p column. */
    PATCHFEM_INLINE int place_of(const SparsityView &sparsity, const int row, const int column)
    {
      const int *columns = sparsity.columns + sparsity.row_offsets[row];
      return static_cast<int>(kernels::lower_bound(columns, sparsity.columns + sparsity.row_offsets[row + 1], column) -
                              columns);
    }

    struct PlacesWriter
    {
      SparsityView  sparsity;
      PlacesView    places;
      void         *packed_places;
      std::uint8_t *diagonal;

      /** Of pair number @p pair: the row of node @p i of a cell with @p n_shape nodes. */
      PATCHFEM_INLINE void write(const std::int64_t pair, const int *nodes, const int n_shape, const int i) const
      {
        unsigned int word = 0, shift = 0;
        visit_places(nodes[i], nodes, n_shape, [&](const int j, const unsigned int k) {
          if (!places.compact())
            store_packed(packed_places, places.view.width, pair * n_shape + j, k);
          else if (j == i)
            diagonal[nodes[i]] = static_cast<std::uint8_t>(k); // the same from every cell
          else
          {
            word |= k << shift;
            shift += 5;
          }
        });
        if (places.compact())
          store_packed(packed_places, 2, pair, word);
      }

      /** Calls @p function(j, place of nodes[j] in @p row) for all @p n nodes. */
      template <typename Function>
      PATCHFEM_INLINE void
      visit_places(const int row, const int *const nodes, const int n, const Function &function) const
      {
#if defined(__CUDACC__)
        for (int j = 0; j < n; ++j)
          function(j, static_cast<unsigned int>(place_of(sparsity, row, nodes[j])));
#else
        // How many columns are smaller, for eight nodes at once: branches that cannot be foretold take longer.
        typedef int      Eight __attribute__((vector_size(32)));
        const int *const columns = sparsity.columns + sparsity.row_offsets[row];
        const int        length  = static_cast<int>(sparsity.row_offsets[row + 1] - sparsity.row_offsets[row]);
        for (int begin = 0; begin < n; begin += 8)
        {
          const int m      = n - begin < 8 ? n - begin : 8;
          Eight     wanted = {}, smaller = {};
          for (int j = 0; j < m; ++j)
            wanted[j] = nodes[begin + j];
          for (int k = 0; k < length; ++k)
            smaller -= columns[k] < wanted; // true is -1
          for (int j = 0; j < m; ++j)
            function(begin + j, static_cast<unsigned int>(smaller[j]));
        }
#endif
      }
    };

    /** Numbers of the buffer that a cell needs. */
    struct BufferSizes
    {
      int matrix, vector;

      PATCHFEM_INLINE BufferSizes(const kernels::CellRows &rows, const int cell, const int n_comp)
      {
        const int n_free = rows.n_free(cell), n_rows = rows.n_rows(cell);
        const int n_raw =
            rows.index(cell) < 0 ? 0 : rows.batches.batch[rows.batches.batch_of(cell)].reference.n_shape * n_comp;
        matrix = (n_free * n_free + n_rows - n_free) * n_comp * n_comp + n_raw * n_raw;
        vector = n_rows * n_comp + n_raw;
      }
    };

    /** Owner computes, see Patches, but for how cells that are not buffered come to the rows. */
    struct PatchPlan : public Patches
    {
      int expected_levels = 128;           ///< that room is kept for: mostly there are a few more than cells at a node
      Array<unsigned char> buffered;       ///< [cell], whether it is resolved in the buffer, while the plan is made
      Array<int>           chunk_of_patch; ///< likewise

      /** Chooses rows_per_patch() and finds the cells of each patch; false if the strategy does not serve. */
      virtual bool cut(const Source &source) = 0;

      /** Cuts the patches into chunks: matrices of buffered, and of staged, cells have at most @p budget entries. */
      virtual void plan_chunks(const Source &source, const std::int64_t budget)
      {
        cut_chunks(source, false, static_cast<double>(budget));
      }

      /** Makes the lists of the cells that are not buffered. */
      virtual void plan_cells(const Source &source) = 0;

      bool reinit(const Source &source) override
      {
        const int rows = source.data.rows_per_patch;
        require(rows >= 0 && rows <= (1 << 20), "Rows per patch must be between 0 and 2^20.");
        name         = source.strategy;
        patch_room   = source.room;
        batch_number = source.row_cells.batch();
        lists.n_rows = source.row_cells.n_rows();
        integrations = 0.;
        buffered     = mark_buffered(source.batches);
        if (!cut(source))
          return false;
        const int n_shape = source.batch().reference.n_shape, longest = most_in_patch(source, 1);
        if (!PlacesView::sums_pairs(n_shape) || longest > 256)
          lists.pair_bits = 0;
        else if (lists.pair_bits > 0)
          lists.pair_bits = n_shape <= 4 && longest <= 32 ? 5 : 8;
        lists.compact_places = lists.pair_bits == 0 && n_shape <= 4 && longest <= 32;
        lists.place_width    = longest <= 256 ? 1 : (longest <= 65536 ? 2 : 4);
        lists.diagonal_places.reinit(source.backend(), lists.pair_bits > 0 || lists.compact_places ? lists.n_rows : 0);

        const int          n_comp = source.batches.n_components();
        const double       share  = source.data.buffer_share > 0. ? source.data.buffer_share : source.room.buffer_share;
        const std::int64_t budget = static_cast<std::int64_t>(share * source.sparsity.n_blocks() * n_comp * n_comp);
        const std::int64_t least  = std::max<std::int64_t>((1 << 24) / source.room.bytes_per_entry,
                                                          least_cells * source.room.staged_numbers(n_shape, n_comp));
        plan_chunks(source, std::max(budget, least));
        plan_buffer(source);
        integrations += source.per_cell(lists.buffered_cells.size());
        plan_cells(source);
        buffered.release();
        chunk_of_patch.release();
        source.backend().synchronize();
        if (most_levels_of_patch <= expected_levels)
          return true;
        expected_levels = most_levels_of_patch;
        return reinit(source); // smaller patches have no more levels
      }

      /** Which cells are resolved in the buffer: those with constraints or boundary terms. */
      static Array<unsigned char> mark_buffered(const ElementBatches &batches)
      {
        const ConstrainedCellsView constrained = batches.constrained_cells();
        const FacesView            faces       = batches.faces_view();
        Array<unsigned char>       result(batches.backend(), batches.n_cells());
        result.set_zero();
        for (const auto &[cells, n] : {std::pair(constrained.cells, constrained.n_cells), {faces.cells, faces.n_cells}})
          launch(batches.backend(), n, [cells = cells, buffered = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
            buffered[cells[i]] = 1;
          });
        return result;
      }

      /** The most blocks of a patch of @p rows rows that has cells. */
      static int most_in_patch(const Source &source, const int rows)
      {
        const int  n_rows = source.row_cells.n_rows();
        Array<int> counts(source.backend(), (n_rows + rows - 1) / rows);
        launch(source.backend(), counts.size(),
               [=, offsets = source.sparsity.row_offsets().data(), pairs = source.row_cells.view().offsets,
                counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t p) {
                 const std::int64_t first = p * rows, end = first + rows < n_rows ? first + rows : n_rows;
                 counts[p] = pairs[end] > pairs[first] ? static_cast<int>(offsets[end] - offsets[first]) : 0;
               });
        return maximum(counts);
      }

      std::size_t bytes_of_rows(const Source &source)
      {
        const std::size_t         rows = lists.rows_per_patch, n_comp = source.batches.n_components();
        const kernels::PatchRoom &room = source.room;
        most_blocks_of_patch           = most_in_patch(source, lists.rows_per_patch);
        return (most_blocks_of_patch * n_comp * n_comp + rows * n_comp) * room.bytes_per_entry +
               rows * (sizeof(int) + 1 + room.bytes_per_row) + expected_levels * (sizeof(int) + room.bytes_per_level);
      }

      /** Takes the largest size whose rows and @p worker_bytes fit into @p available, or the smallest, and false. */
      bool
      find_size(const Source &source, const int most_rows, const std::size_t worker_bytes, const std::size_t available)
      {
        const int        asked = source.data.rows_per_patch;
        std::vector<int> sizes{512, 448, 384, 256, 192, 128, 96, 64, 48, 32, 24, 16, 8, 4, 2, 1};
        if (asked > 0)
          sizes = {asked};
        return std::any_of(sizes.begin(), sizes.end(), [&](const int rows) {
          lists.rows_per_patch = rows;
          return (rows <= most_rows || asked > 0) && bytes_of_rows(source) + worker_bytes <= available;
        });
      }

      /** of[first row of each patch], and of[n_rows] at the end. */
      void write_patch_offsets(const Backend &place, const std::int64_t *of, Array<std::int64_t> &offsets) const
      {
        const int n_rows = lists.n_rows, rows = lists.rows_per_patch;
        offsets.reinit(place, (n_rows + rows - 1) / rows + 1);
        launch(place, offsets.size(), [=, offsets = offsets.data()] PATCHFEM_DEVICE(const std::int64_t p) {
          offsets[p] = of[p * rows < n_rows ? p * rows : n_rows];
        });
      }

      /** The cells that touch each patch, by their @p cell_ranks, ascending, or by their numbers if there are none. */
      void find_cells_by(const Source &source, const Array<int> &cell_ranks)
      {
        const Backend        &place = source.backend();
        const int             n     = lists.n_patches();
        const PatchRanksLists ranks{source.row_cells.view(), cell_ranks.data(), lists.rows_per_patch, lists.n_rows};
        Array<int>            counts(place, n);
#if defined(__CUDACC__)
        Array<std::int64_t> starts;
        Array<int>          keys(place, source.row_cells.n_pairs());
        write_patch_offsets(place, ranks.rows.offsets, starts);
        launch(place, keys.size(),
               [=, keys = keys.data()] __device__(const std::int64_t i) { keys[i] = ranks.rank_of(i); });
        lists.cells = unique_of_segments(n, starts.data(), keys, counts.data(), lists.cell_offsets);
#else
        launch(place, [&](Here) { find_distinct(ranks, counts, lists.cell_offsets, lists.cells); });
#endif
      }

      /** Numbers that the buffered, or @p all, cells of a patch need, in units of 1024, rounded up. */
      std::vector<int> buffer_sizes(const Source &source, const bool all) const
      {
        Array<int>         sizes(source.backend(), lists.n_patches());
        const int          n_comp = source.batches.n_components();
        const std::int64_t staged = all ? source.room.staged_numbers(source.batch().reference.n_shape, n_comp) : 0;
        launch(source.backend(), sizes.size(),
               [=, rows = source.row_cells.view().cells, offsets = lists.cell_offsets.data(),
                cells = lists.cells.data(), buffered = buffered.data(),
                sizes = sizes.data()] PATCHFEM_DEVICE(const std::int64_t p) {
                 std::int64_t n = 0;
                 for (std::int64_t i = offsets[p]; i < offsets[p + 1]; ++i)
                   n += buffered[cells[i]] ? BufferSizes(rows, cells[i], n_comp).matrix : staged;
                 sizes[p] = static_cast<int>((n + 1023) / 1024);
               });
        return sizes.to_vector();
      }

      /** Finds the chunk of each patch, where their cells, those that are buffered or @p all, fit @p limit entries. */
      void cut_chunks(const Source &source, const bool all, const double limit)
      {
        const std::vector<int> sizes = buffer_sizes(source, all);
        std::vector<int>       chunk_of;
        double                 used = 0.;
        lists.chunks.clear();
        for (const int size : sizes)
        {
          const int patch = static_cast<int>(chunk_of.size());
          if (lists.chunks.empty() || used + size * 1024. > limit)
          {
            lists.chunks.push_back({patch, patch});
            used = 0.;
          }
          used += size * 1024.;
          chunk_of.push_back(static_cast<int>(lists.chunks.size()) - 1);
          lists.chunks.back().end_patch = patch + 1;
        }
        chunk_of_patch = Array<int>(source.backend(), chunk_of);
      }

      /** The cells of each chunk that are buffered, or not. */
      ChunkCells chunk_cells(const Source &source, const bool wanted) const
      {
        const Backend      &place     = source.backend();
        const std::int64_t  n_entries = static_cast<std::int64_t>(lists.cells.size());
        const int           n_patches = lists.n_patches(), n_chunks = static_cast<int>(lists.chunks.size());
        const int *const    cells = lists.cells.data();
        Array<int>          flags(place, n_entries), first, sizes(place, n_chunks);
        Array<std::int64_t> positions;
        launch(place, n_entries,
               [=, buffered = buffered.data(), flags = flags.data()] PATCHFEM_DEVICE(const std::int64_t i) {
                 flags[i] = buffered[cells[i]] == wanted;
               });
        const std::int64_t   n = scan(flags, positions);
        Array<std::uint64_t> keys(place, n); // chunk << 32 | cell
        first.reinit(place, n);
        launch(place, n_entries,
               [=, offsets = lists.cell_offsets.data(), chunks = chunk_of_patch.data(), flags = flags.data(),
                positions = positions.data(), keys = keys.data()] PATCHFEM_DEVICE(const std::int64_t i) {
                 if (flags[i])
                   keys[positions[i]] = std::uint64_t(chunks[patch_of(offsets, n_patches, i)]) << 32 |
                                        static_cast<unsigned int>(cells[i]);
               });
        first.set_zero(); // goes through the sort as a value nobody reads
        if (n > 0)
          launch(place, [&](const Here where) {
            kernels::stable_sort_by_key(where, n, keys.data(), first.data(), 32 + bits_for(n_chunks));
          });
        launch(place, n, [keys = keys.data(), first = first.data()] PATCHFEM_DEVICE(const std::int64_t i) {
          first[i] = i == 0 || keys[i] != keys[i - 1];
        });
        ChunkCells result;
        result.cells.reinit(place, scan(first, positions));
        sizes.set_zero();
        launch(place, n,
               [keys = keys.data(), first = first.data(), positions = positions.data(), cells = result.cells.data(),
                sizes = sizes.data()] PATCHFEM_DEVICE(const std::int64_t i) {
                 if (!first[i])
                   return;
                 cells[positions[i]] = static_cast<int>(keys[i] & 0xffffffffu);
                 kernels::atomic_increment(sizes + static_cast<int>(keys[i] >> 32));
               });
        scan(sizes, result.offsets);
        return result;
      }

      /** Where patches compute no cells level by level. */
      void set_no_levels(const Backend &place)
      {
        lists.level_offsets.reinit(place, n_patches() + 1);
        lists.level_offsets.set_zero();
      }

      PlacesWriter places_writer(const Source &source)
      {
        return {source.sparsity.view(), lists.places_view(), lists.places.data(), lists.diagonal_places.data()};
      }

      /** The lists of buffered cells, and of the rows that they feed. */
      void plan_buffer(const Source &source)
      {
        const Backend            &place  = source.backend();
        const int                 n_comp = source.batches.n_components();
        const kernels::CellRows   rows   = source.row_cells.view().cells;
        const ChunkCells          found  = chunk_cells(source, true);
        const std::int64_t        n = static_cast<std::int64_t>(found.cells.size()), n_chunks = lists.chunks.size();
        const std::int64_t *const chunk_offsets = found.offsets.data();
        lists.buffered_cells.reinit(place, n);
        if (n == 0)
          return;

        BufferedCell *const list = lists.buffered_cells.data();
        Array<int>          matrix_sizes(place, n), vector_sizes(place, n);
        Array<std::int64_t> matrix_offsets, vector_offsets;
        launch(place, n,
               [=, faces = source.batches.faces_view(), cells = found.cells.data(), matrix_sizes = matrix_sizes.data(),
                vector_sizes = vector_sizes.data()] PATCHFEM_DEVICE(const std::int64_t k) {
                 const int     cell = cells[k];
                 const int    *face = kernels::lower_bound(faces.cells, faces.cells + faces.n_cells, cell);
                 BufferedCell &out  = list[k];
                 out.cell           = cell;
                 out.batch          = rows.batches.batch_of(cell);
                 out.constrained    = rows.index(cell);
                 out.faces =
                     face != faces.cells + faces.n_cells && *face == cell ? static_cast<int>(face - faces.cells) : -1;
                 out.n_free = rows.n_free(cell);
                 out.n_rows = rows.n_rows(cell);
                 const BufferSizes sizes(rows, cell, n_comp);
                 matrix_sizes[k] = sizes.matrix;
                 vector_sizes[k] = sizes.vector;
               });
        scan(matrix_sizes, matrix_offsets);
        scan(vector_sizes, vector_offsets);
        // Offsets into the buffer, relative to the chunk.
        launch(
            place, n,
            [=, matrix = matrix_offsets.data(), vector = vector_offsets.data()] PATCHFEM_DEVICE(const std::int64_t k) {
              const std::int64_t *chunk = kernels::lower_bound(chunk_offsets, chunk_offsets + n_chunks + 1, k + 1) - 1;
              BufferedCell       &cell  = list[k];
              cell.matrix_offset        = matrix[k] - matrix[*chunk];
              cell.raw_offset           = cell.matrix_offset +
                                (std::int64_t(cell.n_free) * cell.n_free + cell.n_rows - cell.n_free) * n_comp * n_comp;
              cell.vector_offset     = vector[k] - vector[*chunk];
              cell.raw_vector_offset = cell.vector_offset + std::int64_t(cell.n_rows) * n_comp;
            });
        const std::vector<std::int64_t> ends = found.offsets.to_vector();
        for (int c = 0; c < n_chunks; ++c)
        {
          Chunk &chunk         = lists.chunks[c];
          chunk.first_buffered = ends[c];
          chunk.end_buffered   = ends[c + 1];
          // Staged cells follow, from a multiple of 16 bytes on.
          chunk.n_matrix_entries = (matrix_offsets.read(ends[c + 1]) - matrix_offsets.read(ends[c]) + 3) / 4 * 4;
          chunk.n_vector_entries = vector_offsets.read(ends[c + 1]) - vector_offsets.read(ends[c]);
        }

        // The rows that buffered cells feed, with their pairs and the places of the cells' columns.
        const int                   n_rows = lists.n_rows, rows_per_patch = lists.rows_per_patch;
        const kernels::RowCellsView pairs = source.row_cells.view();
        Array<int>                  flags(place, n_rows), n_pairs(place, n_rows), n_places(place, n_rows);
        Array<std::int64_t>         positions, pair_starts, place_starts;
        launch(place, n_rows,
               [=, buffered = buffered.data(), flags = flags.data(), n_pairs = n_pairs.data(),
                n_places = n_places.data()] PATCHFEM_DEVICE(const std::int64_t row) {
                 int pair_count = 0, place_count = 0;
                 pairs.visit(row, [&](const int cell, const int r) {
                   if (!buffered[cell])
                     return;
                   const int n_free = rows.n_free(cell);
                   ++pair_count;
                   place_count += r < n_free ? n_free : 1;
                 });
                 flags[row]    = pair_count > 0;
                 n_pairs[row]  = pair_count;
                 n_places[row] = place_count;
               });
        const std::int64_t n_fed = scan(flags, positions);
        lists.fed_pairs.reinit(place, scan(n_pairs, pair_starts));
        lists.fed_places.reinit(place, scan(n_places, place_starts) * lists.place_width);
        write_patch_offsets(place, positions.data(), lists.fed_offsets);
        lists.fed_rows.reinit(place, n_fed);
        for (Array<std::int64_t> *offsets : {&lists.fed_pair_offsets, &lists.fed_place_offsets})
        {
          offsets->reinit(place, n_fed + 1);
          offsets->set_zero();
        }
        launch(place, n_rows,
               [=, buffered = buffered.data(), sparsity = source.sparsity.view(), cells = found.cells.data(),
                chunk_of_patch = chunk_of_patch.data(), flags = flags.data(), positions = positions.data(),
                pair_starts = pair_starts.data(), place_starts = place_starts.data(), fed_rows = lists.fed_rows.data(),
                fed_pair_offsets = lists.fed_pair_offsets.data(), fed_place_offsets = lists.fed_place_offsets.data(),
                fed_pairs = lists.fed_pairs.data(), fed_places = lists.fed_places.data(),
                place_width = lists.place_width] PATCHFEM_DEVICE(const std::int64_t row) {
                 if (!flags[row])
                   return;
                 const std::int64_t  k     = positions[row];
                 const std::int64_t *chunk = chunk_offsets + chunk_of_patch[row / rows_per_patch];
                 std::int64_t        pair = pair_starts[row], place = place_starts[row];
                 pairs.visit(row, [&](const int cell, const int r) {
                   if (!buffered[cell])
                     return;
                   const int *place_of_cell = kernels::lower_bound(cells + chunk[0], cells + chunk[1], cell);
                   fed_pairs[pair++] = kernels::Pair::make(static_cast<int>(place_of_cell - cells - chunk[0]), r);
                   const int n_free = rows.n_free(cell), own = static_cast<int>(row);
                   for (int s = 0; s < (r < n_free ? n_free : 1); ++s)
                     store_packed(fed_places, place_width, place++,
                                  place_of(sparsity, own, r < n_free ? rows.nodes(cell)[s] : own));
                 });
                 fed_rows[k]              = static_cast<int>(row);
                 fed_pair_offsets[k + 1]  = pair;
                 fed_place_offsets[k + 1] = place;
               });
      }
    };
  } // namespace
} // namespace PatchFEM
