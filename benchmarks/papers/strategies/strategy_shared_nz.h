// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "unpatched_plan.h"

#include "strategies/shared_nz.h"

namespace PatchFEM
{
  /** On the host, what the parts of SharedNZView are made of. */
  struct SharedNZMesh
  {
    SharedNZCell               cell;
    int                        dim, first_cell, n_rows;
    int                        most_cells;    ///< of a part
    int                        rows_per_part; ///< about so many at most; 0: as many as fit
    bool                       mirrors;       ///< pairs of blocks are summed once
    std::vector<unsigned char> buffered;      ///< [cell of the batch], those of which the strategy does not compute
    std::vector<int>           nodes;         ///< [cell][shape]
    std::vector<int>           geometry;      ///< [cell][geometry]
    std::vector<std::int64_t>  row_offsets;   ///< [row + 1], blocks of the sparsity
    std::vector<int>           columns;       ///< [block]
    std::vector<std::int64_t>  pair_offsets;  ///< [row + 1], of RowCells
    std::vector<std::int64_t>  pairs;

    /** Calls @p function(cell of the batch, which of its nodes) for the computed cells of @p row, ascending. */
    template <typename Function>
    void visit(const int row, const Function &function) const
    {
      for (std::int64_t p = pair_offsets[row]; p < pair_offsets[row + 1]; ++p)
        if (const int k = kernels::Pair::cell(pairs[p]) - first_cell; !buffered[k])
          function(k, kernels::Pair::row(pairs[p]));
    }
  };

  /** What SharedNZView has, on the host. */
  struct SharedNZLists
  {
    int                       most_cells = 0, place_bits = 0;
    std::vector<SharedNZPart> parts{SharedNZPart{}};
    std::vector<int>          rows, cells, scatter, reduction;
  };

  /**
   * Cuts the graph of nodes that share a cell by METIS into parts with at most most_cells cells, own and halo (P4,
   * equation 9); those of each single node must fit. The same for every number of threads. Throws Error if METIS fails
   * or its 32-bit numbers overflow. Compiled by the host compiler alone.
   */
  SharedNZLists make_shared_nz_lists(const SharedNZMesh &mesh);

  namespace
  {
    /** The parts of SharedNZView, made on the host, and patches that only cut the buffered cells into chunks. */
    struct SharedNZPlan : public UnpatchedPlan
    {
      Array<SharedNZPart> parts;
      Array<int>          rows, part_cells, scatter;
      Array<char>         reduction;
      SharedNZView        own{};

      const void *own_lists() const override { return &own; }

      std::size_t memory_consumption() const override
      {
        return Patches::memory_consumption() + memory_consumption_of(parts, rows, part_cells, scatter, reduction);
      }

      /** Of a part: the kernels' worker bytes are those of a cell. */
      static int most_cells(const Source &source)
      {
        return static_cast<int>(source.room.available / source.room.worker_bytes);
      }

      bool cut(const Source &source) override
      {
        const kernels::RowCellsView pairs = source.row_cells.view();
        Array<int>                  counts(source.backend(), source.row_cells.n_rows());
        launch(source.backend(), counts.size(),
               [=, buffered = buffered.data(), counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t row) {
                 int n = 0;
                 pairs.visit(row, [&](const int cell, int) { n += !buffered[cell]; });
                 counts[row] = n;
               });
        const bool fits = maximum(counts) <= most_cells(source);
        require(fits || !source.alone,
                "The matrices of all cells at a node do not fit into fast memory; use the gather strategy.");
        return fits && UnpatchedPlan::cut(source);
      }

      void plan_cells(const Source &source) override
      {
        const SharedNZLists found = make_shared_nz_lists(pull(source));
        const Backend      &place = source.backend();
        lists.cells.release();
        lists.cell_offsets.set_zero();
        set_no_levels(place);
        parts.copy_from(place, found.parts);
        rows.copy_from(place, found.rows);
        part_cells.copy_from(place, found.cells);
        scatter.copy_from(place, found.scatter);
        int width = 2;
        for (const int entry : found.reduction)
          if (entry != static_cast<std::int16_t>(entry))
            width = 4;
        std::vector<char> packed(found.reduction.size() * width);
        for (std::size_t k = 0; k < found.reduction.size(); ++k)
          store_packed(packed.data(), width, static_cast<std::int64_t>(k),
                       static_cast<unsigned int>(found.reduction[k]));
        reduction.copy_from(place, packed);
        own           = {static_cast<int>(found.parts.size()) - 1,
                         found.most_cells,
                         found.place_bits,
                         parts.data(),
                         rows.data(),
                         part_cells.data(),
                         scatter.data(),
                         {reduction.data(), width}};
        phase_offsets = {0, static_cast<std::int64_t>(found.cells.size())};
        integrations += source.per_cell(found.cells.size());
      }

      SharedNZMesh pull(const Source &source) const
      {
        const Backend              &place = source.backend();
        const BatchView             batch = source.batch();
        const ReferenceView        &r     = batch.reference;
        const kernels::RowCellsView pairs = source.row_cells.view();
        const int                   dim = source.batches.dimension(), n_comp = source.batches.n_components();
        // Which blocks a cell has is what its size tells.
        SharedNZCell cell(r.n_shape, r.n_geometry, dim, n_comp, true);
        if (cell.size() * source.room.bytes_per_entry != source.room.worker_bytes)
          cell.upper = false;
        return {cell,
                dim,
                batch.first_cell,
                lists.n_rows,
                most_cells(source),
                source.data.rows_per_patch,
                cell.upper && strategies::SharedNZ::mirrors,
                copy_to_host(place, buffered.data() + batch.first_cell, batch.n_cells),
                copy_to_host(place, batch.nodes, std::int64_t(batch.n_cells) * r.n_shape),
                copy_to_host(place, batch.geometry, std::int64_t(batch.n_cells) * r.n_geometry),
                source.sparsity.row_offsets().to_vector(),
                source.sparsity.column_indices().to_vector(),
                copy_to_host(place, pairs.offsets, lists.n_rows + 1),
                copy_to_host(place, pairs.pairs, source.row_cells.n_pairs())};
      }
    };
  } // namespace

  PATCHFEM_PLAN(SharedNZ, SharedNZPlan)
} // namespace PatchFEM
