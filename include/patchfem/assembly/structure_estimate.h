// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/patches.h>
#include <patchfem/lac/matrix/format_model.h>

namespace PatchFEM
{
  struct StrategyRow;

  /**
   * What the bytes of a problem's structure depend on, counted on the host from its tables before there is any of it,
   * and these bytes. What is of cells is exact; the pattern is that of a few thousand rows, constraints resolved,
   * sorted and sliced as the rows of a matrix are, with errors of a few per cent. Functions are defined beside
   * memory_consumption() of the class that they are about, and bounds from above but for these errors.
   */
  struct StructureEstimate
  {
    /** @param sorting_window, keep_entries As ElementBatches::AdditionalData has them. @p tables must outlive it. */
    StructureEstimate(const ElementTables &tables, int sorting_window, bool keep_entries);

    /** What ElementBatches, Sparsity and, with @p data and a strategy, Patches keep. */
    std::size_t batches_bytes() const;
    std::size_t sparsity_bytes() const { return pattern.n_blocks * 4 + tables.n_nodes * std::size_t(8) + 8; }
    std::size_t plan_bytes(const Patches::AdditionalData &data, const StrategyRow &row) const;

    /** The most while sparsity and patches are made on @p backend, themselves included. */
    std::size_t peak_bytes(const Backend &backend, const Patches::AdditionalData &data, const StrategyRow &row) const;

    /** Of the buffer of cell matrices and loads in numbers of @p number_size bytes; @p share as PatchRoom has it. */
    std::size_t buffer_bytes(std::size_t number_size, double share, const StrategyRow &row) const;

    /** Places of all pairs of cells and rows, or, of upper entries, of cells, with copies; and the cells of patches. */
    double places_bytes(const Patches::AdditionalData &data) const;
    double pair_places_bytes() const; ///< of all pairs alone, and of diagonals

    double n_cells_of_patches(const Patches::AdditionalData &data) const;     ///< as often as they are in a patch
    int    place_width() const { return pattern.longest_row <= 256 ? 1 : 2; } ///< bytes

    /** Each batch has its plan, over all rows. */
    double n_rows_of_plans() const { return double(tables.n_nodes) * double(tables.batches.size()); }

    /** Sums over cells, after constraints are resolved. */
    struct Cells
    {
      std::int64_t n = 0, n_pairs = 0; ///< cells, and pairs of a cell and a row that it feeds
      std::int64_t n_blocks = 0;       ///< of their matrices

      void add(const Cells &other)
      {
        n += other.n;
        n_pairs += other.n_pairs;
        n_blocks += other.n_blocks;
      }
    };

    const ElementTables &tables;
    PatternStatistics    pattern;        ///< of nodes; all columns count as near, and none as inside of patches
    Cells                cells;          ///< all of them
    Cells                buffered_cells; ///< with constraints or boundary terms

    // Of cells with constraints: rows after these are resolved and before, and blocks before.
    std::int64_t n_resolved_rows = 0, n_raw_blocks = 0;

  private:
    std::size_t candidates_bytes(const Backend &backend) const; ///< work of Sparsity
  };
} // namespace PatchFEM
