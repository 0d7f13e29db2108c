// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/nccl_library.h"

#include <patchfem/base/graph.h>
#include <patchfem/base/rank_group.h>
#include <patchfem/lac/vector.h>
#include <patchfem/mpi/mpi_communicator.h>
#include <patchfem/mpi/mpi_rank_group.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <set>

using namespace PatchFEM;

namespace
{
  /** Owners of devices, real ones if there are several; else of emulated ones, or ranks by themselves. */
  struct Owners
  {
    Backend                             backend;
    std::shared_ptr<const Communicator> ranks;
  };

  Owners owners(const std::string &name)
  {
    const Backend backend = backend_of_ranks(name, MPI_COMM_WORLD);
    return {backend, backend.group() == nullptr ? MPICommunicator::of(MPI_COMM_WORLD) : backend.group()->owners()};
  }

  int n_owned(const int rank)
  {
    return 700 + 301 * rank; // past the things of a block of threads, and no multiple of a warp
  }

  /** Entry @p c of thing @p i of a rank, at a time. */
  template <typename Number>
  Number entry(const int rank, const int i, const int c, const int time)
  {
    return static_cast<Number>(std::sin(1. + rank + 7. * i + 0.3 * c + time));
  }

  /** Of each other rank every (2 + rank)-th thing; @p one_way: the last rank wants nothing of the first, which does of it. */
  std::shared_ptr<const Partitioner> partitioner(const std::shared_ptr<const Communicator> &ranks,
                                                 const bool                                 one_way = false)
  {
    std::vector<Partitioner::Ghost> ghosts;
    for (int rank = 0; rank < ranks->size(); ++rank)
      if (rank != ranks->rank() && !(one_way && rank == 0 && ranks->rank() == ranks->size() - 1))
        for (int i = ranks->rank(); i < n_owned(rank); i += 2 + rank)
          ghosts.push_back({rank, i});
    return std::make_shared<const Partitioner>(ranks, n_owned(ranks->rank()), std::move(ghosts));
  }

  template <typename Number>
  std::vector<Number> values(const Partitioner &things, const int width, const int time)
  {
    const int           own = things.communicator().rank();
    std::vector<Number> result;
    for (int i = 0; i < things.n_local(); ++i)
      for (int c = 0; c < width; ++c)
      {
        const bool is_ghost = i >= things.n_owned();
        const auto ghost    = is_ghost ? things.ghosts()[i - things.n_owned()] : Partitioner::Ghost{own, i};
        result.push_back(entry<Number>(ghost.rank, ghost.index, c, time));
      }
    return result;
  }

  template <typename Number>
  void check_ghosts(const Owners &on, const int width, const bool one_way = false)
  {
    const auto things = partitioner(on.ranks, one_way);
    for (int time = 0; time < 20; ++time)
    {
      const std::vector<Number> expected = values<Number>(*things, width, time);
      std::vector<Number>       given    = expected;
      std::fill(given.begin() + things->n_owned() * width, given.end(), std::numeric_limits<Number>::quiet_NaN());
      Array<Number> x(on.backend, given);
      if (time == 10)
        things->release(); // and so it is made again
      if (time % 3 == 0)
        things->start_and_finish(on.backend, x.data(), width * sizeof(Number));
      else
      {
        things->start(on.backend, x.data(), width * sizeof(Number));
        things->finish(on.backend, x.data(), width * sizeof(Number));
      }
      EXPECT_EQ(x.to_vector(), expected) << "of " << width << " numbers of " << sizeof(Number) << " bytes, " << time;
    }
  }

  void check_sums(const Owners &on)
  {
    const auto things = partitioner(on.ranks);
    for (int time = 0; time < 50; ++time)
    {
      const double  part = std::cos(3. * on.ranks->rank() + time);
      Array<double> numbers(on.backend, std::vector<double>{part, -2. * part, 5.});
      double        expected[2] = {0., 0.};
      for (int rank = 0; rank < on.ranks->size(); ++rank)
      {
        expected[0] += std::cos(3. * rank + time);
        expected[1] += -2. * std::cos(3. * rank + time);
      }
      const int n = 1 + time % 2;
      things->sum(on.backend, numbers.data(), n);
      EXPECT_EQ(numbers.to_vector(), (std::vector<double>{expected[0], n > 1 ? expected[1] : -2. * part, 5.}));
    }
  }

  /** x becomes 2 x with ghosts, again and again, beside a sum of each. */
  void check_graph(const Owners &on)
  {
    const auto     things = partitioner(on.ranks);
    Vector<double> x;
    x.reinit(on.backend, things, 3);
    const std::vector<double> start = values<double>(*things, 3, 0);
    x.copy_from_host({start.begin(), start.begin() + things->n_owned() * 3});
    Array<double> number(on.backend, std::vector<double>{1.});
    const auto    step = [&] {
      x *= 2.;
      x.update_ghosts();
      things->sum(on.backend, number.data(), 1);
    };
    step();
    EXPECT_EQ(things->can_be_recorded(on.backend),
              std::set<std::string>({"peer", "nccl"}).count(transport_of(*on.ranks, on.backend)->name()) == 1);
    if (!things->can_be_recorded(on.backend))
      return;
    Graph     graph(on.backend, step);
    const int n = 1000;
    for (int i = 1; i < n; ++i)
    {
      graph.launch();
      if (i % 500 == 0) // 2^500 is still far from overflow
        x *= std::ldexp(1., -500);
    }
    std::vector<double> expected = start;
    for (double &value : expected)
      value = std::ldexp(value, n - 500);
    EXPECT_EQ(x.array().to_vector(), expected);
    EXPECT_EQ(number.read(0), std::pow(double(on.ranks->size()), n));
  }

  void check_all(const std::string &name)
  {
    const Owners on = owners(name);
    if (on.ranks == nullptr)
      return;
    for (const int width : {1, 2, 3, 6, 36})
    {
      check_ghosts<float>(on, width);
      check_ghosts<double>(on, width);
      check_ghosts<double>(on, width, true);
    }
    if (const char *const wanted = std::getenv("PATCHFEM_TRANSPORT"); wanted != nullptr && name == "cuda")
    {
      EXPECT_EQ(transport_of(*on.ranks, on.backend)->name(), wanted);
      const std::string said = on.backend.group()->description();
      EXPECT_NE(said.find(text_of("exchange by ", wanted)), std::string::npos) << said;
    }
    check_sums(on);
    check_graph(on);
  }

  TEST(Transport, GhostsAndSums)
  {
    check_all("host");
    check_all("emulated_device");
  }

  TEST(TransportOfDevices, GhostsAndSums)
  {
    if (Backend::cuda_devices().size() < 2)
      GTEST_SKIP() << "fewer than two CUDA devices";
    check_all("cuda");
  }

  /** Places that exchanges have left are used again, also while others still take what they were sent. */
  TEST(TransportOfDevices, ManyExchangesOneAfterTheOther)
  {
    if (Backend::cuda_devices().size() < 2)
      GTEST_SKIP() << "fewer than two CUDA devices";
    const Owners on = owners("cuda");
    if (on.ranks != nullptr)
      for (int i = 0; i < 200; ++i)
        check_ghosts<double>(on, 1 + i * 7 % 30);
  }

  /** Nor does anything wait in between: inboxes go to the next exchange while devices have not yet begun the last one. */
  void check_without_waiting(const Owners &on)
  {
    constexpr int                                   n = 100;
    std::vector<std::shared_ptr<const Partitioner>> things;
    std::vector<std::vector<double>>                expected;
    std::vector<Array<double>>                      x;
    const auto                                      width = [](const int i) { return 1 + i * 7 % 30; };
    for (int i = 0; i < n; ++i)
    {
      things.push_back(partitioner(on.ranks, i % 3 == 0));
      expected.push_back(values<double>(*things[i], width(i), i));
      std::vector<double> given = expected[i];
      std::fill(given.begin() + things[i]->n_owned() * width(i), given.end(), -1.);
      x.emplace_back(on.backend, given);
    }
    const Array<char> from(on.backend, 1 << 23);
    Array<char>       to(on.backend, from.size());
    for (int i = 0; i < n; ++i)
    {
      for (int time = 0; time < 1 + i % 4; ++time)
      {
        things[i]->start(on.backend, x[i].data(), width(i) * sizeof(double));
        for (int k = 0; k < 10 && i % on.ranks->size() == on.ranks->rank(); ++k) // this one comes late
          memory::copy(on.backend, to.data(), on.backend, from.data(), from.size());
        things[i]->finish(on.backend, x[i].data(), width(i) * sizeof(double));
      }
      things[i] = nullptr;
    }
    for (int i = 0; i < n; ++i)
      EXPECT_EQ(x[i].to_vector(), expected[i]) << "of exchange " << i;
  }

  TEST(TransportOfDevices, InboxesWithoutWaiting)
  {
    if (Backend::cuda_devices().size() < 2)
      GTEST_SKIP() << "fewer than two CUDA devices";
    if (const Owners on = owners("cuda"); on.ranks != nullptr)
      check_without_waiting(on);
  }

  /** Ranks as on machines of their own. */
  class Apart : public Communicator
  {
  public:
    explicit Apart(const Communicator &together) : all(together) {}

    int  rank() const override { return all.rank(); }
    int  size() const override { return all.size(); }
    int  machine() const override { return all.rank(); }
    void sum(double *values, int n) const override { all.sum(values, n); }
    void sum(std::int64_t *values, int n) const override { all.sum(values, n); }
    void maximum(std::int64_t *values, int n) const override { all.maximum(values, n); }

    std::vector<Bytes>   all_gather(const Bytes &bytes) const override { return all.all_gather(bytes); }
    std::map<int, Bytes> exchange(const std::map<int, Bytes> &messages) const override
    {
      return all.exchange(messages);
    }
    std::unique_ptr<Channel> channel(const std::vector<Link> &sends, const std::vector<Link> &receives) const override
    {
      return all.channel(sends, receives);
    }

  private:
    const Communicator &all;
  };

  /** What ranks choose if nobody says so, and what they cannot have. */
  TEST(TransportOfDevices, DependsOnMachines)
  {
    if (Backend::cuda_devices().size() < 2)
      GTEST_SKIP() << "fewer than two CUDA devices";
    const Owners on = owners("cuda");
    if (on.ranks == nullptr)
      return;
    const char *const before = std::getenv("PATCHFEM_TRANSPORT");
    const std::string wanted = before != nullptr ? before : "";
    const auto        choice = [&](const Communicator &ranks, const std::string &name) {
      name.empty() ? unsetenv("PATCHFEM_TRANSPORT") : setenv("PATCHFEM_TRANSPORT", name.c_str(), 1);
      ranks.device_transport = nullptr;
      return transport_of(ranks, on.backend);
    };
    const Apart apart(*on.ranks);
    const auto  on_one = choice(*on.ranks, ""), on_several = choice(apart, "");
    EXPECT_EQ(on_one->name(), "peer") << on_one->reason;
    std::string missing;
    const bool  there = NcclLibrary::find("libnccl.so.2", missing) != nullptr;
    EXPECT_EQ(on_several->name(), there ? "nccl" : "mpi") << on_several->reason;
    EXPECT_EQ(on_several->reason.empty(), there);
    EXPECT_THROW(choice(apart, "peer"), Error);
    EXPECT_THROW(choice(apart, "quick"), Error);
    EXPECT_THROW(choice(*on.ranks, on.ranks->rank() == 0 ? "mpi" : "peer"), Error);
    choice(*on.ranks, wanted);
  }

  /** Ranks that do not let backend_of_ranks() share a device out. */
  TEST(TransportOfOneDevice, IsSaidToBeSlow)
  {
    const auto ranks = MPICommunicator::of(MPI_COMM_WORLD);
    if (Backend::cuda_devices().size() != 1 || ranks->size() < 2)
      GTEST_SKIP() << "not a single CUDA device for several ranks";
    const Owners on{Backend("cuda"), ranks};
    testing::internal::CaptureStderr();
    EXPECT_EQ(transport_of(*ranks, on.backend)->name(), "mpi");
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("ranks have the same GPU") != std::string::npos, ranks->rank() == 0) << said;
    check_ghosts<double>(on, 3);
    check_sums(on);
  }
} // namespace
