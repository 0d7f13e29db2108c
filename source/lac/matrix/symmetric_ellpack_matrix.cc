// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lac/multigrid/multigrid_pattern.h"
#include "sliced_copy.h"
#include "symmetric_ellpack_steps.h"

#include <patchfem/kernels/blas1.h>

#include <algorithm>
#include <limits>
#include <type_traits>

namespace PatchFEM
{
  template <typename Number>
  void SymmetricEllpackMatrix<Number>::reinit(const SlicedEllpackMatrix<Number> &matrix)
  {
    this->release();
    require(matrix.block_rows() == matrix.block_columns() && matrix.n_rows() == matrix.n_columns(),
            "A matrix of the format symmetric ellpack must be square, with square blocks.");
    const int b = matrix.block_rows();
    require(kernels::symmetric_block_size(b),
            "The format symmetric ellpack has blocks of 1, 2, 3 and 6 rows, not of " + std::to_string(b) + ".");
    const Backend                   place   = matrix.backend();
    const SlicedEllpackView<Number> A       = matrix.view();
    const int                      *lengths = matrix.row_lengths();

    const int row = choose(place, [&](auto where) {
      return internal::asymmetric_row(where, place, A, lengths, 1000. * std::numeric_limits<Number>::epsilon());
    });
    require(row == INT_MAX,
            "A matrix of the format symmetric ellpack must be symmetric, but " +
                std::string(b == 1 ? "row " : "block row ") + std::to_string(row) +
                " has an entry that differs from its mirror image, is not a number or has none in the pattern.");

    const int         rows = kernels::symmetric_patch_rows(b), n = A.n_rows;
    const auto        made = this->new_pattern(n, n, b, b);
    CompressedPattern halo =
        compress(place, n / rows + (n % rows != 0), n,
                 kernels::SymmetricHalo{n, rows, A.slice_height, A.slice_offsets, A.columns, lengths});
    require(halo.width + rows <= 65536, "A patch of " + std::to_string(rows) + " rows couples to " +
                                            std::to_string(halo.width) +
                                            " others, more than the format symmetric ellpack can number.");
    made->halo_offsets.swap(halo.offsets);
    made->halo.swap(halo.columns);
    made->n_nonzero = matrix.n_nonzero_elements();
    Array<Number> made_values;
    choose(place, [&](auto where) { internal::build_symmetric(where, matrix, *made, made_values); });
    values  = std::move(made_values);
    pattern = made;
  }

  template <typename Number>
  void SymmetricEllpackMatrix<Number>::reinit(const CSRMatrix<Number> &matrix, const int block_size)
  {
    this->release(); // before there is a copy in blocks
    require(block_size >= 1 && matrix.n_rows() % block_size == 0 && matrix.n_columns() % block_size == 0,
            "A matrix of " + std::to_string(matrix.n_rows()) + " rows cannot be cut into blocks of " +
                std::to_string(block_size) + ".");
    SlicedEllpackMatrix<Number> sliced;
    reinit(in_blocks(matrix, block_size, sliced));
  }

  template <typename Number>
  SymmetricEllpackView<Number> SymmetricEllpackMatrix<Number>::view() const
  {
    return {pattern->row_blocks,
            pattern->block_rows,
            kernels::symmetric_patch_rows(pattern->block_rows),
            kernels::symmetric_chunk(pattern->block_rows),
            pattern->rows.data(),
            values.data(),
            pattern->offsets.data(),
            pattern->columns.data(),
            values.data() + pattern->n_on_diagonal(),
            pattern->halo_offsets.data(),
            pattern->halo.data(),
            pattern->chunk_offsets.data(),
            pattern->mirror_offsets.data(),
            pattern->mirrors.data()};
  }

  template <typename Number>
  std::string SymmetricEllpackMatrix<Number>::format() const
  {
    const std::string b = std::to_string(pattern->block_rows);
    return "symmetric ellpack " + b + "x" + b;
  }

  template <typename Number>
  void SymmetricEllpackMatrix<Number>::extract_block_diagonal(const int block_size, Array<Number> &blocks) const
  {
    require(block_size == pattern->block_rows || block_size == 1,
            "A matrix in blocks of " + std::to_string(pattern->block_rows) + " has no diagonal blocks of size " +
                std::to_string(block_size) + ".");
    blocks.reinit(backend(), std::size_t(n_rows()) * block_size);
    choose(backend(), [&](auto where) {
      internal::symmetric_block_diagonal(where, backend(), view(), block_size, blocks.data());
    });
  }

  template <typename Number>
  HostCSR<Number> SymmetricEllpackMatrix<Number>::to_csr_host() const
  {
    const auto        rows    = pattern->rows.to_vector();
    const auto        offsets = pattern->offsets.to_vector(), halo_offsets = pattern->halo_offsets.to_vector();
    const auto        columns       = pattern->columns.to_vector();
    const auto        halo          = pattern->halo.to_vector();
    const auto        all_values    = values.to_vector();
    const auto *const host_diagonal = all_values.data(), *const host_values = host_diagonal + pattern->n_on_diagonal();
    const int n_row_blocks = pattern->row_blocks, b = pattern->block_rows,
              patch_rows = kernels::symmetric_patch_rows(b);

    // Blocks of each row: column and where its entry (a, c) stands; the diagonal's as a block of its own.
    struct Block
    {
      int           column;
      const Number *values;
      int           stride;
      bool          transposed;
      bool          operator<(const Block &other) const { return column < other.column; }
    };
    std::vector<std::vector<Block>> blocks(n_row_blocks);
    std::vector<Number>             diagonal_blocks(std::size_t(n_row_blocks) * b * b);
    for (std::int64_t q = 0; q < n_row_blocks; ++q)
    {
      const std::int64_t s = q / 32;
      const int          r = static_cast<int>(q % 32), patch = static_cast<int>(q / patch_rows);
      const int          first = patch * patch_rows, row = first + SymmetricRow::row(rows[q]);
      for (int k = 0; k < SymmetricRow::n_blocks(rows[q]); ++k)
      {
        const std::int64_t at     = offsets[s] + 32 * k;
        const int          local  = columns[at + r];
        const int          column = local < patch_rows ? first + local : halo[halo_offsets[patch] + local - patch_rows];
        blocks[row].push_back({column, host_values + at * b * b + r, 32, false});
        if (local < patch_rows)
          blocks[column].push_back({row, host_values + at * b * b + r, 32, true});
      }
      Number *block = diagonal_blocks.data() + std::size_t(row) * b * b;
      for (int a = 0, e = 0; a < b; ++a)
        for (int c = a; c < b; ++c, ++e)
          block[a * b + c] = block[c * b + a] = host_diagonal[s * 32 * (b * (b + 1) / 2) + 32 * e + r];
      blocks[row].push_back({row, block, 1, false});
    }

    HostCSR<Number> result;
    result.n_rows = result.n_columns = n_rows();
    result.row_offsets.push_back(0);
    for (auto &row : blocks)
    {
      std::sort(row.begin(), row.end());
      for (int a = 0; a < b; ++a)
      {
        for (const Block &block : row)
          for (int c = 0; c < b; ++c)
          {
            result.columns.push_back(block.column * b + c);
            result.values.push_back(block.values[(block.transposed ? c * b + a : a * b + c) * block.stride]);
          }
        result.row_offsets.push_back(result.columns.size());
      }
    }
    return result;
  }

  template class SymmetricEllpackMatrix<float>;
  template class SymmetricEllpackMatrix<double>;
} // namespace PatchFEM
