// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_cuda_product_cuh
#define patchfem_cuda_product_cuh

#include "reduce.cuh"

#include <patchfem/kernels/cg.h>
#include <patchfem/kernels/polynomial.h>

#include <type_traits>

/**
 * @file
 * What becomes of the row sums of a matrix product. Products are written once and take one of these as a parameter.
 */
namespace PatchFEM
{
  namespace product
  {
    /** dst = A src */
    template <typename Number>
    struct Overwrite
    {
      using Sum = Number;
      Number *dst;

      __device__ bool   skip() const { return false; }
      __device__ double use(const std::int64_t row, const Sum sum) const
      {
        dst[row] = sum;
        return 0.;
      }
      template <int block_size>
      __device__ void finish(double) const
      {}
    };

    /** dst += A src */
    template <typename Number>
    struct Add
    {
      using Sum = Number;
      Number *dst;

      __device__ bool   skip() const { return false; }
      __device__ double use(const std::int64_t row, const Sum sum) const
      {
        dst[row] += sum;
        return 0.;
      }
      template <int block_size>
      __device__ void finish(double) const
      {}
    };

    /** r = b - A x, summed in double */
    template <typename Number>
    struct Residual
    {
      using Sum = double;
      const Number *b;
      Number       *r;

      __device__ bool   skip() const { return false; }
      __device__ double use(const std::int64_t row, const Sum sum) const
      {
        r[row] = static_cast<Number>(static_cast<double>(b[row]) - sum);
        return 0.;
      }
      template <int block_size>
      __device__ void finish(double) const
      {}
    };

    /** A step of a polynomial preconditioner. */
    template <typename Number>
    struct Polynomial
    {
      using Sum = Number;
      PolynomialStep<Number> step;

      __device__ bool   skip() const { return false; }
      __device__ double use(const std::int64_t row, const Sum sum) const
      {
        step(row, sum);
        return 0.;
      }
      template <int block_size>
      __device__ void finish(double) const
      {}
    };

    /** q = A p, and p.q finished by the last block: the first kernel of an iteration of conjugate gradients. */
    template <typename Number>
    struct ConjugateGradients
    {
      using Sum = Number;
      const Number *p;
      Number       *q;
      CGView        cg;

      __device__ bool skip() const
      {
        if (cg.scalars->status == CGStatus::iterating)
          return false;
        if (blockIdx.x == 0 && threadIdx.x == 0)
          cg.scalars->x_pending = 0;
        return true;
      }
      __device__ double use(const std::int64_t row, const Sum sum) const
      {
        q[row] = sum;
        return static_cast<double>(p[row]) * static_cast<double>(sum);
      }
      template <int block_size>
      __device__ void finish(const double sum) const
      {
        const double block_sum = reduce::block_sum<block_size>(sum);
        if (threadIdx.x == 0)
          cg.partials[blockIdx.x] = block_sum;
        if (reduce::is_last_block(&cg.scalars->ticket))
        {
          const double total = reduce::sum_partials<block_size>(cg.partials, gridDim.x);
          if (threadIdx.x == 0)
            kernels::cg_finish_product(cg, total);
        }
      }
    };
  } // namespace product
} // namespace PatchFEM

#endif
