// SPDX-License-Identifier: LGPL-2.1-or-later
#include "solid.h"

int main(int argc, char **argv)
{
  PatchFEM::SolidApplication application;
  return PatchFEM::application_main(argc, argv, application);
}
