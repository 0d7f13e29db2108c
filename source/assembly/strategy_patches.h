// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "patch_plan.h"

namespace PatchFEM
{
  namespace
  {
    /** A patch integrates every cell that touches its rows, in an order of the mesh: sums do not depend on the cut. */
    struct ComputedCells : public PatchPlan
    {
      Array<std::int64_t> pair_offsets, copy_offsets; ///< these and what follows as in PatchesView
      Array<int>          level_ends;
      Array<char>         cell_pairs, copies;
      int                 cell_pair_width = 4, word_width = 4, block_width = 2;

      PatchesView view(const Sparsity &sparsity) const override
      {
        PatchesView v         = Patches::view(sparsity);
        v.cell_pairs          = {cell_pairs.data(), cell_pair_width};
        v.pair_offsets        = pair_offsets.data();
        v.places.pair_bits    = lists.pair_bits;
        v.places.copies       = {copies.data(), block_width};
        v.places.copy_offsets = copy_offsets.data();
        v.level_ends          = level_ends.data();
        if (lists.pair_bits > 0)
          v.places.view.width = word_width;
        return v;
      }

      std::size_t memory_consumption() const override
      {
        return Patches::memory_consumption() +
               memory_consumption_of(pair_offsets, copy_offsets, level_ends, cell_pairs, copies);
      }

      bool cut(const Source &source) override
      {
        if (source.most_redundant <= 1.)
          return false;
        const bool fits = find_size(source, 1 << 20, source.room.worker_bytes, source.room.available);
        require(fits || !source.alone,
                source.data.rows_per_patch > 0
                    ? "Patches of so many rows do not fit into fast memory; choose fewer rows per patch."
                    : "No patch of this problem fits into fast memory; use the gather strategy.");
        if (!fits)
          return false;
        // To one worker pairs of eight nodes save less than it costs to find where they are.
        lists.pair_bits =
            source.room.symmetric && (source.batch().reference.n_shape <= 4 || !one_worker(source.backend()));
        find_cells(source);
        return source.per_cell(lists.cells.size()) <= source.most_redundant;
      }

      void plan_cells(const Source &source) override
      {
        if (one_worker(source.backend()))
          find_one_level(source);
        else
          find_levels(source);
        if (lists.pair_bits > 0)
          find_upper_places(source);
        else
          find_places(source);
        integrations += source.per_cell(lists.cells.size());
      }

      /** Whether a patch's cells are added one after the other: then their order is that of their numbers. */
      static bool one_worker(const Backend &place) { return place.kind() == BackendKind::host; }

      /**
       * Turns in which cells take their colours: of each group of a_turn * n_turns consecutive cells, a few that follow
       * each other at a time, another place of the group in every group.
       */
      struct Turns
      {
        static constexpr int a_turn = 2, n_turns = 64, a_group = a_turn * n_turns;

        static PATCHFEM_INLINE unsigned int shift(const unsigned int group) { return group * 2654435761u >> 16; }

        /** The first of the cells that @p group has in turn number @p turn. */
        static PATCHFEM_INLINE int cell_of(const int group, const int turn)
        {
          return group * a_group + static_cast<int>((turn - shift(group)) * 45u % n_turns) * a_turn;
        }
        static PATCHFEM_INLINE int turn_of(const int cell)
        {
          return static_cast<int>((cell % a_group / a_turn * 37u + shift(cell / a_group)) % n_turns); // 37 * 45 = 1
        }
      };

      /**
       * The cells of each patch in the order of the sums: computed cells colour by colour, then buffered ones, each by
       * their numbers. Cells of one colour rarely share a node, so that they are added at the same time: each takes the
       * first colour that no cell around it has, but for those whose Turns are the same. The result is a property of the
       * mesh. Cells in turns have about as many levels as those that take colours one after the other in runs of 1024,
       * in an eighth of the steps.
       */
      void find_cells(const Source &source)
      {
        if (one_worker(source.backend()))
          return find_cells_by(source, {});
        constexpr int               n_colours = 64, none = n_colours - 1;
        const Backend              &place   = source.backend();
        const int                   n_cells = static_cast<int>(buffered.size());
        const kernels::RowCellsView rows    = source.row_cells.view();
        const int                   n_rows  = lists.n_rows;
        Array<std::uint8_t>         colours(place, n_cells);
        launch(place, n_cells,
               [colours = colours.data()] PATCHFEM_DEVICE(const std::int64_t cell) { colours[cell] = none; });
        for (int turn = 0; turn < Turns::n_turns; ++turn)
          launch(place, (n_cells + Turns::a_group - 1) / Turns::a_group,
                 [=, buffered = buffered.data(), colours = colours.data()] PATCHFEM_DEVICE(const std::int64_t group) {
                   const int begin = Turns::cell_of(static_cast<int>(group), turn);
                   for (int cell = begin; cell < begin + Turns::a_turn && cell < n_cells; ++cell)
                   {
                     if (buffered[cell])
                       continue;
                     std::uint64_t used  = 0;
                     const int    *nodes = rows.cells.nodes(cell), n = rows.cells.n_rows(cell);
                     for (int r = 0; r < n; ++r)
                       for (std::int64_t p = nodes[r] < n_rows ? rows.offsets[nodes[r]] : 0;
                            nodes[r] < n_rows && p < rows.offsets[nodes[r] + 1]; ++p)
                       {
                         const int other = kernels::Pair::cell(rows.pairs[p]);
                         if (Turns::turn_of(other) != turn || (other >= begin && other < cell))
                           used |= std::uint64_t(1) << colours[other];
                       }
                     int colour = 0;
                     while (colour < none - 1 && (used >> colour & 1u))
                       ++colour;
                     colours[cell] = static_cast<std::uint8_t>(colour);
                   }
                 });
        Array<std::uint64_t> keys(place, n_cells);
        Array<int>           order(place, n_cells), ranks(place, n_cells);
        launch(place, n_cells,
               [colours = colours.data(), keys = keys.data(),
                order = order.data()] PATCHFEM_DEVICE(const std::int64_t cell) {
                 keys[cell]  = colours[cell];
                 order[cell] = static_cast<int>(cell);
               });
        colours.release();
        launch(place, [&](const Here where) {
          kernels::stable_sort_by_key(where, n_cells, keys.data(), order.data(), bits_for(n_colours));
        });
        launch(place, n_cells, [order = order.data(), ranks = ranks.data()] PATCHFEM_DEVICE(const std::int64_t i) {
          ranks[order[i]] = static_cast<int>(i);
        });
        find_cells_by(source, ranks);
        launch(place, lists.cells.size(),
               [order = order.data(), cells = lists.cells.data()] PATCHFEM_DEVICE(const std::int64_t i) {
                 cells[i] = order[cells[i]];
               });
      }

      /**
       * Keeps of the patches' cells the computed ones, level after level. The level of a cell is one more than the
       * highest level of the cells before it that share one of the patch's rows with it: within a level any order gives
       * the same sums.
       */
      void find_levels(const Source &source)
      {
        constexpr int             position_bits = 20, most_levels = 2047;
        const Backend            &place = source.backend();
        const BatchView           batch = source.batch();
        const int                 n = lists.n_patches(), n_rows = lists.n_rows, rows_per_patch = lists.rows_per_patch;
        const int *const          from         = lists.cells.data();
        const std::int64_t *const from_offsets = lists.cell_offsets.data();
        Array<int>                n_levels(place, n), row_levels(place, n_rows);
        Array<std::int64_t>       computed_offsets;
        const Array<int>          counts     = count_computed(source);
        const std::int64_t        n_computed = scan(counts, computed_offsets);
        require(maximum(counts) < 1 << position_bits, "A patch has too many cells.");

        Array<int>                keys(place, n_computed), sorted(place, n_computed);
        const std::int64_t *const offsets = computed_offsets.data();
        row_levels.set_zero();
        launch(place, n,
               [=, row_levels = row_levels.data(), keys = keys.data(),
                n_levels = n_levels.data()] PATCHFEM_DEVICE(const std::int64_t p) {
                 const int first = static_cast<int>(p) * rows_per_patch, n_shape = batch.reference.n_shape;
                 const int end  = first + rows_per_patch < n_rows ? first + rows_per_patch : n_rows;
                 int       most = 0;
                 for (std::int64_t k = 0; k < offsets[p + 1] - offsets[p]; ++k)
                 {
                   const int *nodes = batch.nodes_of(from[from_offsets[p] + k]);
                   int        level = 0;
                   for (int i = 0; i < n_shape; ++i)
                     if (nodes[i] >= first && nodes[i] < end)
                       level = row_levels[nodes[i]] > level ? row_levels[nodes[i]] : level;
                   keys[offsets[p] + k] =
                       (level < most_levels ? level : most_levels) << position_bits | static_cast<int>(k);
                   ++level;
                   for (int i = 0; i < n_shape; ++i)
                     if (nodes[i] >= first && nodes[i] < end)
                       row_levels[nodes[i]] = level;
                   most = level > most ? level : most;
                 }
                 n_levels[p] = most;
               });
        row_levels.release();
        level_ends.reinit(place, scan(n_levels, lists.level_offsets));
        most_levels_of_patch = maximum(n_levels);
        require(most_levels_of_patch <= most_levels,
                "More than " + std::to_string(most_levels) + " cells share a node; repair the mesh.");
        launch(place, [&](const Here where) { kernels::sort_segments(where, n_computed, n, offsets, keys.data()); });
        launch(place, n,
               [=, keys = keys.data(), level_offsets = lists.level_offsets.data(), cells = sorted.data(),
                level_ends = level_ends.data()] PATCHFEM_DEVICE(const std::int64_t p) {
                 for (std::int64_t k = offsets[p]; k < offsets[p + 1]; ++k)
                 {
                   cells[k] = from[from_offsets[p] + (keys[k] & ((1 << position_bits) - 1))];
                   level_ends[level_offsets[p] + (keys[k] >> position_bits)] = static_cast<int>(k - offsets[p]) + 1;
                 }
               });
        lists.cells.swap(sorted);
        lists.cell_offsets.swap(computed_offsets);
      }

      /** The same where the computed cells of a patch are one level. */
      void find_one_level(const Source &source)
      {
        const Backend      &place  = source.backend();
        const int           n      = lists.n_patches();
        const Array<int>    counts = count_computed(source);
        Array<int>          kept, n_levels(place, n);
        Array<std::int64_t> computed_offsets;
        kept.reinit(place, scan(counts, computed_offsets));
        launch(place, n,
               [buffered = buffered.data(), from = lists.cells.data(), from_offsets = lists.cell_offsets.data(),
                counts = counts.data(), offsets = computed_offsets.data(), kept = kept.data(),
                n_levels = n_levels.data()] PATCHFEM_DEVICE(const std::int64_t p) {
                 std::int64_t out = offsets[p];
                 for (std::int64_t i = from_offsets[p]; i < from_offsets[p + 1]; ++i)
                   if (!buffered[from[i]])
                     kept[out++] = from[i];
                 n_levels[p] = counts[p] > 0;
               });
        level_ends.reinit(place, scan(n_levels, lists.level_offsets));
        most_levels_of_patch = maximum(n_levels);
        launch(place, n,
               [counts = counts.data(), level_offsets = lists.level_offsets.data(),
                level_ends = level_ends.data()] PATCHFEM_DEVICE(const std::int64_t p) {
                 if (counts[p] > 0)
                   level_ends[level_offsets[p]] = counts[p];
               });
        lists.cells.swap(kept);
        lists.cell_offsets.swap(computed_offsets);
      }

      /** [patch], cells that it computes. */
      Array<int> count_computed(const Source &source) const
      {
        Array<int> counts(source.backend(), lists.n_patches());
        launch(source.backend(), counts.size(),
               [buffered = buffered.data(), cells = lists.cells.data(), offsets = lists.cell_offsets.data(),
                counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t p) {
                 int n_computed = 0;
                 for (std::int64_t i = offsets[p]; i < offsets[p + 1]; ++i)
                   n_computed += !buffered[cells[i]];
                 counts[p] = n_computed;
               });
        return counts;
      }

      /** Places of a cell's pairs of nodes, in the row that sums both entries, and what the other row copies. */
      void find_upper_places(const Source &source)
      {
        const Backend     &place    = source.backend();
        const BatchView    batch    = source.batch();
        const SparsityView sparsity = source.sparsity.view();
        const int          n = lists.n_patches(), rows_per_patch = lists.rows_per_patch, n_rows = lists.n_rows;
        const int          n_shape = batch.reference.n_shape, pair_bits = lists.pair_bits;
        const bool         eight       = n_shape == 8;
        const int          block_width = this->block_width = most_blocks() <= 65536 ? 2 : 4;
        const int word_width = this->word_width = eight ? block_width : PlacesView::word_bytes(n_shape, pair_bits);
        const std::int64_t *const cell_offsets  = lists.cell_offsets.data();
        lists.places.reinit(place, lists.cells.size() * word_width * (eight ? PlacesView::numbers_of_eight : 1));
        launch(place, lists.cells.size(),
               [=, cells = lists.cells.data(), words = lists.places.data()] PATCHFEM_DEVICE(const std::int64_t entry) {
                 const int          patch = patch_of(cell_offsets, n, entry);
                 const int         *nodes = batch.nodes_of(cells[entry]);
                 const std::int64_t first = std::int64_t(patch) * rows_per_patch;
                 const auto owns  = [=](const int node) { return node < n_rows && node / rows_per_patch == patch; };
                 const auto block = [=](const int row, const int column) {
                   return static_cast<unsigned int>(sparsity.row_offsets[row] - sparsity.row_offsets[first] +
                                                    place_of(sparsity, row, column));
                 };
                 unsigned int  unused = 0;
                 std::uint64_t word   = 0;
                 for (int i = 0; eight && i < n_shape; ++i)
                   if (owns(nodes[i]))
                     unused = block(nodes[i], nodes[i]);
                 for (int i = 0; i < n_shape; ++i)
                   for (int j = i + 1; j < n_shape; ++j)
                   {
                     const bool own_i = owns(nodes[i]), own_j = owns(nodes[j]);
                     const bool in_i = own_i && (!own_j || nodes[i] < nodes[j]);
                     const int  row = nodes[in_i ? i : j], column = nodes[in_i ? j : i];
                     if (eight)
                       store_packed(words, word_width,
                                    entry * PlacesView::numbers_of_eight + PlacesView::position_of_eight(i, j),
                                    own_i || own_j ? block(row, column) : unused);
                     else if (own_i || own_j)
                       word |= static_cast<std::uint64_t>(place_of(sparsity, row, column))
                               << (pair_bits * PlacesView::pair_number(n_shape, i, j));
                   }
                 if (eight)
                   return;
                 if (word_width == 8)
                   reinterpret_cast<std::uint64_t *>(words)[entry] = word;
                 else
                   store_packed(words, word_width, entry, static_cast<unsigned int>(word));
               });
        // Of the columns before a row that its patch has, too, where computed cells touch the row.
        Array<int>          counts(place, n_rows);
        Array<std::int64_t> offsets;
        launch(place, n_rows,
               [=, pairs = source.row_cells.view(), buffered = buffered.data(), counts = counts.data(),
                diagonal = lists.diagonal_places.data()] PATCHFEM_DEVICE(const std::int64_t row) {
                 const std::int64_t first   = row / rows_per_patch * rows_per_patch;
                 bool               touched = false;
                 int                count   = 0;
                 pairs.visit(row, [&](const int cell, int) { touched = touched || !buffered[cell]; });
                 for (std::int64_t e = sparsity.row_offsets[row]; e < sparsity.row_offsets[row + 1]; ++e)
                   if (sparsity.columns[e] == row)
                     diagonal[row] = static_cast<std::uint8_t>(e - sparsity.row_offsets[row]);
                   else
                     count += touched && sparsity.columns[e] >= first && sparsity.columns[e] < row;
                 counts[row] = count;
               });
        copies.reinit(place, 2 * scan(counts, offsets) * block_width);
        write_patch_offsets(place, offsets.data(), copy_offsets);
        launch(place, n_rows,
               [=, offsets = offsets.data(), copies = copies.data()] PATCHFEM_DEVICE(const std::int64_t row) {
                 const std::int64_t first = row / rows_per_patch * rows_per_patch, base = sparsity.row_offsets[first];
                 std::int64_t       copy = 2 * offsets[row];
                 for (std::int64_t e = sparsity.row_offsets[row];
                      copy < 2 * offsets[row + 1] && e < sparsity.row_offsets[row + 1]; ++e)
                   if (const int column = sparsity.columns[e]; column >= first && column < row)
                   {
                     const std::int64_t from =
                         sparsity.row_offsets[column] + place_of(sparsity, column, static_cast<int>(row));
                     store_packed(copies, block_width, copy++, static_cast<unsigned int>(from - base));
                     store_packed(copies, block_width, copy++, static_cast<unsigned int>(e - base));
                   }
               });
      }

      /** The places of a cell's columns in the patch's rows. */
      void find_places(const Source &source)
      {
        const Backend            &place = source.backend();
        const BatchView           batch = source.batch();
        const int                 n = lists.n_patches(), rows_per_patch = lists.rows_per_patch, n_all = lists.n_rows;
        const int *const          cells        = lists.cells.data();
        const std::int64_t *const cell_offsets = lists.cell_offsets.data();
        Array<int>                counts(place, lists.cells.size()), of_patches(place, n); // of pairs
        Array<std::int64_t>       positions;
        launch(place, lists.cells.size(), [=, counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t entry) {
          const int  first = patch_of(cell_offsets, n, entry) * rows_per_patch, n_shape = batch.reference.n_shape;
          const int  end    = first + rows_per_patch < n_all ? first + rows_per_patch : n_all;
          const int *nodes  = batch.nodes_of(cells[entry]);
          int        n_rows = 0;
          for (int i = 0; i < n_shape; ++i)
            n_rows += nodes[i] >= first && nodes[i] < end;
          counts[entry] = n_rows;
        });
        lists.places.reinit(place, scan(counts, positions) * lists.place_bytes(batch.reference.n_shape));
        launch(place, n,
               [=, positions = positions.data(), of_patches = of_patches.data()] PATCHFEM_DEVICE(const std::int64_t p) {
                 of_patches[p] = static_cast<int>(positions[cell_offsets[p + 1]] - positions[cell_offsets[p]]);
               });
        scan(of_patches, pair_offsets);
        const int width = maximum(of_patches) <= 65536 ? 2 : 4;
        cell_pair_width = width;
        cell_pairs.reinit(place, lists.cells.size() * width);
        launch(place, lists.cells.size(),
               [=, writer = places_writer(source), positions = positions.data(), pair_offsets = pair_offsets.data(),
                cell_pairs = cell_pairs.data()] PATCHFEM_DEVICE(const std::int64_t entry) {
                 const int    patch = patch_of(cell_offsets, n, entry), n_shape = batch.reference.n_shape;
                 const int    first = patch * rows_per_patch;
                 const int    end   = first + rows_per_patch < n_all ? first + rows_per_patch : n_all;
                 const int   *nodes = batch.nodes_of(cells[entry]);
                 std::int64_t pair  = positions[entry];
                 store_packed(cell_pairs, width, entry, static_cast<unsigned int>(pair - pair_offsets[patch]));
                 for (int i = 0; i < n_shape; ++i)
                   if (nodes[i] >= first && nodes[i] < end)
                     writer.write(pair++, nodes, n_shape, i);
               });
      }
    };
  } // namespace

  std::shared_ptr<Patches> make_patches(Host);
  std::shared_ptr<Patches> make_patches(Cuda);
  std::shared_ptr<Patches> make_patches(Here)
  {
    return std::make_shared<ComputedCells>();
  }
} // namespace PatchFEM
