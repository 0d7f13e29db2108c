// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/progress.h>

#include <cstdio>
#include <unistd.h>

namespace PatchFEM
{
  Progress::Progress(const bool enabled) : enabled(enabled && isatty(STDERR_FILENO)) {}

  void Progress::stage(const std::string &name)
  {
    if (enabled)
      std::fprintf(stderr, "  ... %s\n", name.c_str());
  }

  void Progress::iteration(const unsigned int step, const double relative_residual)
  {
    if (enabled && step > 0 && step % 300 == 0)
      std::fprintf(stderr, "  ... iteration %u, relative residual %.2e\n", step, relative_residual);
  }
} // namespace PatchFEM
