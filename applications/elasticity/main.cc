// SPDX-License-Identifier: LGPL-2.1-or-later
#include "elasticity.h"

int main(int argc, char **argv)
{
  PatchFEM::ElasticityApplication application;
  return PatchFEM::application_main(argc, argv, application);
}
