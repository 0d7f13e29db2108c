// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/material_law.h>
#include <patchfem/kernels/materials/plasticity.h>
#include <patchfem/kernels/materials/solids.h>
#include <patchfem/kernels/reduced_dimension.h>
