// SPDX-License-Identifier: LGPL-2.1-or-later
#include "check.cuh"
#include "loads.cuh"
#include "reduce.cuh"
#include "tuning.cuh"

#include "kernels/instantiate.h"
#include <patchfem/kernels/cg.h>

namespace PatchFEM::kernels
{
  namespace
  {
    constexpr int block_size = tuning::block_size;

    /** Elements in a 16-byte access, the width at which a copy runs fastest. */
    template <typename Number>
    constexpr int width = 16 / sizeof(Number);

    /** Calls body(i, integral_constant<count>) for [begin, end) in packs of 16 bytes; begin is aligned. */
    template <typename Number, typename Body>
    __device__ void for_packs(const std::int64_t begin, const std::int64_t end, const int n_threads, const Body &body)
    {
      constexpr int n = width<Number>;
#pragma unroll 2
      for (std::int64_t i = begin + threadIdx.x * n; i + n <= end; i += n_threads * n)
        body(i, std::integral_constant<int, n>());
      const std::int64_t tail = begin + (end - begin) / n * n;
      if (tail + threadIdx.x < end)
        body(tail + threadIdx.x, std::integral_constant<int, 1>());
    }

    template <int n, typename Number>
    __device__ Pack<Number, n> load(const Number *p)
    {
      return *reinterpret_cast<const Pack<Number, n> *>(p);
    }

    template <int n, typename Number>
    __device__ void store(Number *p, const Pack<Number, n> &v)
    {
      *reinterpret_cast<Pack<Number, n> *>(p) = v;
    }

    /** Sums of one kernel: partials of all blocks, then @p finish(total_0, total_1) once, in the last block. */
    template <int n_sums, typename Finish>
    __device__ void finish_sums(const CGView &cg, const double sum_0, const double sum_1, const Finish &finish)
    {
      const double block_0 = reduce::block_sum<block_size>(sum_0);
      const double block_1 = n_sums > 1 ? reduce::block_sum<block_size>(sum_1) : 0.;
      if (threadIdx.x == 0)
      {
        cg.partials[blockIdx.x * n_sums] = block_0;
        if (n_sums > 1)
          cg.partials[blockIdx.x * n_sums + 1] = block_1;
      }
      if (reduce::is_last_block(&cg.scalars->ticket))
      {
        const double total_0 = reduce::sum_partials<block_size>(cg.partials, gridDim.x, n_sums);
        const double total_1 = n_sums > 1 ? reduce::sum_partials<block_size>(cg.partials + 1, gridDim.x, n_sums) : 0.;
        if (threadIdx.x == 0)
          finish(total_0, total_1);
      }
    }

    /** The sum of x_i y_i over this block's part. */
    template <typename Number>
    __device__ double part_of_dot(const std::int64_t n, const Number *__restrict__ x, const Number *__restrict__ y)
    {
      const std::int64_t size  = reduction::part_size(n);
      const std::int64_t begin = blockIdx.x * size;
      double             sum   = 0.;
      for_packs<Number>(begin, begin + size < n ? begin + size : n, block_size, [&](const std::int64_t i, auto count) {
        constexpr int m   = decltype(count)::value;
        const auto    x_i = load<m>(x + i), y_i = load<m>(y + i);
#pragma unroll
        for (int j = 0; j < m; ++j)
          sum += static_cast<double>(x_i[j]) * static_cast<double>(y_i[j]);
      });
      return sum;
    }

    /** x.y and what follows: of p.q as @p product, else of r.z. */
    template <bool product, typename Number>
    __global__ void __launch_bounds__(block_size) dot_kernel(
        const std::int64_t n, const Number *const x, const Number *const y, const bool first, const CGView cg)
    {
      if (cg.scalars->status != CGStatus::iterating)
      {
        if (product && blockIdx.x == 0 && threadIdx.x == 0)
          cg.scalars->x_pending = 0;
        return;
      }
      finish_sums<1>(cg, part_of_dot(n, x, y), 0., [&](const double total, double) {
        if (product)
          cg_end_product(cg, total);
        else
          cg_end_preconditioner(cg, total, first);
      });
    }

    /** r, r.r and, of a @p diagonal, z = D r and r.z; of the @p identity r.z = r.r. */
    template <bool diagonal, typename Value, typename Number>
    __global__ void __launch_bounds__(block_size) residual_kernel(const CGResidual   mode,
                                                                  const bool         identity,
                                                                  const std::int64_t n,
                                                                  const Value *__restrict__ d,
                                                                  const Number *__restrict__ q,
                                                                  Number *__restrict__ r,
                                                                  Number *__restrict__ z,
                                                                  const CGView cg)
    {
      if (cg.scalars->status != CGStatus::iterating)
        return;
      const bool         update  = mode == CGResidual::update;
      const bool         first   = mode == CGResidual::start;
      const Number       factor  = static_cast<Number>(update ? cg.scalars->alpha : cg.scalars->scale);
      const std::int64_t size    = reduction::part_size(n);
      const std::int64_t begin   = blockIdx.x * size;
      double             r_dot_r = 0., r_dot_z = 0.;
      for_packs<Number>(begin, begin + size < n ? begin + size : n, block_size, [&](const std::int64_t i, auto count) {
        constexpr int m   = decltype(count)::value;
        auto          r_i = load<m>(q + i);
        if (update)
        {
          const auto old = load<m>(r + i);
#pragma unroll
          for (int j = 0; j < m; ++j)
            r_i[j] = old[j] - factor * r_i[j];
        }
        else
#pragma unroll
          for (int j = 0; j < m; ++j)
            r_i[j] *= factor;
        store<m>(r + i, r_i);
#pragma unroll
        for (int j = 0; j < m; ++j)
          r_dot_r += static_cast<double>(r_i[j]) * static_cast<double>(r_i[j]);
        if (diagonal)
        {
          const auto      d_i = load<m>(d + i);
          Pack<Number, m> z_i;
#pragma unroll
          for (int j = 0; j < m; ++j)
          {
            z_i[j] = static_cast<Number>(d_i[j]) * r_i[j];
            r_dot_z += static_cast<double>(r_i[j]) * static_cast<double>(z_i[j]);
          }
          store<m>(z + i, z_i);
        }
      });
      finish_sums<diagonal ? 2 : 1>(cg, r_dot_r, r_dot_z, [&](const double total_r, const double total_z) {
        cg_end_residual(cg, total_r, first);
        if (diagonal || identity)
          cg_end_preconditioner(cg, diagonal ? total_z : total_r, first);
      });
    }

    /** The same for blocks, one thread each. */
    template <int static_size, typename Value, typename Number>
    __global__ void __launch_bounds__(block_size) residual_block_kernel(const CGResidual               mode,
                                                                        const BlockDiagonalView<Value> D,
                                                                        const Number *__restrict__ q,
                                                                        Number *__restrict__ r,
                                                                        Number *__restrict__ z,
                                                                        const CGView cg)
    {
      if (cg.scalars->status != CGStatus::iterating)
        return;
      constexpr int      storage = static_size > 0 ? static_size : max_block_size;
      const int          b       = static_size > 0 ? static_size : D.block_size;
      const bool         update  = mode == CGResidual::update;
      const bool         first   = mode == CGResidual::start;
      const Number       factor  = static_cast<Number>(update ? cg.scalars->alpha : cg.scalars->scale);
      const std::int64_t size    = reduction::part_size(D.n_blocks);
      const std::int64_t begin   = blockIdx.x * size;
      const std::int64_t end     = begin + size < D.n_blocks ? begin + size : D.n_blocks;
      double             r_dot_r = 0., r_dot_z = 0.;
      for (std::int64_t i = begin + threadIdx.x; i < end; i += block_size)
      {
        Number r_i[storage], z_i[storage];
#pragma unroll
        for (int a = 0; a < b; ++a)
          r_i[a] = q[i * b + a];
        if (update)
#pragma unroll
          for (int a = 0; a < b; ++a)
            r_i[a] = r[i * b + a] - factor * r_i[a];
        else
#pragma unroll
          for (int a = 0; a < b; ++a)
            r_i[a] *= factor;
        apply_block<static_size>(D, i, r_i, z_i);
#pragma unroll
        for (int a = 0; a < b; ++a)
        {
          r[i * b + a] = r_i[a];
          z[i * b + a] = z_i[a];
          r_dot_r += static_cast<double>(r_i[a]) * static_cast<double>(r_i[a]);
          r_dot_z += static_cast<double>(r_i[a]) * static_cast<double>(z_i[a]);
        }
      }
      finish_sums<2>(cg, r_dot_r, r_dot_z, [&](const double total_r, const double total_z) {
        cg_end_residual(cg, total_r, first);
        cg_end_preconditioner(cg, total_z, first);
      });
    }

    /** Two packs of 16 bytes a thread. */
    template <typename Number>
    __global__ void __launch_bounds__(block_size) direction_kernel(const std::int64_t n,
                                                                   const Number *__restrict__ z,
                                                                   Number *__restrict__ x,
                                                                   Number *__restrict__ p,
                                                                   const CGView cg)
    {
      const CGScalars &s      = *cg.scalars;
      const bool       move_x = x != nullptr && s.x_pending != 0;
      const bool       move_p = z != nullptr && s.status == CGStatus::iterating;
      if (!move_x && !move_p)
        return;
      const Number       alpha  = static_cast<Number>(s.x_step);
      const Number       beta   = static_cast<Number>(s.beta);
      const bool         p_is_z = s.beta == 0.; // then p may not have been set yet
      constexpr int      piece  = 2 * block_size * width<Number>;
      const std::int64_t begin  = std::int64_t(blockIdx.x) * piece;
      for_packs<Number>(begin, begin + piece < n ? begin + piece : n, block_size,
                        [&](const std::int64_t i, auto count) {
                          constexpr int   m = decltype(count)::value;
                          Pack<Number, m> p_i;
                          if (move_x || !p_is_z)
                            p_i = load<m>(p + i);
                          if (move_x)
                          {
                            auto x_i = load<m>(x + i);
#pragma unroll
                            for (int j = 0; j < m; ++j)
                              x_i[j] += alpha * p_i[j];
                            store<m>(x + i, x_i);
                          }
                          if (move_p)
                          {
                            auto z_i = load<m>(z + i);
                            if (!p_is_z)
#pragma unroll
                              for (int j = 0; j < m; ++j)
                                z_i[j] += beta * p_i[j];
                            store<m>(p + i, z_i);
                          }
                        });
    }

    __global__ void finish_kernel(const CGSums sums, const CGView cg)
    {
      cg_finish_sums(cg, sums);
    }

    unsigned int n_blocks_of(const std::int64_t n)
    {
      // An empty vector still needs one block that finishes the sums.
      return static_cast<unsigned int>(n > 0 ? reduction::n_parts(n) : 1);
    }
  } // namespace

  template <typename Where>
  void cg_finish(Where where, const CGSums sums, const CGView &cg)
  {
    finish_kernel<<<1, 1, 0, stream_of(where)>>>(sums, cg);
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }

  template void cg_finish(Cuda, CGSums, const CGView &);

  template <typename Number, typename Where>
  void cg_step_length(Where where, const std::int64_t n, const Number *p, const Number *q, const CGView &cg)
  {
    dot_kernel<true><<<n_blocks_of(n), block_size, 0, stream_of(where)>>>(n, p, q, false, cg);
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }

  template <typename Value, typename Number, typename Where>
  void cg_residual(Where                           where,
                   const CGResidual                mode,
                   const BlockDiagonalView<Value> &D,
                   const CGVectors<Number>        &v,
                   const CGView                   &cg)
  {
    const cudaStream_t stream   = stream_of(where);
    const unsigned int n_blocks = n_blocks_of(v.n);
    if (v.z == nullptr || D.block_size == 0)
      residual_kernel<false, Number, Number>
          <<<n_blocks, block_size, 0, stream>>>(mode, v.z != nullptr, v.n, nullptr, v.q, v.r, nullptr, cg);
    else if (D.block_size == 1)
      residual_kernel<true, Value, Number>
          <<<n_blocks, block_size, 0, stream>>>(mode, false, v.n, D.values, v.q, v.r, v.z, cg);
    else
      with_block_size(D.block_size, [&](auto size) {
        residual_block_kernel<decltype(size)::value>
            <<<n_blocks_of(D.n_blocks), block_size, 0, stream>>>(mode, D, v.q, v.r, v.z, cg);
      });
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }

  template <typename Number, typename Where>
  void cg_preconditioned(Where where, const CGResidual mode, const CGVectors<Number> &v, const CGView &cg)
  {
    const bool first = mode == CGResidual::start;
    dot_kernel<false><<<n_blocks_of(v.n), block_size, 0, stream_of(where)>>>(v.n, v.r, v.z, first, cg);
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }

  template <typename Number, typename Where>
  void cg_direction(Where where, const std::int64_t n, const Number *z, Number *x, Number *p, const CGView &cg)
  {
    if (n == 0)
      return;
    const std::int64_t piece = 2 * block_size * width<Number>;
    direction_kernel<<<static_cast<unsigned int>((n + piece - 1) / piece), block_size, 0, stream_of(where)>>>(n, z, x,
                                                                                                              p, cg);
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }

  PATCHFEM_INSTANTIATE_CG(Cuda)
} // namespace PatchFEM::kernels
