// SPDX-License-Identifier: LGPL-2.1-or-later
#include "hp_laplace.h"

#include <patchfem/app/application.h>

int main(int argc, char **argv)
{
  PatchFEM::HpLaplaceParameters parameters;
  return PatchFEM::application_main(argc, argv, parameters);
}
