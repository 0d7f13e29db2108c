// SPDX-License-Identifier: LGPL-2.1-or-later
#include "product_host.h"

#include <algorithm>

namespace PatchFEM::kernels
{
  namespace
  {
    constexpr int columns_ahead = 1024; ///< how far ahead memory is asked for, see csr.cc

    /** @p use(row, sum) for the rows of slice @p s. Innermost over rows: only the source is gathered, not columns. */
    template <typename Sum, typename Value, typename Number, typename Use>
    inline void slice_product(const MDIAView<Value> &A, const int s, const Number *__restrict__ x, const Use &use)
    {
      constexpr int      h      = MDIAView<Value>::slice_height;
      const std::int64_t first  = std::int64_t(s) * h;
      const int          n      = static_cast<int>(std::min<std::int64_t>(h, A.n_rows - first));
      const int          width  = A.slice_width(s);
      const int *__restrict__ c = A.columns + A.slice_offsets[s];
      Sum sums[h]               = {};
      for (int k = 0; k < width; ++k, c += h)
      {
        __builtin_prefetch(c + columns_ahead);
        __builtin_prefetch(c + columns_ahead + 16);
        // Behind the end of a row something is read that is there, so that gathers need no mask.
#pragma omp simd
        for (int r = 0; r < h; ++r)
        {
          const Sum value = static_cast<Sum>(x[c[r] < 0 ? 0 : c[r]]);
          sums[r] += c[r] < 0 ? Sum(0) : value;
        }
      }
      for (int r = 0; r < n; ++r)
        use(first + r, static_cast<Sum>(A.diagonal[first + r]) * static_cast<Sum>(x[first + r]) +
                           static_cast<Sum>(A.constant) * sums[r]);
    }
  } // namespace

  template <typename Value, typename Number, typename Target, typename Where>
  void product(Where, const MDIAView<Value> &A, const Number *x, const Target &target)
  {
    // A row costs more than an element of a vector.
    share_items(A.n_slices(), MDIAView<Value>::slice_height * 4, target,
                [&](const std::int64_t begin, const std::int64_t end, const auto &use) {
                  for (std::int64_t s = begin; s < end; ++s)
                    slice_product<typename Target::Sum>(A, static_cast<int>(s), x, use);
                });
  }

  PATCHFEM_INSTANTIATE_PRODUCTS(Host, MDIAView)
} // namespace PatchFEM::kernels
