// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "check.cuh"
#include "reduce.cuh"
#include "tuning.cuh"

#include "kernels/instantiate_products.h"

#include <algorithm>

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

  /** The blocks of threads of a launch among those of the product of all rows. */
  struct Blocks
  {
    unsigned int first  = 0;
    bool         is_end = true; ///< those before have been launched, and none follow

    /** The calling thread among those of all blocks. */
    __device__ std::int64_t thread() const { return std::int64_t(first + blockIdx.x) * block_size + threadIdx.x; }
  };

  template <int n_threads, typename Target>
  __device__ void finish(const Target &, double, Blocks = Blocks())
  {}

  /** The last block finishes p.q, of which a thread has @p sum. */
  template <int n_threads, typename Number>
  __device__ void
  finish(const kernels::ConjugateGradients<Number> &target, const double sum, const Blocks blocks = Blocks())
  {
    const CGView &cg        = target.cg;
    const double  block_sum = reduce::block_sum<n_threads>(sum);
    if (threadIdx.x == 0)
      cg.partials[blocks.first + blockIdx.x] = block_sum;
    if (blocks.is_end && reduce::is_last_block(&cg.scalars->ticket))
    {
      const double total = reduce::sum_partials<n_threads>(cg.partials, static_cast<int>(blocks.first + gridDim.x));
      if (threadIdx.x == 0)
        kernels::cg_end_product(cg, total);
    }
  }

  /** The product of a matrix without rows. */
  template <typename Target>
  void finish_empty(const Cuda &, const Target &)
  {}
  template <typename Number>
  void finish_empty(const Cuda &where, const kernels::ConjugateGradients<Number> &target)
  {
    kernels::cg_step_length(where, 0, target.p, static_cast<const Number *>(target.q), target.cg);
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

  /**
   * The same for the rows of @p A that are asked for, of which @p threads_of_unit threads form @p rows_of_unit. Ranges
   * are cut between blocks, the last of which is of the range that is the end.
   */
  template <typename Kernel, typename View, typename Number, typename Target>
  void launch_rows(const Cuda   &where,
                   const Kernel &kernel,
                   const int     rows_of_unit,
                   const int     threads_of_unit,
                   const View   &A,
                   const Number *x,
                   const Target &target)
  {
    const auto blocks_before = [&](const std::int64_t rows) {
      return rows / rows_of_unit * threads_of_unit / block_size;
    };
    const std::int64_t n_threads = (std::int64_t(A.n_rows) + rows_of_unit - 1) / rows_of_unit * threads_of_unit;
    const std::int64_t n         = (n_threads + block_size - 1) / block_size,
                       first     = std::min(blocks_before(A.rows.first), n - 1);
    const bool         is_end    = A.rows.last == RowRange::end;
    const std::int64_t last      = is_end ? n : std::min(blocks_before(A.rows.last), n - 1);
    if (first < last)
      kernel<<<static_cast<unsigned int>(last - first), block_size, 0, stream_of(where)>>>(
          A, x, target, Blocks{static_cast<unsigned int>(first), is_end});
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }
} // namespace PatchFEM::product
