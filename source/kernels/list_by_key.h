// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/threads.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace PatchFEM::kernels
{
  /**
   * Lists @p values by key on the host, in each in the order of visit(use), which calls use(key, value) for all of them;
   * @p offsets is [n_keys + 1]. Each thread looks for its share of the keys among all: that moves nothing but the
   * values, where a sort of pairs reads and writes each several times.
   */
  template <typename Offset, typename Visit>
  void list_by_key(const int n_keys, Offset *const offsets, int *const values, const Visit &visit)
  {
    offsets[0] = 0;
    for_shares(n_keys, [&](const std::int64_t begin, const std::int64_t end) {
      std::fill(offsets + begin + 1, offsets + end + 1, Offset(0));
      visit([=](const int key, int) {
        if (key >= begin && key < end)
          ++offsets[key + 1];
      });
    });
    for (int key = 0; key < n_keys; ++key)
      offsets[key + 1] += offsets[key];
    for_shares(n_keys, [&](const std::int64_t begin, const std::int64_t end) {
      std::vector<Offset> next(offsets + begin, offsets + end);
      visit([=, next = next.data()](const int key, const int value) {
        if (key >= begin && key < end)
          values[next[key - begin]++] = value;
      });
    });
  }
} // namespace PatchFEM::kernels
