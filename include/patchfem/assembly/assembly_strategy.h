// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/structure_estimate.h>

#include <memory>

namespace PatchFEM
{
  /**
   * A way in which matrices of cells get to the rows: what a struct of strategies.h tells of itself.
   */
  struct StrategyRow
  {
    std::string name;
    std::string words;     ///< for a user: what becomes of cells
    bool        automatic; ///< `automatic` may take it: the first row that serves
    bool        stages;    ///< all cells go through the buffer, not only those with constraints or boundary terms

    std::shared_ptr<Patches> (*make)(const Backend &);

    /// What the plan keeps beside the lists of buffered cells.
    double (*bytes)(const StructureEstimate &, const Patches::AdditionalData &);
  };

  /** The table, in the order in which `automatic` asks and users see them. */
  const std::vector<StrategyRow> &assembly_strategies();

  /** Whether plans with @p data may be of @p row, and then what it needs of fast memory matters. */
  bool may_take(const StrategyRow &row, const Patches::AdditionalData &data);

  /** Those that plans may be of: the one that @p data names, or what `automatic` may take, if @p sure the first. */
  std::vector<const StrategyRow *> likely_strategies(const Patches::AdditionalData &data, bool sure);

  /** What the parameter `Strategy` takes, and what that means. */
  std::string names_of_strategies(); ///< "automatic|..."
  std::string words_of_strategies();

  /**
   * The plan for the batch of @p row_cells, with the @p rooms of strategies in the order of the table: of the one that
   * @p data name, or the first that `automatic` may take and that serves. Also of several degrees those go to that whose
   * patches do not fit. Throws Error for an unknown name and if no strategy serves.
   */
  std::shared_ptr<const Patches> make_plan(const ElementBatches                  &batches,
                                           const RowCells                        &row_cells,
                                           const Sparsity                        &sparsity,
                                           const std::vector<kernels::PatchRoom> &rooms,
                                           const Patches::AdditionalData         &data);
} // namespace PatchFEM
