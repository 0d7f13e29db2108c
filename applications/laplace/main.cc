// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/diffusion_physics.h>

/** Poisson's equation and heat conduction: DiffusionApplication with K in `Coefficient` and r in `Reaction`. */
int main(int argc, char **argv)
{
  PatchFEM::DiffusionApplication application({"laplace", "Coefficient", "Reaction", "0", false});
  return PatchFEM::application_main(argc, argv, application);
}
