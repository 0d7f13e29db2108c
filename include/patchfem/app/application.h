// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_app_application_h
#define patchfem_app_application_h

#include <patchfem/app/physics.h>

namespace PatchFEM
{
  /**
   * The main function of an application: starts MPI, reads the command line and the parameter file, runs the
   * problem in the dimension that the file names, and turns errors into one sentence on standard error.
   * @return the exit code, 0 if and only if the run was completed.
   */
  int application_main(int argc, char **argv, PhysicsParameters &physics);
} // namespace PatchFEM

#endif
