// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace PatchFEM
{
  /**
   * Puts lists into columns of nearly the same length by the rule of the longest processing time (Graham 1969): from the
   * longest list to the shortest, each goes to the end of the shortest column, the first of those.
   */
  struct ListPacking
  {
    static constexpr int most_columns = 256;

    int           n_columns;
    std::int64_t *columns; ///< [n_columns], a heap of length * most_columns + column

    /** Calls @p put(list, column, row of its first entry) for lists [@p first, @p end); returns the rows they need. */
    template <typename Length, typename Put>
    PATCHFEM_INLINE std::int64_t
                    pack(const std::int64_t first, const std::int64_t end, const Length &length, const Put &put) const
    {
      std::int64_t n_rows = 0;
      for (int column = 0; column < n_columns; ++column)
        columns[column] = column;
      for (std::int64_t longest = INT64_MAX, next; longest > 0; longest = next)
      {
        next = 0; // the longest of the shorter ones
        for (std::int64_t list = first; list < end; ++list)
        {
          const std::int64_t n = length(list), row = columns[0] / most_columns;
          if (n < longest)
            next = n > next ? n : next;
          if (n != longest)
            continue;
          put(list, static_cast<int>(columns[0] % most_columns), row);
          n_rows = row + n > n_rows ? row + n : n_rows;
          lengthen_shortest(n);
        }
      }
      return n_rows;
    }

    PATCHFEM_INLINE void lengthen_shortest(const std::int64_t n) const
    {
      const std::int64_t key = columns[0] + n * most_columns;
      int                at  = 0;
      for (int child = 1; child < n_columns; child = 2 * at + 1)
      {
        child += child + 1 < n_columns && columns[child + 1] < columns[child];
        if (columns[child] > key)
          break;
        columns[at] = columns[child];
        at          = child;
      }
      columns[at] = key;
    }
  };

  /** Lists in columns: entry k of column t is at k * n_columns + t; columns are filled up with zeros. */
  struct ListsInColumns
  {
    int              n_columns;
    std::vector<int> entries;
  };

  /** Lists of numbers, one behind the other. */
  struct ListsInARow
  {
    std::vector<int> entries, offsets{0};

    void end_list() { offsets.push_back(static_cast<int>(entries.size())); }

    /**
     * The lists in columns. As the height is at least that of the longest list, there are only as many, in warps of 32,
     * as make the others as long.
     */
    ListsInColumns in_columns() const
    {
      const auto length  = [&](const std::int64_t list) { return offsets[list + 1] - offsets[list]; };
      const int  n_lists = static_cast<int>(offsets.size()) - 1, n = static_cast<int>(entries.size());
      int        longest = 1;
      for (int list = 0; list < n_lists; ++list)
        longest = std::max(longest, length(list));
      ListsInColumns result{std::clamp((n + 32 * longest - 1) / (32 * longest), 1, ListPacking::most_columns / 32) * 32,
                            {}};
      std::vector<std::int64_t> columns(result.n_columns);
      ListPacking{result.n_columns, columns.data()}.pack(
          0, n_lists, length, [&](const std::int64_t list, const int column, const std::int64_t row) {
            result.entries.resize(std::max(result.entries.size(), std::size_t(row + length(list)) * result.n_columns));
            for (int k = 0; k < length(list); ++k)
              result.entries[std::size_t(row + k) * result.n_columns + column] = entries[offsets[list] + k];
          });
      return result;
    }
  };
} // namespace PatchFEM
