// SPDX-License-Identifier: LGPL-2.1-or-later
#include "strategy_patches.h"

#include <patchfem/strategies/patches.h>

namespace PatchFEM
{
  StrategyRow strategies::Patches::row()
  {
    return {"patches",
            "each patch of rows integrates all cells that touch it",
            true,
            Staging::none,
            [](const Backend &backend) { return dispatch(backend, [](auto where) { return make_patches(where); }); },
            [](const StructureEstimate &estimate, const PatchFEM::Patches::AdditionalData &data) {
              return estimate.places_bytes(data);
            }};
  }
} // namespace PatchFEM
