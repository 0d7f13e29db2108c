// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/face_pass_bodies.h>
#include <patchfem/kernels/point_pass_bodies.h>

/** Compiles the host kernels of a law. */
#define PATCHFEM_INSTANTIATE_LAW(Law) PATCHFEM_INSTANTIATE_LAW_ON(Host, Law)
