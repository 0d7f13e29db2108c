// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace PatchFEM
{
  /**
   * Writes a file as NAME.part, in place of one that an interrupted run has left, and renames it when it is whole; what
   * had the name until then is replaced at that moment, and a symbolic link is not followed. Throws Error with the
   * system's reason if it cannot be written, and what @p write throws else; neither leaves NAME.part.
   */
  void write_file(const std::string &name, const std::function<void(std::ostream &)> &write);
} // namespace PatchFEM
