// SPDX-License-Identifier: LGPL-2.1-or-later
#include "assembly.cuh"

PATCHFEM_INSTANTIATE_ASSEMBLY(PatchFEM::Diffusion<2>);
PATCHFEM_INSTANTIATE_ASSEMBLY(PatchFEM::Diffusion<3>);
