// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string>

namespace PatchFEM
{
  /** One line per stage and per few hundred iterations, for a person who waits: only on a terminal. */
  class Progress
  {
  public:
    /** @param enabled False on all but one rank. Nothing is ever printed where standard error is no terminal. */
    explicit Progress(bool enabled);

    void stage(const std::string &name);

    /** Called in every iteration; prints every few hundred. */
    void iteration(unsigned int step, double relative_residual);

  private:
    bool enabled;
  };
} // namespace PatchFEM
