// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/diffusion_physics.h>

/**
 * -div(sigma grad u) + lambda u = f with lambda > 0, the problem of P3, section 2: DiffusionApplication with K in
 * `Sigma` and r in `Lambda`. Where no condition is given nothing flows through the boundary; none is needed anywhere.
 */
int main(int argc, char **argv)
{
  PatchFEM::DiffusionApplication application({"helmholtz", "Sigma", "Lambda", "1", true});
  return PatchFEM::application_main(argc, argv, application);
}
