// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/primitives.h>

#include <omp.h>

#include <algorithm>
#include <memory>
#include <parallel/algorithm>
#include <utility>
#include <vector>

namespace PatchFEM
{
  namespace kernels
  {
    namespace
    {
      template <typename Key, typename Value>
      void sort_pairs(const std::int64_t n, Key *keys, Value *values)
      {
        const std::unique_ptr<std::pair<Key, Value>[]> pairs(new std::pair<Key, Value>[n]);
#pragma omp parallel for schedule(static)
        for (std::int64_t i = 0; i < n; ++i)
          pairs[i] = {keys[i], values[i]};
        const auto by_key = [](const auto &a, const auto &b) { return a.first < b.first; };
        if (!std::is_sorted(pairs.get(), pairs.get() + n, by_key))
          __gnu_parallel::stable_sort(pairs.get(), pairs.get() + n, by_key);
#pragma omp parallel for schedule(static)
        for (std::int64_t i = 0; i < n; ++i)
          std::tie(keys[i], values[i]) = pairs[i];
      }
    } // namespace

    void exclusive_scan(Host, const std::int64_t n, const int *counts, std::int64_t *offsets)
    {
      // Each thread sums one contiguous share, then starts it at the sum of the shares before.
      std::vector<std::int64_t> first(omp_get_max_threads() + 1, 0);
#pragma omp parallel
      {
        const int          t = omp_get_thread_num(), n_threads = omp_get_num_threads();
        const std::int64_t begin = n * t / n_threads, end = n * (t + 1) / n_threads;
        std::int64_t       sum = 0;
        for (std::int64_t i = begin; i < end; ++i)
          sum += counts[i];
        first[t + 1] = sum;
#pragma omp barrier
#pragma omp single
        for (int k = 0; k < n_threads; ++k)
          first[k + 1] += first[k];
        sum = first[t];
        for (std::int64_t i = begin; i < end; ++i)
        {
          offsets[i] = sum;
          sum += counts[i];
        }
#pragma omp single
        offsets[n] = first[n_threads];
      }
    }

    void stable_sort_by_key(Host, const std::int64_t n, std::uint64_t *keys, int *values, int)
    {
      sort_pairs(n, keys, values);
    }

    void stable_sort_by_key(Host, const std::int64_t n, int *keys, std::int64_t *values, int)
    {
      sort_pairs(n, keys, values);
    }

    void sort_segments(Host, std::int64_t, const int n_segments, const std::int64_t *offsets, int *keys)
    {
#pragma omp parallel for schedule(static)
      for (int s = 0; s < n_segments; ++s)
        std::sort(keys + offsets[s], keys + offsets[s + 1]);
    }

    int maximum(Host, const std::int64_t n, const int *values)
    {
      int result = 0;
#pragma omp parallel for schedule(static) reduction(max : result)
      for (std::int64_t i = 0; i < n; ++i)
        result = std::max(result, values[i]);
      return result;
    }
  } // namespace kernels
} // namespace PatchFEM
