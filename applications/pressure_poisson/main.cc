// SPDX-License-Identifier: LGPL-2.1-or-later
#include "pressure_poisson.h"

int main(int argc, char **argv)
{
  PatchFEM::PressureApplication application;
  return PatchFEM::application_main(argc, argv, application);
}
