// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "parallel_for.cuh"

#include "kernels/run.h"
#include <patchfem/kernels/primitives.h>

namespace PatchFEM
{
  namespace
  {
    /**
     * The different values of each segment [segments[s], segments[s + 1]) of @p values, which are not negative and become
     * sorted: how many, where those of a segment start, and they themselves, ascending.
     */
    Array<int> unique_of_segments(const int            n_segments,
                                  const std::int64_t  *segments,
                                  Array<int>          &values,
                                  int                 *counts,
                                  Array<std::int64_t> &offsets)
    {
      const Backend   &place = values.backend();
      const Cuda       where{place.stream()};
      const int *const from = values.data();
      kernels::sort_segments(where, values.size(), n_segments, segments, values.data());
      for_all(place, n_segments, [=] PATCHFEM_DEVICE(const std::int64_t s) {
        int n = 0, previous = -1;
        for (std::int64_t k = segments[s]; k < segments[s + 1]; ++k)
        {
          n += from[k] != previous;
          previous = from[k];
        }
        counts[s] = n;
      });
      offsets.reinit(place, std::size_t(n_segments) + 1);
      kernels::exclusive_scan(where, n_segments, counts, offsets.data());
      Array<int> result(place, offsets.read(n_segments));
      for_all(place, n_segments,
              [=, offsets = offsets.data(), unique = result.data()] PATCHFEM_DEVICE(const std::int64_t s) {
                int *out = unique + offsets[s], previous = -1;
                for (std::int64_t k = segments[s]; k < segments[s + 1]; ++k)
                  if (from[k] != previous)
                    *out++ = previous = from[k];
              });
      return result;
    }
  } // namespace
} // namespace PatchFEM
