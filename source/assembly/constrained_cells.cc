// SPDX-License-Identifier: LGPL-2.1-or-later
#include "resolved_cell.h"

#include <patchfem/assembly/element_batches.h>
#include <patchfem/base/threads.h>
#include <patchfem/kernels/primitives.h>

#include <algorithm>
#include <tuple>

namespace PatchFEM
{
  void ElementBatches::resolve_constraints(const ElementTables &tables, const bool keep_entries)
  {
    constrained                  = Constrained();
    const ConstraintTable &lines = tables.constraints;
    if (lines.n_lines() == 0)
      return;
    const Backend      host;
    const Array<int>   line_of   = lines_of_unknowns(tables);
    const std::int64_t n_masters = static_cast<std::int64_t>(lines.masters.size());
    bool               closed    = true;
#pragma omp parallel for schedule(static) reduction(&& : closed)
    for (std::int64_t m = 0; m < n_masters; ++m)
      closed = closed && line_of.data()[lines.masters[m]] < 0;
    require(closed, "The constraints are not closed: a master of a constrained unknown is constrained itself.");

    // [cell in the final order]: whether it has constraints, and where it stands in its batch of the tables.
    Array<int>          has_lines(host, n_cell), source(host, n_cell);
    Array<std::int64_t> places(host, std::size_t(n_cell) + 1);
    for (std::size_t b = 0; b < batches.size(); ++b)
    {
      const CellTable &table   = tables.batches[b];
      const int        n_shape = table.reference.n_shape;
#pragma omp parallel for schedule(static)
      for (int c = 0; c < table.n_cells; ++c)
      {
        const int cell         = cell_permutation[batches[b].first_cell + c];
        has_lines.data()[cell] = is_constrained(line_of, &table.nodes[std::int64_t(c) * n_shape], n_shape, n_comp);
        source.data()[cell]    = c;
      }
    }
    kernels::exclusive_scan(Host(), n_cell, has_lines.data(), places.data());
    const int    n   = static_cast<int>(places.data()[n_cell]);
    Constrained &all = constrained; // on the host at first
    all.cells.reinit(host, n);
#pragma omp parallel for schedule(static)
    for (int c = 0; c < n_cell; ++c)
      if (has_lines.data()[c])
        all.cells.data()[places.data()[c]] = c;

    const BatchesView view      = this->view();
    const auto        for_cells = [&](const auto &function) {
      for_shares(n, [&](const std::int64_t begin, const std::int64_t end) {
        ResolvedCell cell(lines, line_of, n_comp, keep_entries);
        for (int k = static_cast<int>(begin); k < end; ++k)
        {
          const int        number = all.cells.data()[k];
          const CellTable &table  = tables.batches[view.batch_of(number)];
          cell.reinit(table.nodes.data() + std::int64_t(source.data()[number]) * table.reference.n_shape,
                             table.reference.n_shape);
          function(k, cell);
        }
      });
    };
    Array<int>          n_nodes(host, n), n_entries(host, n);
    Array<std::int64_t> entry_offsets(host, std::size_t(n) + 1);
    all.n_free.reinit(host, n);
    for_cells([&](const int k, const ResolvedCell &cell) {
      all.n_free.data()[k] = cell.n_free;
      n_nodes.data()[k]    = static_cast<int>(cell.nodes.size());
      n_entries.data()[k]  = cell.n_entries;
    });
    // The matrix of a cell is indexed with 32 bits, and kernels::Pair has 16 for the rows of a cell.
    const int limit = 32767 / n_comp, most = kernels::maximum(Host(), n, n_nodes.data());
    require(most <= limit, "Constraints couple a cell with ", most, " nodes, more than the ", limit,
            " that are supported; use constraints with fewer masters.");
    all.node_offsets.reinit(host, std::size_t(n) + 1);
    kernels::exclusive_scan(Host(), n, n_nodes.data(), all.node_offsets.data());
    kernels::exclusive_scan(Host(), n, n_entries.data(), entry_offsets.data());
    const std::int64_t n_resolved = all.node_offsets.data()[n] * n_comp, n_all_entries = entry_offsets.data()[n];
    all.nodes.reinit(host, all.node_offsets.data()[n]);
    all.column_offsets.reinit(host, n_resolved + 1);
    all.diagonal_local.reinit(host, n_resolved);
    all.column_local.reinit(host, n_all_entries);
    all.column_weight.reinit(host, n_all_entries);
    all.column_offsets.data()[n_resolved] = n_all_entries;
    for_cells([&](const int k, ResolvedCell &cell) {
      const std::int64_t node = all.node_offsets.data()[k];
      std::transform(cell.nodes.begin(), cell.nodes.end(), all.nodes.data() + node,
                     [&](const int old) { return node_permutation[old]; });
      cell.write_columns(entry_offsets.data()[k], all.column_offsets.data() + node * n_comp, all.column_local.data(),
                         all.column_weight.data(), all.diagonal_local.data() + node * n_comp);
    });

    const auto bring = [this](auto &array) {
      std::decay_t<decltype(array)> there;
      there.copy_from(place, array);
      array.swap(there);
    };
    if (place != host)
      std::apply([&](auto &...arrays) { (bring(arrays), ...); },
                 std::tie(all.cells, all.nodes, all.n_free, all.node_offsets, all.column_offsets, all.column_local,
                          all.column_weight, all.diagonal_local));

    std::vector<int> unknowns(lines.n_lines());
#pragma omp parallel for schedule(static)
    for (std::size_t l = 0; l < unknowns.size(); ++l)
      unknowns[l] = node_permutation[lines.constrained[l] / n_comp] * n_comp + lines.constrained[l] % n_comp;
    set_inhomogeneities(Array<int>(place, unknowns), Array<double>(place, lines.inhomogeneity));
  }
} // namespace PatchFEM
