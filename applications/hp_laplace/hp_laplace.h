// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_applications_hp_laplace_h
#define patchfem_applications_hp_laplace_h

#include <patchfem/app/diffusion_physics.h>

namespace PatchFEM
{
  /**
   * P1's problem: Poisson's equation in hp spaces, where smoothness of the solution chooses between smaller cells and
   * higher degrees. Its parameter files let conjugate gradients check themselves with a known solution (Solver/Check).
   */
  struct HpLaplaceParameters : public DiffusionParameters
  {
    HpLaplaceParameters() : DiffusionParameters({"hp_laplace", "Coefficient", "Reaction", "0", false}) {}
  };
} // namespace PatchFEM

#endif
