// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/team.h>

#include <pthread.h>

#include <cstring>
#include <thread>
#include <vector>

/**
 * Teams (see kernels/team.h) of real threads, so that what the members of a warp do to each other shows without a GPU:
 * they meet only where the body says so, and scratch memory starts as NaN.
 */
namespace cases
{
  template <int n>
  class ThreadTeam
  {
  public:
    static constexpr int size = n;

    struct Shared
    {
      pthread_barrier_t barrier;
      char              slots[n][16];

      Shared() { pthread_barrier_init(&barrier, nullptr, n); }
      ~Shared() { pthread_barrier_destroy(&barrier); }
    };

    ThreadTeam(Shared &shared, const int member) : shared(shared), member(member) {}

    int  rank() const { return member; }
    void sync() const { pthread_barrier_wait(&shared.barrier); }

    template <typename T>
    T from(const T value, const int other) const
    {
      T result;
      std::memcpy(shared.slots[member], &value, sizeof(T));
      sync();
      std::memcpy(&result, shared.slots[other], sizeof(T));
      sync();
      return result;
    }

    template <typename T>
    T sum(T value) const
    {
      for (int distance = n / 2; distance > 0; distance /= 2)
        value += from(value, member ^ distance);
      return value;
    }

  private:
    Shared   &shared;
    const int member;
  };

  /** body(team, i, scratch) for 0 <= i < n_items, by one team of @p n threads. */
  template <int n, typename Body>
  void run_team(const std::int64_t n_items, const Body &body)
  {
    typename ThreadTeam<n>::Shared shared;
    typename Body::Scratch         scratch;
    std::vector<std::thread>       threads;
    for (int member = 0; member < n; ++member)
      threads.emplace_back([&, member]() {
        const ThreadTeam<n> team(shared, member);
        for (std::int64_t i = 0; i < n_items; ++i)
        {
          team.sync();
          if (member == 0)
            std::memset(static_cast<void *>(&scratch), 0xff, sizeof(scratch));
          team.sync();
          body(team, i, scratch);
        }
      });
    for (std::thread &thread : threads)
      thread.join();
  }
} // namespace cases
