// SPDX-License-Identifier: LGPL-2.1-or-later
#include "assembly/distinct_values.h"

#include <gtest/gtest.h>

#include <set>

using namespace PatchFEM;

namespace
{
  struct Lists
  {
    std::vector<std::vector<int>> values;

    template <typename Emit>
    void visit(const int i, int, int, const Emit &emit) const
    {
      for (const int value : values[i])
        emit(value);
    }
  };

  std::vector<std::vector<int>> distinct(const Lists &lists)
  {
    const int           n = static_cast<int>(lists.values.size());
    Array<int>          counts(Backend(), n), all;
    Array<std::int64_t> offsets;
    find_distinct(lists, counts, offsets, all);
    std::vector<std::vector<int>> result(n);
    for (int i = 0; i < n; ++i)
    {
      result[i].assign(all.data() + offsets.read(i), all.data() + offsets.read(i + 1));
      EXPECT_EQ(result[i].size(), counts.read(i));
    }
    return result;
  }
} // namespace

TEST(DistinctValuesTest, TinyListsByEye)
{
  EXPECT_EQ(distinct({{{3, 0, 3, 7, 0}, {}, {7}, {2147483647, 0}}}),
            (std::vector<std::vector<int>>{{0, 3, 7}, {}, {7}, {0, 2147483647}}));
}

TEST(DistinctValuesTest, ListsPastTheRankedLengthsAndTheTable)
{
  // Values that share low bits, runs of neighbours, each value several times; long lists between short ones.
  Lists                         lists;
  std::vector<std::vector<int>> expected;
  for (const int n : {31, 32, 33, 5000, 1, 255, 256, 257, 300, 64})
    for (const int step : {1, 4096})
    {
      lists.values.emplace_back();
      for (int k = 0; k < 3 * n; ++k)
        lists.values.back().push_back(static_cast<int>(k * 7919ll % n) * step);
      const std::set<int> values(lists.values.back().begin(), lists.values.back().end());
      expected.emplace_back(values.begin(), values.end());
    }
  EXPECT_EQ(distinct(lists), expected);
}
