// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_law_host_h
#define patchfem_kernels_law_host_h

#include <patchfem/kernels/law_bodies.h>

/** Compiles the host kernels of a law. */
#define PATCHFEM_INSTANTIATE_LAW(Law) PATCHFEM_INSTANTIATE_LAW_ON(Host, Law)

#endif
