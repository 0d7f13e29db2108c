// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loads.cuh"
#include "product.cuh"
#include "tuning.cuh"

namespace PatchFEM::product
{
  namespace
  {
    /** One thread per row, a warp per slice: steps read 32 columns side by side; a row's first six are loaded early. */
    template <typename Value, typename Number, typename Target>
    __global__ void __launch_bounds__(block_size)
        mdia(const MDIAView<Value> A, const Number *__restrict__ x, const Target target)
    {
      using Sum = typename Target::Sum;
      if (skip(target))
        return;
      constexpr int      h = MDIAView<Value>::slice_height, unroll = 6;
      const std::int64_t row   = std::int64_t(blockIdx.x) * block_size + threadIdx.x;
      double             total = 0.;
      if (row < A.n_rows)
      {
        const std::int64_t begin    = A.slice_offsets[row / h];
        const int          width    = static_cast<int>((A.slice_offsets[row / h + 1] - begin) / h);
        const int         *c        = A.columns + begin + row % h;
        const Value        diagonal = loads::stream(A.diagonal + row);
        const Number       x_row    = __ldg(x + row);
        Sum                sum      = 0;
        for (int k = 0; k < width; k += unroll)
        {
          int column[unroll];
#pragma unroll
          for (int j = 0; j < unroll; ++j)
            column[j] = k + j < width ? loads::stream(c + (k + j) * h) : -1;
#pragma unroll
          for (int j = 0; j < unroll; ++j)
            if (column[j] >= 0)
              sum += static_cast<Sum>(__ldg(x + column[j]));
        }
        total =
            target.use(row, static_cast<Sum>(diagonal) * static_cast<Sum>(x_row) + static_cast<Sum>(A.constant) * sum);
      }
      finish<block_size>(target, total);
    }
  } // namespace
} // namespace PatchFEM::product

namespace PatchFEM::kernels
{
  template <typename Value, typename Number, typename Target, typename Where>
  void product(Where where, const MDIAView<Value> &A, const Number *x, const Target &target)
  {
    if (A.n_rows > 0)
      product::launch_threads(where, product::mdia<Value, Number, Target>, A.n_rows, A, x, target);
  }

  PATCHFEM_INSTANTIATE_PRODUCTS(Cuda, MDIAView)
} // namespace PatchFEM::kernels
