// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dummy_form.h"

#include <patchfem/kernels/assembly_host.h>
#include <patchfem/strategies/all.h>

PATCHFEM_INSTANTIATE_ASSEMBLY(benchmark::DummyForm);
PATCHFEM_LINK_STRATEGIES(Host, benchmark::DummyForm);
