// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstdint>
#include <vector>

namespace PatchFEM
{
  /**
   * A sparse matrix in plain host arrays, scalar rows sorted by column: what every format can be made from and
   * written to. For imports, exports and tests; nothing on the way from the mesh to the solution uses it.
   */
  template <typename Number>
  struct HostCSR
  {
    int                       n_rows    = 0;
    int                       n_columns = 0;
    std::vector<std::int64_t> row_offsets; ///< [n_rows + 1]
    std::vector<int>          columns;     ///< [row_offsets[n_rows]]
    std::vector<Number>       values;      ///< [row_offsets[n_rows]]
  };

  /**
   * Throws Error that names the row unless offsets are monotone, columns are in range, sorted and unique, and the
   * sizes of the arrays agree.
   */
  template <typename Number>
  void check_host_csr(const HostCSR<Number> &matrix);
} // namespace PatchFEM
