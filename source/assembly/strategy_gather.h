// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "patch_plan.h"

#include <climits>
#include <cmath>

namespace PatchFEM
{
  namespace
  {
    /** A chunk's cell matrices are staged in its buffer, each once, and rows add theirs in the order of the cells. */
    struct StagedCells : public PatchPlan
    {
      Array<std::int64_t> staged_offsets; ///< as in PatchesView
      Array<unsigned int> staged_pairs;
      Array<std::int64_t> first_staged; ///< [chunk + 1], in the list of all, while the plan is made

      PatchesView view(const Sparsity &sparsity) const override
      {
        PatchesView v    = Patches::view(sparsity);
        v.staged_offsets = staged_offsets.data();
        v.staged_pairs   = staged_pairs.data();
        return v;
      }

      std::size_t memory_consumption() const override
      {
        return Patches::memory_consumption() + memory_consumption_of(staged_offsets, staged_pairs);
      }

      bool cut(const Source &source) override
      {
        const std::size_t workers = source.room.worker_bytes;
        require(find_size(source, source.room.most_rows, workers, source.room.available) ||
                    bytes_of_rows(source) + workers <= source.room.total,
                [&] {
                  return source.data.rows_per_patch > 0
                             ? "The rows of a patch do not fit into fast memory; choose fewer rows per patch."
                             : "The longest row of the matrix, with " + std::to_string(most_blocks()) +
                                   " blocks, does not fit into fast memory.";
                });
        find_cells_by(source, {});
        return true;
      }

      void plan_chunks(const Source &source, const std::int64_t budget) override
      {
        // Most cells are of several patches of their chunk, and staged once: chunks can be larger than their patches'
        // sizes say, as long as what is found in them fits.
        const std::int64_t a_cell =
            source.room.staged_numbers(source.batch().reference.n_shape, source.batches.n_components());
        const double shared = source.per_cell(lists.cells.size());
        const bool   all_fit =
            source.batches.n_cells(source.row_cells.batch()) * a_cell <= budget && n_numbers(source, a_cell) <= budget;
        for (double factor = all_fit ? HUGE_VAL : std::max(1., 0.95 * shared);; factor = std::max(1., 0.9 * factor))
        {
          std::int64_t n_staged = 0;
          cut_chunks(source, true, factor * static_cast<double>(budget));
          stage(source);
          for (const Chunk &chunk : lists.chunks)
            n_staged = std::max(n_staged, chunk.end_staged - chunk.first_staged);
          if (factor <= 1. || n_staged * a_cell <= budget)
            return;
        }
      }

      /** Of the matrices of all cells in one buffer, with @p a_cell for each that is staged. */
      std::int64_t n_numbers(const Source &source, const std::int64_t a_cell) const
      {
        Array<int>          sizes(source.backend(), source.batches.n_cells(source.row_cells.batch()));
        Array<std::int64_t> offsets;
        launch(source.backend(), sizes.size(),
               [rows = source.row_cells.view().cells, first = source.batch().first_cell,
                n_comp = source.batches.n_components(), buffered = buffered.data(), sizes = sizes.data(),
                a_cell] PATCHFEM_DEVICE(const std::int64_t k) {
                 const int cell = first + static_cast<int>(k);
                 sizes[k]       = buffered[cell] ? BufferSizes(rows, cell, n_comp).matrix : static_cast<int>(a_cell);
               });
        return scan(sizes, offsets);
      }

      void plan_cells(const Source &source) override
      {
        lists.cells.release();
        lists.cell_offsets.set_zero();
        set_no_levels(source.backend());
        integrations += source.per_cell(lists.staged_cells.size());
        find_pairs(source);
        first_staged.release();
      }

      /** The chunks' staged cells. */
      void stage(const Source &source)
      {
        ChunkCells found                     = chunk_cells(source, false);
        lists.staged_cells                   = std::move(found.cells);
        first_staged                         = std::move(found.offsets);
        const std::vector<std::int64_t> ends = first_staged.to_vector();
        for (std::size_t c = 0; c < lists.chunks.size(); ++c)
        {
          lists.chunks[c].first_staged = ends[c];
          lists.chunks[c].end_staged   = ends[c + 1];
          require((ends[c + 1] - ends[c]) * source.batch().reference.n_shape <= UINT_MAX,
                  "A chunk has too many cells.");
        }
      }

      /** For each row its pairs with staged cells and the places of their columns. */
      void find_pairs(const Source &source)
      {
        const Backend              &place   = source.backend();
        const BatchView             batch   = source.batch();
        const int                   n_shape = batch.reference.n_shape, rows_per_patch = lists.rows_per_patch;
        const kernels::RowCellsView pairs = source.row_cells.view();
        Array<int>                  counts(place, lists.n_rows);
        launch(place, lists.n_rows,
               [=, buffered = buffered.data(), counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t row) {
                 int n = 0;
                 pairs.visit(row, [&](const int cell, int) { n += !buffered[cell]; });
                 counts[row] = n;
               });
        const std::int64_t n_pairs = scan(counts, staged_offsets);
        staged_pairs.reinit(place, n_pairs);
        lists.places.reinit(place, n_pairs * lists.place_bytes(n_shape));
        launch(place, lists.n_rows,
               [=, buffered = buffered.data(), writer = places_writer(source), chunk_of_patch = chunk_of_patch.data(),
                chunks = first_staged.data(), cells = lists.staged_cells.data(), offsets = staged_offsets.data(),
                staged_pairs = staged_pairs.data()] PATCHFEM_DEVICE(const std::int64_t row) {
                 const std::int64_t *chunk = chunks + chunk_of_patch[row / rows_per_patch];
                 const int          *first = cells + chunk[0], *end = cells + chunk[1];
                 std::int64_t        pair = offsets[row];
                 pairs.visit(row, [&](const int cell, const int i) {
                   if (buffered[cell])
                     return;
                   const auto slot    = kernels::lower_bound(first, end, cell) - first;
                   staged_pairs[pair] = static_cast<unsigned int>(slot * n_shape + i);
                   writer.write(pair++, batch.nodes_of(cell), n_shape, i);
                 });
               });
      }
    };
  } // namespace

  std::shared_ptr<Patches> make_gather(Host);
  std::shared_ptr<Patches> make_gather(Cuda);
  std::shared_ptr<Patches> make_gather(Here)
  {
    return std::make_shared<StagedCells>();
  }
} // namespace PatchFEM
