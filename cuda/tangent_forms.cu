// SPDX-License-Identifier: LGPL-2.1-or-later
#include "assembly.cuh"

#include <patchfem/kernels/tangent_form.h>

// Uses what stands above.
#include "assembly/tangent_forms.h"
