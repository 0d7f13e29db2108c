// SPDX-License-Identifier: LGPL-2.1-or-later
#include "assembly.cuh"
#include "strategies/dummy_form.h"

#include "strategies/all.h"

PATCHFEM_INSTANTIATE_ASSEMBLY(benchmark::DummyForm);
PATCHFEM_LINK_STRATEGIES(Cuda, benchmark::DummyForm);
