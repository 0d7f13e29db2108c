// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/sliced_ellpack.h>
#include <patchfem/lac/matrix/csr_matrix.h>

namespace PatchFEM
{
  namespace internal
  {
    struct SlicedPattern : MatrixExtents
    {
      int                  height       = 32;
      bool                 skip_padding = false;
      Array<std::int64_t>  slice_offsets;
      Array<int>           columns, lengths;
      Array<std::uint16_t> column_steps; ///< empty unless asked for

      std::size_t n_values() const { return columns.size() * block_rows * block_columns; }
      std::size_t memory_consumption() const
      {
        return memory_consumption_of(slice_offsets, columns, lengths, column_steps);
      }
    };
  } // namespace internal

  /**
   * Sliced block ELLPACK (see SlicedEllpackView for the layout). Blocks of 1 x 1 make SELL, larger ones SBELL; a slice
   * height of the number of rows or more makes ELLPACK or BELL, of which the only slice is filled up to a multiple of
   * 32 rows; a height of 1 makes BCSR. Blocks 1, 2, 3 and 6 square, 2 x 3, 3 x 6 and their transposes have variants
   * with sizes known at compile time, the square ones on `cuda` for slices of every height, the others for the default
   * of 32, a warp; what is left, blocks up to 12, runs in general code.
   */
  template <typename Number>
  class SlicedEllpackMatrix : public PatternMatrix<SlicedEllpackMatrix, Number, internal::SlicedPattern>
  {
    using Base = PatternMatrix<SlicedEllpackMatrix, Number, internal::SlicedPattern>;
    using Base::pattern, Base::values;

  public:
    using Base::backend, Base::n_rows, Base::n_columns;

    struct AdditionalData
    {
      /// Block rows in a slice.
      int slice_height = 32;
      /// Columns also as steps of 16 bits, which products read in slices whose steps all fit: 2 bytes less for each
      /// entry, a sixth of scalar matrices in fp64, and 2 bytes more memory. For blocks of 1 x 1 in slices of 32.
      bool short_columns = false;
      /// Products on `cuda` stop at the end of each row, not of its slice (ELLPACK-R): for high slices of much padding.
      bool skip_padding = false;
    };

    SlicedEllpackMatrix() = default;
    explicit SlicedEllpackMatrix(const Backend &backend, const HostCSR<Number> &matrix, const int block_size = 1)
    {
      reinit(backend, matrix, block_size, block_size);
    }

    /** Zeros on the pattern of blocks @p pattern, whose arrays are memory of @p backend. */
    void reinit(const Backend        &backend,
                const SparsityView   &pattern,
                int                   block_rows      = 1,
                int                   block_columns   = 1,
                const AdditionalData &additional_data = AdditionalData());

    /** From scalar rows, also of the host: blocks with an entry there. Extents must be multiples of block sizes. */
    void reinit(const CSRMatrix<Number> &rows,
                int                      block_rows,
                int                      block_columns,
                const AdditionalData    &additional_data = AdditionalData());
    void reinit(const Backend         &backend,
                const HostCSR<Number> &matrix,
                int                    block_rows      = 1,
                int                    block_columns   = 1,
                const AdditionalData  &additional_data = AdditionalData())
    {
      reinit(CSRMatrix<Number>(backend, matrix), block_rows, block_columns, additional_data);
    }

    /** The same matrix in compressed rows of scalars, made on its back end. */
    void copy_to(CSRMatrix<Number> &matrix) const;

    using Base::operator=;

    /** Also counts the interior rows, as far as they come first: on the host, where ranks are. */
    void set_partitioner(const std::shared_ptr<const Partitioner> &partitioner) override;

    int             slice_height() const { return pattern->height; }
    std::string     format() const override;
    void            extract_block_diagonal(int block_size, Array<Number> &blocks) const override;
    HostCSR<Number> to_csr_host() const override;

    /** What kernels see. The values may be written through it, except those of padding. */
    SlicedEllpackView<Number> view() const;

    /** Exchanges the array of values for @p other: memory for who makes values elsewhere before they come to stand here. */
    void swap_values(Array<Number> &other) { values.swap(other); }

    /** Slices whose columns are also known by 16-bit steps; counted on the host, for measurements. */
    int n_short_slices() const;

  private:
    typename MatrixBase<Number>::Values values_over_pattern() override { return {&values, nullptr, pattern->height}; }
  };

  namespace formats
  {
    extern const FormatKind &sliced_scalar; ///< in 1 x 1 blocks, whatever the blocks of the pattern
  }
} // namespace PatchFEM
