// SPDX-License-Identifier: LGPL-2.1-or-later
#include "law.cuh"

#include <patchfem/kernels/materials/faces.h>
#include <patchfem/kernels/materials/heat.h>
#include <patchfem/kernels/materials/plasticity.h>
#include <patchfem/kernels/materials/solids.h>

// Uses what stands above.
#include "assembly/material_laws.h"
