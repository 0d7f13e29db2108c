// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/element_batches.h>
#include <patchfem/kernels/matrix_views.h>

namespace PatchFEM
{
  /**
   * For each row (node) the cells that feed it, in the order of the cells: after constraints are resolved, as Patches
   * add buffered cells, or before, as integrate() does.
   */
  class RowCells
  {
  public:
    static constexpr int all_batches = -1;

    /** Of the cells of batch @p b, or of all. */
    void reinit(const ElementBatches &batches, bool resolved = true, int b = all_batches);

    int                   batch() const { return of_batch; }
    int                   n_rows() const { return static_cast<int>(pair_offsets.size()) - 1; }
    std::int64_t          n_pairs() const { return static_cast<std::int64_t>(pair_values.size()); }
    kernels::RowCellsView view() const { return {rows, pair_offsets.data(), pair_values.data()}; }
    std::size_t           memory_consumption() const { return memory_consumption_of(pair_offsets, pair_values); }

  private:
    kernels::CellRows   rows{};
    int                 of_batch = all_batches;
    Array<int>          constrained_index;
    Array<std::int64_t> pair_offsets, pair_values;
  };

  /**
   * The block sparsity pattern, built on the back end: for each node the nodes it couples with. Rows of nodes that are
   * constrained in all components hold only their diagonal, unless ElementBatches keep them. Of several ranks each has
   * the rows of its own nodes.
   */
  class Sparsity
  {
  public:
    void reinit(const ElementBatches &batches, const RowCells &row_cells);

    const Backend             &backend() const { return offsets.backend(); }
    int                        n_rows() const { return static_cast<int>(offsets.size()) - 1; }
    std::int64_t               n_blocks() const { return total; }
    int                        longest_row() const { return longest; }
    const Array<std::int64_t> &row_offsets() const { return offsets; }
    const Array<int>          &column_indices() const { return columns; }
    SparsityView               view() const { return {n_rows(), n_column, offsets.data(), columns.data()}; }

    /** Gives back the columns, not the offsets, once matrices have copied them and the plan is made. */
    void        release_columns() { columns.release(); }
    std::size_t memory_consumption() const { return memory_consumption_of(offsets, columns); }

  private:
    Array<std::int64_t> offsets;
    Array<int>          columns;
    std::int64_t        total    = 0;
    int                 longest  = 0;
    int                 n_column = 0;
  };
} // namespace PatchFEM
