// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/block_diagonal.h"
#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/csr.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

#include "block_pattern.h"
#include "kernels/run.h"

#include <algorithm>

namespace PatchFEM
{
  template <typename Number>
  void SlicedEllpackMatrix<Number>::reinit(const Backend        &backend,
                                           const SparsityView   &blocks,
                                           const int             block_rows,
                                           const int             block_columns,
                                           const AdditionalData &additional_data)
  {
    check_block_pattern(blocks, block_rows, block_columns);
    require(!additional_data.short_columns ||
                (block_rows == 1 && block_columns == 1 && additional_data.slice_height == 32),
            "Columns of 16 bits are available for blocks of 1 x 1 in slices of 32.");
    require(additional_data.slice_height >= 1,
            "The slice height must be at least 1, not " + std::to_string(additional_data.slice_height) + ".");
    // A slice never needs to be higher than the matrix, and in slices of multiples of 32 loads are aligned.
    const std::int64_t enough   = std::max<std::int64_t>(32, (std::int64_t(blocks.n_rows) + 31) / 32 * 32);
    const int          height   = static_cast<int>(std::min<std::int64_t>(additional_data.slice_height, enough));
    const int          n_slices = PatchFEM::n_slices(blocks.n_rows, height);

    const auto made    = this->new_pattern(blocks.n_rows, blocks.n_columns, block_rows, block_columns);
    made->n_nonzero    = read_offset(backend, blocks.row_offsets, blocks.n_rows) * block_rows * block_columns;
    made->height       = height;
    made->skip_padding = additional_data.skip_padding;
    made->slice_offsets.reinit(backend, static_cast<std::size_t>(n_slices) + 1);
    made->lengths.reinit(backend, blocks.n_rows);
    dispatch(backend, [&](auto where) {
      kernels::slice_offsets(where, blocks, height, made->slice_offsets.data(), made->lengths.data());
    });
    const std::int64_t n_stored_blocks = read_offset(backend, made->slice_offsets.data(), n_slices);
    made->columns.reinit(backend, n_stored_blocks);
    values.reinit(backend, n_stored_blocks * block_rows * block_columns);
    run(backend, std::int64_t(n_slices) * height,
        kernels::FillColumnsBody{blocks, height, made->slice_offsets.data(), made->columns.data()});
    if (additional_data.short_columns)
    {
      made->column_steps.reinit(backend, n_stored_blocks);
      run(backend, n_slices,
          kernels::ColumnStepsBody{made->slice_offsets.data(), made->columns.data(), made->column_steps.data()});
    }
    pattern = made;
    *this   = Number(0);
  }

  template <typename Number>
  void SlicedEllpackMatrix<Number>::reinit(const Backend         &backend,
                                           const HostCSR<Number> &matrix,
                                           const int              block_rows,
                                           const int              block_columns,
                                           const AdditionalData  &additional_data)
  {
    check_host_csr(matrix);
    require(block_rows >= 1 && block_columns >= 1 && matrix.n_rows % block_rows == 0 &&
                matrix.n_columns % block_columns == 0,
            "A matrix of " + std::to_string(matrix.n_rows) + " x " + std::to_string(matrix.n_columns) +
                " cannot be cut into blocks of " + std::to_string(block_rows) + " x " + std::to_string(block_columns) +
                ".");

    // The union of the block columns of each block row's scalar rows.
    std::vector<std::int64_t> block_offsets(1, 0);
    std::vector<int>          block_columns_of_rows, row;
    for (int i = 0; i < matrix.n_rows / block_rows; ++i)
    {
      row.clear();
      for (std::int64_t e = matrix.row_offsets[i * block_rows]; e < matrix.row_offsets[(i + 1) * block_rows]; ++e)
        row.push_back(matrix.columns[e] / block_columns);
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      block_columns_of_rows.insert(block_columns_of_rows.end(), row.begin(), row.end());
      block_offsets.push_back(block_columns_of_rows.size());
    }
    const Array<std::int64_t> offsets(backend, block_offsets);
    const Array<int>          pattern_columns(backend, block_columns_of_rows);
    reinit(backend,
           {matrix.n_rows / block_rows, matrix.n_columns / block_columns, offsets.data(), pattern_columns.data()},
           block_rows, block_columns, additional_data);

    const Array<std::int64_t> scalar_offsets(backend, matrix.row_offsets);
    const Array<int>          scalar_columns(backend, matrix.columns);
    Array<Number>             scalar_values(backend, matrix.values);
    const CSRView<Number>     source{matrix.n_rows, matrix.n_columns, scalar_offsets.data(), scalar_columns.data(),
                                 scalar_values.data()};
    dispatch(backend, [&](auto where) { kernels::fill_values(where, source, row_lengths(), view()); });
    backend.synchronize();
  }

  template <typename Number>
  SlicedEllpackView<Number> SlicedEllpackMatrix<Number>::view() const
  {
    return {pattern->row_blocks,
            pattern->column_blocks,
            pattern->block_rows,
            pattern->block_columns,
            pattern->height,
            pattern->slice_offsets.data(),
            pattern->columns.data(),
            values.data(),
            pattern->column_steps.empty() ? nullptr : pattern->column_steps.data(),
            pattern->skip_padding ? pattern->lengths.data() : nullptr};
  }

  template <typename Number>
  int SlicedEllpackMatrix<Number>::n_short_slices() const
  {
    if (pattern->column_steps.empty())
      return 0;
    Array<int> count(backend(), 1);
    count.set_zero();
    run(backend(), view().n_slices(),
        kernels::CountShortSlicesBody{pattern->slice_offsets.data(), pattern->column_steps.data(), count.data()});
    return count.read(0);
  }

  template <typename Number>
  std::string SlicedEllpackMatrix<Number>::format() const
  {
    return "sliced ellpack " + std::to_string(pattern->block_rows) + "x" + std::to_string(pattern->block_columns) +
           (pattern->column_steps.empty() ? "" : " with 16-bit columns");
  }

  template <typename Number>
  void SlicedEllpackMatrix<Number>::extract_block_diagonal(const int block_size, Array<Number> &blocks) const
  {
    const int b = this->block_rows(), n = n_rows();
    require(b == this->block_columns() && n <= n_columns(),
            "A matrix of rectangular blocks or with more rows than columns has no block diagonal.");
    require(block_size == b || block_size == 1, "A matrix in blocks of " + std::to_string(b) +
                                                    " has no diagonal blocks of size " + std::to_string(block_size) +
                                                    ".");
    blocks.reinit(backend(), std::size_t(n) * block_size);
    const kernels::SlicedEllpackBlockDiagonalBody<Number> body{view(), row_lengths(), block_size, blocks.data(),
                                                               n / block_size};
    run(backend(), n, body);
  }

  template <typename Number>
  HostCSR<Number> SlicedEllpackMatrix<Number>::to_csr_host() const
  {
    const std::vector<std::int64_t> host_offsets = pattern->slice_offsets.to_vector();
    const std::vector<int>          host_columns = pattern->columns.to_vector();
    const std::vector<int>          host_lengths = pattern->lengths.to_vector();
    std::vector<Number>             host_values  = values.to_vector();
    SlicedEllpackView<Number>       A            = view();
    A.slice_offsets                              = host_offsets.data();
    A.columns                                    = host_columns.data();
    A.values                                     = host_values.data();

    HostCSR<Number> result;
    result.n_rows    = n_rows();
    result.n_columns = n_columns();
    result.row_offsets.assign(std::size_t(n_rows()) + 1, 0);
    for (int i = 0; i < A.n_rows; ++i)
      for (int a = 0; a < A.block_rows; ++a)
      {
        const std::size_t row       = std::size_t(i) * A.block_rows + a;
        result.row_offsets[row + 1] = result.row_offsets[row] + std::int64_t(host_lengths[i]) * A.block_columns;
      }
    result.columns.resize(result.row_offsets.back());
    result.values.resize(result.row_offsets.back());
#pragma omp parallel for schedule(static)
    for (int i = 0; i < A.n_rows; ++i)
      for (int a = 0; a < A.block_rows; ++a)
      {
        std::int64_t e = result.row_offsets[std::size_t(i) * A.block_rows + a];
        for (int k = 0; k < host_lengths[i]; ++k)
          for (int c = 0; c < A.block_columns; ++c, ++e)
          {
            result.columns[e] = A.columns[A.block_index(i, k)] * A.block_columns + c;
            result.values[e]  = A.values[A.value_index(i, k, a, c)];
          }
      }
    return result;
  }

  template class SlicedEllpackMatrix<float>;
  template class SlicedEllpackMatrix<double>;
} // namespace PatchFEM
