// SPDX-License-Identifier: LGPL-2.1-or-later
#include "product_host.h"

#include <algorithm>
#include <vector>

namespace PatchFEM::kernels
{
  namespace
  {
    /** Calls @p use(row, sum) for patch @p p. @p y and source stay in first-level cache: a block is used at once. */
    template <int b, typename Sum, typename Value, typename Number, typename Use>
    inline void patch_product(
        const SymmetricEllpackView<Value> &A, const int p, const Number *__restrict__ x, Sum *y, const Use &use)
    {
      constexpr int      h = SymmetricEllpackView<Value>::slice_height, n_diagonal = b * (b + 1) / 2;
      const int          n           = A.n_rows_of(p);
      const std::int64_t first_row   = std::int64_t(p) * A.patch_rows;
      const Number *__restrict__ own = x + first_row * b;
      const int *__restrict__ halo   = A.halo + A.halo_offsets[p];
      std::fill(y, y + std::size_t(n) * b, Sum(0));
      for (int first = 0; first < n; first += h)
      {
        const std::int64_t   s       = (first_row + first) / h;
        const std::uint32_t *rows    = A.rows + s * h;
        const int            n_lanes = std::min(h, n - first);
        int                  row[h], n_blocks[h];
        const std::int64_t   begin = A.offsets[s];
        const int            width = static_cast<int>((A.offsets[s + 1] - begin) / h);
        for (int r = 0; r < n_lanes; ++r)
        {
          row[r]      = SymmetricRow::row(rows[r]);
          n_blocks[r] = SymmetricRow::n_blocks(rows[r]);
          int e       = 0;
          for (int a = 0; a < b; ++a)
            for (int c = a; c < b; ++c, ++e)
            {
              const Sum value = static_cast<Sum>(A.diagonal[s * h * n_diagonal + e * h + r]);
              y[row[r] * b + a] += value * static_cast<Sum>(own[row[r] * b + c]);
              if (c != a)
                y[row[r] * b + c] += value * static_cast<Sum>(own[row[r] * b + a]);
            }
        }
        for (int k = 0; k < width; ++k)
        {
          const std::uint16_t *columns = A.columns + begin + k * h;
          const Value         *values  = A.values + (begin + k * h) * (b * b);
          for (int r = 0; r < n_lanes; ++r)
            if (k < n_blocks[r])
            {
              const int     i      = row[r] * b;
              const bool    inside = columns[r] < A.patch_rows;
              const Number *other =
                  inside ? own + columns[r] * b : x + std::int64_t(halo[columns[r] - A.patch_rows]) * b;
              for (int a = 0; a < b; ++a)
                for (int c = 0; c < b; ++c)
                  y[i + a] += static_cast<Sum>(values[(a * b + c) * h + r]) * static_cast<Sum>(other[c]);
              if (inside)
                for (int a = 0; a < b; ++a)
                  for (int c = 0; c < b; ++c)
                    y[columns[r] * b + c] +=
                        static_cast<Sum>(values[(a * b + c) * h + r]) * static_cast<Sum>(own[i + a]);
            }
        }
      }
      for (int i = 0; i < n * b; ++i)
        use(first_row * b + i, y[i]);
    }
  } // namespace

  template <typename Value, typename Number, typename Target, typename Where>
  void product(Where, const SymmetricEllpackView<Value> &A, const Number *x, const Target &target)
  {
    with_block_size<0x11, 0x22, 0x33, 0x66>(A.block_size, A.block_size, [&](auto b, auto) {
      // A row costs more than an element of a vector.
      share_items(A.n_patches(), A.patch_rows * 8, target,
                  [&](const std::int64_t begin, const std::int64_t end, const auto &use) {
                    std::vector<typename Target::Sum> y(std::size_t(A.patch_rows) * b);
                    for (std::int64_t p = begin; p < end; ++p)
                      patch_product<b>(A, static_cast<int>(p), x, y.data(), use);
                  });
    });
  }

  PATCHFEM_INSTANTIATE_PRODUCTS(Host, SymmetricEllpackView)
} // namespace PatchFEM::kernels
