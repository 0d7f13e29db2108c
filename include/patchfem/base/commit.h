// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string>

namespace PatchFEM
{
  /** The commit of this library as by `git describe --always --dirty`; `unknown` outside a git working tree. */
  std::string commit();
} // namespace PatchFEM
