// SPDX-License-Identifier: LGPL-2.1-or-later
#include "check.cuh"
#include "reduce.cuh"
#include "tuning.cuh"

#include <patchfem/kernels/blas1.h>

namespace PatchFEM
{
  namespace kernels
  {
    namespace
    {
      constexpr int block_size = tuning::block_size;

      /** body(i) for all i < n; four independent elements a thread, neighbours in neighbouring threads. */
      template <typename Body>
      __global__ void __launch_bounds__(block_size) for_each_kernel(const std::int64_t n, const Body body)
      {
        const std::int64_t first = std::int64_t(blockIdx.x) * (4 * block_size) + threadIdx.x;
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (first + j * block_size < n)
            body(first + j * block_size);
      }

      template <typename Body>
      void for_each(const Cuda &where, const std::int64_t n, const Body &body)
      {
        if (n == 0)
          return;
        const unsigned int n_blocks = static_cast<unsigned int>((n + 4 * block_size - 1) / (4 * block_size));
        for_each_kernel<<<n_blocks, block_size, 0, stream_of(where)>>>(n, body);
        PATCHFEM_CUDA_CHECK_LAUNCH();
      }

      template <typename Number>
      struct Set
      {
        Number          value;
        Number         *x;
        __device__ void operator()(const std::int64_t i) const { x[i] = value; }
      };

      template <typename Number>
      struct Equ
      {
        Number          a;
        const Number   *x;
        Number         *y;
        __device__ void operator()(const std::int64_t i) const { y[i] = a * x[i]; }
      };

      template <typename Number>
      struct Sadd
      {
        Number          s, a;
        const Number   *x;
        Number         *y;
        __device__ void operator()(const std::int64_t i) const { y[i] = s * y[i] + a * x[i]; }
      };

      template <typename Number>
      struct Scale
      {
        const Number   *d;
        Number         *y;
        __device__ void operator()(const std::int64_t i) const { y[i] *= d[i]; }
      };

      template <typename From, typename To>
      struct Convert
      {
        const From     *x;
        To             *y;
        __device__ void operator()(const std::int64_t i) const { y[i] = static_cast<To>(x[i]); }
      };

      /** One block per part of the sum. */
      template <typename Number>
      __global__ void __launch_bounds__(block_size)
          dot_kernel(const std::int64_t n, const Number *x, const Number *y, double *partials)
      {
        const std::int64_t size  = reduction::part_size(n);
        const std::int64_t begin = blockIdx.x * size;
        const std::int64_t end   = begin + size < n ? begin + size : n;
        double             sum   = 0.;
#pragma unroll 4
        for (std::int64_t i = begin + threadIdx.x; i < end; i += block_size)
          sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
        sum = reduce::block_sum<block_size>(sum);
        if (threadIdx.x == 0)
          partials[blockIdx.x] = sum;
      }

      __global__ void __launch_bounds__(block_size) sum_kernel(const int n, const double *partials, double *result)
      {
        const double sum = reduce::sum_partials<block_size>(partials, n);
        if (threadIdx.x == 0)
          *result = sum;
      }
    } // namespace

    template <typename Number>
    void set(Cuda where, const std::int64_t n, const Number value, Number *x)
    {
      for_each(where, n, Set<Number>{value, x});
    }

    template <typename Number>
    void equ(Cuda where, const std::int64_t n, const Number a, const Number *x, Number *y)
    {
      for_each(where, n, Equ<Number>{a, x, y});
    }

    template <typename Number>
    void sadd(Cuda where, const std::int64_t n, const Number s, const Number a, const Number *x, Number *y)
    {
      for_each(where, n, Sadd<Number>{s, a, x, y});
    }

    template <typename Number>
    void scale(Cuda where, const std::int64_t n, const Number *d, Number *y)
    {
      for_each(where, n, Scale<Number>{d, y});
    }

    template <typename From, typename To>
    void convert(Cuda where, const std::int64_t n, const From *x, To *y)
    {
      for_each(where, n, Convert<From, To>{x, y});
    }

    template <typename Number>
    void dot(Cuda where, const std::int64_t n, const Number *x, const Number *y, double *partials, double *result)
    {
      const int n_parts = reduction::n_parts(n);
      if (n_parts > 0)
      {
        dot_kernel<<<n_parts, block_size, 0, stream_of(where)>>>(n, x, y, partials);
        PATCHFEM_CUDA_CHECK_LAUNCH();
      }
      sum_kernel<<<1, block_size, 0, stream_of(where)>>>(n_parts, partials, result);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

#define INSTANTIATE(Number)                                                                 \
  template void set<Number>(Cuda, std::int64_t, Number, Number *);                          \
  template void equ<Number>(Cuda, std::int64_t, Number, const Number *, Number *);          \
  template void sadd<Number>(Cuda, std::int64_t, Number, Number, const Number *, Number *); \
  template void scale<Number>(Cuda, std::int64_t, const Number *, Number *);                \
  template void dot<Number>(Cuda, std::int64_t, const Number *, const Number *, double *, double *);
    INSTANTIATE(float)
    INSTANTIATE(double)
#undef INSTANTIATE
    template void convert<float, float>(Cuda, std::int64_t, const float *, float *);
    template void convert<double, double>(Cuda, std::int64_t, const double *, double *);
    template void convert<float, double>(Cuda, std::int64_t, const float *, double *);
    template void convert<double, float>(Cuda, std::int64_t, const double *, float *);
  } // namespace kernels
} // namespace PatchFEM
