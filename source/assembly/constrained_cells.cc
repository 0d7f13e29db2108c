// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/element_batches.h>
#include <patchfem/base/threads.h>

#include <algorithm>
#include <mutex>

namespace PatchFEM
{
  namespace
  {
    /** What ConstrainedCellsView describes, for a contiguous share of the constrained cells. */
    struct Share
    {
      std::vector<int>          cells, n_nodes, nodes, n_free, column_sizes, column_local, diagonal_local;
      std::vector<std::int64_t> inhomogeneity_offset;
      std::vector<double>       column_weight, inhomogeneity;
    };

    struct Cell
    {
      int  number;       ///< global number in the final order
      int  batch, local; ///< where it stands in the tables
      bool operator<(const Cell &other) const { return number < other.number; }
    };

    template <typename T>
    void append(std::vector<T> &to, const std::vector<T> &from)
    {
      to.insert(to.end(), from.begin(), from.end());
    }
  } // namespace

  void ElementBatches::resolve_constraints(const ElementTables &tables, const bool keep_entries)
  {
    constrained                    = Constrained();
    const ConstraintTable &lines   = tables.constraints;
    const int              n_lines = static_cast<int>(lines.n_lines());
    std::vector<int>       line_of; // [unknown of the tables] -> line or -1
    std::vector<Cell>      cells;
    if (n_lines > 0)
    {
      line_of.assign(n_dofs(), -1);
#pragma omp parallel for schedule(static)
      for (int l = 0; l < n_lines; ++l)
        line_of[lines.constrained[l]] = l;
      for (int l = 0; l < n_lines; ++l)
        for (std::int64_t m = lines.offsets[l]; m < lines.offsets[l + 1]; ++m)
          require(line_of[lines.masters[m]] == -1,
                  "The constraints are not closed: a master of a constrained unknown is constrained itself.");
      std::mutex one_at_a_time;
      for (std::size_t b = 0; b < batches.size(); ++b)
      {
        const CellTable &table   = tables.batches[b];
        const int        n_shape = table.reference.n_shape;
        for_shares(table.n_cells, [&](const std::int64_t begin, const std::int64_t end) {
          std::vector<Cell> mine;
          for (int c = static_cast<int>(begin); c < end; ++c)
          {
            const int *nodes = table.nodes.data() + std::int64_t(c) * n_shape;
            bool       any   = false;
            for (int i = 0; i < n_shape && !any; ++i)
              for (int k = 0; k < n_comp && !any; ++k)
                any = line_of[std::int64_t(nodes[i]) * n_comp + k] >= 0;
            if (any)
              mine.push_back({cell_permutation[batches[b].first_cell + c], static_cast<int>(b), c});
          }
          const std::lock_guard<std::mutex> lock(one_at_a_time);
          append(cells, mine);
        });
      }
      std::sort(cells.begin(), cells.end());
    }

    std::vector<Share> shares(max_threads());
    on_all_threads([&](const int s, const int n_shares) {
      Share                                           &share = shares[s];
      std::vector<int>                                 free, fixed;
      std::vector<std::vector<std::pair<int, double>>> columns;
      for (std::size_t k = cells.size() * s / n_shares; k < cells.size() * (s + 1) / n_shares; ++k)
      {
        const CellTable &table   = tables.batches[cells[k].batch];
        const int        n_shape = table.reference.n_shape;
        const int       *nodes   = table.nodes.data() + std::int64_t(cells[k].local) * n_shape;

        free.clear();
        fixed.clear();
        for (int i = 0; i < n_shape; ++i)
        {
          bool any_free = keep_entries;
          for (int c = 0; c < n_comp; ++c)
            any_free |= line_of[std::int64_t(nodes[i]) * n_comp + c] < 0;
          (any_free ? free : fixed).push_back(nodes[i]);
        }
        const auto for_masters = [&](const int line, const auto &function) {
          for (std::int64_t m = lines.offsets[line]; m < lines.offsets[line + 1]; ++m)
            function(lines.masters[m], lines.weights[m]);
        };
        for (int i = 0; i < n_shape * n_comp; ++i)
        {
          const int line = line_of[std::int64_t(nodes[i / n_comp]) * n_comp + i % n_comp];
          if (line >= 0)
            for_masters(line, [&](const int master, double) {
              if (std::find(free.begin(), free.end(), master / n_comp) == free.end())
                free.push_back(master / n_comp);
            });
        }
        const int n_free = static_cast<int>(free.size());
        free.insert(free.end(), fixed.begin(), fixed.end());
        const int  n_resolved = static_cast<int>(free.size()) * n_comp;
        const auto position   = [&](const int node) {
          return static_cast<int>(std::find(free.begin(), free.end(), node) - free.begin());
        };

        columns.assign(n_resolved, {});
        const std::size_t diagonal = share.diagonal_local.size();
        share.diagonal_local.resize(diagonal + n_resolved, -1);
        bool                inhomogeneous = false;
        std::vector<double> k_local(n_shape * n_comp, 0.);
        for (int i = 0; i < n_shape * n_comp; ++i)
        {
          const int node = nodes[i / n_comp], c = i % n_comp;
          const int line = line_of[std::int64_t(node) * n_comp + c];
          if (line < 0)
            columns[position(node) * n_comp + c].emplace_back(i, 1.);
          else
          {
            share.diagonal_local[diagonal + position(node) * n_comp + c] = i;
            for_masters(line, [&](const int master, const double weight) {
              columns[position(master / n_comp) * n_comp + master % n_comp].emplace_back(i, weight);
            });
            k_local[i] = lines.inhomogeneity[line];
            inhomogeneous |= k_local[i] != 0.;
          }
        }

        share.cells.push_back(cells[k].number);
        share.n_nodes.push_back(static_cast<int>(free.size()));
        share.n_free.push_back(n_free);
        for (const int node : free)
          share.nodes.push_back(node_permutation[node]);
        for (const auto &column : columns)
        {
          share.column_sizes.push_back(static_cast<int>(column.size()));
          for (const auto &[local, weight] : column)
          {
            share.column_local.push_back(local);
            share.column_weight.push_back(weight);
          }
        }
        share.inhomogeneity_offset.push_back(inhomogeneous ? static_cast<std::int64_t>(share.inhomogeneity.size())
                                                           : -1);
        if (inhomogeneous)
          append(share.inhomogeneity, k_local);
      }
    });

    Share                     all;
    std::vector<std::int64_t> node_offsets{0}, column_offsets{0};
    for (Share &share : shares)
    {
      for (std::int64_t &offset : share.inhomogeneity_offset)
        if (offset >= 0)
          offset += static_cast<std::int64_t>(all.inhomogeneity.size());
      append(all.cells, share.cells);
      append(all.nodes, share.nodes);
      append(all.n_free, share.n_free);
      append(all.column_local, share.column_local);
      append(all.column_weight, share.column_weight);
      append(all.diagonal_local, share.diagonal_local);
      append(all.inhomogeneity_offset, share.inhomogeneity_offset);
      append(all.inhomogeneity, share.inhomogeneity);
      for (const int n : share.n_nodes)
        node_offsets.push_back(node_offsets.back() + n);
      for (const int n : share.column_sizes)
        column_offsets.push_back(column_offsets.back() + n);
      share = Share();
    }
    constrained.cells.copy_from(place, all.cells);
    constrained.nodes.copy_from(place, all.nodes);
    constrained.n_free.copy_from(place, all.n_free);
    constrained.node_offsets.copy_from(place, node_offsets);
    constrained.column_offsets.copy_from(place, column_offsets);
    constrained.column_local.copy_from(place, all.column_local);
    constrained.column_weight.copy_from(place, all.column_weight);
    constrained.diagonal_local.copy_from(place, all.diagonal_local);
    constrained.inhomogeneity_offset.copy_from(place, all.inhomogeneity_offset);
    constrained.inhomogeneity.copy_from(place, all.inhomogeneity);
  }
} // namespace PatchFEM
