// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_applications_laplace_h
#define patchfem_applications_laplace_h

#include <patchfem/app/diffusion_physics.h>

namespace PatchFEM
{
  /** Poisson's equation and heat conduction: DiffusionParameters with K in `Coefficient` and r in `Reaction`. */
  struct LaplaceParameters : public DiffusionParameters
  {
    LaplaceParameters() : DiffusionParameters({"laplace", "Coefficient", "Reaction", "0", false}) {}
  };
} // namespace PatchFEM

#endif
