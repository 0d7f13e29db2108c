// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace PatchFEM
{
  /**
   * @p text as a message may show it: what no terminal should get, control characters and bytes that are not UTF-8, as
   * \n, \t or \x1b, and of a text that is longer the first @p most bytes and "...".
   */
  std::string printable(std::string_view text, std::size_t most = 60);

  /** What a user wrote, between apostrophes, as all messages show it: printable(). */
  std::string quote(std::string_view text);

  /** The name of a file or folder likewise, of which more is shown, as the end of a path says most. */
  std::string quote_file(std::string_view name);
} // namespace PatchFEM
