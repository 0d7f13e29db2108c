// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loads.cuh"
#include "parallel_for.cuh"
#include "tuning.cuh"

#include <patchfem/kernels/coordinate.h>

namespace PatchFEM::kernels
{
  namespace
  {
    constexpr int block_size = tuning::block_size;

    /** One block of threads per piece. Row starts are listed, so that neighbouring threads add neighbouring rows. */
    template <typename Number, typename Result>
    __global__ void __launch_bounds__(block_size) add_pieces_kernel(const CoordinateView<Number> A,
                                                                    const double                 factor,
                                                                    const Number *__restrict__ x,
                                                                    Result *const y,
                                                                    double *const carries)
    {
      constexpr int piece = CoordinateView<Number>::piece, per_thread = piece / block_size;
      constexpr int n_warps = block_size / 32, n_groups = per_thread * n_warps;
      static_assert(n_groups <= 64, "two groups of 32 entries for each lane of the scan");
      __shared__ double  products[piece];
      __shared__ int     rows[piece];
      __shared__ int     begin_of_group[n_groups + 1]; // rows that begin before each 32 entries
      __shared__ short   first_of_row[piece + 1];
      const int          lane = threadIdx.x % 32, warp = threadIdx.x / 32;
      const std::int64_t begin = std::int64_t(blockIdx.x) * piece;
      const int          n     = static_cast<int>(A.end_of_piece(blockIdx.x) - begin);
#pragma unroll
      for (int j = 0; j < per_thread; ++j)
      {
        const int e = j * block_size + threadIdx.x;
        if (e < n)
        {
          rows[e]     = loads::stream(A.rows + begin + e);
          products[e] = static_cast<double>(loads::stream(A.values + begin + e)) *
                        static_cast<double>(__ldg(x + loads::stream(A.columns + begin + e)));
        }
      }
      __syncthreads();

      unsigned int heads[per_thread];
#pragma unroll
      for (int j = 0; j < per_thread; ++j)
      {
        const int e = j * block_size + threadIdx.x;
        heads[j]    = __ballot_sync(0xffffffffu, e < n && (e == 0 || rows[e - 1] != rows[e]));
        if (lane == 0)
          begin_of_group[j * n_warps + warp] = __popc(heads[j]);
      }
      __syncthreads();
      if (warp == 0)
      {
        // Exclusive sums over the groups, two for each lane.
        const int a   = 2 * lane < n_groups ? begin_of_group[2 * lane] : 0;
        const int b   = 2 * lane + 1 < n_groups ? begin_of_group[2 * lane + 1] : 0;
        int       sum = a + b;
#pragma unroll
        for (int offset = 1; offset < 32; offset *= 2)
        {
          const int other = __shfl_up_sync(0xffffffffu, sum, offset);
          sum += lane >= offset ? other : 0;
        }
        if (2 * lane < n_groups)
          begin_of_group[2 * lane] = sum - a - b;
        if (2 * lane + 1 < n_groups)
          begin_of_group[2 * lane + 1] = sum - b;
        if (lane == 31)
          begin_of_group[n_groups] = sum;
      }
      __syncthreads();
#pragma unroll
      for (int j = 0; j < per_thread; ++j)
        if (heads[j] >> lane & 1)
          first_of_row[begin_of_group[j * n_warps + warp] + __popc(heads[j] & ((1u << lane) - 1))] =
              static_cast<short>(j * block_size + threadIdx.x);
      const int n_rows = begin_of_group[n_groups];
      if (threadIdx.x == 0)
        first_of_row[n_rows] = static_cast<short>(n);
      __syncthreads();

      for (int i = threadIdx.x; i < n_rows; i += block_size)
      {
        const int first = first_of_row[i], end = first_of_row[i + 1], row = rows[first];
        double    sum = 0.;
        for (int e = first; e < end; ++e)
          sum += products[e];
        if (first == 0 && A.joined(begin))
          carries[2 * std::int64_t(blockIdx.x)] = sum;
        else if (end == n && A.joined(begin + n))
          carries[2 * std::int64_t(blockIdx.x) + 1] = sum;
        else
          y[row] = static_cast<Result>(static_cast<double>(y[row]) + factor * sum);
      }
    }
  } // namespace

  template <typename Number, typename Result, typename Where>
  void add_product(
      Where where, const CoordinateView<Number> &A, const double factor, const Number *x, Result *y, double *carries)
  {
    if (A.n_entries == 0)
      return;
    add_pieces_kernel<<<static_cast<unsigned int>(A.n_pieces()), block_size, 0, stream_of(where)>>>(A, factor, x, y,
                                                                                                    carries);
    PATCHFEM_CUDA_CHECK_LAUNCH();
    parallel_for(where, A.n_pieces(), [=] __device__(const std::int64_t p) { A.add_carried(p, factor, carries, y); });
  }

  template void add_product(Cuda, const CoordinateView<float> &, double, const float *, float *, double *);
  template void add_product(Cuda, const CoordinateView<float> &, double, const float *, double *, double *);
  template void add_product(Cuda, const CoordinateView<double> &, double, const double *, double *, double *);
} // namespace PatchFEM::kernels
