// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>

namespace PatchFEM::memory
{
  /** For tests: from now on the emulated device has no more than @p bytes, of which in_use() are taken. */
  void limit_emulated_device(std::size_t bytes);
} // namespace PatchFEM::memory
