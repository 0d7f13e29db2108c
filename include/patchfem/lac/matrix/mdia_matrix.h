// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/csr_matrix.h>

namespace PatchFEM
{
  namespace internal
  {
    struct MDIAPattern : MatrixExtents
    {
      Array<std::int64_t> slice_offsets;
      Array<int>          columns;

      std::size_t memory_consumption() const { return memory_consumption_of(slice_offsets, columns); }
    };
  } // namespace internal

  /** Square, with one constant off the diagonal, as -1 for pressure on voxels (mDIA, P2, section 3.3; MDIAView). */
  template <typename Number>
  class MDIAMatrix : public PatternMatrix<MDIAMatrix, Number, internal::MDIAPattern>
  {
    using Base = PatternMatrix<MDIAMatrix, Number, internal::MDIAPattern>;
    using Base::pattern, Base::values;

  public:
    using Base::backend, Base::n_rows;

    MDIAMatrix() = default;
    MDIAMatrix(const Backend &backend, const HostCSR<Number> &matrix) { reinit(CSRMatrix<Number>(backend, matrix)); }

    /** Takes over @p slice_offsets and @p columns as in MDIAView. The diagonal is undefined until written by view(). */
    void reinit(
        int n, Number constant, Array<std::int64_t> &&slice_offsets, Array<int> &&columns, std::int64_t n_off_diagonal);

    /**
     * The entries of @p matrix, on its back end. Those off the diagonal are 0, and left out, or one constant up to 1000
     * times the accuracy of the number type relative to the largest entry of their row; else Error.
     */
    void reinit(const CSRMatrix<Number> &matrix);

    template <typename OtherNumber>
    void copy_from(const MDIAMatrix<OtherNumber> &other)
    {
      Base::copy_from(other);
      constant = static_cast<Number>(other.view().constant);
    }

    /** The same matrix in compressed rows, made on its back end. */
    void copy_to(CSRMatrix<Number> &matrix) const;

    using Base::operator=;

    std::string     format() const override { return "mdia"; }
    void            extract_block_diagonal(int block_size, Array<Number> &blocks) const override;
    HostCSR<Number> to_csr_host() const override;

    /** What kernels see. The diagonal may be written through it. */
    MDIAView<Number> view() const
    {
      return {n_rows(), constant, pattern->slice_offsets.data(), pattern->columns.data(), values.data()};
    }

  private:
    typename MatrixBase<Number>::Values values_over_pattern() override { return {&values, &constant}; }

    Number constant = Number(0); ///< off the diagonal; the values are the diagonal
  };

  namespace formats
  {
    extern const FormatKind &mdia;
  }
} // namespace PatchFEM
