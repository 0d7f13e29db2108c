// SPDX-License-Identifier: LGPL-2.1-or-later
#include "structure_tools.h"

#include <patchfem/assembly/sparsity.h>
#include <patchfem/kernels/ordering.h>
#include <patchfem/kernels/primitives.h>

#include <algorithm>

namespace PatchFEM
{
  void RowCells::reinit(const ElementBatches &batches)
  {
    const Backend &place   = batches.backend();
    const int      n_cells = batches.n_cells(), n_rows = batches.n_nodes();
    rows = {batches.view(), batches.constrained_cells(), nullptr};
    constrained_index.release();
    if (rows.constrained.n_cells > 0)
    {
      constrained_index.reinit(place, n_cells);
      run(place, n_cells, kernels::FillBody{constrained_index.data(), -1});
      run(place, rows.constrained.n_cells, kernels::IndexOfBody{rows.constrained.cells, constrained_index.data()});
      rows.constrained_index = constrained_index.data();
    }

    Array<int>          counts(place, std::max(n_cells, n_rows));
    Array<std::int64_t> offsets(place, n_cells + 1);
    run(place, n_cells, kernels::CountCellRowsBody{rows, counts.data()});
    if (rows.constrained.n_cells > 0)
    {
      // The matrix of a cell is indexed with 32 bits, and kernels::Pair has 16 for the rows of a cell.
      const int limit = 32767 / batches.n_components();
      int       most  = 0;
      dispatch(place, [&](auto where) { most = kernels::maximum(where, n_cells, counts.data()); });
      require(most <= limit, "Constraints couple a cell with " + std::to_string(most) + " nodes, more than the " +
                                 std::to_string(limit) + " that are supported; use constraints with fewer masters.");
    }
    dispatch(place, [&](auto where) { kernels::exclusive_scan(where, n_cells, counts.data(), offsets.data()); });
    const std::int64_t n_pairs = offsets.read(n_cells);

    Array<int> keys(place, n_pairs);
    pair_values.reinit(place, n_pairs);
    counts.set_zero();
    run(place, n_cells, kernels::EmitPairsBody{rows, offsets.data(), keys.data(), pair_values.data(), counts.data()});
    dispatch(place, [&](auto where) {
      kernels::stable_sort_by_key(where, n_pairs, keys.data(), pair_values.data(), bits_for(n_rows));
    });
    pair_offsets.reinit(place, n_rows + 1);
    dispatch(place, [&](auto where) { kernels::exclusive_scan(where, n_rows, counts.data(), pair_offsets.data()); });
  }

  void Sparsity::reinit(const ElementBatches &batches, const RowCells &row_cells)
  {
    // Rows are taken in chunks whose candidates (for hexahedra of degree 1: 64 for 27 columns) fit this many entries.
    constexpr std::int64_t most_candidates = std::int64_t(1) << 27;

    const Backend          &place        = batches.backend();
    const int               n_rows       = batches.n_nodes();
    const kernels::CellRows rows         = row_cells.cell_rows();
    const std::int64_t     *pair_offsets = row_cells.offsets().data(), *pairs = row_cells.pairs().data();

    Array<int> n_candidates(place, n_rows), lengths(place, n_rows);
    run(place, n_rows, kernels::CountCandidatesBody{rows, pair_offsets, pairs, n_candidates.data()});
    int most_per_row = 0;
    dispatch(place, [&](auto where) { most_per_row = kernels::maximum(where, n_rows, n_candidates.data()); });

    const int chunk_rows =
        static_cast<int>(std::min<std::int64_t>(n_rows, most_candidates / std::max(most_per_row, 1) + 1));
    std::vector<Array<int>> chunks;
    Array<std::int64_t>     candidate_offsets(place, chunk_rows + 1), unique_offsets(place, chunk_rows + 1);
    for (int first = 0; first < n_rows; first += chunk_rows)
    {
      const int n = std::min(chunk_rows, n_rows - first);
      dispatch(place, [&](auto where) {
        kernels::exclusive_scan(where, n, n_candidates.data() + first, candidate_offsets.data());
      });
      const std::int64_t n_entries = candidate_offsets.read(n);
      Array<int>         candidates(place, n_entries);
      run(place, n,
          kernels::EmitCandidatesBody{rows, pair_offsets, pairs, first, candidate_offsets.data(), candidates.data()});
      dispatch(place, [&](auto where) {
        kernels::sort_segments(where, n_entries, n, candidate_offsets.data(), candidates.data());
      });
      run(place, n, kernels::CountUniqueBody{candidate_offsets.data(), candidates.data(), lengths.data() + first});
      dispatch(place,
               [&](auto where) { kernels::exclusive_scan(where, n, lengths.data() + first, unique_offsets.data()); });
      chunks.emplace_back(place, unique_offsets.read(n));
      run(place, n,
          kernels::WriteUniqueBody{candidate_offsets.data(), candidates.data(), unique_offsets.data(),
                                   chunks.back().data()});
    }

    offsets.reinit(place, n_rows + 1);
    dispatch(place, [&](auto where) {
      kernels::exclusive_scan(where, n_rows, lengths.data(), offsets.data());
      longest = kernels::maximum(where, n_rows, lengths.data());
    });
    total = offsets.read(n_rows);
    if (chunks.size() == 1)
      columns = std::move(chunks[0]);
    else
    {
      columns.reinit(place, total);
      std::int64_t position = 0;
      for (Array<int> &chunk : chunks)
      {
        memory::copy(place, columns.data() + position, place, chunk.data(), chunk.memory_consumption());
        position += static_cast<std::int64_t>(chunk.size());
      }
    }
    place.synchronize();
  }

  SparsityView Sparsity::view() const
  {
    return {n_rows(), n_columns(), offsets.data(), columns.data()};
  }
} // namespace PatchFEM
