// SPDX-License-Identifier: LGPL-2.1-or-later
#include "elasticity.h"

#include <patchfem/app/application.h>

int main(int argc, char **argv)
{
  PatchFEM::ElasticityParameters parameters;
  return PatchFEM::application_main(argc, argv, parameters);
}
