// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string>

namespace PatchFEM
{
  /** Whether the name says that a file is compressed: it ends in `.gz`. */
  bool is_compressed(const std::string &file_name);

  /**
   * The content of a file, uncompressed if it is_compressed(). Throws Error if it cannot be opened, is empty or no
   * file, or is no whole gzip file though it should be; @p what begins the sentence, `The mesh file 'wheel.msh'`.
   */
  std::string read_input_file(const std::string &file_name, const std::string &what);
} // namespace PatchFEM
