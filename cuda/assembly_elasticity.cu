// SPDX-License-Identifier: LGPL-2.1-or-later
#include "assembly.cuh"

PATCHFEM_INSTANTIATE_ASSEMBLY(PatchFEM::Elasticity<2>);
PATCHFEM_INSTANTIATE_ASSEMBLY(PatchFEM::Elasticity<3>);
PATCHFEM_INSTANTIATE_ASSEMBLY(PatchFEM::ElasticityMeanDilatation<2>);
PATCHFEM_INSTANTIATE_ASSEMBLY(PatchFEM::ElasticityMeanDilatation<3>);
