// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <omp.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace PatchFEM
{
  /**
   * Resizes several empty vectors at once. All threads touch the pages of each, so that the system's zeroing is shared
   * out and pages lie near the threads that fill them; then each vector is set to zero by one thread.
   */
  class ParallelResizer
  {
  public:
    template <typename T>
    void add(std::vector<T> &vector, const std::size_t n)
    {
      vector.reserve(n);
      volatile char    *bytes   = reinterpret_cast<volatile char *>(vector.data());
      const std::size_t n_pages = omp_get_max_threads() > 1 ? (n * sizeof(T) + page_size - 1) / page_size : 0;
#pragma omp parallel for schedule(static)
      for (std::size_t page = 0; page < n_pages; ++page)
        bytes[page * page_size] = 0;
      tasks.emplace_back([&vector, n]() { vector.resize(n); });
    }

    void run()
    {
#pragma omp parallel for schedule(dynamic, 1)
      for (std::size_t task = 0; task < tasks.size(); ++task)
        tasks[task]();
      tasks.clear();
    }

  private:
    static constexpr std::size_t       page_size = 4096;
    std::vector<std::function<void()>> tasks;
  };
} // namespace PatchFEM
