// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/assembly_strategy.h>

#include <algorithm>
#include <cmath>

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

  double StructureEstimate::pair_places_bytes() const
  {
    return place_width() * double(cells.n_blocks) + n_rows_of_plans();
  }

  double StructureEstimate::places_bytes(const Patches::AdditionalData &data) const
  {
    // Where pairs of nodes are summed once: a word for each cell of a patch, and copies in the rows that such cells touch.
    double upper = n_rows_of_plans(), n_touched = 0.;
    for (const CellTable &batch : tables.batches)
    {
      const double n_shape = batch.reference.n_shape, n = batch.n_cells;
      if (tables.n_components > 1 || !PlacesView::sums_pairs(batch.reference.n_shape))
        upper += place_width() * n_shape * n_shape * n;
      else
      {
        const int word = n_shape == 8 ? 2 * PlacesView::numbers_of_eight : PlacesView::word_bytes(n_shape, 8);
        upper += word * n * (data.rows_per_patch > 0 ? n_shape : 2.5);
        n_touched += n_shape * n;
      }
    }
    upper += 2. * double(pattern.n_blocks) * std::min(1., n_touched / std::max(1, tables.n_owned_nodes()));
    return std::max(pair_places_bytes(), upper) + 6. * n_cells_of_patches(data);
  }

  std::size_t StructureEstimate::plan_bytes(const Patches::AdditionalData &data, const StrategyRow &row) const
  {
    const double fed = double(buffered_cells.n_pairs);
    return static_cast<std::size_t>(row.bytes(*this, data) + 1.1 * sizeof(BufferedCell) * double(buffered_cells.n) +
                                    8. * fed + 20. * std::min(double(tables.n_nodes), fed) +
                                    place_width() * double(buffered_cells.n_blocks));
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
    // Matrices of chunks, which with one patch may exceed their budget by a little, and loads for their rows: of all
    // cells where these are staged, since some are as records, of which a chunk has more.
    const bool   staged = row.stages();
    const Cells &there  = staged ? cells : buffered_cells;
    const double n_comp = tables.n_components, entry = n_comp * n_comp * number_size;
    double       least = 1 << 24, fewest = HUGE_VAL, n_blocks = double(there.n_blocks + n_raw_blocks);
    for (const CellTable &batch : tables.batches)
    {
      const int n_shape = batch.reference.n_shape, n_columns = kernels::PatchRoom::even(n_shape);
      least  = std::max(least, entry * Patches::least_cells * n_shape * n_columns);
      fewest = std::min(fewest, double(n_shape));
      if (staged)
        n_blocks += double(n_shape) * (n_columns - n_shape) * batch.n_cells;
    }
    const double budget   = 1.1 * std::max(share * double(pattern.n_entries()) * number_size, least);
    const double matrices = row.staging == Staging::whole ? entry * n_blocks : std::min(entry * n_blocks, budget);
    const double loads    = entry / n_comp * (double(there.n_pairs) + double(n_raw_blocks) / fewest);
    return static_cast<std::size_t>(matrices + (staged ? loads : std::min(loads, matrices / n_comp / fewest)));
  }
} // namespace PatchFEM
