// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "distinct_values.h"
#include "strategies.h"

#include "kernels/patch_plan_bodies.h"

/** @file The steps (see run.h) of plans of all strategies: patches, their cells, chunks, buffered cells, and rows fed by them. */
namespace PatchFEM
{
  template <typename Where>
  Array<unsigned char> PatchSteps<Where>::mark_buffered(const ElementBatches &batches)
  {
    const ConstrainedCellsView constrained = batches.constrained_cells();
    const FacesView            faces       = batches.faces_view();
    Array<unsigned char>       result(batches.backend(), batches.n_cells());
    result.set_zero();
    for (const auto &[cells, n] : {std::pair(constrained.cells, constrained.n_cells), {faces.cells, faces.n_cells}})
      for_all(batches.backend(), n, [cells = cells, buffered = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        buffered[cells[i]] = 1;
      });
    return result;
  }

  template <typename Where>
  int PatchSteps<Where>::most_blocks(const Source &source, const int rows)
  {
    const int  n_rows = source.row_cells.n_rows();
    Array<int> counts(source.backend(), (n_rows + rows - 1) / rows);
    for_all(source.backend(), counts.size(),
            [=, offsets = source.sparsity.row_offsets().data(), pairs = source.row_cells.offsets().data(),
             counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t p) {
              const std::int64_t first = p * rows, end = first + rows < n_rows ? first + rows : n_rows;
              counts[p] = pairs[end] > pairs[first] ? static_cast<int>(offsets[end] - offsets[first]) : 0;
            });
    return maximum(counts);
  }

  namespace
  {
    /** of[first row of each patch], and of[n_rows] at the end. */
    void write_patch_offsets(const Backend       &place,
                             const std::int64_t  *of,
                             const PatchLists    &lists,
                             Array<std::int64_t> &offsets)
    {
      const int n_rows = lists.n_rows, rows = lists.rows_per_patch;
      offsets.reinit(place, (n_rows + rows - 1) / rows + 1);
      for_all(place, offsets.size(), [=, offsets = offsets.data()] PATCHFEM_DEVICE(const std::int64_t p) {
        offsets[p] = of[p * rows < n_rows ? p * rows : n_rows];
      });
    }

#if defined(__CUDACC__)
    /** The cells of each patch by their ranks, ascending: what its rows offer is sorted. */
    void find_ranks(const Source &source, const kernels::PatchRanksLists &ranks, PatchLists &lists)
    {
      const Backend      &place = source.backend();
      const int           n     = ranks.n_patches();
      Array<std::int64_t> starts;
      Array<int>          keys(place, source.row_cells.n_pairs()), counts(place, n);
      write_patch_offsets(place, ranks.pair_offsets, lists, starts);
      for_all(place, keys.size(),
              [=, keys = keys.data()] __device__(const std::int64_t i) { keys[i] = ranks.rank_of(i); });
      lists.cells = unique_of_segments(n, starts.data(), keys, counts.data(), lists.cell_offsets);
    }
#else
    /** The cells of each patch by their ranks, ascending: what its rows offer goes through a table. */
    void find_ranks(const Source &source, const kernels::PatchRanksLists &ranks, PatchLists &lists)
    {
      const int  n = ranks.n_patches();
      Array<int> counts(source.backend(), n);
      launch(source.backend(), [&](const Here where) { count_distinct(where, n, ranks, counts.data()); });
      lists.cells.reinit(source.backend(), scan(counts, lists.cell_offsets));
      launch(source.backend(),
             [&](const Here where) { write_distinct(where, n, ranks, lists.cell_offsets.data(), lists.cells.data()); });
    }
#endif
  } // namespace

  template <typename Where>
  void PatchSteps<Where>::find_cells(const Source &source, const Array<int> &cell_ranks, PatchLists &lists)
  {
    const RowCells &pairs = source.row_cells;
    find_ranks(source,
               {pairs.offsets().data(), pairs.pairs().data(), cell_ranks.data(), lists.rows_per_patch, lists.n_rows},
               lists);
  }

  template <typename Where>
  std::vector<int> PatchSteps<Where>::buffer_sizes(const Source &source, const bool all, const PatchLists &lists)
  {
    Array<int> sizes(source.backend(), lists.n_patches());
    const int  n_comp = source.batches.n_components();
    for_all(source.backend(), sizes.size(),
            [=, rows = source.row_cells.cell_rows(), offsets = lists.cell_offsets.data(), cells = lists.cells.data(),
             buffered = source.buffered.data(), sizes = sizes.data()] PATCHFEM_DEVICE(const std::int64_t p) {
              std::int64_t n = 0;
              for (std::int64_t i = offsets[p]; i < offsets[p + 1]; ++i)
                if (all || buffered[cells[i]])
                  n += kernels::buffered_matrix_size(rows, cells[i], n_comp);
              sizes[p] = static_cast<int>((n + 1023) / 1024);
            });
    return sizes.to_vector();
  }

  template <typename Where>
  ChunkCells PatchSteps<Where>::chunk_cells(const Source     &source,
                                            const bool        wanted,
                                            const Array<int> &chunk_of_patch,
                                            const PatchLists &lists)
  {
    const Backend      &place     = source.backend();
    const std::int64_t  n_entries = static_cast<std::int64_t>(lists.cells.size());
    const int           n_patches = lists.n_patches(), n_chunks = static_cast<int>(lists.chunks.size());
    const int *const    cells = lists.cells.data();
    Array<int>          flags(place, n_entries), first, sizes(place, n_chunks);
    Array<std::int64_t> positions;
    for_all(place, n_entries,
            [=, buffered = source.buffered.data(), flags = flags.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              flags[i] = buffered[cells[i]] == wanted;
            });
    const std::int64_t   n = scan(flags, positions);
    Array<std::uint64_t> keys(place, n); // chunk << 32 | cell
    first.reinit(place, n);
    for_all(place, n_entries,
            [=, offsets = lists.cell_offsets.data(), chunks = chunk_of_patch.data(), flags = flags.data(),
             positions = positions.data(), keys = keys.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              if (flags[i])
                keys[positions[i]] = std::uint64_t(chunks[kernels::patch_of(offsets, n_patches, i)]) << 32 |
                                     static_cast<unsigned int>(cells[i]);
            });
    first.set_zero(); // goes through the sort as a value nobody reads
    if (n > 0)
      launch(place, [&](const Here where) {
        kernels::stable_sort_by_key(where, n, keys.data(), first.data(), 32 + bits_for(n_chunks));
      });
    for_all(place, n, [keys = keys.data(), first = first.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      first[i] = i == 0 || keys[i] != keys[i - 1];
    });
    ChunkCells result;
    result.cells.reinit(place, scan(first, positions));
    sizes.set_zero();
    for_all(place, n,
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

  template <typename Where>
  void PatchSteps<Where>::plan_buffer(const Source &source, const Array<int> &chunk_of_patch, PatchLists &lists)
  {
    const Backend            &place  = source.backend();
    const int                 n_comp = source.batches.n_components();
    const kernels::CellRows   rows   = source.row_cells.cell_rows();
    const ChunkCells          found  = chunk_cells(source, true, chunk_of_patch, lists);
    const std::int64_t        n = static_cast<std::int64_t>(found.cells.size()), n_chunks = lists.chunks.size();
    const std::int64_t *const chunk_offsets = found.offsets.data();
    lists.buffered_cells.reinit(place, n);
    for (Array<std::int64_t> *array :
         {&lists.fed_offsets, &lists.fed_pair_offsets, &lists.fed_pairs, &lists.fed_place_offsets})
      array->release();
    lists.fed_rows.release();
    lists.fed_places.release();
    if (n == 0)
      return;

    BufferedCell *const list = lists.buffered_cells.data();
    Array<int>          matrix_sizes(place, n), vector_sizes(place, n);
    Array<std::int64_t> matrix_offsets, vector_offsets;
    for_all(place, n,
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
              out.n_free      = rows.n_free(cell);
              out.n_rows      = rows.n_rows(cell);
              matrix_sizes[k] = kernels::buffered_matrix_size(rows, cell, n_comp);
              vector_sizes[k] = kernels::buffered_vector_size(rows, cell, n_comp);
            });
    scan(matrix_sizes, matrix_offsets);
    scan(vector_sizes, vector_offsets);
    // Offsets into the buffer, relative to the chunk.
    for_all(place, n,
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
      PatchLists::Chunk &chunk = lists.chunks[c];
      chunk.first_buffered     = ends[c];
      chunk.end_buffered       = ends[c + 1];
      // Staged cells follow, from a multiple of 16 bytes on.
      chunk.n_matrix_entries = (matrix_offsets.read(ends[c + 1]) - matrix_offsets.read(ends[c]) + 3) / 4 * 4;
      chunk.n_vector_entries = vector_offsets.read(ends[c + 1]) - vector_offsets.read(ends[c]);
    }

    // The rows that buffered cells feed, with their pairs and the places of the cells' columns.
    const int               n_rows = lists.n_rows, rows_per_patch = lists.rows_per_patch;
    const kernels::RowPairs pairs = row_pairs(source);
    Array<int>              flags(place, n_rows), n_pairs(place, n_rows), n_places(place, n_rows);
    Array<std::int64_t>     positions, pair_starts, place_starts;
    for_all(place, n_rows,
            [=, flags = flags.data(), n_pairs = n_pairs.data(),
             n_places = n_places.data()] PATCHFEM_DEVICE(const std::int64_t row) {
              int pair_count = 0, place_count = 0;
              pairs.visit(row, true, [&](const int cell, const int r) {
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
    write_patch_offsets(place, positions.data(), lists, lists.fed_offsets);
    lists.fed_rows.reinit(place, n_fed);
    for (Array<std::int64_t> *offsets : {&lists.fed_pair_offsets, &lists.fed_place_offsets})
    {
      offsets->reinit(place, n_fed + 1);
      offsets->set_zero();
    }
    for_all(place, n_rows,
            [=, sparsity = source.sparsity.view(), chunk_of_patch = chunk_of_patch.data(), flags = flags.data(),
             positions = positions.data(), pair_starts = pair_starts.data(), place_starts = place_starts.data(),
             fed_rows = lists.fed_rows.data(), fed_pair_offsets = lists.fed_pair_offsets.data(),
             fed_place_offsets = lists.fed_place_offsets.data(), fed_pairs = lists.fed_pairs.data(),
             fed_places  = lists.fed_places.data(),
             place_width = lists.place_width] PATCHFEM_DEVICE(const std::int64_t row) {
              if (!flags[row])
                return;
              const std::int64_t  k     = positions[row];
              const std::int64_t *chunk = chunk_offsets + chunk_of_patch[row / rows_per_patch];
              std::int64_t        pair = pair_starts[row], place = place_starts[row];
              pairs.visit(row, true, [&](const int cell, const int r) {
                std::int64_t low = chunk[0], high = chunk[1];
                while (low < high)
                {
                  const std::int64_t middle = (low + high) / 2;
                  if (list[middle].cell < cell)
                    low = middle + 1;
                  else
                    high = middle;
                }
                fed_pairs[pair++] = kernels::Pair::make(static_cast<int>(low - chunk[0]), r);
                const int n_free = rows.n_free(cell), own = static_cast<int>(row);
                for (int s = 0; s < (r < n_free ? n_free : 1); ++s)
                  kernels::store_packed(fed_places, place_width, place++,
                                        kernels::place_of(sparsity, own, r < n_free ? rows.nodes(cell)[s] : own));
              });
              fed_rows[k]              = static_cast<int>(row);
              fed_pair_offsets[k + 1]  = pair;
              fed_place_offsets[k + 1] = place;
            });
  }

  template struct PatchSteps<Here>;
} // namespace PatchFEM
