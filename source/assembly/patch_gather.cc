// SPDX-License-Identifier: LGPL-2.1-or-later
#include "structure_tools.h"

#include <patchfem/assembly/patches.h>
#include <patchfem/kernels/gather_plan_bodies.h>
#include <patchfem/kernels/primitives.h>

#include <algorithm>

namespace PatchFEM
{
  /** Of each patch the cells that are not buffered, and where its rows find the summands of their entries. */
  void Patches::plan_gather(const ElementBatches       &batches,
                            const RowCells             &row_cells,
                            const Sparsity             &sparsity,
                            const Array<unsigned char> &buffered)
  {
    const Backend           &place    = batches.backend();
    const int                n        = n_patches();
    const kernels::RowSlices slices   = {n_rows_per_patch, n_rows};
    const std::int64_t       n_slices = std::int64_t(n) * slices.per_patch();
    const auto               scan     = [&](const Array<int> &counts) {
      Array<std::int64_t> offsets(place, counts.size() + 1);
      dispatch(place,
                                 [&](auto where) { kernels::exclusive_scan(where, counts.size(), counts.data(), offsets.data()); });
      return offsets;
    };

    Array<int> counts(place, n);
    run(place, n, kernels::CountStagedCellsBody{cell_offsets.data(), cells.data(), buffered.data(), counts.data()});
    Array<std::int64_t> staged_offsets_of_patches = scan(counts);
    Array<int>          kept(place, staged_offsets_of_patches.read(n));
    run(place, n,
        kernels::KeepStagedCellsBody{cell_offsets.data(), staged_offsets_of_patches.data(), cells.data(),
                                     buffered.data(), kept.data()});
    cells.swap(kept);
    kept.release();
    cell_offsets.swap(staged_offsets_of_patches);
    level_offsets.reinit(place, n + 1);
    level_offsets.set_zero();
    level_ends.release();
    most_levels_of_patch = 0;
    pair_offsets.release();
    for (Array<char> *array : {&cell_pairs, &places, &sums})
      array->release();

    Array<int> n_ranks(place, n_slices), n_items(place, n_slices), n_quads(place, n_slices);
    run(place, n_slices, kernels::CountRanksBody{slices, sparsity.row_offsets().data(), n_ranks.data()});
    gather_ranks                                 = scan(n_ranks);
    const std::int64_t               n_all_ranks = gather_ranks.read(n_slices);
    const kernels::StagedCellsOfRows rows        = {batches.view().batch[computed_batch(batches)], sparsity.view(),
                                                    row_cells.offsets().data(), row_cells.pairs().data(), buffered.data()};
    Array<std::uint16_t>             widths(place, n_all_ranks * GatherItem::n_rows);
    gather_places.reinit(place, n_all_ranks * GatherItem::n_rows);
    run(place, n_slices * GatherItem::n_rows,
        kernels::RankPlacesBody{slices, rows, gather_ranks.data(), gather_places.data(), widths.data()});
    const kernels::ItemsOfSlices items = {gather_ranks.data(), widths.data()};
    run(place, n_slices, kernels::CountItemsBody{items, n_items.data(), n_quads.data()});
    gather_offsets                 = scan(n_items);
    gather_quads                   = scan(n_quads);
    const std::int64_t n_all_quads = gather_quads.read(n_slices);
    int                most_ranks = 0, most_quads = 0;
    dispatch(place, [&](auto where) {
      most_ranks = kernels::maximum(where, static_cast<int>(n_slices), n_ranks.data());
      most_quads = kernels::maximum(where, static_cast<int>(n_slices), n_quads.data());
    });
    require(std::max(most_ranks, most_quads) * slices.per_patch() <= 65536,
            "A patch has too many entries; choose fewer rows per patch.");
    Array<std::int64_t> starts(place, n_all_ranks);
    gather_items.reinit(place, gather_offsets.read(n_slices));
    run(place, n_slices,
        kernels::WriteItemsBody{slices, items, gather_offsets.data(), gather_quads.data(), gather_items.data(),
                                starts.data()});
    gather_sources.reinit(place, n_all_quads * GatherItem::n_rows * 2);
    gather_sources.set_zero();
    run(place, n_slices * GatherItem::n_rows,
        kernels::WriteSourcesBody{slices, rows, gather_ranks.data(), gather_places.data(), starts.data(),
                                  cell_offsets.data(), cells.data(), gather_sources.data()});

    // From here on cells are known by their slots in the buffer.
    std::vector<std::int64_t> begins(n), ends(n);
    for (const Chunk &chunk : chunk_list)
      for (int p = chunk.first_patch; p < chunk.end_patch; ++p)
      {
        begins[p] = chunk.first_staged;
        ends[p]   = chunk.end_staged;
      }
    const Array<std::int64_t> first(place, begins), end(place, ends);
    run(place, n,
        kernels::FindSlotsBody{cell_offsets.data(), first.data(), end.data(), staged_cells.data(), cells.data()});
  }
} // namespace PatchFEM
