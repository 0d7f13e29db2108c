// SPDX-License-Identifier: LGPL-2.1-or-later
#include "row_lengths.h"

#include <algorithm>
#include <cstdint>

namespace PatchFEM
{
  bool cells_differ(const ElementTables &tables)
  {
    return !tables.constraints.masters.empty() ||
           std::any_of(tables.batches.begin(), tables.batches.end(), [&](const CellTable &batch) {
             return batch.reference.n_shape != tables.batches[0].reference.n_shape;
           });
  }

  std::vector<int> expected_row_lengths(const ElementTables &tables, const bool keep_entries)
  {
    const ConstraintTable &lines   = tables.constraints;
    const int              n_lines = static_cast<int>(lines.n_lines()), n_comp = tables.n_components;
    std::vector<int>       line_of(std::size_t(tables.n_nodes) * n_comp, -1), result(tables.n_nodes, 0);
#pragma omp parallel for schedule(static)
    for (int l = 0; l < n_lines; ++l)
      line_of[lines.constrained[l]] = l;

    for (const CellTable &batch : tables.batches)
    {
      const int n_shape = batch.reference.n_shape;
#pragma omp parallel
      {
        std::vector<int> nodes; // of the cell's matrix
#pragma omp for schedule(static)
        for (int cell = 0; cell < batch.n_cells; ++cell)
        {
          const int *own = batch.nodes.data() + std::int64_t(cell) * n_shape;
          nodes.clear();
          bool any_masters = false;
          for (int i = 0; i < n_shape; ++i)
          {
            bool any_free = keep_entries;
            for (int c = 0; c < n_comp; ++c)
            {
              const int line = line_of[std::int64_t(own[i]) * n_comp + c];
              any_free |= line < 0;
              if (line < 0)
                continue;
              any_masters |= lines.offsets[line] < lines.offsets[line + 1];
              for (std::int64_t m = lines.offsets[line]; m < lines.offsets[line + 1]; ++m)
                nodes.push_back(lines.masters[m] / n_comp);
            }
            if (any_free)
              nodes.push_back(own[i]);
          }
          if (any_masters)
          {
            std::sort(nodes.begin(), nodes.end());
            nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
          }
          const int n = static_cast<int>(nodes.size());
          for (const int node : nodes)
          {
#pragma omp atomic
            result[node] += n;
          }
        }
      }
    }
    return result;
  }
} // namespace PatchFEM
