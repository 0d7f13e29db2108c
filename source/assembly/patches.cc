// SPDX-License-Identifier: LGPL-2.1-or-later
#include "structure_tools.h"

#include <patchfem/assembly/patches.h>
#include <patchfem/kernels/ordering.h>
#include <patchfem/kernels/patch_plan_bodies.h>
#include <patchfem/kernels/primitives.h>

#include <algorithm>
#include <array>

namespace PatchFEM
{
  namespace
  {
    /// Share of a patch's cells that must be in fast memory at once: with a few more cells than that the second run over
    /// the rows costs less than the cells that smaller patches integrate again.
    constexpr double staged_share = 0.75;

    /// Sizes of patches that are tried, largest first.
    constexpr std::array<int, 14> patch_sizes = {{512, 384, 256, 192, 128, 96, 64, 48, 32, 16, 8, 4, 2, 1}};

    /** The largest offsets[end of patch] - offsets[start of patch] for patches of @p rows rows. */
    int most_in_patch(const Array<std::int64_t> &offsets, const int rows)
    {
      const Backend &place  = offsets.backend();
      const int      n_rows = static_cast<int>(offsets.size()) - 1, n = (n_rows + rows - 1) / rows;
      Array<int>     counts(place, n);
      run(place, n, kernels::PatchSizesBody{offsets.data(), rows, n_rows, counts.data()});
      int most = 0;
      dispatch(place, [&](auto where) { most = kernels::maximum(where, n, counts.data()); });
      return most;
    }
  } // namespace

  void Patches::reinit(const ElementBatches &batches,
                       const RowCells       &row_cells,
                       const Sparsity       &sparsity,
                       const FastMemory     &memory,
                       const AdditionalData &data)
  {
    require(data.rows_per_patch >= 0 && data.rows_per_patch <= (1 << 20), "Rows per patch must be between 0 and 2^20.");
    require(data.concurrent >= 0 && data.concurrent <= 32, "At most 32 patches share a multiprocessor.");
    n_rows                     = row_cells.n_rows();
    chosen                     = data.strategy;
    const double cells_per_row = static_cast<double>(batches.n_cells()) / n_rows;

    const Backend &place = batches.backend();
    slot_width           = sparsity.longest_row() <= 256 ? 1 : (sparsity.longest_row() <= 65536 ? 2 : 4);
    Array<int>          slot_counts(place, n_rows);
    Array<std::int64_t> slot_starts(place, n_rows + 1);
    run(place, n_rows,
        kernels::CountCandidatesBody{row_cells.cell_rows(), row_cells.offsets().data(), row_cells.pairs().data(),
                                     slot_counts.data()});
    dispatch(place,
             [&](auto where) { kernels::exclusive_scan(where, n_rows, slot_counts.data(), slot_starts.data()); });

    // Sums, and the part of the plan that a patch keeps beside them.
    const auto row_bytes = [&](const int rows) {
      most_blocks_of_patch = most_in_patch(sparsity.row_offsets(), rows);
      most_pairs_of_patch  = most_in_patch(row_cells.offsets(), rows);
      most_slots_of_patch  = most_in_patch(slot_starts, rows);
      return (std::size_t(most_blocks_of_patch) * batches.n_components() * batches.n_components() +
              std::size_t(rows) * batches.n_components()) *
                 memory.bytes_per_entry +
             std::size_t(most_pairs_of_patch) * 2 + std::size_t(most_slots_of_patch) * slot_width +
             std::size_t(rows) * 16 + 64;
    };
    const auto find_size = [&](const auto &acceptable) {
      if (data.rows_per_patch > 0)
      {
        acceptable(data.rows_per_patch);
        return true;
      }
      return std::any_of(patch_sizes.begin(), patch_sizes.end(), acceptable);
    };

    if (chosen != AssemblyStrategy::gather)
    {
      // The largest patch whose rows and most of whose cells are in fast memory together. The cells that touch it are at
      // least about 1.2 times its share of the mesh, which spares most trials the cut.
      const bool fits = find_size([&](const int rows) {
        const std::size_t bytes = row_bytes(rows);
        if (data.rows_per_patch == 0 &&
            bytes + staged_share * 1.2 * std::min(rows, n_rows) * cells_per_row * memory.bytes_per_cell >
                memory.available)
          return false;
        cut(row_cells, rows);
        const std::size_t list = most_cells_of_patch * sizeof(int);
        return bytes + list + memory.bytes_per_cell <= memory.available &&
               bytes + staged_share * most_cells_of_patch * memory.bytes_per_cell <= memory.available;
      });
      if (chosen == AssemblyStrategy::patches)
        require(fits, "No patch of this problem fits into fast memory; use the gather strategy.");
      else
        chosen = fits && static_cast<double>(cells.size()) <= data.most_redundant * batches.n_cells()
                     ? AssemblyStrategy::patches
                     : AssemblyStrategy::gather;
    }
    if (chosen == AssemblyStrategy::gather)
    {
      // Only rows are in fast memory; a quarter of it lets several patches run side by side.
      const bool roomy = find_size([&](const int rows) {
        n_rows_per_patch = rows;
        if (data.rows_per_patch == 0 && rows > 128)
          return false;
        return row_bytes(rows) <= memory.available / 4; // row_bytes() also notes the extents of the patches
      });
      require(roomy || row_bytes(n_rows_per_patch) <= memory.available, "The longest row of the matrix, with " +
                                                                            std::to_string(sparsity.longest_row()) +
                                                                            " blocks, does not fit into fast memory.");
      cut(row_cells, n_rows_per_patch);
    }
    require(most_cells_of_patch < (1 << 24), "A patch has too many cells.");

    pack(row_cells, sparsity, slot_starts); // needs the patches' cells by number, which plan_buffer() replaces in part
    plan_buffer(batches, row_cells, sparsity, memory, data);
    batches.backend().synchronize();
  }

  void Patches::cut(const RowCells &row_cells, const int rows)
  {
    const Backend     &place   = row_cells.offsets().backend();
    const std::int64_t n_pairs = row_cells.n_pairs();
    const int          n       = (n_rows + rows - 1) / rows;
    n_rows_per_patch           = rows;
    pair_offsets.reinit(place, n + 1);
    run(place, n + 1, kernels::PatchOffsetsBody{row_cells.offsets().data(), rows, n_rows, pair_offsets.data()});

    Array<int> keys(place, n_pairs), counts(place, n);
    run(place, n_pairs, kernels::PairCellsBody{row_cells.pairs().data(), keys.data()});
    dispatch(place, [&](auto where) { kernels::sort_segments(where, n_pairs, n, pair_offsets.data(), keys.data()); });
    run(place, n, kernels::CountUniqueBody{pair_offsets.data(), keys.data(), counts.data()});
    cell_offsets.reinit(place, n + 1);
    dispatch(place, [&](auto where) {
      kernels::exclusive_scan(where, n, counts.data(), cell_offsets.data());
      most_cells_of_patch = kernels::maximum(where, n, counts.data());
    });
    cells.reinit(place, cell_offsets.read(n));
    run(place, n, kernels::WriteUniqueBody{pair_offsets.data(), keys.data(), cell_offsets.data(), cells.data()});
  }

  void Patches::pack(const RowCells &row_cells, const Sparsity &sparsity, const Array<std::int64_t> &slot_starts)
  {
    const Backend          &place   = row_cells.offsets().backend();
    const std::int64_t      n_pairs = row_cells.n_pairs();
    const int               n       = n_patches();
    const kernels::CellRows rows    = row_cells.cell_rows();

    int most_rows_of_cell = 1;
    for (int b = 0; b < rows.batches.n_batches; ++b)
      most_rows_of_cell = std::max(most_rows_of_cell, rows.batches.batch[b].reference.n_shape);
    if (rows.constrained.n_cells > 0)
    {
      Array<int> counts(place, rows.batches.n_cells);
      run(place, rows.batches.n_cells, kernels::CountCellRowsBody{rows, counts.data()});
      dispatch(place, [&](auto where) {
        most_rows_of_cell = std::max(most_rows_of_cell, kernels::maximum(where, rows.batches.n_cells, counts.data()));
      });
    }
    row_bits            = bits_for(most_rows_of_cell);
    const int pair_bits = row_bits + bits_for(most_cells_of_patch);
    pair_width          = pair_bits <= 16 ? 2 : 4;
    require(pair_bits <= 32, "A patch has too many cells.");

    slot_offsets.reinit(place, n + 1);
    run(place, n + 1, kernels::PatchOffsetsBody{slot_starts.data(), n_rows_per_patch, n_rows, slot_offsets.data()});

    row_pairs.reinit(place, n_rows + n);
    row_slots.reinit(place, n_rows);
    // Words are copied whole, so the last may reach past the end, into zeros.
    pairs.reinit(place, n_pairs * pair_width + 4);
    slots.reinit(place, slot_starts.read(n_rows) * slot_width + 4);
    pairs.set_zero();
    slots.set_zero();
    run(place, n_rows,
        kernels::PackRowsBody{rows, sparsity.view(), row_cells.offsets().data(), row_cells.pairs().data(),
                              slot_starts.data(), view(sparsity), row_pairs.data(), row_slots.data(), pairs.data(),
                              slots.data()});
  }

  int Patches::computed_batch(const ElementBatches &batches)
  {
    int result = 0;
    for (int b = 1; b < batches.n_batches(); ++b)
      if (batches.n_cells(b) > batches.n_cells(result))
        result = b;
    return result;
  }

  PatchesView Patches::view(const Sparsity &sparsity) const
  {
    return {n_rows,
            n_patches(),
            n_rows_per_patch,
            cell_offsets.data(),
            cells.data(),
            pair_offsets.data(),
            slot_offsets.data(),
            row_pairs.data(),
            row_slots.data(),
            {pairs.data(), pair_width},
            row_bits,
            {slots.data(), slot_width},
            sparsity.row_offsets().data()};
  }

  std::size_t Patches::memory_consumption() const
  {
    return cell_offsets.memory_consumption() + pair_offsets.memory_consumption() + slot_offsets.memory_consumption() +
           cells.memory_consumption() + row_pairs.memory_consumption() + row_slots.memory_consumption() +
           pairs.memory_consumption() + slots.memory_consumption() + buffered_cells.memory_consumption();
  }
} // namespace PatchFEM
