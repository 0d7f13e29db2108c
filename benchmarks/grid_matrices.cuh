// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "cusparse_product.cuh"
#include "grid_system.h"

/** GridSystem in our formats and in cuSPARSE's blocks, filled on the device. */
namespace benchmark
{
  using namespace PatchFEM;

  /**
   * One thread per node; @p scalar: the matrix is stored in 1 x 1 blocks. @p node_at: the node of each block row, nullptr
   * where they are numbered alike.
   */
  template <int n_c, typename Number>
  __global__ void fill_sliced(const __grid_constant__ GridSystem<n_c> system,
                              const SlicedEllpackView<Number>         A,
                              const int                              *lengths,
                              const int                              *node_at)
  {
    const std::int64_t i = std::int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i >= system.n_nodes())
      return;
    double     values[n_c * n_c];
    const bool scalar = A.block_rows < n_c;
    const int  row    = static_cast<int>(scalar ? i * n_c : i);
    const int  n      = scalar ? lengths[row] / n_c : lengths[row];
    for (int k = 0; k < n; ++k)
    {
      const int j = scalar ? A.columns[A.block_index(row, k * n_c)] / n_c : A.columns[A.block_index(row, k)];
      system.block(node_at != nullptr ? node_at[i] : static_cast<int>(i), node_at != nullptr ? node_at[j] : j, values);
      for (int a = 0; a < n_c; ++a)
        for (int b = 0; b < n_c; ++b)
          A.values[scalar ? A.value_index(row + a, k * n_c + b, 0, 0) : A.value_index(row, k, a, b)] =
              static_cast<Number>(values[a * n_c + b]);
    }
  }

  template <int n_c, typename Number>
  __global__ void fill_csr(const __grid_constant__ GridSystem<n_c> system, const CSRView<Number> A, const int *node_at)
  {
    const std::int64_t i = std::int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i >= system.n_nodes())
      return;
    double values[n_c * n_c];
    for (std::int64_t k = 0; k < (A.row_offsets[i * n_c + 1] - A.row_offsets[i * n_c]) / n_c; ++k)
    {
      const int j = A.columns[A.row_offsets[i * n_c] + k * n_c] / n_c;
      system.block(node_at != nullptr ? node_at[i] : static_cast<int>(i), node_at != nullptr ? node_at[j] : j, values);
      for (int a = 0; a < n_c; ++a)
        for (int b = 0; b < n_c; ++b)
          A.values[A.row_offsets[i * n_c + a] + k * n_c + b] = static_cast<Number>(values[a * n_c + b]);
    }
  }

  /** Blocks one after the other, each column by column. */
  template <int n_c, typename Number>
  __global__ void fill_bsr(const __grid_constant__ GridSystem<n_c> system,
                           const std::int64_t                     *offsets,
                           const int                              *columns,
                           const int                              *node_at,
                           Number                                 *values)
  {
    const std::int64_t i = std::int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i >= system.n_nodes())
      return;
    double block[n_c * n_c];
    for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
    {
      const int j = columns[e];
      system.block(node_at != nullptr ? node_at[i] : static_cast<int>(i), node_at != nullptr ? node_at[j] : j, block);
      for (int a = 0; a < n_c; ++a)
        for (int b = 0; b < n_c; ++b)
          values[(e * n_c + b) * n_c + a] = static_cast<Number>(block[a * n_c + b]);
    }
  }

  /** A grid system whose block pattern lies on the device. */
  template <int n_c>
  struct DeviceGrid
  {
    Backend             backend;
    GridSystem<n_c>     system;
    std::int64_t        n_blocks;
    Array<std::int64_t> offsets;
    Array<int>          columns;
    std::vector<int>    numbering; ///< the node of each block row, empty where they are numbered alike
    Array<int>          node_at;   ///< the same on the device

    /** @p along_curve: nodes are numbered along a Hilbert curve. */
    DeviceGrid(const Backend &backend, const int n, const bool along_curve = false) : backend(backend), system(n)
    {
      std::vector<std::int64_t> host_offsets;
      std::vector<int>          host_columns;
      if (along_curve)
        numbering = system.along_curve();
      system.pattern(host_offsets, host_columns, numbering);
      node_at.copy_from(backend, numbering);
      n_blocks = host_offsets.back();
      offsets.copy_from(backend, host_offsets);
      columns.copy_from(backend, host_columns);
    }

    cudaStream_t stream() const { return static_cast<cudaStream_t>(backend.stream()); }

    SparsityView pattern() const
    {
      const int n_nodes = static_cast<int>(system.n_nodes());
      return {n_nodes, n_nodes, offsets.data(), columns.data()};
    }

    template <typename Number>
    void fill(SlicedEllpackMatrix<Number> &matrix, const int block_size, const bool short_columns = false) const
    {
      if (block_size == n_c)
        matrix.reinit(backend, pattern(), n_c, n_c, {32, short_columns});
      else
      {
        // The scalar pattern comes from CSR.
        CSRMatrix<Number> scalar;
        scalar.reinit(backend, pattern(), n_c, n_c);
        const CSRView<Number> view = scalar.view();
        matrix.reinit(backend, {view.n_rows, view.n_columns, view.row_offsets, view.columns}, 1, 1,
                      {32, short_columns});
      }
      fill_sliced<<<blocks_for(system.n_nodes()), 256, 0, stream()>>>(system, matrix.view(), matrix.view().row_lengths,
                                                                      node_at.data());
      PATCHFEM_CUDA_CHECK_LAUNCH();
      backend.synchronize();
    }

    template <typename Number>
    void fill(CSRMatrix<Number> &matrix) const
    {
      matrix.reinit(backend, pattern(), n_c, n_c);
      fill_csr<<<blocks_for(system.n_nodes()), 256, 0, stream()>>>(system, matrix.view(), node_at.data());
      PATCHFEM_CUDA_CHECK_LAUNCH();
      backend.synchronize();
    }
  };
} // namespace benchmark
