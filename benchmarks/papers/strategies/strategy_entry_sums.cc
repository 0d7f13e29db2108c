// SPDX-License-Identifier: LGPL-2.1-or-later
#include "strategy_entry_sums.h"

namespace PatchFEM
{
  namespace
  {
    double n_blocks_of_plans(const StructureEstimate &estimate)
    {
      return double(estimate.pattern.n_blocks) * double(estimate.tables.batches.size());
    }

    /** Offsets of blocks and rows; contributions, and the numbers of cells. */
    double lists_bytes(const StructureEstimate &estimate, const Patches::AdditionalData &)
    {
      return 8. * n_blocks_of_plans(estimate) + 9. * estimate.n_rows_of_plans() +
             4. * double(estimate.cells.n_blocks + estimate.cells.n_pairs + estimate.cells.n);
    }

    /** The lists, which are given back once they are packed, and as much again with a quarter of zeros. */
    double arrays_bytes(const StructureEstimate &estimate, const Patches::AdditionalData &data)
    {
      return lists_bytes(estimate, data) + 5. * (double(estimate.cells.n_blocks + estimate.cells.n_pairs) +
                                                 n_blocks_of_plans(estimate) + estimate.n_rows_of_plans());
    }

    /** The lists, the matrices of ones, and room for the products, which is the assembler's. */
    double ones_bytes(const StructureEstimate &estimate, const Patches::AdditionalData &data)
    {
      const double n = estimate.tables.n_components;
      return lists_bytes(estimate, data) +
             n * n * (8. * double(estimate.cells.n_blocks) + 16. * n_blocks_of_plans(estimate)) +
             n * (4. * double(estimate.cells.n_pairs) + 16. * estimate.n_rows_of_plans());
    }
  } // namespace

  StrategyRow strategies::GlobalNZ::row()
  {
    return {"global_nz",
            "matrices of all cells go to a buffer, and threads sum lists of entries that are packed to be equally long",
            false,
            Staging::whole,
            make_plan_of<GlobalNZ>,
            arrays_bytes};
  }

  StrategyRow strategies::COO::row()
  {
    return {"coo",
            "matrices of all cells go to a buffer, whose entries are summed in the order of the matrix",
            false,
            Staging::whole,
            make_plan_of<COO>,
            lists_bytes};
  }

  StrategyRow strategies::Product::row()
  {
    return {"product",
            "matrices of all cells go to a buffer, which a sparse matrix of ones is multiplied with",
            false,
            Staging::whole,
            make_plan_of<Product>,
            ones_bytes};
  }
} // namespace PatchFEM
