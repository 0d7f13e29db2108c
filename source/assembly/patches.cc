// SPDX-License-Identifier: LGPL-2.1-or-later
#include "patch_steps.h"

#include <algorithm>

namespace PatchFEM
{
  bool Patches::reinit(const Source &source)
  {
    const int rows = source.data.rows_per_patch;
    require(rows >= 0 && rows <= (1 << 20), "Rows per patch must be between 0 and 2^20.");
    name         = source.strategy;
    patch_room   = source.room;
    batch_number = source.row_cells.batch();
    lists.n_rows = source.row_cells.n_rows();
    integrations = 0.;
    if (!cut(source))
      return false;
    const int n_shape = source.batch().reference.n_shape, longest = most_in_patch(source, 1);
    if (n_shape > 4 || longest > 256)
      lists.pair_bits = 0;
    else if (lists.pair_bits > 0)
      lists.pair_bits = longest <= 32 ? 5 : 8;
    lists.compact_places = lists.pair_bits == 0 && n_shape <= 4 && longest <= 32;
    lists.place_width    = longest <= 256 ? 1 : (longest <= 65536 ? 2 : 4);
    lists.diagonal_places.reinit(source.backend(), lists.pair_bits > 0 || lists.compact_places ? lists.n_rows : 0);

    const int          n_comp = source.batches.n_components();
    const double       share  = source.data.buffer_share > 0. ? source.data.buffer_share : source.room.buffer_share;
    const std::int64_t budget = static_cast<std::int64_t>(share * source.sparsity.n_blocks() * n_comp * n_comp);
    const std::int64_t least  = (std::int64_t(16) << 20) / source.room.bytes_per_entry;
    const Array<int>   chunk_of_patch = plan_chunks(source, std::max(budget, least));
    choose(source.backend(),
           [&](auto where) { PatchSteps<decltype(where)>::plan_buffer(source, chunk_of_patch, lists); });
    integrations += source.per_cell(lists.buffered_cells.size());
    plan_cells(source);
    source.backend().synchronize();
    if (most_levels_of_patch <= expected_levels)
      return true;
    expected_levels = most_levels_of_patch;
    return reinit(source); // smaller patches have no more levels
  }

  int Patches::most_in_patch(const Source &source, const int rows)
  {
    return choose(source.backend(), [&](auto where) { return PatchSteps<decltype(where)>::most_blocks(source, rows); });
  }

  std::size_t Patches::bytes_of_rows(const Source &source)
  {
    const std::size_t         rows = lists.rows_per_patch, n_comp = source.batches.n_components();
    const kernels::PatchRoom &room = source.room;
    most_blocks_of_patch           = most_in_patch(source, lists.rows_per_patch);
    return (most_blocks_of_patch * n_comp * n_comp + rows * n_comp) * room.bytes_per_entry +
           rows * (sizeof(int) + 1 + room.bytes_per_row) + expected_levels * (sizeof(int) + room.bytes_per_level);
  }

  bool Patches::find_size(const Source     &source,
                          const int         most_rows,
                          const std::size_t worker_bytes,
                          const std::size_t available)
  {
    const int        asked = source.data.rows_per_patch;
    std::vector<int> sizes{512, 384, 256, 192, 128, 96, 64, 48, 32, 16, 8, 4, 2, 1};
    if (asked > 0)
      sizes = {asked};
    return std::any_of(sizes.begin(), sizes.end(), [&](const int rows) {
      lists.rows_per_patch = rows;
      return (rows <= most_rows || asked > 0) && bytes_of_rows(source) + worker_bytes <= available;
    });
  }

  Array<int> Patches::cut_chunks(const Source &source, const bool all, const double limit)
  {
    const std::vector<int> sizes = choose(
        source.backend(), [&](auto where) { return PatchSteps<decltype(where)>::buffer_sizes(source, all, lists); });
    std::vector<int> chunk_of;
    double           used = 0.;
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
    return Array<int>(source.backend(), chunk_of);
  }

  PatchesView Patches::view(const Sparsity &sparsity) const
  {
    PatchesView v{};
    v.n_rows            = lists.n_rows;
    v.n_patches         = n_patches();
    v.rows_per_patch    = lists.rows_per_patch;
    v.cell_offsets      = lists.cell_offsets.data();
    v.cells             = lists.cells.data();
    v.places            = lists.places_view();
    v.level_offsets     = lists.level_offsets.data();
    v.fed_offsets       = lists.fed_offsets.data();
    v.fed_rows          = lists.fed_rows.data();
    v.fed_pair_offsets  = lists.fed_pair_offsets.data();
    v.fed_pairs         = lists.fed_pairs.data();
    v.fed_place_offsets = lists.fed_place_offsets.data();
    v.fed_places        = {lists.fed_places.data(), lists.place_width};
    v.row_offsets       = sparsity.row_offsets().data();
    return v;
  }

  std::size_t Patches::memory_consumption() const
  {
    return memory_consumption_of(lists.cell_offsets, lists.level_offsets, lists.cells, lists.staged_cells, lists.places,
                                 lists.diagonal_places, lists.fed_offsets, lists.fed_pair_offsets, lists.fed_pairs,
                                 lists.fed_place_offsets, lists.fed_rows, lists.fed_places, lists.buffered_cells);
  }

  /** Cells of all patches, as often as they are in one: with few rows in a patch once for each row. */
  double StructureEstimate::n_cells_of_patches(const Patches::AdditionalData &data) const
  {
    double n = 0.;
    for (const CellTable &batch : tables.batches)
      n += 2.5 * batch.reference.degree * batch.reference.degree * batch.n_cells;
    return data.rows_per_patch > 0 ? double(cells.n_pairs) : std::min(n, double(cells.n_pairs));
  }

  double StructureEstimate::places_bytes(const Patches::AdditionalData &data) const
  {
    const double width = pattern.longest_row <= 256 ? 1. : 2., n = n_cells_of_patches(data);
    const bool   linear = std::any_of(tables.batches.begin(), tables.batches.end(),
                                      [](const CellTable &batch) { return batch.reference.n_shape <= 4; });
    const double pairs = width * double(cells.n_blocks), upper = 8. * n + 2. * double(pattern.n_blocks);
    return (linear ? std::max(pairs, upper) : pairs) + 6. * n + n_rows_of_plans();
  }

  std::size_t StructureEstimate::plan_bytes(const Patches::AdditionalData &data, const StrategyRow &row) const
  {
    const double width = pattern.longest_row <= 256 ? 1. : 2., fed = double(buffered_cells.n_pairs);
    return static_cast<std::size_t>(row.bytes(*this, data) + 1.1 * sizeof(BufferedCell) * double(buffered_cells.n) +
                                    8. * fed + 20. * std::min(double(tables.n_nodes), fed) +
                                    width * double(buffered_cells.n_blocks));
  }

  std::size_t StructureEstimate::peak_bytes(const Backend                 &backend,
                                            const Patches::AdditionalData &data,
                                            const StrategyRow             &row) const
  {
    // Cells in the order of sums; flags of the patches' cells, and keys of those in a buffer; rows that these feed. Device
    // kernels sort where the host counts; their sort of all pairs takes less than the plan does.
    const bool   sorts = backend.kind() == BackendKind::cuda;
    const double n = n_cells_of_patches(data), n_rows = tables.n_nodes;
    const double keys =
        (sorts ? 32. : 20.) * (row.stages ? n : n * double(buffered_cells.n) / std::max(1., double(cells.n)));
    const double order = (sorts ? 29. : 17.) * double(cells.n) + (sorts ? 8. * double(cells.n_pairs) : 0.);
    const double plan  = double(plan_bytes(data, row)) + std::max({order, 16. * n + keys, 36. * n_rows + keys});
    const double pairs = 8. * (double(cells.n_pairs) + n_rows) + (n_resolved_rows > 0 ? 4. * double(cells.n) : 0.);
    return sparsity_bytes() + static_cast<std::size_t>(pairs + std::max(plan, double(candidates_bytes(backend))));
  }

  std::size_t
  StructureEstimate::buffer_bytes(const std::size_t number_size, const double share, const StrategyRow &row) const
  {
    // Matrices of chunks, which with one patch may exceed their budget by a little, and loads for their rows.
    const double n_comp = tables.n_components, entry = n_comp * n_comp * number_size;
    const double full   = entry * double((row.stages ? cells : buffered_cells).n_blocks + n_raw_blocks);
    const double budget = std::max(1.1 * share * double(pattern.n_entries()) * number_size, 1.1 * (1 << 24));
    return static_cast<std::size_t>(std::min(full, budget) * (1. + 1. / n_comp / (tables.dim + 1)));
  }
} // namespace PatchFEM
