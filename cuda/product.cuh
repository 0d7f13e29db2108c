// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "check.cuh"
#include "reduce.cuh"
#include "tuning.cuh"

#include "kernels/instantiate_products.h"

/** @file What threads do before and after their rows for each target of products (see kernels/product.h). */
namespace PatchFEM::product
{
  using tuning::block_size;

  template <typename Target>
  __device__ bool skip(const Target &)
  {
    return false;
  }

  /** Launched after the end of the iteration. */
  template <typename Number>
  __device__ bool skip(const kernels::ConjugateGradients<Number> &target)
  {
    CGScalars &scalars = *target.cg.scalars;
    if (scalars.status == CGStatus::iterating)
      return false;
    if (blockIdx.x == 0 && threadIdx.x == 0)
      scalars.x_pending = 0;
    return true;
  }

  template <int n_threads, typename Target>
  __device__ void finish(const Target &, double)
  {}

  /** The last block finishes p.q, of which a thread has @p sum. */
  template <int n_threads, typename Number>
  __device__ void finish(const kernels::ConjugateGradients<Number> &target, const double sum)
  {
    const CGView &cg        = target.cg;
    const double  block_sum = reduce::block_sum<n_threads>(sum);
    if (threadIdx.x == 0)
      cg.partials[blockIdx.x] = block_sum;
    if (reduce::is_last_block(&cg.scalars->ticket))
    {
      const double total = reduce::sum_partials<n_threads>(cg.partials, gridDim.x);
      if (threadIdx.x == 0)
        kernels::cg_finish_product(cg, total);
    }
  }

  /** @p kernel with at least @p n_threads threads. */
  template <typename Kernel, typename View, typename Number, typename Target>
  void launch_threads(const Cuda        &where,
                      const Kernel      &kernel,
                      const std::int64_t n_threads,
                      const View        &A,
                      const Number      *x,
                      const Target      &target)
  {
    kernel<<<static_cast<unsigned int>((n_threads + block_size - 1) / block_size), block_size, 0, stream_of(where)>>>(
        A, x, target);
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }
} // namespace PatchFEM::product
