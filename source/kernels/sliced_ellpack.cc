// SPDX-License-Identifier: LGPL-2.1-or-later
#include "product_host.h"

#include <algorithm>

namespace PatchFEM::kernels
{
  namespace
  {
    /// Rows that are summed side by side in slices of other heights than 32: pages of values are far apart there.
    constexpr int strip_rows(const int block_rows)
    {
      return std::max(64, 512 / block_rows);
    }

    constexpr int max_strip_rows = strip_rows(1), max_strip_sums = 64 * 12;

    /** Asks for memory @p distance values behind @p n of @p pointer (why: csr.cc); past the end it is ignored. */
    template <typename T>
    inline void prefetch(const T *pointer, const std::int64_t distance, const int n)
    {
      constexpr int line = 64 / sizeof(T);
      for (int i = 0; i < n; i += line)
        __builtin_prefetch(pointer + distance + i);
    }

    constexpr int ahead = 512; ///< values or columns, in slices of 32

    /** The sums of a slice of 32 rows of scalars whose columns are known by steps. */
    template <typename Sum, typename Value, typename Number>
    inline void slice_sums_by_steps(const SlicedEllpackView<Value> &A,
                                    const std::int64_t              begin,
                                    const int                       width,
                                    const Number *__restrict__ x,
                                    Sum *__restrict__ sums)
    {
      const std::uint16_t *__restrict__ step = A.column_steps + begin;
      const Value *__restrict__ v            = A.values + begin;
      int column[32];
      for (int r = 0; r < 32; ++r)
        column[r] = A.columns[begin + r] - 1;
      for (int k = 0; k < width; ++k, step += 32, v += 32)
      {
        prefetch(v, ahead, 32);
        prefetch(step, ahead, 32);
#pragma omp simd
        for (int r = 0; r < 32; ++r)
          column[r] += step[r];
#pragma omp simd
        for (int r = 0; r < 32; ++r)
          sums[r] += static_cast<Sum>(v[r]) * static_cast<Sum>(x[column[r]]);
      }
    }

    /**
     * Rows [first, first + count) of slice @p s, sums[a * count + r]. Written for the vector units: the innermost
     * loop runs over rows, so that values and columns are read contiguously and only the source is gathered. Zeros in
     * sizes mean "known at run time".
     */
    template <int BR, int BC, int H, typename Sum, typename Value, typename Number>
    inline void slice_sums(const SlicedEllpackView<Value> &A,
                           const int                       s,
                           const int                       first,
                           const int                       count,
                           const Number *__restrict__ x,
                           Sum *__restrict__ sums)
    {
      const int          h        = H > 0 ? H : A.slice_height;
      const int          n        = H > 0 ? H : count;
      const int          br       = BR > 0 ? BR : A.block_rows;
      const int          bc       = BC > 0 ? BC : A.block_columns;
      const std::int64_t begin    = A.slice_offsets[s];
      const int          width    = A.slice_width(s);
      const std::int64_t next     = H > 0 ? ahead : std::int64_t(br) * bc * h; // of values; else in the next block
      const int *__restrict__ c   = A.columns + begin + first;
      const Value *__restrict__ v = A.values + begin * br * bc + first;
      for (int i = 0; i < br * n; ++i)
        sums[i] = 0;
      if constexpr (BR == 1 && BC == 1 && H == 32)
        if (A.column_steps != nullptr && width > 0 && A.column_steps[begin] == 1)
          return slice_sums_by_steps(A, begin, width, x, sums);
      for (int k = 0; k < width; ++k, c += h, v += std::int64_t(br) * bc * h)
      {
        prefetch(c, H > 0 ? ahead : h, n);
        for (int b = 0; b < bc; ++b)
        {
          Sum gathered[H > 0 ? H : max_strip_rows];
#pragma omp simd
          for (int r = 0; r < n; ++r)
            gathered[r] = static_cast<Sum>(x[c[r] * bc + b]);
          for (int a = 0; a < br; ++a)
          {
            const Value *__restrict__ entry = v + std::int64_t(a * bc + b) * h;
            prefetch(entry, next, n);
#pragma omp simd
            for (int r = 0; r < n; ++r)
              sums[a * n + r] += static_cast<Sum>(entry[r]) * gathered[r];
          }
        }
      }
    }

    /** How many strips a slice is cut into, each of which is worked on by one thread. */
    template <int H, typename Value>
    inline int strips_per_slice(const SlicedEllpackView<Value> &A)
    {
      const int strip = strip_rows(A.block_rows);
      return H > 0 ? 1 : A.slice_height / strip + (A.slice_height % strip != 0);
    }

    /** Calls @p use(row, sum) for every scalar row of a strip, rows of a block together. */
    template <int BR, int BC, int H, typename Sum, typename Value, typename Number, typename Use>
    inline void strip_product(const SlicedEllpackView<Value> &A, const std::int64_t i, const Number *x, const Use &use)
    {
      const int br    = BR > 0 ? BR : A.block_rows;
      const int h     = H > 0 ? H : A.slice_height;
      const int strip = H > 0 ? H : strip_rows(br);
      const int s     = static_cast<int>(i / strips_per_slice<H>(A));
      const int first = static_cast<int>(i % strips_per_slice<H>(A)) * strip;
      const int rows  = std::min(h, A.n_rows - s * h);
      if (first >= rows)
        return;
      Sum       sums[H > 0 && BR > 0 ? BR * H : max_strip_sums];
      const int used  = std::min(strip, rows - first);
      const int count = H > 0 ? H : used;
      slice_sums<BR, BC, H>(A, s, first, count, x, sums);
      for (int r = 0; r < used; ++r)
        for (int a = 0; a < br; ++a)
          use((std::int64_t(s) * h + first + r) * br + a, sums[a * count + r]);
    }
  } // namespace

  template <typename Value, typename Number, typename Target, typename Where>
  void product(Where, const SlicedEllpackView<Value> &A, const Number *x, const Target &target)
  {
    // Fewer entries than this take less time than threads need to start and to meet again: exact triangular solves
    // call this for thousands of levels of some rows each.
    constexpr std::int64_t few = 8192;
    const std::int64_t     n_entries =
        (A.slice_offsets[A.n_slices()] - A.slice_offsets[0]) * A.block_rows * A.block_columns;
    using std::integral_constant;
    const auto with_height = [&](auto br, auto bc, auto h) {
      const int          strip = h > 0 ? int(h) : strip_rows(A.block_rows), rows_each = std::min(A.slice_height, strip);
      const int          n_strips = strips_per_slice<h>(A);
      const std::int64_t n        = std::int64_t(A.n_slices()) * n_strips;
      const auto         before   = [&](const int row) {
        return row < A.n_rows ? std::int64_t(row / A.slice_height) * n_strips + row % A.slice_height / strip : n;
      };
      share_items(
          {before(A.rows.first), before(A.rows.last), n, A.rows.last == RowRange::end},
          std::int64_t(rows_each) * A.block_rows * 16, // a row of a matrix costs more than one of a vector
          target,
          [&](const std::int64_t begin, const std::int64_t end, const auto &use) {
            for (std::int64_t i = begin; i < end; ++i)
              strip_product<br, bc, h, typename Target::Sum>(A, i, x, use);
          },
          n_entries > few);
    };
    const auto with_size = [&](auto br, auto bc) {
      if (A.slice_height == 32)
        with_height(br, bc, integral_constant<int, 32>());
      else
        with_height(br, bc, integral_constant<int, 0>());
    };
    if (!with_tuned_block_size(A.block_rows, A.block_columns, with_size))
      with_size(integral_constant<int, 0>(), integral_constant<int, 0>());
  }

  PATCHFEM_INSTANTIATE_PRODUCTS(Host, SlicedEllpackView)
  PATCHFEM_INSTANTIATE_PRODUCT(Host, SlicedEllpackView, std::int8_t, float, ScaledDifference)
} // namespace PatchFEM::kernels
