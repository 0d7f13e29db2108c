// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly/patch_plan.h"

#include "strategies/entry_sums.h"

#include <cmath>

namespace PatchFEM
{
  /** The plan of a strategy, which the compiler of the back end makes. */
  template <typename Strategy>
  std::shared_ptr<Patches> make_plan_of(Host);
  template <typename Strategy>
  std::shared_ptr<Patches> make_plan_of(Cuda);
  template <typename Strategy>
  std::shared_ptr<Patches> make_plan_of(const Backend &backend)
  {
    return dispatch(backend, [](const auto where) { return make_plan_of<Strategy>(where); });
  }

/** Makes @p Plan that of strategies::@p Strategy, on the back end of the file. */
#define PATCHFEM_PLAN(Strategy, Plan)                               \
  template <>                                                       \
  std::shared_ptr<Patches> make_plan_of<strategies::Strategy>(Here) \
  {                                                                 \
    return std::make_shared<Plan>();                                \
  }

  namespace
  {
    /** The @p n numbers at @p from, which are on @p place. */
    template <typename T>
    std::vector<T> copy_to_host(const Backend &place, const T *from, const std::int64_t n)
    {
      std::vector<T> result(n);
      if (n > 0)
        memory::copy(Backend("host"), result.data(), place, from, n * sizeof(T));
      return result;
    }

    /**
     * What plans share that need patches only to cut the buffered cells into chunks: rows are summed where they are
     * stored, or entry by entry, and fed rows add last.
     */
    struct UnpatchedPlan : public PatchPlan
    {
      bool cut(const Source &source) override
      {
        lists.rows_per_patch = source.data.rows_per_patch > 0 ? source.data.rows_per_patch : 128;
        find_cells_by(source, {});
        return true;
      }

      /**
       * The batch's cells that are not buffered, ascending, in place of those of the patches. Returns where each cell
       * of the batch is among them, or -1.
       */
      Array<int> list_cells(const Source &source)
      {
        const Backend      &place = source.backend();
        const BatchView     batch = source.batch();
        Array<int>          flags(place, batch.n_cells);
        Array<std::int64_t> positions;
        launch(place, batch.n_cells,
               [=, buffered = buffered.data(), flags = flags.data()] PATCHFEM_DEVICE(const std::int64_t k) {
                 flags[k] = !buffered[batch.first_cell + k];
               });
        lists.cells.reinit(place, scan(flags, positions));
        launch(place, batch.n_cells,
               [=, flags = flags.data(), positions = positions.data(),
                cells = lists.cells.data()] PATCHFEM_DEVICE(const std::int64_t k) {
                 if (flags[k])
                   cells[positions[k]] = batch.first_cell + static_cast<int>(k);
                 flags[k] = flags[k] ? static_cast<int>(positions[k]) : -1;
               });
        lists.cell_offsets.set_zero();
        set_no_levels(place);
        integrations += source.per_cell(lists.cells.size());
        return flags;
      }

      /** Places of the blocks of all cells in their rows. */
      void find_places(const Source &source)
      {
        const Backend  &place   = source.backend();
        const BatchView batch   = source.batch();
        const int       n_shape = batch.reference.n_shape;
        lists.places.reinit(place, lists.cells.size() * n_shape * lists.place_bytes(n_shape));
        launch(
            place, lists.cells.size() * n_shape,
            [=, writer = places_writer(source), cells = lists.cells.data()] PATCHFEM_DEVICE(const std::int64_t pair) {
              writer.write(pair, batch.nodes_of(cells[pair / n_shape]), n_shape, static_cast<int>(pair % n_shape));
            });
      }
    };

    /**
     * What adds to each block of the matrix, and to each row of the load, in the order of the cells: the view of
     * strategies that sum entry by entry. A cell's slot is its place in the plan's cells.
     */
    struct ContributionLists
    {
      Array<std::int64_t> block_offsets; ///< [block of the sparsity + 1]
      Array<unsigned int> blocks;        ///< (slot * n_shape + i) * n_shape + j
      Array<std::int64_t> row_offsets;   ///< [row + 1]
      Array<unsigned int> rows;          ///< slot * n_shape + i

      kernels::EntryLists<kernels::SortedLists> view() const
      {
        return {{block_offsets.data(), blocks.data()}, {row_offsets.data(), rows.data()}};
      }

      std::size_t memory_consumption() const { return memory_consumption_of(block_offsets, blocks, row_offsets, rows); }

      /** @p slots: [cell of the batch], or -1 of one that is buffered. Throws Error if there are 2^32 blocks. */
      void find(const Patches::Source &source, const Array<int> &slots)
      {
        const Backend              &place    = source.backend();
        const BatchView             batch    = source.batch();
        const kernels::RowCellsView pairs    = source.row_cells.view();
        const SparsityView          sparsity = source.sparsity.view();
        const int          n_shape = batch.reference.n_shape, first = batch.first_cell, n_rows = sparsity.n_rows;
        const std::int64_t n_blocks = source.sparsity.n_blocks();
        require(std::int64_t(batch.n_cells) * n_shape * n_shape < (std::int64_t(1) << 32), "The strategy ",
                source.strategy, " has cells with 2^32 blocks at most; use another one.");
        Array<int> counts(place, n_blocks), of_rows(place, n_rows);
        for (const bool counting : {true, false})
        {
          counts.set_zero();
          launch(place, n_rows,
                 [=, slots = slots.data(), counts = counts.data(), of_rows = of_rows.data(),
                  block_offsets = block_offsets.data(), blocks = blocks.data(), row_offsets = row_offsets.data(),
                  rows = rows.data()] PATCHFEM_DEVICE(const std::int64_t row) {
                   int n = 0;
                   pairs.visit(row, [&](const int cell, const int i) {
                     if (slots[cell - first] < 0)
                       return;
                     const auto pair = static_cast<unsigned int>(slots[cell - first]) * n_shape + i;
                     if (!counting)
                       rows[row_offsets[row] + n] = pair;
                     ++n;
                     for (int j = 0; j < n_shape; ++j)
                     {
                       const std::int64_t block = sparsity.row_offsets[row] +
                                                  place_of(sparsity, static_cast<int>(row), batch.nodes_of(cell)[j]);
                       if (!counting)
                         blocks[block_offsets[block] + counts[block]] = pair * n_shape + j;
                       ++counts[block];
                     }
                   });
                   of_rows[row] = n;
                 });
          if (!counting)
            return;
          blocks.reinit(place, scan(counts, block_offsets));
          rows.reinit(place, scan(of_rows, row_offsets));
        }
      }
    };

    /**
     * The matrices of all cells are staged at once: the slots of ContributionLists are those of the buffer. Patches
     * finish their rows in fast memory, as those that gather do.
     */
    struct StagedAtOncePlan : public UnpatchedPlan
    {
      ContributionLists contributions;

      PatchesView view(const Sparsity &sparsity) const override
      {
        PatchesView v    = Patches::view(sparsity);
        v.staged_offsets = contributions.row_offsets.data(); // tell which patches are idle
        return v;
      }

      bool cut(const Source &source) override
      {
        const bool fits =
            find_size(source, 128, 0, source.room.available) || bytes_of_rows(source) <= source.room.total;
        require(fits || !source.alone,
                source.data.rows_per_patch > 0
                    ? "Patches of so many rows do not fit into fast memory; choose fewer."
                    : "The longest row of the matrix does not fit into fast memory; use another strategy.");
        if (fits)
          find_cells_by(source, {});
        return fits;
      }

      void plan_chunks(const Source &source, std::int64_t) override { cut_chunks(source, false, HUGE_VAL); }

      /** Gives cells another order than that of the batch; @p slots tells where each of the batch is. */
      virtual void order_cells(const Source &, Array<int> &) {}

      void plan_cells(const Source &source) override
      {
        Array<int> slots = list_cells(source);
        order_cells(source, slots);
        lists.staged_cells.swap(lists.cells);
        if (!lists.chunks.empty())
          lists.chunks.front().end_staged = static_cast<std::int64_t>(lists.staged_cells.size());
        lists.compact_places = false; // there are no places
        lists.diagonal_places.release();
        contributions.find(source, slots);
      }

      /** All but what view() needs, for strategies with lists of their own. */
      void release_contributions()
      {
        contributions.block_offsets.release();
        contributions.blocks.release();
        contributions.rows.release();
      }

      std::size_t memory_consumption() const override
      {
        return Patches::memory_consumption() + contributions.memory_consumption();
      }
    };
  } // namespace
} // namespace PatchFEM
