// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

namespace PatchFEM
{
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
     * The lists in columns of nearly the same length by the rule of the longest processing time (Graham 1969): from the
     * longest list to the shortest, each goes to the end of the shortest column, the first of those. As the height is
     * at least that of the longest list, there are only as many, in warps of 32, as make the others as long; and
     * @p most_columns at most.
     */
    ListsInColumns in_columns(const int most_columns) const
    {
      const auto       length = [&](const int list) { return offsets[list + 1] - offsets[list]; };
      std::vector<int> order(offsets.size() - 1);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](const int a, const int b) { return length(a) > length(b); });
      const int a_column = order.empty() ? 1 : length(order[0]), n = static_cast<int>(entries.size());

      ListsInColumns result{std::max(1, std::min(most_columns / 32, (n + 32 * a_column - 1) / (32 * a_column))) * 32,
                            {}};
      using Column = std::pair<int, int>; // length, number
      std::priority_queue<Column, std::vector<Column>, std::greater<Column>> columns;
      for (int t = 0; t < result.n_columns; ++t)
        columns.emplace(0, t);
      for (const int list : order)
      {
        auto [used, t] = columns.top();
        columns.pop();
        const auto end = std::size_t(used + length(list)) * result.n_columns;
        result.entries.resize(std::max(result.entries.size(), end), 0);
        for (int k = offsets[list]; k < offsets[list + 1]; ++k)
          result.entries[std::size_t(used++) * result.n_columns + t] = entries[k];
        columns.emplace(used, t);
      }
      return result;
    }
  };
} // namespace PatchFEM
