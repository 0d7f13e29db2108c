// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/strategies/all.h>

PATCHFEM_LINK_STRATEGIES(Cuda, PatchFEM::Elasticity<2>);
PATCHFEM_LINK_STRATEGIES(Cuda, PatchFEM::Elasticity<3>);
PATCHFEM_LINK_STRATEGIES(Cuda, PatchFEM::ElasticityMeanDilatation<2>);
PATCHFEM_LINK_STRATEGIES(Cuda, PatchFEM::ElasticityMeanDilatation<3>);
