// SPDX-License-Identifier: LGPL-2.1-or-later
#include "csr_product.cuh"

#include <patchfem/kernels/csr.h>
#include <patchfem/kernels/polynomial.h>

namespace PatchFEM
{
  namespace kernels
  {
    namespace
    {
      constexpr int block_size = tuning::block_size;

      unsigned int grid(const std::int64_t n)
      {
        return static_cast<unsigned int>((n + block_size - 1) / block_size);
      }

      /** One warp per block row, its lanes over the row's entries in the order of memory. */
      __global__ void expand_pattern_kernel(const SparsityView  pattern,
                                            const int           block_rows,
                                            const int           block_columns,
                                            std::int64_t *const row_offsets,
                                            int *const          columns)
      {
        const std::int64_t i    = (std::int64_t(blockIdx.x) * block_size + threadIdx.x) / 32;
        const int          lane = threadIdx.x % 32;
        if (i > pattern.n_rows)
          return;
        const std::int64_t begin  = pattern.row_offsets[i];
        const std::int64_t offset = begin * block_rows * block_columns;
        if (i == pattern.n_rows)
        {
          if (lane == 0)
            row_offsets[i * block_rows] = offset;
          return;
        }
        const std::int64_t m     = pattern.row_offsets[i + 1] - begin;
        const std::int64_t width = m * block_columns;
        for (int a = lane; a < block_rows; a += 32)
          row_offsets[i * block_rows + a] = offset + a * width;
        for (std::int64_t e = lane; e < width; e += 32)
        {
          const int column =
              pattern.columns[begin + e / block_columns] * block_columns + static_cast<int>(e % block_columns);
          for (int a = 0; a < block_rows; ++a)
            columns[offset + a * width + e] = column;
        }
      }
    } // namespace

    template <typename Value, typename Number>
    void vmult(Cuda where, const CSRView<Value> &A, const Number *src, Number *dst)
    {
      product::launch_csr(where, A, src, product::Overwrite<Number>{dst});
    }

    template <typename Value, typename Number>
    void vmult_add(Cuda where, const CSRView<Value> &A, const Number *src, Number *dst)
    {
      product::launch_csr(where, A, src, product::Add<Number>{dst});
    }

    template <typename Value, typename Number>
    void residual(Cuda where, const CSRView<Value> &A, const Number *x, const Number *b, Number *r)
    {
      product::launch_csr(where, A, x, product::Residual<Number>{b, r});
    }

    template <typename Number>
    void cg_product(Cuda where, const CSRView<Number> &A, const Number *p, Number *q, const CGView &cg)
    {
      product::launch_csr(where, A, p, product::ConjugateGradients<Number>{p, q, cg});
    }

    template <typename Value, typename Number>
    void polynomial_step(Cuda where, const CSRView<Value> &A, const PolynomialStep<Number> &step)
    {
      product::launch_csr(where, A, step.y, product::Polynomial<Number>{step});
    }

    void expand_pattern(Cuda                where,
                        const SparsityView &pattern,
                        const int           block_rows,
                        const int           block_columns,
                        std::int64_t       *row_offsets,
                        int                *columns)
    {
      expand_pattern_kernel<<<grid((std::int64_t(pattern.n_rows) + 1) * 32), block_size, 0, stream_of(where)>>>(
          pattern, block_rows, block_columns, row_offsets, columns);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

#define INSTANTIATE_PRODUCTS(Value, Number)                                                                      \
  template void vmult<Value, Number>(Cuda, const CSRView<Value> &, const Number *, Number *);                    \
  template void vmult_add<Value, Number>(Cuda, const CSRView<Value> &, const Number *, Number *);                \
  template void residual<Value, Number>(Cuda, const CSRView<Value> &, const Number *, const Number *, Number *); \
  template void polynomial_step<Value, Number>(Cuda, const CSRView<Value> &, const PolynomialStep<Number> &);
    INSTANTIATE_PRODUCTS(float, float)
    INSTANTIATE_PRODUCTS(float, double)
    INSTANTIATE_PRODUCTS(double, double)
#undef INSTANTIATE_PRODUCTS

#define INSTANTIATE(Number) \
  template void cg_product<Number>(Cuda, const CSRView<Number> &, const Number *, Number *, const CGView &);
    INSTANTIATE(float)
    INSTANTIATE(double)
#undef INSTANTIATE
  } // namespace kernels
} // namespace PatchFEM
