// SPDX-License-Identifier: LGPL-2.1-or-later
#include "strategies/dummy_form.h"

#include "strategies/all.h"
#include <patchfem/kernels/assembly_host.h>

PATCHFEM_INSTANTIATE_ASSEMBLY(benchmark::DummyForm);
PATCHFEM_LINK_STRATEGIES(Host, benchmark::DummyForm);
