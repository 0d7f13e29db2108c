// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

namespace PatchFEM
{
  /** One line per stage and per few hundred iterations, for a person who waits: only on a terminal. */
  class Progress
  {
  public:
    /** @param enabled False on all but one rank. Nothing is ever printed where standard error is no terminal. */
    explicit Progress(const bool enabled) : enabled(enabled && isatty(STDERR_FILENO)) {}

    void stage(const std::string &name)
    {
      if (enabled)
        std::fprintf(stderr, "  ... %s\n", name.c_str());
    }

    /** Called in every iteration; prints every few hundred. */
    void iteration(const unsigned int step, const double relative_residual)
    {
      if (enabled && step > 0 && step % 300 == 0)
        std::fprintf(stderr, "  ... iteration %u, relative residual %.2e\n", step, relative_residual);
    }

  private:
    bool enabled;
  };
} // namespace PatchFEM
