// SPDX-License-Identifier: LGPL-2.1-or-later
#include "strategies/all.h"

PATCHFEM_LINK_STRATEGIES(Cuda, PatchFEM::Elasticity<2>);
PATCHFEM_LINK_STRATEGIES(Cuda, PatchFEM::Elasticity<3>);
