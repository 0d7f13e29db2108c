// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/jacobi_steps.h"

namespace PatchFEM
{
  namespace kernels
  {
    PATCHFEM_INSTANTIATE_JACOBI(Host)
  }
} // namespace PatchFEM
