// SPDX-License-Identifier: LGPL-2.1-or-later
#include "strategy_gather.h"

#include <patchfem/strategies/gather.h>

namespace PatchFEM
{
  StrategyRow strategies::Gather::row()
  {
    return {"gather",
            "cell matrices go to a buffer that rows gather from",
            true,
            Staging::chunks,
            [](const Backend &backend) { return dispatch(backend, [](auto where) { return make_gather(where); }); },
            [](const StructureEstimate &estimate, const Patches::AdditionalData &data) {
              // Pairs of rows with cells, and the cells of patches, of which chunks are made.
              return estimate.pair_places_bytes() + 4. * double(estimate.cells.n_pairs) +
                     6. * estimate.n_cells_of_patches(data) + 8. * estimate.n_rows_of_plans();
            }};
  }
} // namespace PatchFEM
