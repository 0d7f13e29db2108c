// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "sliced_ellpack_product.cuh"
#include "workspace.cuh"

#include <patchfem/kernels/cg.h>
#include <patchfem/kernels/csr.h>
#include <patchfem/kernels/pattern_statistics.h>
#include <patchfem/kernels/polynomial.h>
#include <patchfem/kernels/sliced_ellpack.h>

#include <cub/device/device_scan.cuh>

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

      /** One warp per slice: lengths of its rows, and slice_height times the largest, left for the scan. */
      __global__ void slice_sizes_kernel(const SparsityView  pattern,
                                         const int           slice_height,
                                         const int           n_slices,
                                         std::int64_t *const offsets,
                                         int *const          row_lengths)
      {
        const int slice = static_cast<int>((std::int64_t(blockIdx.x) * block_size + threadIdx.x) / 32);
        const int lane  = threadIdx.x % 32;
        if (slice >= n_slices)
          return;
        int                width = 0;
        const std::int64_t first = std::int64_t(slice) * slice_height;
        for (int r = lane; r < slice_height && first + r < pattern.n_rows; r += 32)
        {
          const std::int64_t row    = first + r;
          const int          length = static_cast<int>(pattern.row_offsets[row + 1] - pattern.row_offsets[row]);
          row_lengths[row]          = length;
          width                     = max(width, length);
        }
        width = __reduce_max_sync(0xffffffffu, width);
        if (lane == 0)
        {
          offsets[slice + 1] = std::int64_t(width) * slice_height;
          if (slice == 0)
            offsets[0] = 0;
        }
      }

      /** One thread per row of every slice, rows past the end included. */
      __global__ void fill_columns_kernel(const SparsityView        pattern,
                                          const int                 slice_height,
                                          const int                 n_slices,
                                          const std::int64_t *const offsets,
                                          int *const                columns)
      {
        const std::int64_t row = std::int64_t(blockIdx.x) * block_size + threadIdx.x;
        if (row >= std::int64_t(n_slices) * slice_height)
          return;
        const std::int64_t slice  = row / slice_height;
        const std::int64_t out    = offsets[slice] + row % slice_height;
        const std::int64_t width  = (offsets[slice + 1] - offsets[slice]) / slice_height;
        const std::int64_t begin  = row < pattern.n_rows ? pattern.row_offsets[row] : 0;
        const std::int64_t length = row < pattern.n_rows ? pattern.row_offsets[row + 1] - begin : 0;
        int                column = width > 0 && length == 0 ? padding_column(pattern, slice_height, row) : 0;
        for (std::int64_t k = 0; k < width; ++k)
        {
          if (k < length)
            column = pattern.columns[begin + k];
          columns[out + k * slice_height] = column;
        }
      }

      /** One thread per scalar row. */
      template <typename Number>
      __global__ void
      fill_values_kernel(const CSRView<Number> source, const int *const row_lengths, const SlicedEllpackView<Number> A)
      {
        const std::int64_t row = std::int64_t(blockIdx.x) * block_size + threadIdx.x;
        if (row >= source.n_rows)
          return;
        const int i = static_cast<int>(row / A.block_rows);
        const int a = static_cast<int>(row % A.block_rows);
        for (std::int64_t e = source.row_offsets[row]; e < source.row_offsets[row + 1]; ++e)
        {
          const int column = source.columns[e];
          const int k      = find_block(A, row_lengths[i], i, column / A.block_columns);
          A.values[A.value_index(i, k, a, column % A.block_columns)] = source.values[e];
        }
      }

      /** Slices of one row of scalars are compressed rows. */
      template <typename Number>
      bool is_csr(const SlicedEllpackView<Number> &A)
      {
        return A.slice_height == 1 && A.block_rows == 1 && A.block_columns == 1;
      }

      template <typename Number>
      CSRView<Number> as_csr(const SlicedEllpackView<Number> &A)
      {
        return {A.n_rows, A.n_columns, A.slice_offsets, A.columns, A.values};
      }
    } // namespace

    template <typename Value, typename Number>
    void vmult(Cuda where, const SlicedEllpackView<Value> &A, const Number *src, Number *dst)
    {
      if (is_csr(A))
        return vmult(where, as_csr(A), src, dst);
      product::launch_sliced_ellpack(where, A, src, product::Overwrite<Number>{dst});
    }

    template <typename Value, typename Number>
    void vmult_add(Cuda where, const SlicedEllpackView<Value> &A, const Number *src, Number *dst)
    {
      if (is_csr(A))
        return vmult_add(where, as_csr(A), src, dst);
      product::launch_sliced_ellpack(where, A, src, product::Add<Number>{dst});
    }

    template <typename Value, typename Number>
    void residual(Cuda where, const SlicedEllpackView<Value> &A, const Number *x, const Number *b, Number *r)
    {
      if (is_csr(A))
        return residual(where, as_csr(A), x, b, r);
      product::launch_sliced_ellpack(where, A, x, product::Residual<Number>{b, r});
    }

    template <typename Number>
    void cg_product(Cuda where, const SlicedEllpackView<Number> &A, const Number *p, Number *q, const CGView &cg)
    {
      if (is_csr(A))
        return cg_product(where, as_csr(A), p, q, cg);
      product::launch_sliced_ellpack(where, A, p, product::ConjugateGradients<Number>{p, q, cg});
    }

    template <typename Value, typename Number>
    void polynomial_step(Cuda where, const SlicedEllpackView<Value> &A, const PolynomialStep<Number> &step)
    {
      if (is_csr(A))
        return polynomial_step(where, as_csr(A), step);
      product::launch_sliced_ellpack(where, A, step.y, product::Polynomial<Number>{step});
    }

    void slice_offsets(
        Cuda where, const SparsityView &pattern, const int slice_height, std::int64_t *offsets, int *row_lengths)
    {
      const cudaStream_t stream   = stream_of(where);
      const int          n_slices = PatchFEM::n_slices(pattern.n_rows, slice_height);
      if (n_slices == 0)
      {
        PATCHFEM_CUDA_CHECK(cudaMemsetAsync(offsets, 0, sizeof(std::int64_t), stream));
        return;
      }
      slice_sizes_kernel<<<grid(std::int64_t(n_slices) * 32), block_size, 0, stream>>>(pattern, slice_height, n_slices,
                                                                                       offsets, row_lengths);
      PATCHFEM_CUDA_CHECK_LAUNCH();

      with_workspace(where, [&](void *workspace, std::size_t &bytes) {
        return cub::DeviceScan::InclusiveSum(workspace, bytes, offsets + 1, offsets + 1, n_slices, stream);
      });
    }

    void fill_columns(
        Cuda where, const SparsityView &pattern, const int slice_height, const std::int64_t *offsets, int *columns)
    {
      const int n_slices = PatchFEM::n_slices(pattern.n_rows, slice_height);
      if (n_slices == 0)
        return;
      fill_columns_kernel<<<grid(std::int64_t(n_slices) * slice_height), block_size, 0, stream_of(where)>>>(
          pattern, slice_height, n_slices, offsets, columns);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

    template <typename Number>
    void
    fill_values(Cuda where, const CSRView<Number> &source, const int *row_lengths, const SlicedEllpackView<Number> &A)
    {
      if (source.n_rows == 0)
        return;
      fill_values_kernel<<<grid(source.n_rows), block_size, 0, stream_of(where)>>>(source, row_lengths, A);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

    template void parallel_for(Cuda, std::int64_t, const ColumnStepsBody &);
    template void parallel_for(Cuda, std::int64_t, const CountShortSlicesBody &);
    template void parallel_for(Cuda, std::int64_t, const PaddingBody &);
    template void parallel_for(Cuda, std::int64_t, const SampleSlicesBody &);

#define INSTANTIATE_PRODUCTS(Value, Number)                                                                     \
  template void vmult<Value, Number>(Cuda, const SlicedEllpackView<Value> &, const Number *, Number *);         \
  template void vmult_add<Value, Number>(Cuda, const SlicedEllpackView<Value> &, const Number *, Number *);     \
  template void residual<Value, Number>(Cuda, const SlicedEllpackView<Value> &, const Number *, const Number *, \
                                        Number *);                                                              \
  template void polynomial_step<Value, Number>(Cuda, const SlicedEllpackView<Value> &, const PolynomialStep<Number> &);
    INSTANTIATE_PRODUCTS(float, float)
    INSTANTIATE_PRODUCTS(float, double)
    INSTANTIATE_PRODUCTS(double, double)
#undef INSTANTIATE_PRODUCTS

#define INSTANTIATE(Number)                                                                                            \
  template void cg_product<Number>(Cuda, const SlicedEllpackView<Number> &, const Number *, Number *, const CGView &); \
  template void fill_values<Number>(Cuda, const CSRView<Number> &, const int *, const SlicedEllpackView<Number> &);
    INSTANTIATE(float)
    INSTANTIATE(double)
#undef INSTANTIATE
  } // namespace kernels
} // namespace PatchFEM
