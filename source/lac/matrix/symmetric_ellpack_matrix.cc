// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lac/graph/graph_tools.h"
#include "lac/multigrid/multigrid_pattern.h"
#include "sliced_copy.h"

#include "kernels/ordering.h"
#include "kernels/symmetric_ellpack_bodies.h"
#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/primitives.h>
#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>

#include <algorithm>
#include <climits>
#include <limits>
#include <type_traits>

namespace PatchFEM
{
  using graph_tools::scan;

  namespace
  {
    /** Throws Error unless @p A is symmetric to rounding. */
    template <typename Number>
    void check_symmetry(const Backend &place, const SlicedEllpackView<Number> &A, const int *lengths)
    {
      Array<double> magnitude(place, A.n_rows);
      Array<int>    bad_row(place, std::vector<int>{INT_MAX});
      run(place, A.n_rows, kernels::RowMagnitudeBody<Number>{A, lengths, magnitude.data()});
      run(place, A.n_rows,
          kernels::SymmetryCheckBody<Number>{A, lengths, magnitude.data(),
                                             1000. * std::numeric_limits<Number>::epsilon(), bad_row.data()});
      const int row = bad_row.read(0);
      require(row == INT_MAX,
              "A matrix of the format symmetric ellpack must be symmetric, but " +
                  std::string(A.block_rows == 1 ? "row " : "block row ") + std::to_string(row) +
                  " has an entry that differs from its mirror image, is not a number or has none in the pattern.");
    }
  } // namespace

  template <typename Number>
  void SymmetricEllpackMatrix<Number>::reinit(const SlicedEllpackMatrix<Number> &matrix)
  {
    *this = SymmetricEllpackMatrix<Number>(); // gives memory back first, and is what an Error leaves
    require(matrix.block_rows() == matrix.block_columns() && matrix.n_rows() == matrix.n_columns(),
            "A matrix of the format symmetric ellpack must be square, with square blocks.");
    const int b = matrix.block_rows();
    require(kernels::symmetric_block_size(b),
            "The format symmetric ellpack has blocks of 1, 2, 3 and 6 rows, not of " + std::to_string(b) + ".");
    const Backend                   place   = matrix.backend();
    const SlicedEllpackView<Number> A       = matrix.view();
    const int                      *lengths = matrix.row_lengths();
    const int                       n       = A.n_rows;
    check_symmetry(place, A, lengths);

    const auto         made = std::make_shared<internal::SymmetricPatternArrays>();
    const int          rows = kernels::symmetric_patch_rows(b), chunk = kernels::symmetric_chunk(b);
    const int          n_patches = n / rows + (n % rows != 0), slices_per_patch = rows / 32;
    const std::int64_t n_slices = std::int64_t(n_patches) * slices_per_patch, n_positions = n_slices * 32;

    // Which of two blocks is stored, and how many of each kind a row has.
    const std::int64_t   n_codes = matrix.n_stored_elements() / (b * b);
    Array<std::uint16_t> codes(place, n_codes);
    Array<int>           n_inner(place, n), n_outer(place, n), n_stored(place, n);
    n_stored.set_zero();
    {
      Array<int>          n_pairs(place, n);
      Array<std::int64_t> pair_offsets;
      run(place, n,
          kernels::SymmetricKindsBody<Number>{A, lengths, rows, codes.data(), n_inner.data(), n_pairs.data(),
                                              n_outer.data()});
      Array<std::uint32_t> pairs(place, scan(n_pairs, pair_offsets));
      run(place, n, kernels::SymmetricPairsBody<Number>{A, lengths, rows, pair_offsets.data(), pairs.data()});
      run(place, n_patches,
          kernels::SymmetricOwnersBody{n, rows, pair_offsets.data(), n_inner.data(), n_outer.data(), pairs.data(),
                                       n_stored.data()});
      run(place, n,
          kernels::SymmetricPairCodesBody<Number>{A, lengths, rows, pair_offsets.data(), pairs.data(), codes.data()});
    }
    run(place, n, kernels::SymmetricRanksBody<Number>{A, lengths, codes.data()});
    run(place, n, kernels::SymmetricPartnersBody<Number>{A, lengths, codes.data()});

    // Positions in the patches.
    Array<int>           row_at(place, n), position(place, n);
    Array<std::uint64_t> keys(place, n);
    run(place, n, kernels::SymmetricKeyBody{rows, n_stored.data(), n_outer.data(), keys.data(), row_at.data()});
    dispatch(place, [&](auto where) {
      kernels::stable_sort_by_key(where, n, keys.data(), row_at.data(), 32 + bits_for(std::int64_t(n_patches) + 1));
    });
    keys.release();
    run(place, n, kernels::InvertBody{row_at.data(), position.data()});

    // Slices and chunks.
    CompressedPattern halo = compress(
        place, n_patches, n, kernels::SymmetricHalo{n, rows, A.slice_height, A.slice_offsets, A.columns, lengths});
    require(halo.width + rows <= 65536, "A patch of " + std::to_string(rows) + " rows couples to " +
                                            std::to_string(halo.width) +
                                            " others, more than the format symmetric ellpack can number.");
    made->halo_offsets.swap(halo.offsets);
    made->halo.swap(halo.columns);
    made->rows.reinit(place, n_positions);
    Array<int> slice_counts(place, n_slices), n_chunks(place, n_patches);
    run(place, n_slices,
        kernels::SymmetricSliceBody{n, rows, row_at.data(), n_stored.data(), n_outer.data(), slice_counts.data(),
                                    made->rows.data()});
    run(place, n_patches, kernels::SymmetricChunksBody{n, rows, chunk, n_stored.data(), n_chunks.data()});
    const std::int64_t size       = scan(slice_counts, made->offsets);
    const std::int64_t all_chunks = scan(n_chunks, made->chunk_offsets);
    Array<int>         mirror_counts(place, all_chunks * slices_per_patch);
    mirror_counts.set_zero();
    kernels::SymmetricMirrorsBody<Number> mirrors_body{
        A,       lengths, rows, chunk, codes.data(), position.data(), made->chunk_offsets.data(), mirror_counts.data(),
        nullptr, nullptr};
    run(place, n, mirrors_body);
    made->mirrors.reinit(place, scan(mirror_counts, made->mirror_offsets));
    run(place, made->mirrors.size(),
        kernels::FillShortBody{made->mirrors.data(), static_cast<std::uint16_t>(chunk * rows)});
    mirrors_body.counts         = nullptr;
    mirrors_body.mirror_offsets = made->mirror_offsets.data();
    mirrors_body.mirrors        = made->mirrors.data();
    run(place, n, mirrors_body);

    // Columns and values.
    made->columns.reinit(place, size);
    Array<Number> new_diagonal(place, n_positions * (b * (b + 1) / 2)), new_values(place, size * b * b);
    new_diagonal.set_zero();
    new_values.set_zero();
    run(place, n_positions,
        kernels::SymmetricFillBody<Number>{A, lengths, rows, codes.data(), row_at.data(), n_stored.data(),
                                           made->offsets.data(), made->halo_offsets.data(), made->halo.data(),
                                           made->columns.data(), new_diagonal.data(), new_values.data()});

    size_of_blocks = b;
    n_row_blocks   = n;
    n_nonzero      = matrix.n_nonzero_elements();
    diagonal       = std::move(new_diagonal);
    values         = std::move(new_values);
    pattern        = made;
  }

  template <typename Number>
  void SymmetricEllpackMatrix<Number>::reinit(const CSRMatrix<Number> &matrix, const int block_size)
  {
    *this = SymmetricEllpackMatrix<Number>(); // before there is a copy in blocks
    require(block_size >= 1 && matrix.n_rows() % block_size == 0 && matrix.n_columns() % block_size == 0,
            "A matrix of " + std::to_string(matrix.n_rows()) + " rows cannot be cut into blocks of " +
                std::to_string(block_size) + ".");
    SlicedEllpackMatrix<Number> sliced;
    reinit(in_blocks(matrix, block_size, sliced));
  }

  template <typename Number>
  template <typename OtherNumber>
  void SymmetricEllpackMatrix<Number>::copy_from(const SymmetricEllpackMatrix<OtherNumber> &other)
  {
    if constexpr (std::is_same_v<Number, OtherNumber>)
      if (this == &other)
        return;
    *this           = SymmetricEllpackMatrix<Number>();
    const auto copy = [&](const Array<OtherNumber> &from) {
      Array<Number> to(other.backend(), from.size());
      dispatch(other.backend(), [&](auto where) { kernels::convert(where, to.size(), from.data(), to.data()); });
      return to;
    };
    Array<Number> new_diagonal = copy(other.diagonal), new_values = copy(other.values);
    n_row_blocks   = other.n_row_blocks;
    size_of_blocks = other.size_of_blocks;
    n_nonzero      = other.n_nonzero;
    diagonal       = std::move(new_diagonal);
    values         = std::move(new_values);
    pattern        = other.pattern;
  }

  template <typename Number>
  SymmetricEllpackView<Number> SymmetricEllpackMatrix<Number>::view() const
  {
    return {n_row_blocks,
            size_of_blocks,
            kernels::symmetric_patch_rows(size_of_blocks),
            kernels::symmetric_chunk(size_of_blocks),
            pattern->rows.data(),
            diagonal.data(),
            pattern->offsets.data(),
            pattern->columns.data(),
            values.data(),
            pattern->halo_offsets.data(),
            pattern->halo.data(),
            pattern->chunk_offsets.data(),
            pattern->mirror_offsets.data(),
            pattern->mirrors.data()};
  }

  template <typename Number>
  std::size_t SymmetricEllpackMatrix<Number>::memory_consumption() const
  {
    return values_memory_consumption() + pattern->rows.memory_consumption() + pattern->offsets.memory_consumption() +
           pattern->halo_offsets.memory_consumption() + pattern->chunk_offsets.memory_consumption() +
           pattern->mirror_offsets.memory_consumption() + pattern->columns.memory_consumption() +
           pattern->mirrors.memory_consumption() + pattern->halo.memory_consumption();
  }

  template <typename Number>
  std::string SymmetricEllpackMatrix<Number>::format() const
  {
    return "symmetric ellpack " + std::to_string(size_of_blocks) + "x" + std::to_string(size_of_blocks);
  }

  template <typename Number>
  void SymmetricEllpackMatrix<Number>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    this->check_product(dst, src);
    dispatch(backend(), [&](auto where) { kernels::vmult(where, view(), src.data(), dst.data()); });
  }

  template <typename Number>
  void SymmetricEllpackMatrix<Number>::vmult_add(Vector<Number> &dst, const Vector<Number> &src) const
  {
    this->check_product(dst, src);
    dispatch(backend(), [&](auto where) { kernels::vmult_add(where, view(), src.data(), dst.data()); });
  }

  template <typename Number>
  void
  SymmetricEllpackMatrix<Number>::residual(Vector<Number> &r, const Vector<Number> &x, const Vector<Number> &b) const
  {
    this->check_product(r, x);
    require(b.size() == r.size() && b.backend() == backend(), "A right-hand side does not fit its matrix.");
    dispatch(backend(), [&](auto where) { kernels::residual(where, view(), x.data(), b.data(), r.data()); });
  }

  template <typename Number>
  void SymmetricEllpackMatrix<Number>::cg_product(Vector<Number> &q, const Vector<Number> &p, const CGView &cg) const
  {
    this->check_product(q, p);
    dispatch(backend(), [&](auto where) { kernels::cg_product(where, view(), p.data(), q.data(), cg); });
  }

  template <typename Number>
  void SymmetricEllpackMatrix<Number>::polynomial_step(const PolynomialStep<Number> &step) const
  {
    dispatch(backend(), [&](auto where) { kernels::polynomial_step(where, view(), step); });
  }

  template <typename Number>
  void SymmetricEllpackMatrix<Number>::extract_block_diagonal(const int block_size, Array<Number> &blocks) const
  {
    require(block_size == size_of_blocks || block_size == 1, "A matrix in blocks of " + std::to_string(size_of_blocks) +
                                                                 " has no diagonal blocks of size " +
                                                                 std::to_string(block_size) + ".");
    blocks.reinit(backend(), std::size_t(n_rows()) * block_size);
    run(backend(), n_row_blocks, kernels::SymmetricBlockDiagonalBody<Number>{view(), block_size, blocks.data()});
  }

  template <typename Number>
  HostCSR<Number> SymmetricEllpackMatrix<Number>::to_csr_host() const
  {
    const auto rows    = pattern->rows.to_vector();
    const auto offsets = pattern->offsets.to_vector(), halo_offsets = pattern->halo_offsets.to_vector();
    const auto columns       = pattern->columns.to_vector();
    const auto halo          = pattern->halo.to_vector();
    const auto host_diagonal = diagonal.to_vector(), host_values = values.to_vector();
    const int  b = size_of_blocks, patch_rows = kernels::symmetric_patch_rows(b);

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
        blocks[row].push_back({column, host_values.data() + at * b * b + r, 32, false});
        if (local < patch_rows)
          blocks[column].push_back({row, host_values.data() + at * b * b + r, 32, true});
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
  template void SymmetricEllpackMatrix<float>::copy_from(const SymmetricEllpackMatrix<float> &);
  template void SymmetricEllpackMatrix<double>::copy_from(const SymmetricEllpackMatrix<double> &);
  template void SymmetricEllpackMatrix<float>::copy_from(const SymmetricEllpackMatrix<double> &);
  template void SymmetricEllpackMatrix<double>::copy_from(const SymmetricEllpackMatrix<float> &);
} // namespace PatchFEM
