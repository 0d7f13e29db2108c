// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/reduction.h>

#include <algorithm>
#include <cstdint>

namespace PatchFEM::kernels
{
  /** The sum of term(i) over [begin, end). @p term is a copy, so that the compiler keeps in registers what it captures. */
  template <typename Term>
  inline double sum_of_range(const std::int64_t begin, const std::int64_t end, const Term term)
  {
    double sum = 0.;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = begin; i < end; ++i)
      sum += term(i);
    return sum;
  }

  /**
   * The new residual of conjugate gradients on [begin, end), r - alpha q or scale q, and @p with_z z = d r; part becomes r.r
   * and r.z, where without z that is r.r. A function of its own with pointers by value: inside a closure the compiler would
   * gather the elements through the captured pointers.
   */
  template <bool update, bool with_z, typename Value, typename Number>
  inline void residual_of_range(const Number       factor,
                                const Value       *d,
                                const Number      *q,
                                Number            *r,
                                Number            *z,
                                const std::int64_t begin,
                                const std::int64_t end,
                                double            *part)
  {
    double r_dot_r = 0., r_dot_z = 0.;
#pragma omp simd reduction(+ : r_dot_r, r_dot_z)
    for (std::int64_t i = begin; i < end; ++i)
    {
      const Number r_i = update ? r[i] - factor * q[i] : factor * q[i];
      r[i]             = r_i;
      r_dot_r += static_cast<double>(r_i) * static_cast<double>(r_i);
      if (with_z)
      {
        const Number z_i = static_cast<Number>(d[i]) * r_i;
        z[i]             = z_i;
        r_dot_z += static_cast<double>(r_i) * static_cast<double>(z_i);
      }
    }
    part[0] = r_dot_r;
    part[1] = with_z ? r_dot_z : r_dot_r;
  }

  /** Items [first, last) of n, of ranges that follow each other; with the one that is the end all are done. */
  struct ItemRange
  {
    ItemRange(const std::int64_t n) : last(n), n(n) {}
    ItemRange(const std::int64_t first, const std::int64_t last, const std::int64_t n, const bool is_end)
        : first(first), last(last), n(n), is_end(is_end)
    {}

    std::int64_t first  = 0, last, n;
    bool         is_end = true;
  };

  /**
   * @p n_sums sums over [0, n): @p part(begin, end, sums) gives those of one part, on any thread; results[j] adds
   * them in the order of the parts. @p weight is how many elements of a vector an item is worth, so that few heavy
   * items are still shared out over all threads. partials has n_sums * reduction::max_parts entries. A range that is
   * not the end leaves what it has of whole parts in partials, for the next one.
   */
  template <int n_sums, typename Part>
  void
  sum_parts(const ItemRange &items, double *partials, double *results, const Part &part, const std::int64_t weight = 1)
  {
    const std::int64_t size    = (reduction::part_size(items.n * weight) + weight - 1) / weight;
    const std::int64_t n_parts = (items.n + size - 1) / size;
    const std::int64_t last    = items.is_end ? n_parts : items.last / size;
#pragma omp parallel for schedule(static)
    for (std::int64_t i = items.first / size; i < last; ++i)
      part(i * size, std::min(items.n, (i + 1) * size), partials + i * n_sums);
    if (!items.is_end)
      return;
    for (int j = 0; j < n_sums; ++j)
    {
      double sum = 0.;
      for (std::int64_t i = 0; i < n_parts; ++i)
        sum += partials[i * n_sums + j];
      results[j] = sum;
    }
  }
} // namespace PatchFEM::kernels
