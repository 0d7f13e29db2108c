// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/assembly_strategy.h>
#include <patchfem/strategies/all.h>

namespace PatchFEM
{
  namespace
  {
    [[maybe_unused]] const bool linked = std::apply(
        [](const auto... strategy) {
          (linked_strategies().push_back(decltype(strategy)::row()), ...);
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
PATCHFEM_LINK_STRATEGIES(Host, PatchFEM::ElasticityMeanDilatation<2>);
PATCHFEM_LINK_STRATEGIES(Host, PatchFEM::ElasticityMeanDilatation<3>);
