// SPDX-License-Identifier: LGPL-2.1-or-later
#include "distinct_values.h"
#include "kernels/launch.h"
#include "sparsity_steps.h"

#include <patchfem/assembly/structure_estimate.h>
#include <patchfem/kernels/atomics.h>
#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/primitives.h>
#include <patchfem/kernels/team.h>

#include <algorithm>

namespace PatchFEM
{
  /** Pairs are dealt out to their rows as threads come to them; what is left to sort are the few of each row. */
  template <>
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
          if (nodes[r] < n_rows) // else its owner has the cell
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

  /** What the cells of a row offer goes through a table. */
  template <>
  void
  find_columns(Host, const RowCells &row_cells, Array<int> &lengths, Array<std::int64_t> &offsets, Array<int> &columns)
  {
    find_distinct(kernels::CandidateLists{row_cells.view()}, lengths, offsets, columns);
  }

  void RowCells::reinit(const ElementBatches &batches, const bool resolved, const int b)
  {
    const Backend &place   = batches.backend();
    const int      n_cells = batches.n_cells(), n_rows = batches.n_rows();
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
      launch(place, [&](auto where) {
        kernels::set(where, n_cells, -1, constrained_index.data());
        kernels::invert(where, rows.constrained.n_cells, rows.constrained.cells, constrained_index.data());
      });
      rows.constrained_index = constrained_index.data();
    }
    launch(place, [&](auto where) { group_pairs(where, place, rows, n_rows, pair_offsets, pair_values); });
  }

  void Sparsity::reinit(const ElementBatches &batches, const RowCells &row_cells)
  {
    const Backend &place  = batches.backend();
    const int      n_rows = batches.n_rows();
    Array<int>     lengths(place, n_rows);
    n_column = batches.n_nodes();
    launch(place, [&](auto where) {
      find_columns(where, row_cells, lengths, offsets, columns);
      longest = kernels::maximum(where, n_rows, lengths.data());
    });
    total = offsets.read(n_rows);
    place.synchronize();
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
