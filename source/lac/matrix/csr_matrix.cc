// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/block_diagonal.h"
#include <patchfem/kernels/blas1.h>
#include <patchfem/lac/matrix/csr_matrix.h>

#include "block_pattern.h"

namespace PatchFEM
{
  template <typename Number>
  void CSRMatrix<Number>::reinit(const Backend      &backend,
                                 const SparsityView &blocks,
                                 const int           block_rows,
                                 const int           block_columns)
  {
    check_block_pattern(blocks, block_rows, block_columns);
    n_block_rows                = block_rows;
    n_block_columns             = block_columns;
    rows                        = blocks.n_rows * block_rows;
    cols                        = blocks.n_columns * block_columns;
    const std::int64_t n_blocks = read_offset(backend, blocks.row_offsets, blocks.n_rows);

    pattern         = std::make_shared<const internal::CSRPatternArrays>(); // gives memory back first
    const auto made = std::make_shared<internal::CSRPatternArrays>();
    made->row_offsets.reinit(backend, static_cast<std::size_t>(rows) + 1);
    made->columns.reinit(backend, n_blocks * block_rows * block_columns);
    values.reinit(backend, made->columns.size());
    dispatch(backend, [&](auto where) {
      kernels::expand_pattern(where, blocks, block_rows, block_columns, made->row_offsets.data(), made->columns.data());
    });
    pattern = made;
    *this   = Number(0);
  }

  template <typename Number>
  void CSRMatrix<Number>::reinit(const Backend &backend, const HostCSR<Number> &matrix, const int block_size)
  {
    check_host_csr(matrix);
    require(block_size >= 1 && block_size <= kernels::max_block_size && matrix.n_rows % block_size == 0 &&
                matrix.n_columns % block_size == 0,
            "The rows and columns of a matrix are not multiples of its block size " + std::to_string(block_size) + ".");
    n_block_rows    = block_size;
    n_block_columns = block_size;
    rows            = matrix.n_rows;
    cols            = matrix.n_columns;
    pattern         = std::make_shared<const internal::CSRPatternArrays>(); // gives memory back first
    const auto made = std::make_shared<internal::CSRPatternArrays>();
    made->row_offsets.copy_from(backend, matrix.row_offsets);
    made->columns.copy_from(backend, matrix.columns);
    values.copy_from(backend, matrix.values);
    pattern = made;
  }

  template <typename Number>
  template <typename OtherNumber>
  void CSRMatrix<Number>::copy_from(const CSRMatrix<OtherNumber> &other)
  {
    rows            = other.rows;
    cols            = other.cols;
    n_block_rows    = other.n_block_rows;
    n_block_columns = other.n_block_columns;
    kernel          = other.kernel;
    pattern         = other.pattern;
    values.reinit(other.backend(), other.values.size());
    copy_values_from(other);
  }

  template <typename Number>
  template <typename OtherNumber>
  void CSRMatrix<Number>::copy_values_from(const CSRMatrix<OtherNumber> &other)
  {
    require(other.values.size() == values.size() && other.backend() == backend(),
            "The values of a matrix can only be copied to one of the same pattern on the same back end.");
    dispatch(backend(),
             [&](auto where) { kernels::convert(where, values.size(), other.values.data(), values.data()); });
  }

  template <typename Number>
  CSRMatrix<Number> &CSRMatrix<Number>::operator=(const Number value)
  {
    dispatch(backend(), [&](auto where) { kernels::set<Number>(where, values.size(), value, values.data()); });
    return *this;
  }

  template <typename Number>
  CSRView<Number> CSRMatrix<Number>::view() const
  {
    return {rows, cols, pattern->row_offsets.data(), pattern->columns.data(), values.data(), kernel};
  }

  template <typename Number>
  std::size_t CSRMatrix<Number>::memory_consumption() const
  {
    return pattern->row_offsets.memory_consumption() + pattern->columns.memory_consumption() +
           values.memory_consumption();
  }

  template <typename Number>
  void CSRMatrix<Number>::extract_block_diagonal(const int block_size, Array<Number> &blocks) const
  {
    require(block_size >= 1 && block_size <= kernels::max_block_size && rows % block_size == 0,
            "The rows of a matrix are not a multiple of the block size " + std::to_string(block_size) + ".");
    require(rows <= cols, "A matrix with more rows than columns has no block diagonal.");
    blocks.reinit(backend(), static_cast<std::size_t>(rows) * block_size);
    const kernels::CSRBlockDiagonalBody<Number> body{view(), block_size, blocks.data(), rows / block_size};
    dispatch(backend(), [&](auto where) { kernels::parallel_for(where, rows, body); });
  }

  template <typename Number>
  HostCSR<Number> CSRMatrix<Number>::to_csr_host() const
  {
    return {rows, cols, pattern->row_offsets.to_vector(), pattern->columns.to_vector(), values.to_vector()};
  }

  template class CSRMatrix<float>;
  template class CSRMatrix<double>;
  template void CSRMatrix<float>::copy_from(const CSRMatrix<float> &);
  template void CSRMatrix<double>::copy_from(const CSRMatrix<double> &);
  template void CSRMatrix<float>::copy_from(const CSRMatrix<double> &);
  template void CSRMatrix<float>::copy_values_from(const CSRMatrix<double> &);
  template void CSRMatrix<double>::copy_from(const CSRMatrix<float> &);
  template void CSRMatrix<double>::copy_values_from(const CSRMatrix<float> &);
} // namespace PatchFEM
