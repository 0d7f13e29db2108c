// SPDX-License-Identifier: LGPL-2.1-or-later
#include "strategy_edges.h"

namespace PatchFEM
{
  StrategyRow strategies::Edges::row()
  {
    return {"edges",
            "each entry of linear simplices is summed over the cells around its edge",
            true,
            Staging::none,
            [](const Backend &backend) { return dispatch(backend, [](auto where) { return make_edges(where); }); },
            [](const StructureEstimate &estimate, const Patches::AdditionalData &) {
              // In 3D a cell has six edges, some 1.4 times in a patch, with 1.2 steps of 4 bytes for each of its cells.
              return 50. * double(estimate.cells.n) + 8. * double(estimate.pattern.n_blocks);
            },
            true,
            [](const ElementTables &tables) {
              return std::all_of(tables.batches.begin(), tables.batches.end(), [](const CellTable &batch) {
                return batch.reference.simplex && batch.reference.degree == 1;
              });
            }};
  }
} // namespace PatchFEM
