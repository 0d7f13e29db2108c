// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/law_host.h>

#include <patchfem/kernels/materials/faces.h>
#include <patchfem/kernels/materials/heat.h>
#include <patchfem/kernels/materials/plasticity.h>
#include <patchfem/kernels/materials/solids.h>

// Uses what stands above.
#include "material_laws.h"
