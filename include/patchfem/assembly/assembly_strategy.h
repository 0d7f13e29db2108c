// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/structure_estimate.h>

#include <memory>

namespace PatchFEM
{
  /** Which cells a strategy stages: their matrices go through the buffer. */
  enum class Staging
  {
    none,   ///< those with constraints or boundary terms alone, as always
    chunks, ///< all, chunk after chunk
    whole   ///< all at once
  };

  /**
   * A way in which matrices of cells get to the rows: what a struct of strategies.h tells of itself.
   */
  struct StrategyRow
  {
    std::string name;
    std::string words;     ///< for a user: what becomes of cells
    bool        automatic; ///< `auto` may take it: the first row that serves
    Staging     staging;

    std::shared_ptr<Patches> (*make)(const Backend &);

    /// What the plan keeps beside the lists of buffered cells.
    double (*bytes)(const StructureEstimate &, const Patches::AdditionalData &);

    bool repeatable = true; ///< the same bits each time

    /// Whether it may take cells of @p tables; nullptr: any.
    bool (*serves)(const ElementTables &tables) = nullptr;

    bool stages() const { return staging != Staging::none; }
  };

  /** The table, in the order in which `auto` asks and users see them; those of other libraries come last. */
  const std::vector<StrategyRow> &assembly_strategies();

  /** Appends rows to the table; see linked_kernels() for their kernels. */
  void add_strategies(const std::vector<StrategyRow> &rows);

  /** The strategy of that name, whose library is loaded if it is one of papers; nullptr if there is none. */
  const StrategyRow *find_strategy(const std::string &name);

  /** Throws Error unless @p name is `auto` or a strategy that find_strategy() finds. */
  void require_strategy(const std::string &name);

  /** Whether plans with @p data may be of @p row, and then what it needs of fast memory matters. */
  bool may_take(const StrategyRow &row, const Patches::AdditionalData &data);

  /**
   * Those that plans of @p tables may be of: the one that @p data names, or what `auto` may take; if @p sure none behind
   * the first that takes all cells.
   */
  std::vector<const StrategyRow *>
  likely_strategies(const ElementTables &tables, const Patches::AdditionalData &data, bool sure);

  /** What the parameter `Strategy` takes, and what that means. */
  std::string names_of_strategies(); ///< "auto|..."
  std::string words_of_strategies();

  /**
   * The plan for the batch of @p row_cells, with the @p rooms of strategies in the order of the table: of the one that
   * @p data name, or the first that `auto` may take and that serves. Also of several degrees those go to that whose
   * patches do not fit. Throws Error for an unknown name and if no strategy serves.
   */
  std::shared_ptr<const Patches> make_plan(const ElementBatches                  &batches,
                                           const RowCells                        &row_cells,
                                           const Sparsity                        &sparsity,
                                           const std::vector<kernels::PatchRoom> &rooms,
                                           const Patches::AdditionalData         &data);
} // namespace PatchFEM
