// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/threads.h>

#include <gtest/gtest.h>

#include <new>
#include <vector>

using namespace PatchFEM;

TEST(Threads, SharesCoverAllOnce)
{
  for (const int n : {0, 1, 2, 31, 1000})
  {
    std::vector<int> seen(n, 0);
    for_shares(n, [&](const std::int64_t begin, const std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        ++seen[i];
    });
    for (const int piece : {1, 16})
      for_pieces(n, piece, [&](const auto &next) { next([&](const std::int64_t i) { ++seen[i]; }); });
    parallel_for(n, [&](const std::int64_t i) { ++seen[i]; });
    EXPECT_EQ(seen, std::vector<int>(n, 4)) << n;
  }
}

TEST(Threads, ExceptionsLeaveParallelRegions)
{
  const auto out_of_memory = [](auto &&...) { throw std::bad_alloc(); };
  EXPECT_THROW(on_all_threads(out_of_memory), std::bad_alloc);
  EXPECT_THROW(for_shares(100, out_of_memory), std::bad_alloc);
  EXPECT_THROW(for_pieces(100, 1, out_of_memory), std::bad_alloc);
}

TEST(Threads, TheFirstExceptionIsThrown)
{
  for (int repetition = 0; repetition < 20; ++repetition)
    try
    {
      parallel_for(1000, [](const std::int64_t i) {
        if (i % 300 == 17)
          throw i;
      });
      FAIL();
    }
    catch (const std::int64_t i)
    {
      EXPECT_EQ(i, 17);
    }
}
