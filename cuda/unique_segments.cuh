// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "parallel_for.cuh"

#include "kernels/launch.h"
#include <patchfem/kernels/primitives.h>

namespace PatchFEM
{
  namespace
  {
    /** Distinct @p values (>= 0, get sorted) of each [segments[s], segments[s + 1]): number, starts, ascending list. */
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
      launch(place, n_segments, [=] PATCHFEM_DEVICE(const std::int64_t s) {
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
      launch(place, n_segments,
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
