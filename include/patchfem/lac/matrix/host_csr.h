// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace PatchFEM
{
  /** Scalar rows sorted by column on the host: what formats are made from and written to, for imports and exports. */
  template <typename Number>
  struct HostCSR
  {
    int                       n_rows    = 0;
    int                       n_columns = 0;
    std::vector<std::int64_t> row_offsets; ///< [n_rows + 1]
    std::vector<int>          columns;     ///< [row_offsets[n_rows]]
    std::vector<Number>       values;      ///< [row_offsets[n_rows]]

    /** The next row, of these columns and values; sorts them. */
    void append_row(std::vector<std::pair<int, Number>> &entries)
    {
      std::sort(entries.begin(), entries.end());
      for (const auto &[column, value] : entries)
      {
        columns.push_back(column);
        values.push_back(value);
      }
      row_offsets.push_back(static_cast<std::int64_t>(columns.size()));
    }
  };

  /** The entries of @p rows in the first n_rows columns: of several ranks those of unknowns that this one owns. */
  template <typename Number>
  HostCSR<Number> square_block(const HostCSR<Number> &rows)
  {
    HostCSR<Number> result{rows.n_rows, rows.n_rows, {0}, {}, {}};
    for (int i = 0; i < rows.n_rows; ++i)
    {
      for (std::int64_t e = rows.row_offsets[i]; e < rows.row_offsets[i + 1]; ++e)
        if (rows.columns[e] < rows.n_rows)
        {
          result.columns.push_back(rows.columns[e]);
          result.values.push_back(rows.values[e]);
        }
      result.row_offsets.push_back(static_cast<std::int64_t>(result.columns.size()));
    }
    return result;
  }

  /** Throws Error that names the row unless offsets are monotone, columns in range, sorted, unique, and sizes agree. */
  template <typename Number>
  void check_host_csr(const HostCSR<Number> &matrix);
} // namespace PatchFEM
