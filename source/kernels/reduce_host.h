// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_kernels_reduce_host_h
#define patchfem_source_kernels_reduce_host_h

#include <patchfem/kernels/reduction.h>

#include <algorithm>
#include <cstdint>

namespace PatchFEM
{
  namespace kernels
  {
    /**
     * sum of x_i y_i over [begin, end). A function of its own with pointers by value: inside a closure the compiler
     * would gather the elements through the captured pointers.
     */
    template <typename Number>
    inline double dot_of_range(const Number *x, const Number *y, const std::int64_t begin, const std::int64_t end)
    {
      double sum = 0.;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = begin; i < end; ++i)
        sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
      return sum;
    }

    /**
     * @p n_sums sums over [0, n): @p part(begin, end, sums) gives those of one part, on any thread; results[j] adds
     * them in the order of the parts. @p weight is how many elements of a vector an item is worth, so that few heavy
     * items are still shared out over all threads. partials has n_sums * reduction::max_parts entries.
     */
    template <int n_sums, typename Part>
    void
    sum_parts(const std::int64_t n, double *partials, double *results, const Part &part, const std::int64_t weight = 1)
    {
      const std::int64_t size    = (reduction::part_size(n * weight) + weight - 1) / weight;
      const std::int64_t n_parts = (n + size - 1) / size;
#pragma omp parallel for schedule(static)
      for (std::int64_t i = 0; i < n_parts; ++i)
        part(i * size, std::min(n, (i + 1) * size), partials + i * n_sums);
      for (int j = 0; j < n_sums; ++j)
      {
        double sum = 0.;
        for (std::int64_t i = 0; i < n_parts; ++i)
          sum += partials[i * n_sums + j];
        results[j] = sum;
      }
    }
  } // namespace kernels
} // namespace PatchFEM

#endif
