// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "parallel_for.cuh"

#include <patchfem/kernels/face_pass_bodies.h>
#include <patchfem/kernels/point_pass_bodies.h>

#include <utility>

namespace PatchFEM::kernels
{
  namespace internal
  {
    constexpr int tangent_threads = 128;

    /** From one point to the next in fast memory: odd, so that lanes write to different banks. */
    PATCHFEM_INLINE int tangent_stride(const PointPass &pass)
    {
      return pass.n_tangent | 1;
    }

    /**
     * A thread a point. Tangents go through fast memory, where a warp collects those of its points: alone, each thread
     * would write to lines of its own, an entry at a time, which took three times as long on an H200.
     */
    template <typename Law, int n_directions>
    __global__ void __launch_bounds__(tangent_threads)
        tangent_kernel(const std::int64_t n, const __grid_constant__ PointPass a)
    {
      extern __shared__ double fast[];
      const int                lane = threadIdx.x % 32, stride = tangent_stride(a);
      double *const            values = fast + threadIdx.x / 32 * 32 * stride; // [point of the warp][entry]
      const std::int64_t       i      = std::int64_t(blockIdx.x) * tangent_threads + threadIdx.x;
      std::int64_t             place  = -1;
      if (i < n)
      {
        LawPoint<Law> point(a, i);
        if (point.of_law())
        {
          point.load();
          place = point.place;
          if constexpr (TangentLayout<Law>::m != LawTraits<Law>::n_inputs) // what the law has no entries for
            for (int e = 0; e < a.n_tangent; ++e)
              values[lane * stride + e] = 0.;
          store_tangent<Law, n_directions>(point, values + lane * stride);
        }
      }
      __syncwarp();
      for (int p = 0; p < 32; ++p)
      {
        const std::int64_t of_point = __shfl_sync(0xffffffff, place, p);
        for (int e = lane; e < a.n_tangent && of_point >= 0; e += 32)
        {
          const double entry                    = values[p * stride + e];
          a.tangent[of_point * a.n_tangent + e] = entry;
          refuse_unless_finite(a, of_point, entry);
        }
      }
    }

    template <typename Law, int n_directions>
    void launch_tangent(const Cuda &where, const PointPass &pass)
    {
      const BatchView   &batch  = pass.batches.batch[pass.b];
      const std::int64_t n      = std::int64_t(batch.n_cells) * batch.reference.n_quadrature;
      const std::size_t  bytes  = sizeof(double) * tangent_threads * tangent_stride(pass);
      const auto         kernel = tangent_kernel<Law, n_directions>;
      if (n == 0)
        return;
      PATCHFEM_CUDA_CHECK(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
      kernel<<<static_cast<unsigned int>((n + tangent_threads - 1) / tangent_threads), tangent_threads, bytes,
               stream_of(where)>>>(n, pass);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

    using PointPassLaunch = void (*)(const Cuda &, const PointPass &);

    /** Replaces @p best, with the local memory that it takes, if so many directions take less: they spill no registers there. */
    template <typename Law, int n_directions>
    void take_if_better(std::pair<std::size_t, PointPassLaunch> &best)
    {
      cudaFuncAttributes attributes;
      PATCHFEM_CUDA_CHECK(cudaFuncGetAttributes(&attributes, tangent_kernel<Law, n_directions>));
      if (best.second == nullptr || attributes.localSizeBytes < best.first)
        best = {attributes.localSizeBytes, launch_tangent<Law, n_directions>};
    }
  } // namespace internal

  template <typename Law>
  void start_tangent(const Cuda &where, const PointPass &pass)
  {
    static const internal::PointPassLaunch launch = [] {
      std::pair<std::size_t, internal::PointPassLaunch> best{0, nullptr};
      internal::take_if_better<Law, LawTraits<Law>::n_inputs>(best);
      internal::take_if_better<Law, 3>(best);
      internal::take_if_better<Law, 1>(best);
      return best.second;
    }();
    launch(where, pass);
  }
} // namespace PatchFEM::kernels

#define PATCHFEM_INSTANTIATE_LAW(Law) PATCHFEM_INSTANTIATE_LAW_ON(Cuda, Law)
