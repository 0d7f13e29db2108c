// SPDX-License-Identifier: LGPL-2.1-or-later
#include "helmholtz.h"

#include <patchfem/app/application.h>

int main(int argc, char **argv)
{
  PatchFEM::HelmholtzParameters parameters;
  return PatchFEM::application_main(argc, argv, parameters);
}
