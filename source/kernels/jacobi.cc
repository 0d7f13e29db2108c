// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/jacobi.h>

#include <algorithm>

namespace PatchFEM
{
  namespace kernels
  {
    namespace
    {
      template <int static_size, typename Number>
      void invert(const int          n_blocks,
                  const int          runtime_size,
                  const std::int64_t stride,
                  const Number      *blocks,
                  const double       factor,
                  Number            *inverse,
                  int               *failure)
      {
        const int size  = static_size > 0 ? static_size : runtime_size;
        int       first = no_failure;
#pragma omp parallel for schedule(static) reduction(min : first)
        for (int i = 0; i < n_blocks; ++i)
        {
          double block[max_block_size * max_block_size];
          for (int e = 0; e < size * size; ++e)
            block[e] = static_cast<double>(blocks[e * stride + i]);
          const int a = invert_spd_block<static_size>(size, block, factor, inverse + i, stride);
          if (a >= 0)
            first = std::min(first, i * size + a);
        }
        *failure = first;
      }
    } // namespace

    template <typename Number>
    void invert_block_diagonal(Host,
                               const int          n_blocks,
                               const int          block_size,
                               const std::int64_t stride,
                               const Number      *blocks,
                               const double       factor,
                               Number            *inverse,
                               int               *failure)
    {
      with_block_size(block_size, [&](auto size) {
        invert<decltype(size)::value>(n_blocks, block_size, stride, blocks, factor, inverse, failure);
      });
    }

    template <typename Value, typename Number>
    void vmult(Host, const BlockDiagonalView<Value> &D, const Number *src, Number *dst)
    {
      with_block_size(D.block_size, [&](auto size) {
        constexpr int static_size = decltype(size)::value;
        const int     b           = static_size > 0 ? static_size : D.block_size;
#pragma omp parallel for schedule(static)
        for (int i = 0; i < D.n_blocks; ++i)
        {
          Number in[max_block_size], out[max_block_size];
          for (int a = 0; a < b; ++a)
            in[a] = src[std::int64_t(i) * b + a];
          apply_block<static_size>(D, i, in, out);
          for (int a = 0; a < b; ++a)
            dst[std::int64_t(i) * b + a] = out[a];
        }
      });
    }

#define INSTANTIATE(Number)                                                                                           \
  template void invert_block_diagonal<Number>(Host, int, int, std::int64_t, const Number *, double, Number *, int *); \
  template void vmult<Number, Number>(Host, const BlockDiagonalView<Number> &, const Number *, Number *);
    INSTANTIATE(float)
    INSTANTIATE(double)
#undef INSTANTIATE
    template void vmult<float, double>(Host, const BlockDiagonalView<float> &, const double *, double *);
  } // namespace kernels
} // namespace PatchFEM
