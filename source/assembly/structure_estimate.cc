// SPDX-License-Identifier: LGPL-2.1-or-later
#include "resolved_cell.h"
#include "row_lengths.h"

#include <patchfem/assembly/structure_estimate.h>
#include <patchfem/base/threads.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace PatchFEM
{
  StructureEstimate::StructureEstimate(const ElementTables &tables, const int sorting_window, const bool keep_entries)
      : tables(tables)
  {
    // A stride that has no common factor with the periods of structured numberings takes all kinds of nodes.
    const int        n_rows_here = tables.n_owned_nodes(); // those of ghosts are elsewhere
    const int        stride = std::max(1, n_rows_here / 4096) | 1, n_comp = tables.n_components;
    const bool       is_free = tables.constraints.n_lines() == 0;
    const Array<int> line_of = is_free ? Array<int>() : lines_of_unknowns(tables);
    std::mutex       one_at_a_time;

    std::vector<std::vector<int>> rows((n_rows_here + stride - 1) / stride); // columns, once for each cell
    for (const CellTable &batch : tables.batches)
    {
      const int         n_shape = batch.reference.n_shape;
      std::vector<char> in_buffer(batch.n_cells, 0);
      for (const FaceEntry &face : tables.faces)
        if (&tables.batches[face.batch] == &batch)
          in_buffer[face.cell] = 1;
      for_shares(batch.n_cells, [&](const std::int64_t begin, const std::int64_t end) {
        std::int64_t                     resolved_rows = 0, raw_blocks = 0;
        Cells                            all, buffered;
        std::vector<std::pair<int, int>> found; // (sampled row, column)
        ResolvedCell                     resolved(tables.constraints, line_of, n_comp, keep_entries);
        for (std::int64_t cell = begin; cell < end; ++cell)
        {
          const int *nodes  = &batch.nodes[cell * n_shape];
          int        n_rows = n_shape, n_free = n_shape;
          const bool resolves = !is_free && is_constrained(line_of, nodes, n_shape, n_comp);
          if (resolves)
          {
            resolved.reinit(nodes, n_shape);
            nodes  = resolved.nodes.data();
            n_rows = static_cast<int>(resolved.nodes.size());
            n_free = resolved.n_free;
            resolved_rows += n_rows + n_shape;
            raw_blocks += std::int64_t(n_shape) * n_shape;
          }
          const Cells one{1, n_rows, std::int64_t(n_free) * n_free + n_rows - n_free};
          all.add(one);
          if (resolves || in_buffer[cell])
            buffered.add(one);
          for (int i = 0; i < n_rows; ++i)
            if (nodes[i] < n_rows_here && nodes[i] % stride == 0)
              for (int j = i < n_free ? 0 : i; j < (i < n_free ? n_free : i + 1); ++j)
                found.emplace_back(nodes[i] / stride, nodes[j]);
        }
        const std::lock_guard<std::mutex> lock(one_at_a_time);
        cells.add(all);
        buffered_cells.add(buffered);
        n_resolved_rows += resolved_rows;
        n_raw_blocks += raw_blocks;
        for (const auto &[row, column] : found)
          rows[row].push_back(column);
      });
    }

    // ElementBatches sorts inside of windows by the number of cells, or by length where cells differ.
    const bool                                      by_length = cells_differ(tables);
    const std::size_t                               n         = rows.size();
    std::vector<std::pair<int, std::vector<int> *>> order;
    for (std::vector<int> &row : rows)
    {
      const int n_candidates = static_cast<int>(row.size());
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      order.emplace_back(by_length ? static_cast<int>(row.size()) : n_candidates, &row);
    }
    for (std::size_t first = 0; first < n; first += sorting_window)
      std::stable_sort(order.begin() + first, order.begin() + std::min(n, first + sorting_window),
                       [](const auto &a, const auto &b) { return a.first > b.first; });
    std::vector<std::int64_t> offsets{0};
    std::vector<int>          columns;
    for (const auto &[key, row] : order)
    {
      columns.insert(columns.end(), row->begin(), row->end());
      offsets.push_back(static_cast<std::int64_t>(columns.size()));
    }
    pattern = pattern_statistics(Backend(), {static_cast<int>(n), tables.n_nodes, offsets.data(), columns.data()},
                                 n_comp, n_comp);

    // The sample stands for all rows, with an error below two per cent. Neighbours along the curve are less alike.
    const double each    = double(n_rows_here) / std::max<std::size_t>(n, 1);
    pattern.n_rows       = n_rows_here;
    pattern.on_diagonal  = double(n) / std::max<double>(double(pattern.n_blocks), 1.);
    pattern.inside       = 0.;
    pattern.short_slices = 1.;
    pattern.within       = {1.};
    for (std::int64_t &stored : pattern.stored)
      stored = static_cast<std::int64_t>(1.08 * each * double(stored));
    pattern.stored[0] = pattern.n_blocks = static_cast<std::int64_t>(1.02 * each * double(pattern.n_blocks));
  }
} // namespace PatchFEM
