// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loads.cuh"
#include "parallel_for.cuh"
#include "tuning.cuh"

#include <patchfem/kernels/coordinate.h>

namespace PatchFEM
{
  namespace kernels
  {
    namespace
    {
      constexpr int block_size = tuning::block_size;

      /**
       * One block of threads per piece: products into shared memory, side by side; then the thread at the first entry of
       * each row adds those of the row.
       */
      template <typename Number>
      __global__ void __launch_bounds__(block_size) add_pieces_kernel(const CoordinateView<Number> A,
                                                                      const double                 factor,
                                                                      const Number *__restrict__ x,
                                                                      Number *const y,
                                                                      double *const carries)
      {
        constexpr int      piece = CoordinateView<Number>::piece, per_thread = piece / block_size;
        __shared__ double  products[piece];
        __shared__ int     rows[piece];
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
        for (int first = threadIdx.x; first < n; first += block_size)
        {
          const int row = rows[first];
          if (first > 0 && rows[first - 1] == row)
            continue;
          double sum = 0.;
          int    e   = first;
          for (; e < n && rows[e] == row; ++e)
            sum += products[e];
          if (first == 0 && A.joined(begin))
            carries[2 * std::int64_t(blockIdx.x)] = sum;
          else if (e == n && A.joined(begin + n))
            carries[2 * std::int64_t(blockIdx.x) + 1] = sum;
          else
            y[row] = static_cast<Number>(static_cast<double>(y[row]) + factor * sum);
        }
      }
    } // namespace

    template <typename Number>
    void add_pieces(
        Cuda where, const CoordinateView<Number> &A, const double factor, const Number *x, Number *y, double *carries)
    {
      if (A.n_entries == 0)
        return;
      add_pieces_kernel<<<static_cast<unsigned int>(A.n_pieces()), block_size, 0, stream_of(where)>>>(A, factor, x, y,
                                                                                                      carries);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

#define INSTANTIATE(...) template void parallel_for(Cuda, std::int64_t, const __VA_ARGS__ &)

    INSTANTIATE(RowOfEntryBody);
    INSTANTIATE(SplitRowBody);

#define INSTANTIATE_NUMBER(Number)                                                                            \
  template void add_pieces(Cuda, const CoordinateView<Number> &, double, const Number *, Number *, double *); \
  INSTANTIATE(CoordinateCarryBody<Number>);                                                                   \
  INSTANTIATE(CopyRowsBody<Number>);                                                                          \
  INSTANTIATE(CoordinateDiagonalBody<Number>);                                                                \
  INSTANTIATE(PolynomialStepBody<Number>)

    INSTANTIATE_NUMBER(float);
    INSTANTIATE_NUMBER(double);
  } // namespace kernels
} // namespace PatchFEM
