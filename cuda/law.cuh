// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "parallel_for.cuh"

#include <patchfem/kernels/law_bodies.h>

#define PATCHFEM_INSTANTIATE_LAW(Law) PATCHFEM_INSTANTIATE_LAW_ON(Cuda, Law)
