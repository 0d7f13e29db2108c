// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loads.cuh"
#include "parallel_for.cuh"
#include "product.cuh"
#include "tuning.cuh"

#include <patchfem/kernels/mdia.h>

namespace PatchFEM
{
  namespace product
  {
    namespace
    {
      /**
       * One thread per row, a warp per slice, so that each step reads 32 columns side by side. The columns of a
       * row of six neighbours are on their way before the first of them is used.
       */
      template <int block_size, typename Value, typename Number, typename Target>
      __global__ void __launch_bounds__(block_size)
          mdia(const MDIAView<Value> A, const Number *__restrict__ x, const Target target)
      {
        using Sum = typename Target::Sum;
        if (target.skip())
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
          total = target.use(row,
                             static_cast<Sum>(diagonal) * static_cast<Sum>(x_row) + static_cast<Sum>(A.constant) * sum);
        }
        target.template finish<block_size>(total);
      }

      template <typename Value, typename Number, typename Target>
      void launch_mdia(const Cuda &where, const MDIAView<Value> &A, const Number *x, const Target &target)
      {
        if (A.n_rows == 0)
          return;
        constexpr int      block_size = tuning::block_size;
        const unsigned int n_blocks = static_cast<unsigned int>((A.n_rows + std::int64_t(block_size) - 1) / block_size);
        mdia<block_size><<<n_blocks, block_size, 0, stream_of(where)>>>(A, x, target);
        PATCHFEM_CUDA_CHECK_LAUNCH();
      }
    } // namespace
  }   // namespace product

  namespace kernels
  {
    template <typename Value, typename Number>
    void vmult(Cuda where, const MDIAView<Value> &A, const Number *src, Number *dst)
    {
      product::launch_mdia(where, A, src, product::Overwrite<Number>{dst});
    }

    template <typename Value, typename Number>
    void vmult_add(Cuda where, const MDIAView<Value> &A, const Number *src, Number *dst)
    {
      product::launch_mdia(where, A, src, product::Add<Number>{dst});
    }

    template <typename Value, typename Number>
    void residual(Cuda where, const MDIAView<Value> &A, const Number *x, const Number *b, Number *r)
    {
      product::launch_mdia(where, A, x, product::Residual<Number>{b, r});
    }

    template <typename Number>
    void cg_product(Cuda where, const MDIAView<Number> &A, const Number *p, Number *q, const CGView &cg)
    {
      product::launch_mdia(where, A, p, product::ConjugateGradients<Number>{p, q, cg});
    }

    template <typename Value, typename Number>
    void polynomial_step(Cuda where, const MDIAView<Value> &A, const PolynomialStep<Number> &step)
    {
      product::launch_mdia(where, A, step.y, product::Polynomial<Number>{step});
    }

    template void parallel_for(Cuda, std::int64_t, const OffDiagonalBody &);
    template void parallel_for(Cuda, std::int64_t, const MDIAColumnsBody &);

#define INSTANTIATE_PRODUCTS(Value, Number)                                                                       \
  template void vmult<Value, Number>(Cuda, const MDIAView<Value> &, const Number *, Number *);                    \
  template void vmult_add<Value, Number>(Cuda, const MDIAView<Value> &, const Number *, Number *);                \
  template void residual<Value, Number>(Cuda, const MDIAView<Value> &, const Number *, const Number *, Number *); \
  template void polynomial_step<Value, Number>(Cuda, const MDIAView<Value> &, const PolynomialStep<Number> &);
    INSTANTIATE_PRODUCTS(float, float)
    INSTANTIATE_PRODUCTS(float, double)
    INSTANTIATE_PRODUCTS(double, double)
#undef INSTANTIATE_PRODUCTS

#define INSTANTIATE(Number)                                                                                   \
  template void cg_product<Number>(Cuda, const MDIAView<Number> &, const Number *, Number *, const CGView &); \
  template void parallel_for(Cuda, std::int64_t, const OffDiagonalValueBody<Number> &);                       \
  template void parallel_for(Cuda, std::int64_t, const ConstantEntriesBody<Number> &);                        \
  template void parallel_for(Cuda, std::int64_t, const MDIAToCSRBody<Number> &);                              \
  template void parallel_for(Cuda, std::int64_t, const MDIAToSlicedBody<Number> &);
    INSTANTIATE(float)
    INSTANTIATE(double)
#undef INSTANTIATE
  } // namespace kernels
} // namespace PatchFEM
