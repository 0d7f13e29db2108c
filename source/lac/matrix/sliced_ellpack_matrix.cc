// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lac/multigrid/multigrid_pattern.h"
#include "sliced_ellpack_steps.h"

#include <patchfem/base/rank_group.h>
#include <patchfem/lac/matrix/format_model.h>

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
    on_owner_then_members(backend, [&] {
      check_block_pattern(blocks, block_rows, block_columns);
      require(!additional_data.short_columns ||
                  (block_rows == 1 && block_columns == 1 && additional_data.slice_height == 32),
              "Columns of 16 bits are available for blocks of 1 x 1 in slices of 32.");
      require(additional_data.slice_height >= 1, "The slice height must be at least 1, not ",
              additional_data.slice_height, ".");
      // A slice never needs to be higher than the matrix, and in slices of multiples of 32 loads are aligned.
      const std::int64_t enough = std::max<std::int64_t>(32, (std::int64_t(blocks.n_rows) + 31) / 32 * 32);
      const auto         made   = this->new_pattern(blocks.n_rows, blocks.n_columns, block_rows, block_columns);
      made->height              = static_cast<int>(std::min<std::int64_t>(additional_data.slice_height, enough));
      made->n_nonzero           = read_offset(backend, blocks.row_offsets, blocks.n_rows) * block_rows * block_columns;
      made->skip_padding        = additional_data.skip_padding;
      dispatch(backend, [&](auto where) { fill_slices(where, backend, blocks, additional_data.short_columns, *made); });
      values.reinit(backend, made->n_values());
      pattern = made;
      *this   = Number(0);
    });
  }

  template <typename Number>
  void SlicedEllpackMatrix<Number>::reinit(const CSRMatrix<Number> &matrix,
                                           const int                block_rows,
                                           const int                block_columns,
                                           const AdditionalData    &additional_data)
  {
    const CSRView<Number> rows  = matrix.view();
    const Backend        &place = matrix.backend();
    if (block_rows == 1 && block_columns == 1)
      reinit(place, {rows.n_rows, rows.n_columns, rows.row_offsets, rows.columns}, 1, 1, additional_data);
    else
      reinit(place, block_pattern(place, rows, block_rows, block_columns).view(), block_rows, block_columns,
             additional_data);
    launch(place, [&](auto where) { kernels::fill_values(where, rows, view()); });
  }

  template <typename Number>
  SlicedEllpackView<Number> SlicedEllpackMatrix<Number>::view() const
  {
    return {{pattern->row_blocks, pattern->column_blocks, pattern->block_rows, pattern->block_columns, pattern->height,
             pattern->slice_offsets.data(), pattern->columns.data(), pattern->lengths.data()},
            values.data(),
            pattern->column_steps.empty() ? nullptr : pattern->column_steps.data(),
            pattern->skip_padding,
            RowRange()};
  }

  template <typename Number>
  void SlicedEllpackMatrix<Number>::set_partitioner(const std::shared_ptr<const Partitioner> &partitioner)
  {
    Base::set_partitioner(partitioner);
    std::const_pointer_cast<internal::SlicedPattern>(pattern)->n_interior =
        partitioner == nullptr ? 0 : dispatch(backend(), [&](auto where) {
          return internal::first_boundary_row(where, backend(), view(), partitioner->n_owned());
        });
  }

  template <typename Number>
  int SlicedEllpackMatrix<Number>::n_short_slices() const
  {
    const auto offsets = pattern->slice_offsets.to_vector();
    const auto steps   = pattern->column_steps.to_vector();
    int        result  = 0;
    for (std::size_t s = 0; !steps.empty() && s + 1 < offsets.size(); ++s)
      result += offsets[s] < offsets[s + 1] && steps[offsets[s]] == 1;
    return result;
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
    require(block_size == b || block_size == 1, "A matrix in blocks of ", b, " has no diagonal blocks of size ",
            block_size, ".");
    blocks.reinit(backend(), std::size_t(n) * block_size);
    dispatch(backend(), [&](auto where) { internal::block_diagonal(where, view(), block_size, blocks); });
  }

  template <typename Number>
  void SlicedEllpackMatrix<Number>::copy_to(CSRMatrix<Number> &matrix) const
  {
    internal::compress_rows(backend(), view(), n_rows(), n_columns(), matrix, this->block_rows(),
                            this->block_columns());
  }

  template <typename Number>
  HostCSR<Number> SlicedEllpackMatrix<Number>::to_csr_host() const
  {
    CSRMatrix<Number> scalar;
    copy_to(scalar);
    return scalar.to_csr_host();
  }

  namespace
  {
    struct SlicedKind final : ConvertedKind<SlicedKind, SlicedEllpackMatrix>
    {
      const bool in_blocks;

      constexpr explicit SlicedKind(const bool in_blocks)
          : ConvertedKind(in_blocks ? INT_MAX : 1, true), in_blocks(in_blocks)
      {}

      /** With @p column bytes for each column and @p length for each row. */
      double bytes(const FormatCase &c, const double blocks, const double column, const double length) const
      {
        const double block  = double(c.pattern.block_rows) * c.pattern.block_columns;
        const double n_rows = in_blocks ? double(c.pattern.n_rows) : double(c.pattern.scalar_rows());
        return blocks * (block * c.size + (in_blocks ? 1. : block) * column) +
               8. * (n_rows / c.format.slice_height + 1.) + length * n_rows;
      }
      double storage(const FormatCase &c) const override
      {
        return bytes(c, c.pattern.stored_blocks(c.format.slice_height), c.format.short_columns ? 6. : 4., 4.);
      }
      /** Padding may be skipped, by lengths that are read, and columns are read in steps of 16 bits where they fit. */
      double traffic(const FormatCase &c) const override
      {
        const MatrixFormat &f      = c.format;
        const double        blocks = f.skip_padding ? c.pattern.n_blocks : c.pattern.stored_blocks(f.slice_height);
        return bytes(c, blocks, 4. - 2. * (f.short_columns ? c.pattern.short_slices : 0.),
                     4. * (f.short_columns + f.skip_padding));
      }

      double efficiency(const FormatCase &c, const MemoryModel &memory) const override
      {
        const PatternStatistics &pattern = c.pattern;
        const int                height  = c.format.slice_height;
        const bool               is_32   = height == 32 && !c.format.skip_padding;
        if (!memory.is_device)
          return is_32 ? (c.format.short_columns ? 1.1 : 1.15) : 1.;
        const int  br = in_blocks ? pattern.block_rows : 1, bc = in_blocks ? pattern.block_columns : 1;
        const bool is_tuned = kernels::with_tuned_block_size(br, bc, [](auto, auto) {});
        if (!is_tuned || (br != bc && !is_32))
          return br > 1 ? 0.55 : 0.4;
        // Adding up steps before the source can be read takes time that short rows do not hide.
        if (c.format.short_columns)
          return std::min(0.95, pattern.share_of_rate(1.09, 6.));
        if (height == 1)
          return br == 1 ? pattern.share_of_rate(0.86, 1.5) : pattern.share_of_rate(0.9, 1.6);
        // Pieces of lower slices are shorter than the lines of the second-level cache; of others addresses take longer.
        return pattern.share_of_rate(height < 32 ? 0.96 * (1. - 1. / height) : (height == 32 ? 0.97 : 0.96), 1.6);
      }

      std::vector<MatrixFormat> candidates(const PatternStatistics &pattern, const MemoryModel &) const override
      {
        if (!in_blocks)
          return {};
        std::vector<MatrixFormat> result{{*this, 32}, {*this, 8}, {*this, 16}, {*this, 64}};
        if (pattern.block_rows == 1 && pattern.block_columns == 1)
          result.insert(result.begin() + 1, {*this, 32, true});
        return result;
      }

      template <typename Number>
      std::unique_ptr<MatrixBase<Number>> make_of(const MatrixBase<Number> &matrix, const MatrixFormat &format) const
      {
        const auto *csr = dynamic_cast<const CSRMatrix<Number> *>(&matrix);
        if (csr == nullptr)
          return nullptr;
        auto made = std::make_unique<SlicedEllpackMatrix<Number>>();
        made->reinit(*csr, in_blocks ? csr->block_rows() : 1, in_blocks ? csr->block_columns() : 1,
                     {format.slice_height, format.short_columns, format.skip_padding});
        return made;
      }
    };
    constexpr SlicedKind blocks_kind(true), scalars_kind(false);
  } // namespace
  const FormatKind &formats::sliced_ellpack = blocks_kind, &formats::sliced_scalar = scalars_kind;

  template class SlicedEllpackMatrix<float>;
  template class SlicedEllpackMatrix<double>;
} // namespace PatchFEM
