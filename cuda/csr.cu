// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loads.cuh"
#include "product.cuh"
#include "tuning.cuh"

namespace PatchFEM::product
{
  /**
   * CSR by contiguous pieces: a warp owns 32 rows, streams their entries in their order in memory, whatever row they
   * belong to, in pieces of 32 * per_lane, and leaves the products in shared memory; then each lane adds those of its
   * own row. So every load of values and columns is full width for rows of any length, and each row is summed
   * from left to right. Traffic per row: 12 bytes an entry, 8 of offset, and the two vectors.
   */
  template <typename Value, typename Number, typename Target>
  __global__ void __launch_bounds__(block_size, 4)
      csr(const CSRView<Value> A, const Number *__restrict__ x, const Target target)
  {
    using Sum = typename Target::Sum;
    if (skip(target))
      return;
    constexpr int      per_lane = tuning::csr_entries_per_lane, piece = 32 * per_lane;
    __shared__ Sum     products_of_block[block_size / 32][piece];
    Sum *const         products = products_of_block[threadIdx.x / 32];
    const int          lane     = threadIdx.x % 32;
    const std::int64_t row      = std::int64_t(blockIdx.x) * block_size + threadIdx.x;
    const std::int64_t begin    = A.row_offsets[row < A.n_rows ? row : A.n_rows];
    const std::int64_t end      = A.row_offsets[row < A.n_rows ? row + 1 : A.n_rows];
    const std::int64_t last     = __shfl_sync(0xffffffffu, end, 31);
    Sum                sum      = 0;
    for (std::int64_t first = __shfl_sync(0xffffffffu, begin, 0); first < last; first += piece)
    {
      if (first + piece <= last)
      {
        int   column[per_lane];
        Value value[per_lane];
#pragma unroll
        for (int j = 0; j < per_lane; ++j)
          column[j] = loads::stream(A.columns + first + j * 32 + lane);
#pragma unroll
        for (int j = 0; j < per_lane; ++j)
          value[j] = loads::stream(A.values + first + j * 32 + lane);
#pragma unroll
        for (int j = 0; j < per_lane; ++j)
          products[j * 32 + lane] = static_cast<Sum>(value[j]) * static_cast<Sum>(__ldg(x + column[j]));
      }
      else
        for (std::int64_t e = first + lane; e < last; e += 32)
          products[e - first] =
              static_cast<Sum>(loads::stream(A.values + e)) * static_cast<Sum>(__ldg(x + loads::stream(A.columns + e)));
      __syncwarp();
      const int from = static_cast<int>(begin > first ? begin - first : 0);
      const int to   = static_cast<int>(end < first + piece ? end - first : std::int64_t(piece));
      for (int e = from; e < to; ++e)
        sum += products[e];
      __syncwarp();
    }
    double total = 0.;
    if (row < A.n_rows)
      total = target.use(row, sum);
    finish<block_size>(target, total);
  }

  /** One thread per row: neighbouring threads read values as far from each other as a row is long. */
  template <typename Value, typename Number, typename Target>
  __global__ void __launch_bounds__(block_size)
      csr_scalar(const CSRView<Value> A, const Number *__restrict__ x, const Target target)
  {
    using Sum = typename Target::Sum;
    if (skip(target))
      return;
    const std::int64_t row   = std::int64_t(blockIdx.x) * block_size + threadIdx.x;
    double             total = 0.;
    if (row < A.n_rows)
    {
      Sum sum = 0;
      for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
        sum += static_cast<Sum>(A.values[e]) * static_cast<Sum>(__ldg(x + A.columns[e]));
      total = target.use(row, sum);
    }
    finish<block_size>(target, total);
  }

  /** One warp per row, for 16 rows one after the other: full width where rows are long, few lanes at work where not. */
  template <typename Value, typename Number, typename Target>
  __global__ void __launch_bounds__(block_size)
      csr_vector(const CSRView<Value> A, const Number *__restrict__ x, const Target target)
  {
    using Sum = typename Target::Sum;
    if (skip(target))
      return;
    constexpr int      rows_per_warp = kernels::cg_rows_per_partial / (block_size / 32);
    const int          lane          = threadIdx.x % 32;
    const std::int64_t first = (std::int64_t(blockIdx.x) * (block_size / 32) + threadIdx.x / 32) * rows_per_warp;
    double             total = 0.;
    for (std::int64_t row = first; row < first + rows_per_warp && row < A.n_rows; ++row)
    {
      Sum sum = 0;
      for (std::int64_t e = A.row_offsets[row] + lane; e < A.row_offsets[row + 1]; e += 32)
        sum +=
            static_cast<Sum>(loads::stream(A.values + e)) * static_cast<Sum>(__ldg(x + loads::stream(A.columns + e)));
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
      if (lane == 0)
        total += target.use(row, sum);
    }
    finish<block_size>(target, total);
  }
} // namespace PatchFEM::product

namespace PatchFEM::kernels
{
  template <typename Value, typename Number, typename Target, typename Where>
  void product(Where where, const CSRView<Value> &A, const Number *x, const Target &target)
  {
    if (A.n_rows == 0)
      return product::finish_empty(where, target);
    const std::int64_t n = A.n_rows;
    switch (A.kernel)
    {
    case CSRKernel::pieces:
      return product::launch_threads(where, product::csr<Value, Number, Target>, n, A, x, target);
    case CSRKernel::scalar:
      return product::launch_threads(where, product::csr_scalar<Value, Number, Target>, n, A, x, target);
    case CSRKernel::vector: // of a block of threads that shares cg_rows_per_partial rows
      return product::launch_threads(where, product::csr_vector<Value, Number, Target>,
                                     (n + cg_rows_per_partial - 1) / cg_rows_per_partial * product::block_size, A, x,
                                     target);
    }
  }

  PATCHFEM_INSTANTIATE_PRODUCTS(Cuda, CSRView)
} // namespace PatchFEM::kernels
