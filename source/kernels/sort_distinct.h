// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <algorithm>

namespace PatchFEM::kernels
{
  /// Values that write_by_rank() reads behind the last one, and how many it takes.
  constexpr int padding_of_ranks = 32, most_ranked = 256;

  /**
   * Writes @p n <= most_ranked different @p values to @p out, ascending: how many are smaller says where one belongs, and
   * no step depends on the values.
   */
  inline void write_by_rank(const int *const values, const int n, int *const out)
  {
    constexpr int width = padding_of_ranks;
    for (int first = 0; first < n; first += width)
    {
      int smaller[width] = {};
      for (int k = 0; k < n; ++k)
        for (int l = 0; l < width; ++l)
          smaller[l] += values[k] < values[first + l];
      for (int l = 0; l < width && first + l < n; ++l)
        out[smaller[l]] = values[first + l];
    }
  }

  /** The same for any @p n; @p values are sorted, too, or not. */
  inline void sort_distinct(int *const values, const int n, int *const out)
  {
    if (n <= most_ranked)
      return write_by_rank(values, n, out);
    std::sort(values, values + n);
    std::copy_n(values, n, out);
  }
} // namespace PatchFEM::kernels
