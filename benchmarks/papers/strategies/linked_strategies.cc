// SPDX-License-Identifier: LGPL-2.1-or-later
#include "strategies/all.h"

#include <patchfem/assembly/assembly_strategy.h>

namespace PatchFEM
{
  namespace
  {
    [[maybe_unused]] const bool added = std::apply(
        [](const auto... strategy) {
          add_strategies({decltype(strategy)::row()...});
          return true;
        },
        LinkedStrategies());
  }
} // namespace PatchFEM

PATCHFEM_LINK_STRATEGIES(Host, PatchFEM::Laplace<2>);
PATCHFEM_LINK_STRATEGIES(Host, PatchFEM::Laplace<3>);
PATCHFEM_LINK_STRATEGIES(Host, PatchFEM::Diffusion<2>);
PATCHFEM_LINK_STRATEGIES(Host, PatchFEM::Diffusion<3>);
PATCHFEM_LINK_STRATEGIES(Host, PatchFEM::Elasticity<2>);
PATCHFEM_LINK_STRATEGIES(Host, PatchFEM::Elasticity<3>);
