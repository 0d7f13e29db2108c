// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <cstdint>

namespace PatchFEM::memory
{
  /** For tests: from now on the emulated device has no more than @p bytes, of which in_use() are taken. */
  void limit_emulated_device(std::size_t bytes);

  /** The @p n-th of the arrays that it is asked for from now on does not fit either; 0: none. */
  void refuse_on_emulated_device(std::int64_t n);
} // namespace PatchFEM::memory
