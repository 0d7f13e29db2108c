// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/sort_distinct.h"

#include <patchfem/base/array.h>
#include <patchfem/base/threads.h>
#include <patchfem/kernels/primitives.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace PatchFEM
{
  /** The distinct values >= 0 of one list after another: a hash table, never cleared, whose entries name their list. */
  class DistinctValues
  {
  public:
    DistinctValues() { resize(9); }

    void start()
    {
      ++list;
      n = 0;
    }

    void insert(const int value)
    {
      const std::uint64_t entry = list << 32 | static_cast<unsigned int>(value);
      for (std::size_t place = first_place(value); table[place] != entry; place = (place + 1) & (table.size() - 1))
        if (table[place] >> 32 != list)
        {
          table[place] = entry;
          values[n++]  = value;
          if (n == table.size() / 2)
            grow();
          return;
        }
    }

    int size() const { return static_cast<int>(n); }

    /** Writes the values, ascending. */
    void write(int *out)
    {
      if (n <= kernels::most_ranked)
        return kernels::write_by_rank(values.data(), size(), out);
      std::copy_n(values.begin(), n, out);
      std::sort(out, out + n);
    }

  private:
    std::vector<std::uint64_t> table; ///< list << 32 | value
    std::vector<int>           values;
    std::uint64_t              list = 0;
    std::size_t                n    = 0;
    int                        bits = 0;

    /** Multiples of the golden ratio spread runs of neighbouring values. */
    std::size_t first_place(const int value) const
    {
      return (static_cast<unsigned int>(value) * 2654435769u) >> (32 - bits);
    }

    void resize(const int new_bits)
    {
      bits = new_bits;
      table.assign(std::size_t(1) << bits, 0);
      values.resize(table.size() / 2 + kernels::padding_of_ranks);
    }

    void grow()
    {
      const std::vector<int> all(values.begin(), values.begin() + n);
      resize(bits + 1);
      n    = 0;
      list = 1;
      for (const int value : all)
        insert(value);
    }
  };

  /** Calls @p use(i, values) with the distinct values of list i, for 0 <= i < n. */
  template <typename Lists, typename Use>
  void for_distinct(const int n, const Lists &lists, const Use &use)
  {
    for_shares(n, [&](const std::int64_t begin, const std::int64_t end) {
      DistinctValues values;
      for (std::int64_t i = begin; i < end; ++i)
      {
        values.start();
        lists.visit(static_cast<int>(i), 0, 1, [&](const int value) { values.insert(value); });
        use(i, values);
      }
    });
  }

  /**
   * result[offsets[i]...] = the counts[i] distinct values of list i, ascending, for 0 <= i < n = counts.size();
   * lists.visit(i, rank, size, emit) calls @p emit for each value. Lists are visited twice, which takes less time than
   * to keep what they hold. Arrays get the back end of @p counts, whose memory the host follows here.
   */
  template <typename Lists>
  void find_distinct(const Lists &lists, Array<int> &counts, Array<std::int64_t> &offsets, Array<int> &result)
  {
    const int n = static_cast<int>(counts.size());
    for_distinct(n, lists,
                 [out = counts.data()](const std::int64_t i, const DistinctValues &values) { out[i] = values.size(); });
    offsets.reinit(counts.backend(), n + 1);
    kernels::exclusive_scan(Host(), n, counts.data(), offsets.data());
    result.reinit(counts.backend(), offsets.read(n));
    for_distinct(n, lists, [out = result.data(), begin = offsets.data()](const std::int64_t i, DistinctValues &values) {
      values.write(out + begin[i]);
    });
  }
} // namespace PatchFEM
