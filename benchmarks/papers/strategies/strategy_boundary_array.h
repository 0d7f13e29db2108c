// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "unpatched_plan.h"

#include "strategies/boundary_array.h"

namespace PatchFEM
{
  namespace
  {
    /** The patches that cells belong to, seen from rows. */
    struct OwnersOfCells
    {
      kernels::RowCellsView rows;
      const int            *owners; ///< [cell of the batch]; -1 if it is buffered
      int                   first_cell, rows_per_patch;

      PATCHFEM_INLINE int owner(const std::int64_t pair) const
      {
        return owners[kernels::Pair::cell(rows.pairs[pair]) - first_cell];
      }

      /** Calls @p emit(patch) for each patch that has cells at @p row, but for the row's own. */
      template <typename Emit>
      PATCHFEM_INLINE void visit_others(const std::int64_t row, const Emit &emit) const
      {
        const std::int64_t begin = rows.offsets[row], end = rows.offsets[row + 1];
        for (std::int64_t pair = begin; pair < end; ++pair)
        {
          const int patch = owner(pair);
          bool      known = patch < 0 || patch == row / rows_per_patch;
          for (std::int64_t k = begin; k < pair && !known; ++k)
            known = owner(k) == patch;
          if (!known)
            emit(patch);
        }
      }
    };

    /** A cell belongs to the patch of its first node, which sums all that the cell adds. */
    struct BoundaryArrayPlan : public UnpatchedPlan
    {
      BoundaryArrayView   own{};
      Array<int>          cell_pairs, level_ends; ///< this and what follows as in PatchesView and BoundaryArrayView
      Array<char>         places;
      Array<int>          nodes, offsets, copies;
      Array<std::int64_t> pair_offsets, row_offsets, block_offsets, copy_offsets;

      // While the plan is made: the patches of cells, the cells of patches, the rows of boundary rows. The array has a
      // block for some of the row's; blocks counts those before block k of boundary row b at starts[b] + k.
      Array<int>          owners, owned_cells, owned_offsets, rows;
      Array<std::int64_t> starts, blocks;
      int                 most_blocks_of_extended = 0;

      PatchesView view(const Sparsity &sparsity) const override
      {
        PatchesView v  = Patches::view(sparsity);
        v.cell_pairs   = {cell_pairs.data(), 4};
        v.pair_offsets = pair_offsets.data();
        v.level_ends   = level_ends.data();
        return v;
      }

      const void *own_lists() const override { return &own; }

      std::size_t memory_consumption() const override
      {
        return Patches::memory_consumption() + memory_consumption_of(cell_pairs, level_ends, places, nodes, offsets,
                                                                     copies, pair_offsets, row_offsets, block_offsets,
                                                                     copy_offsets);
      }

      /** Patches shrink until their boundary rows fit as well. */
      bool cut(const Source &source) override
      {
        const kernels::PatchRoom &room      = source.room;
        int                       most_rows = 1 << 20;
        while (find_size(source, most_rows, room.worker_bytes, room.available))
        {
          find_boundary_rows(source);
          if (bytes_of_extended_rows(source) + room.worker_bytes <= room.available)
          {
            find_cells_by(source, {});
            return true;
          }
          if (source.data.rows_per_patch > 0)
            break;
          most_rows = lists.rows_per_patch - 1;
        }
        require(!source.alone, "Patches with what they add to rows of others do not fit into fast memory; choose ",
                source.data.rows_per_patch > 0 ? "fewer rows per patch." : "the gather strategy.");
        return false;
      }

      void plan_cells(const Source &source) override
      {
        const std::int64_t n_comp = source.batches.n_components(), n_rows = rows.size();
        lists.compact_places = false;
        lists.diagonal_places.release();
        find_nodes(source);
        sort_by_colour(source);
        find_places(source);
        own = {own.rows_per_patch,
               row_offsets.data(),
               nodes.data(),
               offsets.data(),
               block_offsets.data(),
               {places.data(), lists.place_width},
               copy_offsets.data(),
               copies.data(),
               0,
               0};
        for (const Chunk &chunk : lists.chunks)
        {
          own.matrix_begin = std::max(own.matrix_begin, chunk.n_matrix_entries);
          own.vector_begin = std::max(own.vector_begin, chunk.n_vector_entries);
        }
        for (Chunk &chunk : lists.chunks)
        {
          chunk.n_matrix_entries = own.matrix_begin + block_offsets.read(n_rows) * n_comp * n_comp;
          chunk.n_vector_entries = own.vector_begin + n_rows * n_comp;
        }
        integrations += source.per_cell(lists.cells.size());
        for (Array<int> *work : {&owners, &owned_cells, &owned_offsets, &rows})
          work->release();
        for (Array<std::int64_t> *work : {&starts, &blocks})
          work->release();
      }

      /** Gives each cell to a patch, and finds the boundary rows and their blocks. */
      void find_boundary_rows(const Source &source)
      {
        const Backend     &place    = source.backend();
        const BatchView    batch    = source.batch();
        const SparsityView sparsity = source.sparsity.view();
        const int          n_shape = batch.reference.n_shape, n_rows = lists.n_rows, n = lists.n_patches();
        owners.reinit(place, batch.n_cells);
        launch(place, batch.n_cells,
               [=, buffered = buffered.data(), rows_per_patch = lists.rows_per_patch,
                owners = owners.data()] PATCHFEM_DEVICE(const std::int64_t cell) {
                 const bool owned = !buffered[batch.first_cell + cell];
                 owners[cell]     = owned ? batch.nodes[cell * n_shape] / rows_per_patch : -1;
               });
        graph_tools::sort_by_group(owners, n, owned_offsets, owned_cells);

        const OwnersOfCells of{source.row_cells.view(), owners.data(), batch.first_cell, lists.rows_per_patch};
        Array<int>          counts(place, n_rows);
        launch(place, n_rows, [=, counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t row) {
          int n_others = 0;
          of.visit_others(row, [&](int) { ++n_others; });
          counts[row] = n_others;
        });
        const std::int64_t n_boundary = scan(counts, copy_offsets);
        require(n_boundary < 1 << 30, "The strategy ", source.strategy,
                " has too many boundary rows; use another one.");
        Array<int> rows_of(place, n_boundary), patches_of(place, n_boundary), order, lengths(place, n_boundary);
        launch(place, n_rows,
               [=, copy_offsets = copy_offsets.data(), rows_of = rows_of.data(),
                patches_of = patches_of.data()] PATCHFEM_DEVICE(const std::int64_t row) {
                 std::int64_t k = copy_offsets[row];
                 of.visit_others(row, [&](const int patch) {
                   rows_of[k]      = static_cast<int>(row);
                   patches_of[k++] = patch;
                 });
               });
        graph_tools::sort_by_group(patches_of, n, offsets, order);
        rows.reinit(place, n_boundary);
        copies.reinit(place, n_boundary);
        launch(place, n_boundary,
               [=, order = order.data(), rows_of = rows_of.data(), lengths = lengths.data(), rows = rows.data(),
                copies = copies.data()] PATCHFEM_DEVICE(const std::int64_t b) {
                 rows[b]          = rows_of[order[b]];
                 lengths[b]       = static_cast<int>(sparsity.row_offsets[rows[b] + 1] - sparsity.row_offsets[rows[b]]);
                 copies[order[b]] = static_cast<int>(b);
               });

        Array<int> flags(place, scan(lengths, starts)); // whether the patch adds to a block of the row
        flags.set_zero();
        launch(place, n_boundary,
               [=, order = order.data(), patches_of = patches_of.data(), rows = rows.data(), starts = starts.data(),
                flags = flags.data()] PATCHFEM_DEVICE(const std::int64_t b) {
                 of.rows.visit(rows[b], [&](const int cell, int) {
                   if (of.owners[cell - of.first_cell] != patches_of[order[b]])
                     return;
                   for (int j = 0; j < n_shape; ++j)
                     flags[starts[b] + place_of(sparsity, rows[b], batch.nodes_of(cell)[j])] = 1;
                 });
               });
        scan(flags, blocks);
        block_offsets.reinit(place, n_boundary + 1);
        launch(place, n_boundary + 1,
               [starts = starts.data(), blocks = blocks.data(), block_offsets = block_offsets.data()] PATCHFEM_DEVICE(
                   const std::int64_t b) { block_offsets[b] = blocks[starts[b]]; });
        extend_rows(source);
      }

      /** Lengths of extended rows, and the most blocks of a patch with cells. */
      void extend_rows(const Source &source)
      {
        const Backend    &place = source.backend();
        const PatchesView cut   = Patches::view(source.sparsity);
        const int         n     = cut.n_patches;
        Array<int>        sizes(place, n);
        launch(place, n, [offsets = offsets.data(), sizes = sizes.data()] PATCHFEM_DEVICE(const std::int64_t p) {
          sizes[p] = offsets[p + 1] - offsets[p];
        });
        const int n_extended = own.rows_per_patch = lists.rows_per_patch + maximum(sizes);
        require(std::int64_t(n) * n_extended < 1 << 30, "The strategy ", source.strategy,
                " has too many boundary rows; use another one.");
        Array<int> lengths(place, std::size_t(n) * n_extended);
        launch(place, lengths.size(),
               [=, offsets = offsets.data(), block_offsets = block_offsets.data(),
                lengths = lengths.data()] PATCHFEM_DEVICE(const std::int64_t row) {
                 const int p = static_cast<int>(row / n_extended), r = static_cast<int>(row % n_extended),
                           first = cut.first_row(p), n_own = cut.end_row(p) - first;
                 const std::int64_t b = offsets[p] + r - n_own, *of = cut.row_offsets + first + r;
                 lengths[row] = r < n_own            ? static_cast<int>(of[1] - of[0])
                                : b < offsets[p + 1] ? static_cast<int>(block_offsets[b + 1] - block_offsets[b])
                                                     : 0;
               });
        scan(lengths, row_offsets);
        launch(place, n,
               [=, pairs = source.row_cells.view().offsets, row_offsets = row_offsets.data(),
                sizes = sizes.data()] PATCHFEM_DEVICE(const std::int64_t p) {
                 const int  patch    = static_cast<int>(p);
                 const bool no_cells = pairs[cut.first_row(patch)] == pairs[cut.end_row(patch)];
                 sizes[p] =
                     no_cells ? 0 : static_cast<int>(row_offsets[(p + 1) * n_extended] - row_offsets[p * n_extended]);
               });
        most_blocks_of_extended = maximum(sizes);
      }

      /** As bytes_of_rows(); the most blocks of a patch are then those of extended rows. */
      std::size_t bytes_of_extended_rows(const Source &source)
      {
        const std::size_t         n_comp = source.batches.n_components(), without = bytes_of_rows(source);
        const kernels::PatchRoom &room     = source.room;
        const std::size_t         n_blocks = most_blocks_of_extended - most_blocks_of_patch,
                          n_rows           = own.rows_per_patch - lists.rows_per_patch;
        most_blocks_of_patch               = most_blocks_of_extended;
        return without + (n_blocks * n_comp * n_comp + n_rows * n_comp) * room.bytes_per_entry +
               n_rows * (sizeof(int) + 1 + room.bytes_per_row);
      }

      /** The extended rows of the nodes of cells that belong to patches. */
      void find_nodes(const Source &source)
      {
        const BatchView   batch   = source.batch();
        const PatchesView cut     = Patches::view(source.sparsity);
        const int         n_shape = batch.reference.n_shape;
        nodes.reinit(source.backend(), std::size_t(batch.n_cells) * n_shape);
        launch(source.backend(), nodes.size(),
               [=, owners = owners.data(), offsets = offsets.data(), rows = rows.data(),
                n_extended = own.rows_per_patch, nodes = nodes.data()] PATCHFEM_DEVICE(const std::int64_t at) {
                 const int p = owners[at / n_shape], node = batch.nodes[at];
                 if (p < 0)
                   return;
                 const int  first = cut.first_row(p), end = cut.end_row(p);
                 const int *here = rows + offsets[p], *found = kernels::lower_bound(here, rows + offsets[p + 1], node);
                 const int  r =
                     node >= first && node < end ? node - first : end - first + static_cast<int>(found - here);
                 nodes[at] = p * n_extended + r;
               });
      }

      /** Each patch's cells by colours, its levels: cells of one colour share none of its extended rows. */
      void sort_by_colour(const Source &source)
      {
        const Backend  &place   = source.backend();
        const BatchView batch   = source.batch();
        const int       n_shape = batch.reference.n_shape, n = lists.n_patches(), n_cells = owned_offsets.read(n);
        Array<int>      colours(place, n_cells), n_colours(place, n), sizes(place, n);
        Array<int>      last(place, row_offsets.size() - 1); // how many colours there were with the row's last cell
        lists.cells.reinit(place, n_cells);
        last.set_zero();
        launch(place, n,
               [=, owned = owned_cells.data(), owned_offsets = owned_offsets.data(), nodes = nodes.data(),
                last = last.data(), cells = lists.cells.data(), colours = colours.data(), sizes = sizes.data(),
                n_colours = n_colours.data()] PATCHFEM_DEVICE(const std::int64_t p) {
                 const int begin = owned_offsets[p], end = owned_offsets[p + 1];
                 int       to = begin, n_found = 0;
                 while (to < end)
                 {
                   ++n_found;
                   for (int k = begin; k < end; ++k)
                   {
                     if (owned[k] < 0)
                       continue; // it has a colour
                     const int *of_cell = nodes + std::int64_t(owned[k]) * n_shape;
                     bool       is_free = true;
                     for (int i = 0; i < n_shape; ++i)
                       is_free = is_free && last[of_cell[i]] < n_found;
                     if (!is_free)
                       continue;
                     for (int i = 0; i < n_shape; ++i)
                       last[of_cell[i]] = n_found;
                     colours[to] = n_found - 1;
                     cells[to++] = batch.first_cell + owned[k];
                     owned[k]    = -1;
                   }
                 }
                 n_colours[p] = n_found;
                 sizes[p]     = end - begin;
               });
        scan(sizes, lists.cell_offsets);
        level_ends.reinit(place, scan(n_colours, lists.level_offsets));
        most_levels_of_patch = maximum(n_colours);
        launch(place, n,
               [colours = colours.data(), cell_offsets = lists.cell_offsets.data(),
                level_offsets = lists.level_offsets.data(),
                level_ends    = level_ends.data()] PATCHFEM_DEVICE(const std::int64_t p) {
                 for (std::int64_t k = cell_offsets[p]; k < cell_offsets[p + 1]; ++k)
                   level_ends[level_offsets[p] + colours[k]] = static_cast<int>(k - cell_offsets[p]) + 1;
               });
      }

      /** Places of a cell's columns in extended rows, and of the array's blocks in the rows that they are added to. */
      void find_places(const Source &source)
      {
        const Backend     &place    = source.backend();
        const BatchView    batch    = source.batch();
        const SparsityView sparsity = source.sparsity.view();
        const PatchesView  cut      = Patches::view(source.sparsity);
        const int n_shape = batch.reference.n_shape, n_extended = own.rows_per_patch, width = lists.place_width;
        lists.places.reinit(place, lists.cells.size() * n_shape * n_shape * width);
        cell_pairs.reinit(place, lists.cells.size());
        pair_offsets.reinit(place, cut.n_patches + 1);
        launch(place, lists.cells.size() * n_shape,
               [=, nodes = nodes.data(), offsets = offsets.data(), starts = starts.data(), blocks = blocks.data(),
                to = lists.places.data(), cell_pairs = cell_pairs.data()] PATCHFEM_DEVICE(const std::int64_t pair) {
                 const std::int64_t entry = pair / n_shape, at = cut.cells[entry] - batch.first_cell;
                 const int         *columns = batch.nodes + at * n_shape, row = columns[pair % n_shape],
                           extended = nodes[at * n_shape + pair % n_shape], p = extended / n_extended;
                 const std::int64_t b = offsets[p] + extended % n_extended - (cut.end_row(p) - cut.first_row(p));
                 for (int j = 0; j < n_shape; ++j)
                 {
                   int k = place_of(sparsity, row, columns[j]);
                   if (b >= offsets[p])
                     k = static_cast<int>(blocks[starts[b] + k] - blocks[starts[b]]);
                   store_packed(to, width, pair * n_shape + j, static_cast<unsigned int>(k));
                 }
                 if (pair % n_shape == 0)
                   cell_pairs[entry] = static_cast<int>(pair - cut.cell_offsets[p] * n_shape);
               });
        launch(place, pair_offsets.size(),
               [=, pair_offsets = pair_offsets.data()] PATCHFEM_DEVICE(const std::int64_t p) {
                 pair_offsets[p] = cut.cell_offsets[p] * n_shape;
               });
        places.reinit(place, block_offsets.read(rows.size()) * width);
        launch(place, rows.size(),
               [=, starts = starts.data(), blocks = blocks.data(),
                places = places.data()] PATCHFEM_DEVICE(const std::int64_t b) {
                 for (std::int64_t at = starts[b]; at < starts[b + 1]; ++at)
                   if (blocks[at + 1] > blocks[at])
                     store_packed(places, width, blocks[at], static_cast<unsigned int>(at - starts[b]));
               });
      }
    };
  } // namespace

  PATCHFEM_PLAN(BoundaryArray, BoundaryArrayPlan)
} // namespace PatchFEM
