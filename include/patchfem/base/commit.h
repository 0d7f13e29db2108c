// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string>

namespace PatchFEM
{
  /**
   * The commit this library was built from, as `git describe --always --dirty` gives it; `unknown` outside a
   * git working tree. Reports and benchmark results carry it.
   */
  std::string commit();
} // namespace PatchFEM
