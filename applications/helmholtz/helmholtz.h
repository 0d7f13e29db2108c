// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_applications_helmholtz_h
#define patchfem_applications_helmholtz_h

#include <patchfem/app/diffusion_physics.h>

namespace PatchFEM
{
  /**
   * -div(sigma grad u) + lambda u = f with lambda > 0, the problem of P3, section 2: DiffusionParameters with K in `Sigma`
   * and r in `Lambda`. Where no condition is given nothing flows through the boundary, and none is needed anywhere.
   */
  struct HelmholtzParameters : public DiffusionParameters
  {
    HelmholtzParameters() : DiffusionParameters({"helmholtz", "Sigma", "Lambda", "1", true}) {}
  };
} // namespace PatchFEM

#endif
