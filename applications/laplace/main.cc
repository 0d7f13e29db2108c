// SPDX-License-Identifier: LGPL-2.1-or-later
#include "laplace.h"

#include <patchfem/app/application.h>

int main(int argc, char **argv)
{
  PatchFEM::LaplaceParameters parameters;
  return PatchFEM::application_main(argc, argv, parameters);
}
