// SPDX-License-Identifier: LGPL-2.1-or-later
#include "strategy_local_nz.h"

namespace PatchFEM
{
  namespace
  {
    /** For each batch offsets of blocks and rows; the contributions to them, and the numbers of cells. */
    double local_nz_bytes(const StructureEstimate &estimate, const Patches::AdditionalData &)
    {
      const double n_batches = double(estimate.tables.batches.size());
      return 8. * n_batches * double(estimate.pattern.n_blocks) + 8. * estimate.n_rows_of_plans() +
             4. * double(estimate.cells.n_blocks + estimate.cells.n_pairs + estimate.cells.n);
    }
  } // namespace

  StrategyRow strategies::LocalNZ::row()
  {
    return {"local_nz",
            "a thread for each entry of the matrix integrates all that adds to it, so that a cell is mapped for each",
            false,
            Staging::none,
            make_plan_of<LocalNZ>,
            local_nz_bytes};
  }
} // namespace PatchFEM
