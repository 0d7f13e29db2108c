// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/message_of.h"
#include "rank_tables.h"

#include <patchfem/assembly/space.h>
#include <patchfem/base/rank_group.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <numeric>

#include <sys/resource.h>
#include <unistd.h>

using namespace PatchFEM;

/** Each case runs on several ranks, as ctest starts this program; devices are emulated ones. */
namespace
{
  /** While it lives, an environment variable has a value. */
  struct Variable
  {
    Variable(const char *name, const std::string &value)
        : name(name), before(std::getenv(name) ? std::getenv(name) : "")
    {
      setenv(name, value.c_str(), 1);
    }
    ~Variable() { before.empty() ? unsetenv(name) : setenv(name, before.c_str(), 1); }

    const char *const name;
    const std::string before;
  };

  Backend backend_on(const int n_devices, const std::size_t window_bytes = std::size_t(1) << 20)
  {
    const Variable devices("PATCHFEM_EMULATED_DEVICES", std::to_string(n_devices));
    const Variable bytes("PATCHFEM_WINDOW_BYTES", std::to_string(window_bytes));
    return backend_of_ranks("emulated_device", MPI_COMM_WORLD);
  }

  class RankGroups : public testing::Test
  {
  protected:
    const std::shared_ptr<const Communicator> all = rank_tables::world();
    const int                                 n = all->size(), me = all->rank();

    void SetUp() override
    {
      if (n == 1)
        GTEST_SKIP() << "nobody to share with";
    }
  };

  TEST_F(RankGroups, AreNeighboursInEqualShares)
  {
    for (int n_devices = 1; n_devices <= 7; ++n_devices)
    {
      const Backend    backend  = backend_on(n_devices);
      const RankGroup &group    = *backend.group();
      const int        n_groups = std::min(n, n_devices);
      EXPECT_EQ(int(group.groups().size()), n_groups);
      int next = 0;
      for (const RankGroup::Share &share : group.groups())
      {
        EXPECT_GE(int(share.ranks.size()), n / n_groups);
        EXPECT_LE(int(share.ranks.size()), (n + n_groups - 1) / n_groups);
        for (const int rank : share.ranks)
        {
          EXPECT_EQ(rank, next++);
          EXPECT_EQ(group.groups()[group.group_of()[rank]].device, share.device);
        }
      }
      EXPECT_EQ(next, n);
      EXPECT_EQ(group.is_owner(), group.groups()[group.group_of()[me]].ranks[0] == me);
      EXPECT_EQ(backend.kind(), group.is_owner() ? BackendKind::emulated_device : BackendKind::host);
      EXPECT_EQ(group.owners() != nullptr, group.is_owner() && n_groups > 1);
      EXPECT_EQ(group.description().find("idle") != std::string::npos, n_devices > n) << group.description();
      group.connect(); // which emulated devices need not
      EXPECT_EQ(group.description().find("exchange by"), std::string::npos) << group.description();
    }
  }

  TEST_F(RankGroups, NeedDevicesAndRoom)
  {
    EXPECT_EQ(backend_of_ranks("host", MPI_COMM_WORLD).group(), nullptr);
    EXPECT_NE(message_of([] { backend_of_ranks("abacus", MPI_COMM_WORLD); }).find("'abacus'"), std::string::npos);
    {
      const Variable devices("PATCHFEM_EMULATED_DEVICES", "2x");
      EXPECT_NE(message_of([] { backend_of_ranks("emulated_device", MPI_COMM_WORLD); }).find("'2x'"),
                std::string::npos);
    }
    const Backend     too_small = backend_on(1, 100);
    const std::string message   = message_of([&] { too_small.group()->gather(std::vector<int>{1}); });
    EXPECT_NE(message.find(text_of("at least ", 4096 * (n - 1), " bytes, but 100 are there")), std::string::npos)
        << message;
    // The variable that says which devices CUDA shows need not be the same on all ranks.
    const Variable visible("CUDA_VISIBLE_DEVICES", me == 0 ? "0" : "0,1");
    const auto     twice = message_of([] { backend_on(1); });
    EXPECT_NE(twice.find("has another CUDA_VISIBLE_DEVICES than other ranks"), std::string::npos) << twice;
  }

  /** Lists of all lengths, in one piece and in many. */
  TEST_F(RankGroups, GatherAndScatterLists)
  {
    for (const int n_devices : {1, 2})
      for (const std::size_t window : {std::size_t(1) << 20, std::size_t(4096) * n})
      {
        const RankGroup &group = *backend_on(n_devices, window).group();
        const auto      &share = group.groups()[group.group_of()[me]].ranks;
        const auto       list  = [](const int rank, const int length) {
          std::vector<double> values(std::size_t(length) * rank * rank * (rank + 1 < 3 ? 1 : rank - 1));
          std::iota(values.begin(), values.end(), 1000. * rank);
          return values;
        };
        for (const int length : {0, 1, 500, 7777})
        {
          std::vector<double> expected;
          for (const int rank : share)
            for (const double value : list(rank, length))
              expected.push_back(value);
          const std::vector<double> own = list(me, length), collected = group.gather(own);
          EXPECT_EQ(collected, group.is_owner() ? expected : std::vector<double>());
          EXPECT_EQ(group.scatter(collected, own.size()), own);
        }
        EXPECT_GT(group.statistics().bytes, share.size() > 1 && share.back() > 0 ? 1. : -1.);
        EXPECT_LE(group.statistics().window_bytes, double(window));
      }
  }

  TEST_F(RankGroups, WorkOnTheirOwners)
  {
    for (const int n_devices : {1, 2, 3})
    {
      const Backend    backend = backend_on(n_devices);
      const RankGroup &group   = *backend.group();
      const int        owner   = group.groups()[group.group_of()[me]].ranks[0];
      int              n_calls = 0;
      on_owner(backend, [&] { on_owner(backend, [&] { ++n_calls; }); });
      EXPECT_EQ(n_calls, me == owner ? 1 : 0);
      on_owner_then_members(backend, [&] { ++n_calls; });
      EXPECT_EQ(n_calls, me == owner ? 2 : 1);
      EXPECT_EQ(broadcast(backend, 1. + me), 1. + owner);
      std::vector<int> values(me, me);
      values = group.broadcast(std::move(values));
      EXPECT_EQ(values, std::vector<int>(owner, owner));
    }
  }

  /** Whatever the owner throws is thrown on all, and nobody waits for what does not come. */
  TEST_F(RankGroups, ShareErrors)
  {
    const Backend backend = backend_on(1);
    EXPECT_EQ(message_of([&] { on_owner(backend, [&] { throw Error("It failed on rank ", me, "."); }); }),
              "It failed on rank 0.");
    EXPECT_THROW(on_owner(backend, [] { throw NotPositiveDefinite("The matrix is not."); }), NotPositiveDefinite);
    EXPECT_THROW(on_owner(backend, [] { throw StepFailure("The law fails."); }), StepFailure);
    const auto of_library = [&] { on_owner(backend, [] { throw std::runtime_error("Its sentence."); }); };
    if (me == 0)
      EXPECT_THROW(of_library(), std::runtime_error);
    else
      EXPECT_EQ(message_of(of_library), "Rank 0: Its sentence.");
    EXPECT_EQ(broadcast(backend, me), 0);
  }

  /** The owner has no room for what it gathers from its members. */
  TEST_F(RankGroups, ShareWantOfMemory)
  {
    const RankGroup &group = *backend_on(1).group();
    group.gather(std::vector<int>{1}); // which makes windows
    const std::vector<char> own(group.is_owner() ? 0 : 72 << 20);
    rlimit                  limit{};
    getrlimit(RLIMIT_AS, &limit);
    if (group.is_owner())
    {
      std::size_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      const rlimit less{pages * sysconf(_SC_PAGESIZE) + (32 << 20), limit.rlim_max};
      setrlimit(RLIMIT_AS, &less);
    }
    const std::string message = message_of([&] { group.gather(own); });
    setrlimit(RLIMIT_AS, &limit);
    EXPECT_NE(message.find("Memory ran out on rank 0"), std::string::npos) << message;
  }

  /** A field that has the wrong length on one rank, member or owner. */
  TEST_F(RankGroups, RefuseFieldsOfOneRank)
  {
    for (const int n_devices : {1, 2}) // ranks of another group are told as well
    {
      const Backend       backend = backend_on(n_devices);
      const ElementTables tables  = synthetic::cube_of_hexahedra(3, 1);
      const Space         space(backend, rank_tables::part(tables, rank_tables::owners(tables, n), all));
      for (const int rank : {0, n - 1})
      {
        const int           n_values = space.tables().ranks.n_own_cells[0] + (me == rank ? 1000 : 0);
        std::vector<double> values(n_values, 1.);
        const std::string   message =
            message_of([&] { space.with_copies(CoefficientField::by_cell(1, {std::move(values)})); });
        EXPECT_NE(message.find("another number of values"), std::string::npos) << message;
      }
    }
  }

  TEST_F(RankGroups, TakeTablesWithoutIndices)
  {
    for (const int n_devices : {1, 2})
    {
      const Backend       backend = backend_on(n_devices);
      const ElementTables tables  = synthetic::cube_of_hexahedra(3, 1);
      ElementTables       own     = rank_tables::part(tables, rank_tables::owners(tables, n), all);
      own.dof_indices.clear();
      const Space space(backend, own);
      EXPECT_TRUE(space.tables_of_batches().dof_indices.empty());
      EXPECT_EQ(all->sum(space.n_dofs()), tables.n_nodes);
    }
  }
} // namespace
