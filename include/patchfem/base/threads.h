// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#ifdef _OPENMP
#include <omp.h>
#endif

/**
 * @file
 * OpenMP's threads for work that may throw, as all that allocates may: an exception that leaves a parallel region ends
 * the program. Without OpenMP there is one thread.
 */
namespace PatchFEM
{
  /** The threads that the next parallel region has at most. */
  inline int max_threads()
  {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
  }

  /** Calls @p function(thread, n_threads) on every thread, then throws what the first of them has thrown, if any. */
  template <typename Function>
  void on_all_threads(const Function &function)
  {
    std::mutex         mutex;
    std::exception_ptr exception;
    int                lowest = 0;
    const auto         run    = [&](const int thread, const int n_threads) noexcept {
      try
      {
        function(thread, n_threads);
      }
      catch (...)
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!exception || thread < lowest)
        {
          exception = std::current_exception();
          lowest    = thread;
        }
      }
    };
#ifdef _OPENMP
#pragma omp parallel
    run(omp_get_thread_num(), omp_get_num_threads());
#else
    run(0, 1);
#endif
    if (exception)
      std::rethrow_exception(exception);
  }

  /** Calls @p function(begin, end) for equal shares of [0, n), one for each thread, which may allocate there. */
  template <typename Function>
  void for_shares(const std::int64_t n, const Function &function)
  {
    on_all_threads(
        [&](const int thread, const int n_threads) { function(n * thread / n_threads, n * (thread + 1) / n_threads); });
  }

  /** Calls @p body(i) for all i < @p n in such shares; what is thrown is that of the smallest i for which it does. */
  template <typename Body>
  void parallel_for(const std::int64_t n, const Body &body)
  {
    for_shares(n, [&](const std::int64_t begin, const std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        body(i);
    });
  }

  /**
   * As for_shares(), where parts of [0, n) cost very different times: calls @p function(next) on every thread, and
   * next(body) calls body(i) for pieces of @p piece that no other thread has taken until none is left.
   */
  template <typename Function>
  void for_pieces(const std::int64_t n, const std::int64_t piece, const Function &function)
  {
    std::atomic<std::int64_t> begin{0};
    on_all_threads([&](int, int) {
      function([&](const auto &body) {
        for (std::int64_t first; (first = begin.fetch_add(piece)) < n;)
          for (std::int64_t i = first; i < n && i < first + piece; ++i)
            body(i);
      });
    });
  }
} // namespace PatchFEM
