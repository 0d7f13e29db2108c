// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

namespace PatchFEM
{
  namespace internal
  {
    struct SymmetricPattern : MatrixExtents
    {
      Array<std::uint32_t> rows;
      Array<std::int64_t>  offsets, halo_offsets, chunk_offsets, mirror_offsets;
      Array<std::uint16_t> columns, mirrors;
      Array<int>           halo;

      std::size_t memory_consumption() const
      {
        return memory_consumption_of(rows, offsets, halo_offsets, chunk_offsets, mirror_offsets, columns, mirrors,
                                     halo);
      }

      /** Of the diagonal, whose upper halves of blocks come first in the values. */
      std::size_t n_on_diagonal() const { return rows.size() * (block_rows * (block_rows + 1) / 2); }
    };
  } // namespace internal

  /**
   * A symmetric matrix of which most is stored once (see SymmetricEllpackView for the layout and the bytes moved): the
   * more, the closer the numbers of coupled rows are, as on a space-filling curve. Blocks of 1, 2, 3 and 6 rows.
   */
  template <typename Number>
  class SymmetricEllpackMatrix : public PatternMatrix<SymmetricEllpackMatrix, Number, internal::SymmetricPattern>
  {
    using Base = PatternMatrix<SymmetricEllpackMatrix, Number, internal::SymmetricPattern>;
    using Base::pattern, Base::values;

  public:
    using Base::backend, Base::n_rows;

    SymmetricEllpackMatrix() = default;
    explicit SymmetricEllpackMatrix(const Backend &backend, const HostCSR<Number> &matrix, const int block_size = 1)
    {
      reinit(SlicedEllpackMatrix<Number>(backend, matrix, block_size));
    }

    /**
     * The entries of @p matrix, which must have square blocks, on its back end. Rows that lack their diagonal get a
     * zero there. Error, which leaves an empty matrix, if an entry and its mirror image differ by more than 1000 times
     * the accuracy of the number type relative to the largest entries of their rows (the one that is kept stands for
     * both), or if a patch couples to more rows of others than 16 bits can number, about 64000.
     */
    void reinit(const SlicedEllpackMatrix<Number> &matrix);

    /** The same for scalar rows, of which @p block_size make a block. */
    void reinit(const CSRMatrix<Number> &matrix, int block_size = 1);

    using Base::operator=;

    std::string     format() const override;
    void            extract_block_diagonal(int block_size, Array<Number> &blocks) const override;
    HostCSR<Number> to_csr_host() const override;

    /** What kernels see. */
    SymmetricEllpackView<Number> view() const;
  };

  namespace formats
  {
    extern const FormatKind &symmetric;
  }
} // namespace PatchFEM
