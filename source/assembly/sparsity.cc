// SPDX-License-Identifier: LGPL-2.1-or-later
#include "distinct_values.h"
#include "kernels/run.h"
#include "kernels/structure_bodies.h"

#include "kernels/ordering.h"
#include <patchfem/assembly/structure_estimate.h>
#include <patchfem/kernels/atomics.h>
#include <patchfem/kernels/primitives.h>
#include <patchfem/kernels/team.h>

#include <algorithm>

namespace PatchFEM
{
  namespace
  {
    /// Where rows' columns are sorted: they are taken in chunks whose candidates (for hexahedra of degree 1: 64 for 27
    /// columns) fit this many entries.
    constexpr std::int64_t most_candidates = std::int64_t(1) << 27;

    /**
     * The pairs of each row, in the order of the cells. Pairs are dealt out to their rows as threads come to them; what
     * is left to sort are the few of each row.
     */
    void group_pairs(Host                     where,
                     const Backend           &place,
                     const kernels::CellRows &rows,
                     const int                n_rows,
                     Array<std::int64_t>     &offsets,
                     Array<std::int64_t>     &pairs)
    {
      const int  n_cells = rows.batches.n_cells;
      Array<int> counts(place, n_rows);
      const auto for_pairs = [&](const auto &function) { // function(cell, which of its rows, row, pairs the row had)
        counts.set_zero();
#pragma omp parallel for schedule(static)
        for (int cell = 0; cell < n_cells; ++cell)
        {
          const int *nodes = rows.nodes(cell), n = rows.n_rows(cell);
          for (int r = 0; r < n; ++r)
            function(cell, r, nodes[r], kernels::atomic_increment(counts.data() + nodes[r]));
        }
      };
      for_pairs([](int, int, int, int) {});
      offsets.reinit(place, n_rows + 1);
      kernels::exclusive_scan(where, n_rows, counts.data(), offsets.data());
      pairs.reinit(place, offsets.read(n_rows));
      const std::int64_t *const begin = offsets.data();
      std::int64_t *const       out   = pairs.data();
      for_pairs([&](const int cell, const int r, const int row, const int before) {
        out[begin[row] + before] = kernels::Pair::make(cell, r);
      });
#pragma omp parallel for schedule(static)
      for (int row = 0; row < n_rows; ++row)
        std::sort(out + begin[row], out + begin[row + 1]);
    }

    /** The same by one sort of all pairs. */
    template <typename Where>
    void group_pairs(const Where             &where,
                     const Backend           &place,
                     const kernels::CellRows &rows,
                     const int                n_rows,
                     Array<std::int64_t>     &offsets,
                     Array<std::int64_t>     &pairs)
    {
      const int           n_cells = rows.batches.n_cells;
      Array<int>          counts(place, std::max(n_cells, n_rows));
      Array<std::int64_t> cell_offsets(place, n_cells + 1);
      run(place, n_cells, kernels::CountCellRowsBody{rows, counts.data()});
      kernels::exclusive_scan(where, n_cells, counts.data(), cell_offsets.data());
      const std::int64_t n_pairs = cell_offsets.read(n_cells);
      Array<int>         keys(place, n_pairs);
      pairs.reinit(place, n_pairs);
      counts.set_zero();
      run(place, n_cells, kernels::EmitPairsBody{rows, cell_offsets.data(), keys.data(), pairs.data(), counts.data()});
      kernels::stable_sort_by_key(where, n_pairs, keys.data(), pairs.data(), bits_for(n_rows));
      offsets.reinit(place, n_rows + 1);
      kernels::exclusive_scan(where, n_rows, counts.data(), offsets.data());
    }

    /** Lengths, offsets and columns of the rows: what their cells offer goes through a table, row by row. */
    void find_columns(Host                 where,
                      const Backend       &place,
                      const RowCells      &row_cells,
                      Array<int>          &lengths,
                      Array<std::int64_t> &offsets,
                      Array<int>          &columns)
    {
      const kernels::CandidateLists candidates{row_cells.cell_rows(), row_cells.offsets().data(),
                                               row_cells.pairs().data()};
      const int                     n_rows = row_cells.n_rows();
      count_distinct(where, n_rows, candidates, lengths.data());
      offsets.reinit(place, n_rows + 1);
      kernels::exclusive_scan(where, n_rows, lengths.data(), offsets.data());
      columns.reinit(place, offsets.read(n_rows));
      write_distinct(where, n_rows, candidates, offsets.data(), columns.data());
    }

    /** The same by sorting what is offered, in chunks of rows. */
    template <typename Where>
    void find_columns(const Where         &where,
                      const Backend       &place,
                      const RowCells      &row_cells,
                      Array<int>          &lengths,
                      Array<std::int64_t> &offsets,
                      Array<int>          &columns)
    {
      const kernels::CellRows       rows         = row_cells.cell_rows();
      const std::int64_t           *pair_offsets = row_cells.offsets().data(), *pairs = row_cells.pairs().data();
      const kernels::CandidateLists candidate_lists{rows, pair_offsets, pairs};
      const int                     n_rows = row_cells.n_rows();

      Array<int> n_candidates(place, n_rows);
      run(place, n_rows, kernels::CountCandidatesBody{rows, pair_offsets, pairs, n_candidates.data()});
      const int most_per_row = kernels::maximum(where, n_rows, n_candidates.data());
      const int chunk_rows =
          static_cast<int>(std::min<std::int64_t>(n_rows, most_candidates / std::max(most_per_row, 1) + 1));
      std::vector<Array<int>> chunks;
      Array<std::int64_t>     candidate_offsets(place, chunk_rows + 1), unique_offsets(place, chunk_rows + 1);
      for (int first = 0; first < n_rows; first += chunk_rows)
      {
        const int n = std::min(chunk_rows, n_rows - first);
        kernels::exclusive_scan(where, n, n_candidates.data() + first, candidate_offsets.data());
        const std::int64_t n_entries = candidate_offsets.read(n);
        Array<int>         candidates(place, n_entries);
        run(place, n, kernels::EmitCandidatesBody{candidate_lists, first, candidate_offsets.data(), candidates.data()});
        kernels::sort_segments(where, n_entries, n, candidate_offsets.data(), candidates.data());
        run(place, n, kernels::CountUniqueBody{candidate_offsets.data(), candidates.data(), lengths.data() + first});
        kernels::exclusive_scan(where, n, lengths.data() + first, unique_offsets.data());
        chunks.emplace_back(place, unique_offsets.read(n));
        run(place, n,
            kernels::WriteUniqueBody{candidate_offsets.data(), candidates.data(), unique_offsets.data(),
                                     chunks.back().data()});
      }

      offsets.reinit(place, n_rows + 1);
      kernels::exclusive_scan(where, n_rows, lengths.data(), offsets.data());
      if (chunks.size() == 1)
        columns = std::move(chunks[0]);
      else
      {
        columns.reinit(place, offsets.read(n_rows));
        std::int64_t position = 0;
        for (Array<int> &chunk : chunks)
        {
          memory::copy(place, columns.data() + position, place, chunk.data(), chunk.memory_consumption());
          position += static_cast<std::int64_t>(chunk.size());
        }
      }
    }
  } // namespace

  void RowCells::reinit(const ElementBatches &batches, const bool resolved, const int b)
  {
    const Backend &place   = batches.backend();
    const int      n_cells = batches.n_cells(), n_rows = batches.n_nodes();
    rows     = {batches.view(), resolved ? batches.constrained_cells() : ConstrainedCellsView(), nullptr, 0, n_cells};
    of_batch = batches.n_batches() == 1 ? 0 : b;
    if (of_batch != all_batches)
    {
      rows.first_cell = rows.batches.batch[of_batch].first_cell;
      rows.end_cell   = rows.first_cell + batches.n_cells(of_batch);
    }
    constrained_index.release();
    if (rows.constrained.n_cells > 0)
    {
      constrained_index.reinit(place, n_cells);
      run(place, n_cells, kernels::FillBody{constrained_index.data(), -1});
      run(place, rows.constrained.n_cells, kernels::InvertBody{rows.constrained.cells, constrained_index.data()});
      rows.constrained_index = constrained_index.data();

      // The matrix of a cell is indexed with 32 bits, and kernels::Pair has 16 for the rows of a cell.
      const int  limit = 32767 / batches.n_components();
      int        most  = 0;
      Array<int> counts(place, n_cells);
      run(place, n_cells, kernels::CountCellRowsBody{rows, counts.data()});
      dispatch(place, [&](auto where) { most = kernels::maximum(where, n_cells, counts.data()); });
      require(most <= limit, "Constraints couple a cell with " + std::to_string(most) + " nodes, more than the " +
                                 std::to_string(limit) + " that are supported; use constraints with fewer masters.");
    }
    dispatch(place, [&](auto where) { group_pairs(where, place, rows, n_rows, pair_offsets, pair_values); });
  }

  void Sparsity::reinit(const ElementBatches &batches, const RowCells &row_cells)
  {
    const Backend &place  = batches.backend();
    const int      n_rows = batches.n_nodes();
    Array<int>     lengths(place, n_rows);
    dispatch(place, [&](auto where) {
      find_columns(where, place, row_cells, lengths, offsets, columns);
      longest = kernels::maximum(where, n_rows, lengths.data());
    });
    total = offsets.read(n_rows);
    place.synchronize();
  }

  SparsityView Sparsity::view() const
  {
    return {n_rows(), n_columns(), offsets.data(), columns.data()};
  }

  std::size_t StructureEstimate::candidates_bytes(const Backend &backend) const
  {
    // Two of each candidate of a chunk for the sort, numbers for rows, and columns by chunks beside those as a whole.
    const std::int64_t chunk = std::min(cells.n_blocks, most_candidates);
    return backend.kind() != BackendKind::cuda
               ? 8 * std::size_t(tables.n_nodes)
               : 8 * chunk + 48 * std::size_t(tables.n_nodes) + (chunk < cells.n_blocks ? sparsity_bytes() : 0);
  }
} // namespace PatchFEM
