// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/assembly_strategy.h>

#include <algorithm>

namespace PatchFEM
{
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
    int          word = 0; // of a cell whose pairs of nodes are summed once
    for (const CellTable &batch : tables.batches)
      if (tables.n_components == 1 && PlacesView::sums_pairs(batch.reference.n_shape))
        word = std::max(word, batch.reference.n_shape == 8 ? 2 * PlacesView::numbers_of_eight
                                                           : PlacesView::word_bytes(batch.reference.n_shape, 8));
    const double pairs = width * double(cells.n_blocks), upper = word * n + 2. * double(pattern.n_blocks);
    return (word > 0 ? std::max(pairs, upper) : pairs) + 6. * n + n_rows_of_plans();
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
    // Cells in the order of sums; flags of the patches' cells, and keys of those in a buffer; rows that these feed.
    // Device kernels sort where the host counts; their sort of all pairs takes less than the plan does.
    const bool   sorts = backend.kind() == BackendKind::cuda;
    const double n = n_cells_of_patches(data), n_rows = tables.n_nodes;
    const double keys =
        (sorts ? 32. : 20.) * (row.stages() ? n : n * double(buffered_cells.n) / std::max(1., double(cells.n)));
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
    const double full  = entry * double((row.stages() ? cells : buffered_cells).n_blocks + n_raw_blocks);
    double       least = 1 << 24;
    for (const CellTable &batch : tables.batches)
      least = std::max(least, entry * Patches::least_cells * batch.reference.n_shape * batch.reference.n_shape);
    const double budget = 1.1 * std::max(share * double(pattern.n_entries()) * number_size, least);
    return static_cast<std::size_t>((row.staging == Staging::whole ? full : std::min(full, budget)) *
                                    (1. + 1. / n_comp / (tables.dim + 1)));
  }
} // namespace PatchFEM
