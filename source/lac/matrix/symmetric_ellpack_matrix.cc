// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lac/multigrid/multigrid_pattern.h"
#include "symmetric_ellpack_steps.h"

#include <patchfem/kernels/blas1.h>
#include <patchfem/lac/matrix/format_model.h>

#include <algorithm>
#include <limits>

namespace PatchFEM
{
  template <typename Number>
  void SymmetricEllpackMatrix<Number>::reinit(const SlicedEllpackMatrix<Number> &matrix)
  {
    this->release();
    require(matrix.block_rows() == matrix.block_columns() && matrix.n_rows() == matrix.n_columns(),
            "A matrix of the format symmetric ellpack must be square, with square blocks.");
    const int b = matrix.block_rows();
    require(kernels::symmetric_block_size(b), "The format symmetric ellpack has blocks of 1, 2, 3 and 6 rows, not of ",
            b, ".");
    const Backend                   place = matrix.backend();
    const SlicedEllpackView<Number> A     = matrix.view();

    const int row = dispatch(place, [&](auto where) {
      return internal::asymmetric_row(where, place, A, 1000. * std::numeric_limits<Number>::epsilon());
    });
    require(row == INT_MAX, "A matrix of the format symmetric ellpack must be symmetric, but ",
            b == 1 ? "row " : "block row ", row,
            " has an entry that differs from its mirror image, is not a number or has none in the pattern.");

    const int         rows = kernels::symmetric_patch_rows(b), n = A.n_rows;
    const auto        made = this->new_pattern(n, n, b, b);
    CompressedPattern halo =
        compress(place, n / rows + (n % rows != 0), n, kernels::SymmetricHalo{rows, matrix.view()});
    require(halo.width + rows <= 65536, "A patch of ", rows, " rows couples to ", halo.width,
            " others, more than the format symmetric ellpack can number.");
    made->halo_offsets.swap(halo.offsets);
    made->halo.swap(halo.columns);
    made->n_nonzero = matrix.n_nonzero_elements();
    Array<Number> made_values;
    dispatch(place, [&](auto where) { internal::build_symmetric(where, matrix, *made, made_values); });
    values  = std::move(made_values);
    pattern = made;
  }

  template <typename Number>
  void SymmetricEllpackMatrix<Number>::reinit(const CSRMatrix<Number> &matrix, const int block_size)
  {
    this->release(); // before there is a copy in blocks
    SlicedEllpackMatrix<Number> sliced;
    sliced.reinit(matrix, block_size, block_size);
    reinit(sliced);
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
    require(block_size == pattern->block_rows || block_size == 1, "A matrix in blocks of ", pattern->block_rows,
            " has no diagonal blocks of size ", block_size, ".");
    blocks.reinit(backend(), std::size_t(n_rows()) * block_size);
    dispatch(backend(), [&](auto where) { internal::block_diagonal(where, view(), block_size, blocks); });
  }

  template <typename Number>
  HostCSR<Number> SymmetricEllpackMatrix<Number>::to_csr_host() const
  {
    const auto rows    = pattern->rows.to_vector();
    const auto offsets = pattern->offsets.to_vector(), halo_offsets = pattern->halo_offsets.to_vector();
    const auto columns     = pattern->columns.to_vector();
    const auto halo        = pattern->halo.to_vector();
    const auto host_values = values.to_vector();
    const int  b = pattern->block_rows, patch_rows = kernels::symmetric_patch_rows(b);

    std::vector<std::vector<std::pair<int, Number>>> entries(n_rows()); // by row: column and value
    for (int q = 0; q < pattern->row_blocks; ++q)
    {
      const int s = q / 32, r = q % 32, first = q / patch_rows * patch_rows, row = first + SymmetricRow::row(rows[q]);
      const Number *value = host_values.data() + std::int64_t(s) * 32 * (b * (b + 1) / 2) + r;
      for (int a = 0; a < b; ++a)
        for (int c = a; c < b; ++c, value += 32)
        {
          entries[row * b + a].emplace_back(row * b + c, *value);
          if (c > a)
            entries[row * b + c].emplace_back(row * b + a, *value);
        }
      for (int k = 0; k < SymmetricRow::n_blocks(rows[q]); ++k)
      {
        const std::int64_t at    = offsets[s] + 32 * k;
        const int          local = columns[at + r];
        const int column = local < patch_rows ? first + local : halo[halo_offsets[q / patch_rows] + local - patch_rows];
        value            = host_values.data() + pattern->n_on_diagonal() + at * b * b + r;
        for (int a = 0; a < b; ++a)
          for (int c = 0; c < b; ++c, value += 32)
          {
            entries[row * b + a].emplace_back(column * b + c, *value);
            if (local < patch_rows)
              entries[column * b + c].emplace_back(row * b + a, *value);
          }
      }
    }

    HostCSR<Number> result{n_rows(), n_rows(), {0}, {}, {}};
    for (auto &row : entries)
      result.append_row(row);
    return result;
  }

  namespace
  {
    struct SymmetricKind final : ConvertedKind<SymmetricKind, SymmetricEllpackMatrix>
    {
      const FormatKind &source() const override { return formats::sliced_ellpack; }

      static double n_patches(const PatternStatistics &pattern)
      {
        return n_slices(pattern.n_rows, kernels::symmetric_patch_rows(pattern.block_rows));
      }

      double storage(const FormatCase &c) const override
      {
        const PatternStatistics &pattern   = c.pattern;
        const int                b         = pattern.block_rows;
        const double             positions = n_patches(pattern) * kernels::symmetric_patch_rows(b);
        // Rows inside of patches store about half of their blocks, in several chunks. On meshes along their curve
        // slices pad two per cent, and the lists of slots the more the shorter chunks are.
        const double length  = pattern.n_rows > 0 ? double(pattern.n_blocks) / pattern.n_rows : 0.;
        const double chunks  = std::ceil((length + 1.) / 2. / kernels::symmetric_chunk(b));
        const double blocks  = 1.02 * pattern.symmetric_blocks();
        const double mirrors = 0.55 * (chunks + 1.) * double(pattern.n_blocks) * pattern.inside / 2.;
        return blocks * (double(b) * b * c.size + 2.) + mirrors * 2. + positions * (b * (b + 1) / 2 * c.size + 4.) +
               positions / 32. * 8. * (1. + chunks) + pattern.halo() * 4.;
      }

      /** A code of 16 bits for each block, numbers and keys for rows. */
      double workspace(const FormatCase &c) const override
      {
        return 2. * c.pattern.stored_blocks(32) + 96. * c.pattern.n_rows;
      }

      /** A patch reads a row of others once, however many blocks want it. */
      double misses(const PatternStatistics &pattern, const double share) const override
      {
        const double between = 1. - pattern.on_diagonal - pattern.inside;
        return between > 0. ? pattern.halo() * std::min(1., share / between) : 0.;
      }

      /**
       * A patch waits for one load after another, in its offsets, its source and that of its halo, 2.85 us, and then at
       * each of the blocks of its rows, whose products pass through shared memory, 0.36 us for each component. Others
       * are read meanwhile, as many as a multiprocessor has room for (tuning.cuh). Reading and waiting overlap like the
       * sides of a right triangle: that is within 8 % of what bench_spmv and bench_formats measured on an H200, of 3 x
       * 3 blocks and scalars on hexahedra, in fp64 and fp32, of linear tetrahedra and of voxels, with 3.0 to 10.1
       * million unknowns.
       */
      double efficiency(const FormatCase &c, const MemoryModel &memory) const override
      {
        if (!memory.is_device) // it is the arithmetic that a core waits for
          return 0.6;
        const PatternStatistics &pattern  = c.pattern;
        const double             resident = pattern.block_rows > 1 ? 2. : (c.size == sizeof(float) ? 4. : 3.);
        const double             blocks   = pattern.symmetric_blocks() / std::max(1, pattern.n_rows);
        const double             rounds   = std::max(1., n_patches(pattern) / resident / memory.n_processors);
        const double             waiting  = rounds * (2.85e-6 + 0.36e-6 * pattern.block_rows * blocks);
        const double             reading  = c.product_bytes(memory) / memory.rate;
        return std::max(1e-3, reading / std::hypot(reading, waiting));
      }

      /** On the host, where arithmetic takes longer, slices win. */
      std::vector<MatrixFormat> candidates(const PatternStatistics &pattern, const MemoryModel &memory) const override
      {
        if (memory.is_device && pattern.block_rows == pattern.block_columns && pattern.n_rows == pattern.n_columns &&
            kernels::symmetric_block_size(pattern.block_rows))
          return {formats::symmetric};
        return {};
      }

      template <typename Number>
      std::unique_ptr<MatrixBase<Number>> make_of(const MatrixBase<Number> &matrix, const MatrixFormat &) const
      {
        auto made = std::make_unique<SymmetricEllpackMatrix<Number>>();
        if (const auto *sliced = dynamic_cast<const SlicedEllpackMatrix<Number> *>(&matrix))
          made->reinit(*sliced);
        else if (const auto *csr = dynamic_cast<const CSRMatrix<Number> *>(&matrix))
          made->reinit(*csr, csr->block_rows());
        else
          return nullptr;
        return made;
      }
    };
    constexpr SymmetricKind symmetric_kind{};
  } // namespace
  const FormatKind &formats::symmetric = symmetric_kind;

  template class SymmetricEllpackMatrix<float>;
  template class SymmetricEllpackMatrix<double>;
} // namespace PatchFEM
