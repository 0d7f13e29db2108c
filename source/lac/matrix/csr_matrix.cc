// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_pattern.h"
#include "csr_steps.h"

#include <patchfem/base/rank_group.h>
#include <patchfem/lac/matrix/format_model.h>

namespace PatchFEM
{
  template <typename Number>
  void check_host_csr(const HostCSR<Number> &matrix)
  {
    const auto &offsets = matrix.row_offsets;
    require(matrix.n_rows >= 0 && matrix.n_columns >= 0, "A matrix has a negative number of rows or columns.");
    require(offsets.size() == static_cast<std::size_t>(matrix.n_rows) + 1,
            "A matrix needs one row offset more than it has rows.");
    require(offsets.front() == 0, "The row offsets of a matrix must begin with 0.");
    int bad_row = matrix.n_rows;
    for (int row = 0; row < matrix.n_rows; ++row)
      require(offsets[row] <= offsets[row + 1], "The row offsets of a matrix decrease at row ", row, ".");
    require(matrix.columns.size() == static_cast<std::size_t>(offsets.back()) &&
                matrix.values.size() == matrix.columns.size(),
            "The last row offset of a matrix must be the number of its columns and values.");
#pragma omp parallel for schedule(static) reduction(min : bad_row)
    for (int row = 0; row < matrix.n_rows; ++row)
      for (std::int64_t e = offsets[row]; e < offsets[row + 1]; ++e)
        if (matrix.columns[e] < 0 || matrix.columns[e] >= matrix.n_columns ||
            (e > offsets[row] && matrix.columns[e] <= matrix.columns[e - 1]))
          bad_row = std::min(bad_row, row);
    require(bad_row == matrix.n_rows, "The columns of row ", bad_row,
            " of a matrix are not sorted, unique and in range.");
  }

  template <typename Number>
  void CSRMatrix<Number>::reinit(const Backend      &backend,
                                 const SparsityView &blocks,
                                 const int           block_rows,
                                 const int           block_columns)
  {
    on_owner_then_members(backend, [&] {
      check_block_pattern(blocks, block_rows, block_columns);
      const std::int64_t n =
          read_offset(backend, blocks.row_offsets, blocks.n_rows) * std::int64_t(block_rows * block_columns);
      const auto made = this->new_pattern(blocks.n_rows, blocks.n_columns, block_rows, block_columns);
      made->n_nonzero = n;
      made->row_offsets.reinit(backend, std::size_t(blocks.n_rows) * block_rows + 1);
      made->columns.reinit(backend, n);
      values.reinit(backend, n);
      if (blocks.n_rows == 0)
        made->row_offsets.set_zero();
      launch(backend, [&](auto where) {
        kernels::team_for(where, blocks.n_rows,
                          internal::ExpandPatternBody{blocks, block_rows, block_columns, made->row_offsets.data(),
                                                      made->columns.data()});
      });
      pattern = made;
      *this   = Number(0);
    });
  }

  template <typename Number>
  void CSRMatrix<Number>::reinit(CompressedPattern &&rows,
                                 Array<Number>     &&entries,
                                 const int           block_rows,
                                 const int           block_columns)
  {
    const auto made =
        this->new_pattern(rows.n_rows / block_rows, rows.n_columns / block_columns, block_rows, block_columns);
    made->n_nonzero   = entries.size();
    made->row_offsets = std::move(rows.offsets);
    made->columns     = std::move(rows.columns);
    values            = std::move(entries);
    pattern           = made;
  }

  template <typename Number>
  void CSRMatrix<Number>::reinit(const Backend &backend, const HostCSR<Number> &matrix, const int block_size)
  {
    check_host_csr(matrix);
    require(block_size >= 1 && block_size <= kernels::max_block_size && matrix.n_rows % block_size == 0 &&
                matrix.n_columns % block_size == 0,
            "The rows and columns of a matrix are not multiples of its block size ", block_size, ".");
    const auto made =
        this->new_pattern(matrix.n_rows / block_size, matrix.n_columns / block_size, block_size, block_size);
    made->n_nonzero = matrix.values.size();
    made->row_offsets.copy_from(backend, matrix.row_offsets);
    made->columns.copy_from(backend, matrix.columns);
    values.copy_from(backend, matrix.values);
    pattern = made;
  }

  template <typename Number>
  void CSRMatrix<Number>::extract_block_diagonal(const int block_size, Array<Number> &blocks) const
  {
    check_block_diagonal(n_rows(), n_columns(), block_size);
    blocks.reinit(backend(), std::size_t(n_rows()) * block_size);
    dispatch(backend(), [&](auto where) { internal::block_diagonal(where, view(), block_size, blocks); });
  }

  template <typename Number>
  HostCSR<Number> CSRMatrix<Number>::to_csr_host() const
  {
    return {n_rows(), n_columns(), pattern->row_offsets.to_vector(), pattern->columns.to_vector(), values.to_vector()};
  }

  namespace
  {
    struct CSRKind final : FormatKind
    {
      constexpr CSRKind() : FormatKind(INT_MAX) {}

      double storage(const FormatCase &c) const override
      {
        return double(c.pattern.n_entries()) * (c.size + 4.) + 8. * (double(c.pattern.scalar_rows()) + 1.);
      }
      double efficiency(const FormatCase &c, const MemoryModel &memory) const override
      {
        return memory.is_device ? c.pattern.share_of_rate(0.86, 1.5) : 1.1;
      }
      std::vector<MatrixFormat> candidates(const PatternStatistics &, const MemoryModel &) const override
      {
        return {*this};
      }
    };
    constexpr CSRKind csr_kind;
  } // namespace
  const FormatKind &formats::csr = csr_kind;

  template void check_host_csr<float>(const HostCSR<float> &);
  template void check_host_csr<double>(const HostCSR<double> &);
  template class CSRMatrix<float>;
  template class CSRMatrix<double>;
} // namespace PatchFEM
