// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>

#include <cstdint>

/** @file Scan, sort, select: CUB or the standard library. They allocate on the stream: for structure, not hot loops. */
namespace PatchFEM::kernels
{
  /** offsets[i] = sum of counts[0..i), for 0 <= i <= n: offsets holds n + 1 entries. */
  template <typename Where>
  void exclusive_scan(Where, std::int64_t n, const int *counts, std::int64_t *offsets);

  /**
   * Sorts keys ascending and values with them; equal keys keep their order. Only the lowest @p n_bits of the keys
   * count; the others must be zero. In place. Narrow keys (int) with wide values are sorted on the device alone.
   */
  template <typename Key, typename Value, typename Where>
  void stable_sort_by_key(Where, std::int64_t n, Key *keys, Value *values, int n_bits);

  /** Sorts each segment [offsets[s], offsets[s + 1]) of keys ascending, in place. */
  template <typename Where>
  void sort_segments(Where, std::int64_t n, int n_segments, const std::int64_t *offsets, int *keys);

  /** Largest of n values; 0 if there are none. Waits for the result. */
  template <typename Where>
  int maximum(Where, std::int64_t n, const int *values);
} // namespace PatchFEM::kernels
