// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/assembly_host.h>
#include <patchfem/kernels/tangent_form.h>

// Uses what stands above.
#include "tangent_forms.h"
