// SPDX-License-Identifier: LGPL-2.1-or-later
#include "unique_segments.cuh"

#include "assembly/sparsity_steps.h"

#include <algorithm>

namespace PatchFEM
{
  /** By one sort of all pairs, cell by cell. Those of ghosts, whose owners have the cell too, are last, in no row. */
  template <>
  void group_pairs(Cuda                     where,
                   const Backend           &place,
                   const kernels::CellRows &rows,
                   const int                n_rows,
                   Array<std::int64_t>     &offsets,
                   Array<std::int64_t>     &pairs)
  {
    const int           n_cells = rows.batches.n_cells;
    Array<int>          counts(place, std::max(n_cells, n_rows));
    Array<std::int64_t> cell_offsets(place, n_cells + 1);
    launch(place, n_cells, [=, counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t cell) {
      counts[cell] = rows.n_rows(static_cast<int>(cell));
    });
    kernels::exclusive_scan(where, n_cells, counts.data(), cell_offsets.data());
    const std::int64_t n_pairs = cell_offsets.read(n_cells);
    Array<int>         keys(place, n_pairs);
    pairs.reinit(place, n_pairs);
    counts.set_zero();
    launch(place, n_cells,
           [=, offsets = cell_offsets.data(), keys = keys.data(), pairs = pairs.data(),
            counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const int  cell = static_cast<int>(i), n = rows.n_rows(cell);
             const int *nodes = rows.nodes(cell);
             for (int r = 0; r < n; ++r)
             {
               keys[offsets[cell] + r]  = nodes[r] < n_rows ? nodes[r] : n_rows;
               pairs[offsets[cell] + r] = kernels::Pair::make(cell, r);
               if (nodes[r] < n_rows)
                 kernels::atomic_increment(counts + nodes[r]);
             }
           });
    kernels::stable_sort_by_key(where, n_pairs, keys.data(), pairs.data(), bits_for(std::int64_t(n_rows) + 1));
    offsets.reinit(place, n_rows + 1);
    kernels::exclusive_scan(where, n_rows, counts.data(), offsets.data());
  }

  /** By sorting what cells offer, in chunks of rows. */
  template <>
  void find_columns(
      Cuda where, const RowCells &row_cells, Array<int> &lengths, Array<std::int64_t> &offsets, Array<int> &columns)
  {
    const Backend                &place  = lengths.backend();
    const int                     n_rows = row_cells.n_rows();
    const kernels::CandidateLists offered{row_cells.view()};
    // Each column as often as cells offer it: n_free for a pair that couples, 1 for a diagonal.
    Array<int> n_candidates(place, n_rows);
    launch(place, n_rows, [=, counts = n_candidates.data()] PATCHFEM_DEVICE(const std::int64_t row) {
      int n = 0;
      offered.rows.visit(row, [&](const int cell, const int r) {
        const int n_free = offered.rows.cells.n_free(cell);
        n += r < n_free ? n_free : 1;
      });
      counts[row] = n;
    });
    const int most_per_row = kernels::maximum(where, n_rows, n_candidates.data());
    const int chunk_rows =
        static_cast<int>(std::min<std::int64_t>(n_rows, most_candidates / std::max(most_per_row, 1) + 1));
    std::vector<Array<int>> chunks;
    Array<std::int64_t>     starts(place, chunk_rows + 1), unique_starts;
    for (int first = 0; first < n_rows; first += chunk_rows)
    {
      const int n = std::min(chunk_rows, n_rows - first);
      kernels::exclusive_scan(where, n, n_candidates.data() + first, starts.data());
      Array<int> candidates(place, starts.read(n));
      launch(place, n,
             [=, starts = starts.data(), candidates = candidates.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               int *out = candidates + starts[i];
               offered.visit(first + static_cast<int>(i), 0, 1, [&](const int column) { *out++ = column; });
             });
      chunks.push_back(unique_of_segments(n, starts.data(), candidates, lengths.data() + first, unique_starts));
    }

    offsets.reinit(place, n_rows + 1);
    kernels::exclusive_scan(where, n_rows, lengths.data(), offsets.data());
    if (chunks.size() == 1)
      columns = std::move(chunks[0]);
    else
    {
      columns.reinit(place, offsets.read(n_rows));
      std::int64_t position = 0;
      for (const Array<int> &chunk : chunks)
      {
        memory::copy(place, columns.data() + position, place, chunk.data(), chunk.memory_consumption());
        position += static_cast<std::int64_t>(chunk.size());
      }
    }
  }
} // namespace PatchFEM
