// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "patch_plan.h"

#include <patchfem/strategies/edges.h>

#include <climits>

namespace PatchFEM
{
  namespace
  {
    /** The nodes beside a patch's own in its rows. */
    struct HaloLists
    {
      SparsityView sparsity;
      int          rows_per_patch, n_rows;

      template <typename Emit>
      PATCHFEM_INLINE void visit(const int patch, int, int, const Emit &emit) const
      {
        const int begin = patch * rows_per_patch;
        const int end   = begin + rows_per_patch < n_rows ? begin + rows_per_patch : n_rows;
        for (std::int64_t e = sparsity.row_offsets[begin]; e < sparsity.row_offsets[end]; ++e)
          if (sparsity.columns[e] < begin || sparsity.columns[e] >= end)
            emit(sparsity.columns[e]);
      }
    };

    /** The computed cells around an edge, by their numbers, as arcs from one of their other nodes to the last. */
    struct CellsOfEdge
    {
      static constexpr int most = 32;

      int n = 0, from[most], to[most], cell[most];

      /** More than most are counted and not kept. */
      PATCHFEM_INLINE CellsOfEdge(const kernels::RowCellsView &rows,
                                  const unsigned char         *buffered,
                                  const BatchView             &batch,
                                  const int                    lo,
                                  const int                    hi)
      {
        rows.visit(lo, [&](const int number, const int i) {
          if (buffered[number])
            return;
          const int *nodes = batch.nodes_of(number), n_shape = batch.reference.n_shape;
          for (int j = 0; j < n_shape; ++j)
            if (nodes[j] == hi)
            {
              if (n < most)
                add(nodes, n_shape, i, j, number);
              ++n;
            }
        });
      }

      PATCHFEM_INLINE void add(const int *nodes, const int n_shape, const int i, const int j, const int number)
      {
        int others[2] = {0, 0}, k = 0;
        for (int m = 0; m < n_shape; ++m)
          if (m != i && m != j)
            others[k++] = m;
        // Whether (i, j, others) is an even permutation of the cell's nodes: pairs out of order.
        int swaps = i > j;
        for (int m = 0; m < k; ++m)
          swaps += (i > others[m]) + (j > others[m]);
        const bool even = swaps % 2 == 0;
        cell[n]         = number;
        if (n_shape == 4)
        {
          from[n] = nodes[others[even ? 0 : 1]];
          to[n]   = nodes[others[even ? 1 : 0]];
        }
        else
        {
          to[n]   = nodes[others[0]];
          from[n] = even ? 0 : 1; // turns the other way
        }
      }

      /** Calls @p emit(node, mark, cell) for the steps of the edge's list (EdgesView); returns their number. */
      template <typename Emit>
      PATCHFEM_INLINE int walk(const int dim, const Emit &emit) const
      {
        int n_steps = 0;
        if (dim == 2)
          for (; n_steps < n; ++n_steps)
            emit(to[n_steps], from[n_steps] != 0, cell[n_steps]);
        else
          for (unsigned int left = n < 32 ? (1u << n) - 1u : ~0u; left != 0;)
          {
            // A chain begins where no other cell leads; a ring at the first cell.
            int k = first_of(left, [&](const int arc) {
              return first_of(left, [&](const int other) { return to[other] == from[arc]; }) < 0;
            });
            k     = k < 0 ? first_of(left, [](int) { return true; }) : k;
            emit(from[k], true, cell[k]);
            ++n_steps;
            while (k >= 0)
            {
              emit(to[k], false, cell[k]);
              ++n_steps;
              left &= ~(1u << k);
              const int node = to[k];
              k              = first_of(left, [&](const int arc) { return from[arc] == node; });
            }
          }
        return n_steps;
      }

      template <typename Condition>
      PATCHFEM_INLINE int first_of(const unsigned int left, const Condition &holds) const
      {
        for (int k = 0; k < n; ++k)
          if ((left >> k & 1u) && holds(k))
            return k;
        return -1;
      }
    };

    /** See EdgesView. */
    struct EdgeLists : public PatchPlan
    {
      Array<std::int64_t>    halo_offsets, edge_offsets, list_offsets;
      Array<int>             halo;
      Array<EdgesView::Edge> edges;
      Array<std::uint16_t>   nodes, cells;
      EdgesView              own{};
      int                    most_rows = 1 << 14;

      const void *own_lists() const override { return &own; }

      std::size_t memory_consumption() const override
      {
        return Patches::memory_consumption() +
               memory_consumption_of(halo_offsets, edge_offsets, list_offsets, halo, edges, nodes, cells);
      }

      /** Fewer rows are taken if the lists of so many do not fit. */
      bool reinit(const Source &source) override
      {
        while (PatchPlan::reinit(source))
        {
          const std::size_t n_block = std::size_t(source.batches.n_components()) * source.batches.n_components(),
                            numbers = (most_blocks() + own.most_edges) * n_block +
                                      std::size_t(lists.rows_per_patch) * source.batches.n_components(),
                            points = std::size_t(own.most_nodes) * (source.batch().reference.n_shape - 1);
          if (numbers * source.room.bytes_per_entry + points * sizeof(double) + lists.rows_per_patch * 5 + 64 <=
              source.room.available)
            return true;
          require(source.data.rows_per_patch == 0 && lists.rows_per_patch > 1,
                  "Patches of so many rows do not fit into fast memory; choose fewer rows per patch.");
          most_rows = lists.rows_per_patch - 1;
        }
        return false;
      }

      bool cut(const Source &source) override
      {
        const BatchView batch = source.batch();
        if (source.most_redundant <= 1. || !batch.reference.barycentric || batch.geometry != batch.nodes)
          return false;
        expected_levels = 0;
        if (!find_size(source, most_rows, 0, source.room.available))
          return false;
        lists.pair_bits = 8; // for the places of diagonals
        find_cells_by(source, {});
        return true;
      }

      void plan_cells(const Source &source) override
      {
        set_no_levels(source.backend());
        find_halo(source);
        find_edges(source);
      }

      void find_halo(const Source &source)
      {
        const Backend  &place = source.backend();
        const int       n     = n_patches();
        const HaloLists columns{source.sparsity.view(), lists.rows_per_patch, lists.n_rows};
        Array<int>      counts(place, n);
#if defined(__CUDACC__)
        Array<std::int64_t> starts;
        Array<int>          keys(place, source.sparsity.n_blocks());
        write_patch_offsets(place, columns.sparsity.row_offsets, starts);
        launch(place, n, [=, keys = keys.data(), starts = starts.data()] __device__(const std::int64_t p) {
          const int begin = static_cast<int>(p) * columns.rows_per_patch;
          const int end =
              begin + columns.rows_per_patch < columns.n_rows ? begin + columns.rows_per_patch : columns.n_rows;
          for (std::int64_t e = starts[p]; e < starts[p + 1]; ++e)
          {
            const int column = columns.sparsity.columns[e];
            keys[e]          = column < begin || column >= end ? column : -1;
          }
        });
        halo = unique_of_segments(n, starts.data(), keys, counts.data(), halo_offsets);
#else
        launch(place, [&](Here) { find_distinct(columns, counts, halo_offsets, halo); });
#endif
      }

      /** The edges of each patch by the lengths of their lists, longest first, and these lists. */
      void find_edges(const Source &source)
      {
        const Backend              &place    = source.backend();
        const BatchView             batch    = source.batch();
        const SparsityView          sparsity = source.sparsity.view();
        const kernels::RowCellsView pairs    = source.row_cells.view();
        const int                   n = n_patches(), rows_per_patch = lists.rows_per_patch, n_rows = lists.n_rows,
                  dim               = batch.reference.n_shape - 1;
        const std::int64_t n_blocks = source.sparsity.n_blocks();
        require(n_blocks < INT_MAX, "The strategy edges is for matrices with 2^31 entries at most.");
        // Steps of the lists of blocks right of the diagonal or in columns of other patches; 0 of all others.
        Array<int> steps(place, n_blocks), most(place, n_rows), rows(place, n_blocks);
        launch(place, n_rows,
               [=, buffered = buffered.data(), steps = steps.data(), most = most.data(), rows = rows.data(),
                diagonal = lists.diagonal_places.data()] PATCHFEM_DEVICE(const std::int64_t row) {
                 const int r = static_cast<int>(row), first = r / rows_per_patch * rows_per_patch;
                 int       longest = 0;
                 for (std::int64_t e = sparsity.row_offsets[row]; e < sparsity.row_offsets[row + 1]; ++e)
                 {
                   const int column = sparsity.columns[e];
                   rows[e]          = r;
                   steps[e]         = 0;
                   if (column == r)
                     diagonal[row] = static_cast<std::uint8_t>(e - sparsity.row_offsets[row]);
                   if (column == r || (column >= first && column < r))
                     continue;
                   const CellsOfEdge around(pairs, buffered, batch, r < column ? r : column, r < column ? column : r);
                   longest  = around.n > longest ? around.n : longest;
                   steps[e] = around.n > CellsOfEdge::most ? 0 : around.walk(dim, [](int, bool, int) {});
                 }
                 most[row] = longest;
               });
        require(maximum(most) <= CellsOfEdge::most, "More than ", CellsOfEdge::most,
                " cells share an edge; use the patches strategy.");
        // Edges in order: patch, then length.
        Array<int>          flags(place, n_blocks), of_patches(place, n), padded(place, n);
        Array<std::int64_t> positions;
        launch(place, n_blocks, [=, steps = steps.data(), flags = flags.data()] PATCHFEM_DEVICE(const std::int64_t e) {
          flags[e] = steps[e] > 0;
        });
        const std::int64_t   n_edges = scan(flags, positions);
        Array<std::uint64_t> keys(place, n_edges);
        Array<int>           blocks(place, n_edges);
        launch(place, n_blocks,
               [=, steps = steps.data(), positions = positions.data(), rows = rows.data(), keys = keys.data(),
                blocks = blocks.data()] PATCHFEM_DEVICE(const std::int64_t e) {
                 if (steps[e] == 0)
                   return;
                 keys[positions[e]] =
                     std::uint64_t(rows[e] / rows_per_patch) << 8 | static_cast<unsigned int>(255 - steps[e]);
                 blocks[positions[e]] = static_cast<int>(e);
               });
        if (n_edges > 0)
          launch(place, [&](const Here where) {
            kernels::stable_sort_by_key(where, n_edges, keys.data(), blocks.data(), 8 + bits_for(n));
          });
        Array<std::int64_t> starts(place, n + 1);
        launch(place, n + 1, [=, keys = keys.data(), starts = starts.data()] PATCHFEM_DEVICE(const std::int64_t p) {
          starts[p] = kernels::lower_bound(keys, keys + n_edges, static_cast<std::uint64_t>(p) << 8) - keys;
        });
        launch(place, n, [=, starts = starts.data(), padded = padded.data()] PATCHFEM_DEVICE(const std::int64_t p) {
          padded[p] = static_cast<int>((starts[p + 1] - starts[p] + EdgesView::lanes - 1) / EdgesView::lanes *
                                       EdgesView::lanes);
        });
        const std::int64_t n_slots = scan(padded, edge_offsets), n_slices = n_slots / EdgesView::lanes;
        Array<int>         widths(place, n_slices);
        edges.reinit(place, n_slots);
        launch(place, n_slots, [=, edges = edges.data()] PATCHFEM_DEVICE(const std::int64_t k) {
          edges[k] = {EdgesView::none, EdgesView::none, EdgesView::none, EdgesView::none};
        });
        launch(place, n_slices,
               [=, edge_offsets = edge_offsets.data(), starts = starts.data(), blocks = blocks.data(),
                steps = steps.data(), widths = widths.data()] PATCHFEM_DEVICE(const std::int64_t slice) {
                 const int          p     = patch_of(edge_offsets, n, slice * EdgesView::lanes);
                 const std::int64_t first = starts[p] + slice * EdgesView::lanes - edge_offsets[p];
                 widths[slice]            = steps[blocks[first]] * EdgesView::lanes;
               });
        nodes.reinit(place, scan(widths, list_offsets) + 2 * EdgesView::lanes);
        cells.reinit(place, nodes.size());
        launch(place, nodes.size(),
               [=, nodes = nodes.data()] PATCHFEM_DEVICE(const std::int64_t k) { nodes[k] = EdgesView::end; });
        launch(place, n_edges,
               [=, edge_offsets = edge_offsets.data(), starts = starts.data(), blocks = blocks.data(),
                rows = rows.data(), buffered = buffered.data(), edges = edges.data(),
                list_offsets = list_offsets.data(), nodes = nodes.data(), cells = cells.data(), halo = halo.data(),
                halo_offsets = halo_offsets.data(), cells_of_patches = lists.cells.data(),
                cell_offsets = lists.cell_offsets.data()] PATCHFEM_DEVICE(const std::int64_t k) {
                 const int row = rows[blocks[k]], column = sparsity.columns[blocks[k]], p = row / rows_per_patch;
                 const int first     = p * rows_per_patch,
                           end       = first + rows_per_patch < n_rows ? first + rows_per_patch : n_rows;
                 const int        lo = row < column ? row : column, hi = row < column ? column : row;
                 const int *const its_halo = halo + halo_offsets[p];
                 const auto       in_patch = [=](const int node) {
                   return static_cast<std::uint16_t>(
                       node >= first && node < end
                                 ? node - first
                                 : end - first +
                                 (kernels::lower_bound(its_halo, halo + halo_offsets[p + 1], node) - its_halo));
                 };
                 const auto block_of = [=](const int i, const int j) {
                   return i >= first && i < end
                              ? static_cast<std::uint16_t>(sparsity.row_offsets[i] - sparsity.row_offsets[first] +
                                                           place_of(sparsity, i, j))
                              : EdgesView::none;
                 };
                 const std::int64_t slot    = edge_offsets[p] + k - starts[p];
                 edges[slot]                = {in_patch(lo), in_patch(hi), block_of(lo, hi), block_of(hi, lo)};
                 const int *const its_cells = cells_of_patches + cell_offsets[p];
                 std::int64_t     at        = list_offsets[slot / EdgesView::lanes] + slot % EdgesView::lanes;
                 CellsOfEdge(pairs, buffered, batch, lo, hi)
                     .walk(dim, [&](const int node, const bool mark, const int cell) {
                       nodes[at] = static_cast<std::uint16_t>(in_patch(node) | (mark ? EdgesView::mark : 0));
                       cells[at] = static_cast<std::uint16_t>(
                           kernels::lower_bound(its_cells, cells_of_patches + cell_offsets[p + 1], cell) - its_cells);
                       at += EdgesView::lanes;
                     });
               });
        finish(source, padded);
      }

      /** The view, sizes that its numbers of 16 bits allow, and how often cells were integrated: an edge at a time. */
      void finish(const Source &source, const Array<int> &n_edges)
      {
        const int  n = n_patches();
        Array<int> n_nodes(source.backend(), n), n_cells(source.backend(), n);
        launch(source.backend(), n,
               [=, halo_offsets = halo_offsets.data(), cell_offsets = lists.cell_offsets.data(),
                n_nodes = n_nodes.data(), n_cells = n_cells.data(),
                rows = lists.rows_per_patch] PATCHFEM_DEVICE(const std::int64_t p) {
                 n_nodes[p] = static_cast<int>(halo_offsets[p + 1] - halo_offsets[p]) + rows;
                 n_cells[p] = static_cast<int>(cell_offsets[p + 1] - cell_offsets[p]);
               });
        own = {halo_offsets.data(), halo.data(),  edge_offsets.data(), edges.data(),    list_offsets.data(),
               nodes.data(),        cells.data(), maximum(n_nodes),    maximum(n_edges)};
        require(
            own.most_nodes < EdgesView::end && maximum(n_cells) <= EdgesView::none && most_blocks() <= EdgesView::none,
            "Patches of the edges strategy have fewer than 32767 nodes and 65535 blocks; choose fewer rows per patch.");
      }
    };
  } // namespace

  std::shared_ptr<Patches> make_edges(Host);
  std::shared_ptr<Patches> make_edges(Cuda);
  std::shared_ptr<Patches> make_edges(Here)
  {
    return std::make_shared<EdgeLists>();
  }
} // namespace PatchFEM
