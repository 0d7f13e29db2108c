// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/run.h"

#include "kernels/ordering.h"
#include "kernels/patch_plan_bodies.h"
#include <patchfem/assembly/patches.h>
#include <patchfem/kernels/primitives.h>

#include <algorithm>

namespace PatchFEM
{
  void Patches::plan_buffer(const ElementBatches       &batches,
                            const RowCells             &row_cells,
                            const Sparsity             &sparsity,
                            const FastMemory           &memory,
                            const AdditionalData       &data,
                            const Array<unsigned char> &buffered)
  {
    const Backend          &place  = batches.backend();
    const int               n      = n_patches();
    const int               n_comp = batches.n_components(), n_cells = batches.n_cells(batch_number);
    const kernels::CellRows rows  = row_cells.cell_rows();
    const FacesView         faces = batches.faces_view();

    // Chunks of patches whose cells in the buffer fit the budget.
    const double       share = data.buffer_share > 0. ? data.buffer_share : memory.buffer_share;
    const std::int64_t budget =
        std::max<std::int64_t>(static_cast<std::int64_t>(share * sparsity.n_blocks() * n_comp * n_comp),
                               (std::int64_t(16) << 20) / memory.bytes_per_entry);
    Array<int> patch_sizes(place, n);
    run(place, n,
        kernels::PatchBufferBody{rows, n_comp, cell_offsets.data(), cells.data(), buffered.data(),
                                 chosen == AssemblyStrategy::gather, patch_sizes.data()});
    const std::vector<int> sizes      = patch_sizes.to_vector();
    const auto             cut_chunks = [&](const double limit) {
      std::vector<int> chunk_of(n);
      double           used = 0.;
      chunk_list.clear();
      for (int p = 0; p < n; ++p)
      {
        if (chunk_list.empty() || used + sizes[p] * 1024. > limit)
        {
          chunk_list.push_back({p, p, 0, 0, 0, 0, 0, 0});
          used = 0.;
        }
        used += sizes[p] * 1024.;
        chunk_of[p]                 = static_cast<int>(chunk_list.size()) - 1;
        chunk_list.back().end_patch = p + 1;
      }
      return Array<int>(place, chunk_of);
    };
    Array<int> chunk_of_patch;
    integrations = 0.;
    staged_cells.release();
    staged_offsets.release();
    staged_pairs.release();
    if (chosen == AssemblyStrategy::gather)
    {
      // Most cells are of several patches of their chunk, and staged once: chunks can be larger than their patches'
      // sizes say, as long as what is found in them fits.
      const int    n_shape = batches.reference(batch_number).n_shape, a_cell = n_shape * n_shape * n_comp * n_comp;
      const double shared = static_cast<double>(cells.size()) / n_cells;
      for (double factor = std::max(1., 0.95 * shared);; factor = std::max(1., 0.9 * factor))
      {
        chunk_of_patch        = cut_chunks(factor * static_cast<double>(budget));
        std::int64_t n_staged = 0;
        plan_staged(batches, row_cells, sparsity, buffered, chunk_of_patch);
        for (const Chunk &chunk : chunk_list)
          n_staged = std::max(n_staged, chunk.end_staged - chunk.first_staged);
        if (factor <= 1. || n_staged * a_cell <= budget)
          break;
      }
      integrations = static_cast<double>(staged_cells.size()) / n_cells;
    }
    else
      chunk_of_patch = cut_chunks(static_cast<double>(budget));
    const int n_chunks = static_cast<int>(chunk_list.size());

    const CellsOfChunks found      = find_cells(buffered, 1, chunk_of_patch);
    const std::int64_t  n_buffered = static_cast<std::int64_t>(found.keys.size()), n_unique = found.n_unique;
    buffered_cells.release();
    for (Array<std::int64_t> *array : {&fed_offsets, &fed_pair_offsets, &fed_pairs, &fed_place_offsets})
      array->release();
    fed_rows.release();
    fed_places.release();
    integrations += static_cast<double>(n_unique) / n_cells;
    if (chosen == AssemblyStrategy::patches)
      integrations += static_cast<double>(static_cast<std::int64_t>(cells.size()) - n_buffered) / n_cells;
    if (n_buffered == 0)
      return;

    Array<int>          chunk_sizes(place, n_chunks), matrix_sizes(place, n_unique), vector_sizes(place, n_unique);
    Array<std::int64_t> chunk_offsets(place, n_chunks + 1), matrix_offsets(place, n_unique + 1),
        vector_offsets(place, n_unique + 1);
    buffered_cells.reinit(place, n_unique);
    chunk_sizes.set_zero();
    run(place, n_buffered,
        kernels::BufferedListBody{rows, faces, n_comp, found.keys.data(), found.first.data(), found.positions.data(),
                                  buffered_cells.data(), chunk_sizes.data(), matrix_sizes.data(), vector_sizes.data()});
    dispatch(place, [&](auto where) {
      kernels::exclusive_scan(where, n_chunks, chunk_sizes.data(), chunk_offsets.data());
      kernels::exclusive_scan(where, n_unique, matrix_sizes.data(), matrix_offsets.data());
      kernels::exclusive_scan(where, n_unique, vector_sizes.data(), vector_offsets.data());
    });
    run(place, n_unique,
        kernels::BufferedOffsetsBody{n_comp, n_chunks, chunk_offsets.data(), matrix_offsets.data(),
                                     vector_offsets.data(), buffered_cells.data()});
    const std::vector<std::int64_t> ends = chunk_offsets.to_vector();
    for (int c = 0; c < n_chunks; ++c)
    {
      Chunk &chunk         = chunk_list[c];
      chunk.first_buffered = ends[c];
      chunk.end_buffered   = ends[c + 1];
      // Staged cells follow, from a multiple of 16 bytes on.
      chunk.n_matrix_entries = (matrix_offsets.read(ends[c + 1]) - matrix_offsets.read(ends[c]) + 3) / 4 * 4;
      chunk.n_vector_entries = vector_offsets.read(ends[c + 1]) - vector_offsets.read(ends[c]);
    }
    plan_fed_rows(row_cells, sparsity, buffered, chunk_of_patch, chunk_offsets);
  }

  /** The cells of each chunk that are buffered (@p wanted 1), or not. */
  Patches::CellsOfChunks Patches::find_cells(const Array<unsigned char> &buffered,
                                             const unsigned char         wanted,
                                             const Array<int>           &chunk_of_patch) const
  {
    const Backend      &place     = buffered.backend();
    const std::int64_t  n_entries = static_cast<std::int64_t>(cells.size());
    CellsOfChunks       result;
    Array<int>          flags(place, n_entries);
    Array<std::int64_t> positions(place, n_entries + 1);
    run(place, n_entries, kernels::BufferedFlagBody{cells.data(), buffered.data(), wanted, flags.data()});
    dispatch(place, [&](auto where) { kernels::exclusive_scan(where, n_entries, flags.data(), positions.data()); });
    const std::int64_t n = positions.read(n_entries);
    if (n == 0)
      return result;
    result.keys.reinit(place, n);
    result.first.reinit(place, n);
    result.positions.reinit(place, n + 1);
    run(place, n_entries,
        kernels::ChunkKeyBody{cell_offsets.data(), n_patches(), chunk_of_patch.data(), cells.data(), flags.data(),
                              positions.data(), result.keys.data()});
    result.first.set_zero(); // goes through the sort as a value nobody reads
    dispatch(place, [&](auto where) {
      kernels::stable_sort_by_key(where, n, result.keys.data(), result.first.data(),
                                  32 + bits_for(static_cast<std::int64_t>(chunk_list.size())));
    });
    run(place, n, kernels::FirstOfRunBody{result.keys.data(), result.first.data()});
    dispatch(place,
             [&](auto where) { kernels::exclusive_scan(where, n, result.first.data(), result.positions.data()); });
    result.n_unique = result.positions.read(n);
    return result;
  }

  /** The rows that buffered cells feed, with their pairs and the places of the cells' columns. */
  void Patches::plan_fed_rows(const RowCells             &row_cells,
                              const Sparsity             &sparsity,
                              const Array<unsigned char> &buffered,
                              const Array<int>           &chunk_of_patch,
                              const Array<std::int64_t>  &chunk_offsets)
  {
    const Backend          &place = buffered.backend();
    const kernels::CellRows rows  = row_cells.cell_rows();
    const int               n     = n_patches();
    Array<int>              flags(place, n_rows), n_pairs(place, n_rows), n_places(place, n_rows);
    Array<std::int64_t> positions(place, n_rows + 1), pair_starts(place, n_rows + 1), place_starts(place, n_rows + 1);
    run(place, n_rows,
        kernels::CountFedBody{rows, row_cells.offsets().data(), row_cells.pairs().data(), buffered.data(), flags.data(),
                              n_pairs.data(), n_places.data()});
    dispatch(place, [&](auto where) {
      kernels::exclusive_scan(where, n_rows, flags.data(), positions.data());
      kernels::exclusive_scan(where, n_rows, n_pairs.data(), pair_starts.data());
      kernels::exclusive_scan(where, n_rows, n_places.data(), place_starts.data());
    });
    const std::int64_t n_fed = positions.read(n_rows);
    fed_offsets.reinit(place, n + 1);
    run(place, n + 1, kernels::PatchOffsetsBody{positions.data(), n_rows_per_patch, n_rows, fed_offsets.data()});
    fed_rows.reinit(place, n_fed);
    fed_pair_offsets.reinit(place, n_fed + 1);
    fed_place_offsets.reinit(place, n_fed + 1);
    fed_pair_offsets.set_zero();
    fed_place_offsets.set_zero();
    fed_pairs.reinit(place, pair_starts.read(n_rows));
    fed_places.reinit(place, place_starts.read(n_rows) * place_width);
    run(place, n_rows,
        kernels::FedRowsBody{rows, sparsity.view(), row_cells.offsets().data(), row_cells.pairs().data(),
                             buffered.data(), n_rows_per_patch, chunk_of_patch.data(), chunk_offsets.data(),
                             buffered_cells.data(), positions.data(), pair_starts.data(), place_starts.data(),
                             fed_rows.data(), fed_pair_offsets.data(), fed_place_offsets.data(), fed_pairs.data(),
                             fed_places.data(), place_width});
  }
} // namespace PatchFEM
