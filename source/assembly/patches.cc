// SPDX-License-Identifier: LGPL-2.1-or-later
#include "distinct_values.h"
#include "kernels/run.h"

#include "kernels/ordering.h"
#include "kernels/patch_plan_bodies.h"
#include <patchfem/assembly/structure_estimate.h>
#include <patchfem/kernels/primitives.h>

#include <algorithm>
#include <array>
#include <climits>

namespace PatchFEM
{
  namespace
  {
    /// Sizes of patches that are tried, largest first.
    constexpr std::array<int, 14> patch_sizes = {{512, 384, 256, 192, 128, 96, 64, 48, 32, 16, 8, 4, 2, 1}};

    /** The most blocks of a patch of @p rows rows that has cells. */
    int most_in_patch(const Sparsity &sparsity, const RowCells &row_cells, const int rows)
    {
      const Backend &place  = sparsity.backend();
      const int      n_rows = row_cells.n_rows(), n = (n_rows + rows - 1) / rows;
      Array<int>     counts(place, n);
      run(place, n,
          kernels::PatchSizesBody{sparsity.row_offsets().data(), row_cells.offsets().data(), rows, n_rows,
                                  counts.data()});
      int most = 0;
      dispatch(place, [&](auto where) { most = kernels::maximum(where, n, counts.data()); });
      return most;
    }

    /** The cells of each patch by their ranks, ascending: what its rows offer goes through a table. */
    void find_ranks(Host                            where,
                    const Backend                  &place,
                    const kernels::PatchRanksLists &ranks,
                    std::int64_t,
                    Array<std::int64_t> &offsets,
                    Array<int>          &cells)
    {
      const int  n = ranks.n_patches();
      Array<int> counts(place, n);
      count_distinct(where, n, ranks, counts.data());
      offsets.reinit(place, n + 1);
      kernels::exclusive_scan(where, n, counts.data(), offsets.data());
      cells.reinit(place, offsets.read(n));
      write_distinct(where, n, ranks, offsets.data(), cells.data());
    }

    /** The same by sorting what is offered. */
    template <typename Where>
    void find_ranks(const Where                    &where,
                    const Backend                  &place,
                    const kernels::PatchRanksLists &ranks,
                    const std::int64_t              n_pairs,
                    Array<std::int64_t>            &offsets,
                    Array<int>                     &cells)
    {
      const int           n = ranks.n_patches();
      Array<std::int64_t> starts(place, n + 1);
      Array<int>          keys(place, n_pairs), counts(place, n);
      run(place, n + 1,
          kernels::PatchOffsetsBody{ranks.pair_offsets, ranks.rows_per_patch, ranks.n_rows, starts.data()});
      run(place, n_pairs, kernels::PairRanksBody{ranks, keys.data()});
      kernels::sort_segments(where, n_pairs, n, starts.data(), keys.data());
      run(place, n, kernels::CountUniqueBody{starts.data(), keys.data(), counts.data()});
      offsets.reinit(place, n + 1);
      kernels::exclusive_scan(where, n, counts.data(), offsets.data());
      cells.reinit(place, offsets.read(n));
      run(place, n, kernels::WriteUniqueBody{starts.data(), keys.data(), offsets.data(), cells.data()});
    }
  } // namespace

  void Patches::reinit(const ElementBatches &batches,
                       const RowCells       &row_cells,
                       const Sparsity       &sparsity,
                       const FastMemory     &memory,
                       const AdditionalData &data)
  {
    require(data.rows_per_patch >= 0 && data.rows_per_patch <= (1 << 20), "Rows per patch must be between 0 and 2^20.");
    batch_number         = row_cells.batch();
    n_rows               = row_cells.n_rows();
    chosen               = data.strategy;
    const Backend &place = batches.backend();

    const auto row_bytes = [&](const int rows) {
      most_blocks_of_patch = most_in_patch(sparsity, row_cells, rows);
      return (std::size_t(most_blocks_of_patch) * batches.n_components() * batches.n_components() +
              std::size_t(rows) * batches.n_components()) *
                 memory.bytes_per_entry +
             std::size_t(rows) * (sizeof(int) + 1 + memory.worker_bytes_per_row) +
             expected_levels * (sizeof(int) + memory.worker_bytes_per_level);
    };
    const auto find_size = [&](const auto &acceptable) {
      if (data.rows_per_patch > 0)
        return acceptable(data.rows_per_patch);
      return std::any_of(patch_sizes.begin(), patch_sizes.end(), acceptable);
    };

    if (chosen == AssemblyStrategy::automatic && memory.most_redundant <= 1.)
      chosen = AssemblyStrategy::gather;
    const int                  n_cells  = batches.n_cells(batch_number);
    const Array<unsigned char> buffered = mark_buffered(batches);
    if (chosen != AssemblyStrategy::gather)
    {
      const bool fits = find_size([&](const int rows) {
        n_rows_per_patch = rows;
        return row_bytes(rows) + memory.worker_bytes <= memory.available;
      });
      if (chosen == AssemblyStrategy::patches && batches.n_batches() == 1)
        require(fits, data.rows_per_patch > 0
                          ? "Patches of so many rows do not fit into fast memory; choose fewer rows per patch."
                          : "No patch of this problem fits into fast memory; use the gather strategy.");
      if (fits)
      {
        order_cells(row_cells, buffered);
        cut(row_cells, n_rows_per_patch);
      }
      const bool better = fits && (chosen == AssemblyStrategy::patches ||
                                   static_cast<double>(cells.size()) <= memory.most_redundant * n_cells);
      chosen            = better ? AssemblyStrategy::patches : AssemblyStrategy::gather;
    }
    cell_order.release();
    cell_ranks.release();
    if (chosen == AssemblyStrategy::gather)
    {
      // Only rows are in fast memory; a quarter of it lets several patches run side by side.
      const bool roomy = find_size([&](const int rows) {
        n_rows_per_patch = rows;
        if (data.rows_per_patch == 0 && rows > 128)
          return false;
        return row_bytes(rows) <= memory.total / 4; // row_bytes() also notes the extents of the patches
      });
      require(roomy || row_bytes(n_rows_per_patch) <= memory.total,
              data.rows_per_patch > 0
                  ? "The rows of a patch do not fit into fast memory; choose fewer rows per patch."
                  : "The longest row of the matrix, with " + std::to_string(most_in_patch(sparsity, row_cells, 1)) +
                        " blocks, does not fit into fast memory.");
      cut(row_cells, n_rows_per_patch);
    }
    const int  n_shape = batches.reference(batch_number).n_shape;
    const int  longest = most_in_patch(sparsity, row_cells, 1);
    const bool upper   = memory.symmetric && chosen == AssemblyStrategy::patches && n_shape <= 4 && longest <= 256;
    pair_bits          = !upper ? 0 : (longest <= 32 ? 5 : 8);
    compact_places     = !upper && n_shape <= 4 && longest <= 32;
    place_width        = longest <= 256 ? 1 : (longest <= 65536 ? 2 : 4);
    diagonal_places.reinit(place, upper || compact_places ? n_rows : 0);
    plan_buffer(batches, row_cells, sparsity, memory, data, buffered);
    plan_computed(batches, sparsity, buffered);
    place.synchronize();
    if (most_levels_of_patch > expected_levels)
    {
      expected_levels = most_levels_of_patch;
      reinit(batches, row_cells, sparsity, memory, data); // smaller patches have no more levels
    }
  }

  /** Which cells are resolved in the buffer: those with constraints or boundary terms. */
  Array<unsigned char> Patches::mark_buffered(const ElementBatches &batches) const
  {
    const Backend             &place       = batches.backend();
    const ConstrainedCellsView constrained = batches.constrained_cells();
    const FacesView            faces       = batches.faces_view();
    constexpr unsigned char    yes         = 1;
    Array<unsigned char>       buffered(place, batches.n_cells());
    run(place, batches.n_cells(), kernels::MarkRangeBody{buffered.data(), 0});
    run(place, constrained.n_cells, kernels::MarkBody{constrained.cells, buffered.data(), yes});
    run(place, faces.n_cells, kernels::MarkBody{faces.cells, buffered.data(), yes});
    return buffered;
  }

  /** The order of the sums: computed cells colour by colour, then buffered ones, each in the order of their numbers. */
  void Patches::order_cells(const RowCells &row_cells, const Array<unsigned char> &buffered)
  {
    using kernels::ColourBody;
    const Backend          &place   = buffered.backend();
    const std::int64_t      n_cells = static_cast<std::int64_t>(buffered.size());
    Array<unsigned char>    colours(place, n_cells);
    Array<std::uint64_t>    keys(place, n_cells);
    const kernels::CellRows rows = row_cells.cell_rows();
    run(place, (n_cells + ColourBody::cells_per_run - 1) / ColourBody::cells_per_run,
        ColourBody{rows, row_cells.offsets().data(), row_cells.pairs().data(), buffered.data(), colours.data()});
    run(place, n_cells, kernels::ColourKeyBody{colours.data(), keys.data()});
    cell_order.reinit(place, n_cells);
    cell_ranks.reinit(place, n_cells);
    run(place, n_cells, kernels::IotaBody{cell_order.data()});
    dispatch(place, [&](auto where) {
      kernels::stable_sort_by_key(where, n_cells, keys.data(), cell_order.data(), bits_for(ColourBody::n_colours));
    });
    run(place, n_cells, kernels::InvertBody{cell_order.data(), cell_ranks.data()});
  }

  /** The cells that touch each patch of @p rows rows, in the order of the sums, or of their numbers. */
  void Patches::cut(const RowCells &row_cells, const int rows)
  {
    const Backend                 &place = row_cells.offsets().backend();
    const kernels::PatchRanksLists ranks{row_cells.offsets().data(), row_cells.pairs().data(), cell_ranks.data(), rows,
                                         n_rows};
    dispatch(place, [&](auto where) { find_ranks(where, place, ranks, row_cells.n_pairs(), cell_offsets, cells); });
    if (!cell_order.empty())
      run(place, cells.size(), kernels::LookUpBody{cell_order.data(), cells.data()});
  }

  /** Keeps of the patches' cells the computed ones, level after level, and finds their places. */
  void
  Patches::plan_computed(const ElementBatches &batches, const Sparsity &sparsity, const Array<unsigned char> &buffered)
  {
    using kernels::LevelsBody;
    const Backend  &place = batches.backend();
    const int       n     = n_patches();
    const BatchView batch = batches.view().batch[batch_number];

    Array<int>          counts(place, n), n_levels(place, n);
    Array<std::int64_t> computed_offsets(place, n + 1);
    if (chosen == AssemblyStrategy::gather)
      counts.set_zero();
    else
      run(place, n, kernels::CountComputedBody{cell_offsets.data(), cells.data(), buffered.data(), counts.data()});
    int most_cells = 0;
    dispatch(place, [&](auto where) {
      kernels::exclusive_scan(where, n, counts.data(), computed_offsets.data());
      most_cells = kernels::maximum(where, n, counts.data());
    });
    require(most_cells < 1 << LevelsBody::position_bits, "A patch has too many cells.");
    const std::int64_t n_computed = computed_offsets.read(n);

    Array<int> row_levels(place, n_rows), keys(place, n_computed), sorted(place, n_computed);
    row_levels.set_zero();
    run(place, n,
        LevelsBody{batch, n_rows_per_patch, n_rows, cell_offsets.data(), cells.data(), computed_offsets.data(),
                   row_levels.data(), keys.data(), n_levels.data()});
    row_levels.release();
    level_offsets.reinit(place, n + 1);
    dispatch(place, [&](auto where) {
      kernels::exclusive_scan(where, n, n_levels.data(), level_offsets.data());
      most_levels_of_patch = kernels::maximum(where, n, n_levels.data());
      kernels::sort_segments(where, n_computed, n, computed_offsets.data(), keys.data());
    });
    require(most_levels_of_patch <= LevelsBody::most_levels,
            "More than " + std::to_string(LevelsBody::most_levels) + " cells share a node; repair the mesh.");
    level_ends.reinit(place, level_offsets.read(n));
    run(place, n,
        kernels::SortedCellsBody{cell_offsets.data(), computed_offsets.data(), cells.data(), keys.data(),
                                 level_offsets.data(), sorted.data(), level_ends.data()});
    keys.release();
    cells.swap(sorted);
    cell_offsets.swap(computed_offsets);
    sorted.release();
    plan_places(batches, sparsity);
  }

  void Patches::plan_places(const ElementBatches &batches, const Sparsity &sparsity)
  {
    const Backend          &place      = batches.backend();
    const int               n          = n_patches();
    const BatchView         batch      = batches.view().batch[batch_number];
    const int               n_shape    = batch.reference.n_shape;
    const std::int64_t      n_computed = static_cast<std::int64_t>(cells.size());
    kernels::CountPairsBody count{batch, n_rows_per_patch, n, cell_offsets.data(), cells.data(), nullptr};
    cell_pairs.release();
    pair_offsets.release();
    sums.release();
    if (chosen == AssemblyStrategy::gather)
      return;
    if (pair_bits > 0)
    {
      sum_width = most_blocks_of_patch <= 65536 ? 2 : 4;
      sums.reinit(place, sparsity.n_blocks() * sum_width);
      word_width = PlacesView::word_bytes(n_shape, pair_bits);
      places.reinit(place, n_computed * word_width);
      run(place, n_computed, kernels::UpperPlacesBody{count, sparsity.view(), pair_bits, word_width, places.data()});
      run(place, n_rows,
          kernels::SumsBody{sparsity.view(), n_rows_per_patch, sum_width, sums.data(), diagonal_places.data()});
      return;
    }

    // Pairs of each cell, of each patch, and all of them.
    Array<int>          pair_counts(place, n_computed), counts(place, n);
    Array<std::int64_t> positions(place, n_computed + 1);
    count.counts = pair_counts.data();
    run(place, n_computed, count);
    dispatch(place,
             [&](auto where) { kernels::exclusive_scan(where, n_computed, pair_counts.data(), positions.data()); });
    const std::int64_t n_pairs = positions.read(n_computed);
    pair_offsets.reinit(place, n + 1);
    run(place, n + 1, kernels::GatherBody{positions.data(), cell_offsets.data(), pair_offsets.data()});
    run(place, n, kernels::DifferencesBody{pair_offsets.data(), counts.data()});
    int most_pairs = 0;
    dispatch(place, [&](auto where) { most_pairs = kernels::maximum(where, n, counts.data()); });
    cell_pair_width = most_pairs <= 65536 ? 2 : 4;

    cell_pairs.reinit(place, n_computed * cell_pair_width);
    places.reinit(place, n_pairs * (compact_places ? 2 : batch.reference.n_shape * place_width));
    const PatchesView v = view(sparsity);
    run(place, n_computed,
        kernels::PlacesBody{count,
                            positions.data(),
                            pair_offsets.data(),
                            v.cell_pairs,
                            cell_pairs.data(),
                            {sparsity.view(), v.places, places.data(), diagonal_places.data()}});
  }

  /** The chunks' staged cells, and for each row its pairs with them and the places of their columns. */
  void Patches::plan_staged(const ElementBatches       &batches,
                            const RowCells             &row_cells,
                            const Sparsity             &sparsity,
                            const Array<unsigned char> &buffered,
                            const Array<int>           &chunk_of_patch)
  {
    const Backend      &place    = batches.backend();
    const BatchView     batch    = batches.view().batch[batch_number];
    const int           n_chunks = static_cast<int>(chunk_list.size());
    const CellsOfChunks found    = find_cells(buffered, 0, chunk_of_patch);
    const std::int64_t  n_staged = found.n_unique;
    Array<int>          chunk_sizes(place, n_chunks), counts(place, n_rows);
    Array<std::int64_t> chunk_offsets(place, n_chunks + 1);
    staged_cells.reinit(place, n_staged);
    chunk_sizes.set_zero();
    run(place, found.keys.size(),
        kernels::StagedListBody{found.keys.data(), found.first.data(), found.positions.data(), staged_cells.data(),
                                chunk_sizes.data()});
    run(place, n_rows,
        kernels::CountStagedBody{row_cells.offsets().data(), row_cells.pairs().data(), buffered.data(), counts.data()});
    staged_offsets.reinit(place, n_rows + 1);
    dispatch(place, [&](auto where) {
      kernels::exclusive_scan(where, n_chunks, chunk_sizes.data(), chunk_offsets.data());
      kernels::exclusive_scan(where, n_rows, counts.data(), staged_offsets.data());
    });
    const std::vector<std::int64_t> ends = chunk_offsets.to_vector();
    for (int c = 0; c < n_chunks; ++c)
    {
      chunk_list[c].first_staged = ends[c];
      chunk_list[c].end_staged   = ends[c + 1];
      require((ends[c + 1] - ends[c]) * batch.reference.n_shape <= UINT_MAX, "A chunk has too many cells.");
    }
    const std::int64_t n_pairs = staged_offsets.read(n_rows);
    staged_pairs.reinit(place, n_pairs);
    places.reinit(place, n_pairs * (compact_places ? 2 : batch.reference.n_shape * place_width));
    run(place, n_rows,
        kernels::StagedRowsBody{batch,
                                row_cells.offsets().data(),
                                row_cells.pairs().data(),
                                buffered.data(),
                                n_rows_per_patch,
                                chunk_of_patch.data(),
                                chunk_offsets.data(),
                                staged_cells.data(),
                                staged_offsets.data(),
                                staged_pairs.data(),
                                {sparsity.view(), view(sparsity).places, places.data(), diagonal_places.data()}});
  }

  PatchesView Patches::view(const Sparsity &sparsity) const
  {
    return {n_rows,
            n_patches(),
            n_rows_per_patch,
            cell_offsets.data(),
            cells.data(),
            {cell_pairs.data(), cell_pair_width},
            pair_offsets.data(),
            {{places.data(), pair_bits > 0 ? word_width : (compact_places ? 2 : place_width)},
             diagonal_places.empty() ? nullptr : diagonal_places.data(),
             pair_bits,
             {sums.data(), sum_width}},
            level_offsets.data(),
            level_ends.data(),
            chosen == AssemblyStrategy::gather ? staged_offsets.data() : nullptr,
            staged_pairs.data(),
            fed_offsets.data(),
            fed_rows.data(),
            fed_pair_offsets.data(),
            fed_pairs.data(),
            fed_place_offsets.data(),
            {fed_places.data(), place_width},
            sparsity.row_offsets().data()};
  }

  std::size_t Patches::memory_consumption() const
  {
    std::size_t bytes = buffered_cells.memory_consumption() + diagonal_places.memory_consumption() +
                        staged_cells.memory_consumption() + staged_offsets.memory_consumption() +
                        staged_pairs.memory_consumption();
    for (const Array<std::int64_t> *array : {&cell_offsets, &pair_offsets, &level_offsets, &fed_offsets,
                                             &fed_pair_offsets, &fed_pairs, &fed_place_offsets})
      bytes += array->memory_consumption();
    for (const Array<int> *array : {&cells, &level_ends, &fed_rows})
      bytes += array->memory_consumption();
    for (const Array<char> *array : {&cell_pairs, &places, &sums, &fed_places})
      bytes += array->memory_consumption();
    return bytes;
  }

  /** Cells of all patches, as often as they are in one: with few rows in a patch once for each row. */
  double StructureEstimate::n_cells_of_patches(const Patches::AdditionalData &data) const
  {
    double n = 0.;
    for (const CellTable &batch : tables.batches)
      n += 2.5 * batch.reference.degree * batch.reference.degree * batch.n_cells;
    return data.rows_per_patch > 0 ? double(cells.n_pairs) : std::min(n, double(cells.n_pairs));
  }

  std::size_t StructureEstimate::patches_bytes(const Patches::AdditionalData &data, const bool may_gather) const
  {
    const double width = pattern.longest_row <= 256 ? 1. : 2., n_rows = tables.n_nodes, n = n_cells_of_patches(data);
    const double n_pairs = double(cells.n_pairs), fed = double(buffered_cells.n_pairs);
    const double lists  = n_rows * double(tables.batches.size()); // each batch has its plan, over all rows
    const bool   linear = std::any_of(tables.batches.begin(), tables.batches.end(),
                                      [](const CellTable &batch) { return batch.reference.n_shape <= 4; });
    double       places = width * double(cells.n_blocks);
    if (linear) // those of upper entries, with sums
      places = std::max(places, 8. * n + 2. * double(pattern.n_blocks));
    return static_cast<std::size_t>(places + 6. * n + (may_gather ? 4. * n_pairs + 8. * lists : 0.) + lists +
                                    1.1 * sizeof(BufferedCell) * double(buffered_cells.n) + 8. * fed +
                                    20. * std::min(n_rows, fed) + width * double(buffered_cells.n_blocks));
  }

  std::size_t StructureEstimate::peak_bytes(const Backend                 &backend,
                                            const Patches::AdditionalData &data,
                                            const bool                     may_gather) const
  {
    // Cells in the order of sums; flags of the patches' cells, and keys of those in a buffer; rows that these feed. Device
    // kernels sort where the host counts; their sort of all pairs takes less than the plan does.
    const bool   sorts = backend.kind() == BackendKind::cuda;
    const double n = n_cells_of_patches(data), n_rows = tables.n_nodes;
    const double keys  = (sorts ? 32. : 20.) * (may_gather ? n : n * double(buffered_cells.n) / double(cells.n));
    const double order = (sorts ? 29. : 17.) * double(cells.n) + (sorts ? 8. * double(cells.n_pairs) : 0.);
    const double plan =
        double(patches_bytes(data, may_gather)) + std::max({order, 16. * n + keys, 36. * n_rows + keys});
    const double pairs = 8. * (double(cells.n_pairs) + n_rows) + (n_resolved_rows > 0 ? 4. * double(cells.n) : 0.);
    return sparsity_bytes() + static_cast<std::size_t>(pairs + std::max(plan, double(candidates_bytes(backend))));
  }

  std::size_t
  StructureEstimate::buffer_bytes(const std::size_t number_size, const double share, const bool may_gather) const
  {
    // Matrices of chunks, which with one patch may exceed their budget by a little, and loads for their rows.
    const double n_comp = tables.n_components, entry = n_comp * n_comp * number_size;
    const double full   = entry * double((may_gather ? cells : buffered_cells).n_blocks + n_raw_blocks);
    const double budget = std::max(1.1 * share * double(pattern.n_entries()) * number_size, 1.1 * (1 << 24));
    return static_cast<std::size_t>(std::min(full, budget) * (1. + 1. / n_comp / (tables.dim + 1)));
  }
} // namespace PatchFEM
