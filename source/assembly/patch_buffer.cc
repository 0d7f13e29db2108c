// SPDX-License-Identifier: LGPL-2.1-or-later
#include "structure_tools.h"

#include <patchfem/assembly/patches.h>
#include <patchfem/kernels/ordering.h>
#include <patchfem/kernels/patch_plan_bodies.h>
#include <patchfem/kernels/primitives.h>

#include <algorithm>

namespace PatchFEM
{
  void Patches::plan_buffer(const ElementBatches &batches,
                            const RowCells       &row_cells,
                            const Sparsity       &sparsity,
                            const FastMemory     &memory,
                            const AdditionalData &data)
  {
    const Backend          &place     = batches.backend();
    const int               n         = n_patches();
    const int               n_comp    = batches.n_components();
    const std::int64_t      n_entries = static_cast<std::int64_t>(cells.size());
    const kernels::CellRows rows      = row_cells.cell_rows();
    const FacesView         faces     = batches.faces_view();

    // Which cells go through the buffer: all, or those with constraints, boundary terms or another element than
    // the batch that patches compute.
    Array<unsigned char> buffered(place, batches.n_cells());
    run(place, batches.n_cells(),
        kernels::MarkRangeBody{buffered.data(), static_cast<unsigned char>(chosen == AssemblyStrategy::gather)});
    if (chosen == AssemblyStrategy::patches)
    {
      run(place, rows.constrained.n_cells,
          kernels::MarkBody{rows.constrained.cells, buffered.data(), static_cast<unsigned char>(1)});
      run(place, faces.n_cells, kernels::MarkBody{faces.cells, buffered.data(), static_cast<unsigned char>(1)});
      for (int b = 0; b < rows.batches.n_batches; ++b)
        if (b != computed_batch(batches))
          run(place, rows.batches.batch[b].n_cells,
              kernels::MarkRangeBody{buffered.data() + rows.batches.batch[b].first_cell,
                                     static_cast<unsigned char>(1)});
    }

    // Chunks of patches whose buffered cells fit the budget.
    const std::int64_t budget =
        std::max<std::int64_t>(static_cast<std::int64_t>(data.buffer_share * sparsity.n_blocks() * n_comp * n_comp),
                               (std::int64_t(16) << 20) / memory.bytes_per_entry);
    Array<int> patch_sizes(place, n);
    run(place, n,
        kernels::PatchBufferBody{rows, n_comp, cell_offsets.data(), cells.data(), buffered.data(), patch_sizes.data()});
    const std::vector<int> sizes = patch_sizes.to_vector();
    std::vector<int>       chunk_of(n);
    chunk_list.clear();
    std::int64_t used = 0;
    for (int p = 0; p < n; ++p)
    {
      if (chunk_list.empty() || used + sizes[p] * std::int64_t(1024) > budget)
      {
        chunk_list.push_back({p, p, 0, 0, 0, 0});
        used = 0;
      }
      used += sizes[p] * std::int64_t(1024);
      chunk_of[p]                 = static_cast<int>(chunk_list.size()) - 1;
      chunk_list.back().end_patch = p + 1;
    }
    const int n_chunks = static_cast<int>(chunk_list.size());

    // The different buffered cells of each chunk, ascending.
    Array<int>          chunk_of_patch(place, chunk_of), flags(place, n_entries);
    Array<std::int64_t> positions(place, n_entries + 1);
    run(place, n_entries, kernels::BufferedFlagBody{cells.data(), buffered.data(), flags.data()});
    dispatch(place, [&](auto where) { kernels::exclusive_scan(where, n_entries, flags.data(), positions.data()); });
    const std::int64_t n_buffered = positions.read(n_entries);
    buffered_cells.release();
    integrations = static_cast<double>(n_entries - n_buffered) / batches.n_cells();
    if (n_buffered == 0)
      return;

    Array<std::uint64_t> keys(place, n_buffered);
    Array<int>           first(place, n_buffered);
    Array<std::int64_t>  unique(place, n_buffered + 1);
    run(place, n_entries,
        kernels::BufferedKeyBody{cell_offsets.data(), n, chunk_of_patch.data(), cells.data(), flags.data(),
                                 positions.data(), keys.data()});
    positions.release();
    first.set_zero(); // goes through the sort as a value nobody reads
    dispatch(place, [&](auto where) {
      kernels::stable_sort_by_key(where, n_buffered, keys.data(), first.data(), 32 + bits_for(n_chunks));
    });
    run(place, n_buffered, kernels::FirstOfRunBody{keys.data(), first.data()});
    dispatch(place, [&](auto where) { kernels::exclusive_scan(where, n_buffered, first.data(), unique.data()); });
    const std::int64_t n_unique = unique.read(n_buffered);

    Array<int>          chunk_sizes(place, n_chunks), matrix_sizes(place, n_unique), vector_sizes(place, n_unique);
    Array<std::int64_t> chunk_offsets(place, n_chunks + 1), matrix_offsets(place, n_unique + 1),
        vector_offsets(place, n_unique + 1);
    buffered_cells.reinit(place, n_unique);
    chunk_sizes.set_zero();
    run(place, n_buffered,
        kernels::BufferedListBody{rows, faces, n_comp, keys.data(), first.data(), unique.data(), buffered_cells.data(),
                                  chunk_sizes.data(), matrix_sizes.data(), vector_sizes.data()});
    dispatch(place, [&](auto where) {
      kernels::exclusive_scan(where, n_chunks, chunk_sizes.data(), chunk_offsets.data());
      kernels::exclusive_scan(where, n_unique, matrix_sizes.data(), matrix_offsets.data());
      kernels::exclusive_scan(where, n_unique, vector_sizes.data(), vector_offsets.data());
    });
    run(place, n_unique,
        kernels::BufferedOffsetsBody{n_comp, n_chunks, chunk_offsets.data(), matrix_offsets.data(),
                                     vector_offsets.data(), buffered_cells.data()});
    run(place, n_entries,
        kernels::BufferedEntryBody{cell_offsets.data(), n, chunk_of_patch.data(), chunk_offsets.data(),
                                   buffered_cells.data(), flags.data(), cells.data()});

    const std::vector<std::int64_t> ends = chunk_offsets.to_vector();
    for (int c = 0; c < n_chunks; ++c)
    {
      Chunk &chunk           = chunk_list[c];
      chunk.first_buffered   = ends[c];
      chunk.end_buffered     = ends[c + 1];
      chunk.n_matrix_entries = matrix_offsets.read(ends[c + 1]) - matrix_offsets.read(ends[c]);
      chunk.n_vector_entries = vector_offsets.read(ends[c + 1]) - vector_offsets.read(ends[c]);
    }
    integrations += static_cast<double>(n_unique) / batches.n_cells();
  }
} // namespace PatchFEM
