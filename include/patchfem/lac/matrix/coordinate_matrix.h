// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/coordinate.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

namespace PatchFEM
{
  /**
   * Coordinate form, COO: row, column and value of each entry (P1). Products cut the entries into pieces of equal
   * length, whatever the rows, and add what rows across pieces have in a fixed order; a row costs as much as it has
   * entries, and one that is much longer than others does no harm.
   */
  template <typename Number>
  class CoordinateMatrix : public MatrixBase<Number>
  {
  public:
    CoordinateMatrix() = default;
    CoordinateMatrix(const Backend &backend, const HostCSR<Number> &matrix, const int block_size = 1)
    {
      reinit(CSRMatrix<Number>(backend, matrix, block_size));
    }

    /** The entries of @p matrix, on its back end, but for the first @p n_before of each row. */
    void reinit(const CSRMatrix<Number> &matrix, int n_before = 0);

    const Backend       &backend() const override { return values.backend(); }
    const MatrixExtents &extents() const override { return sizes; }
    std::int64_t         n_stored_elements() const override { return values.size(); }
    std::string          format() const override { return "coordinate"; }
    void                 vmult(Vector<Number> &dst, const Vector<Number> &src) const override;
    void                 vmult_add(Vector<Number> &dst, const Vector<Number> &src) const override;
    void                 residual(Vector<Number> &r, const Vector<Number> &x, const Vector<Number> &b) const override;
    void                 extract_block_diagonal(int block_size, Array<Number> &blocks) const override;
    HostCSR<Number>      to_csr_host() const override;

    /** What kernels see. The values may be written through it. */
    CoordinateView<Number> view() const
    {
      return {this->n_rows(), this->n_columns(), sizes.n_nonzero, rows.data(), columns.data(), values.data()};
    }

    std::size_t memory_consumption() const override { return memory_consumption_of(rows, columns, values, carries); }

  private:
    template <typename OtherNumber>
    friend class HybridMatrix;

    MatrixExtents         sizes;
    Array<int>            rows, columns;
    mutable Array<Number> values;
    mutable Array<double> carries; ///< of rows across pieces

    /** y = y + factor A x; y may be of a wider type. */
    template <typename Result>
    void add(double factor, const Number *x, Result *y) const;
  };

  /**
   * ELLPACK for the first entries of each row, as many as a third of the rows have at least, and coordinate form for
   * what is longer (HYB of Bell and Garland 2009): for scalar matrices with a few rows of much greater length.
   */
  template <typename Number>
  class HybridMatrix : public MatrixBase<Number>
  {
  public:
    struct AdditionalData
    {
      /// Entries of a row in ELLPACK; 0: what at least a third of the rows have.
      int width = 0;
      /// Rows in a slice of the ELLPACK part; 32 makes it SELL, the number of rows or more plain ELLPACK.
      int slice_height = 32;
    };

    HybridMatrix() = default;
    HybridMatrix(const Backend &backend, const HostCSR<Number> &matrix) { reinit(CSRMatrix<Number>(backend, matrix)); }

    /** The entries of @p matrix, on its back end. */
    void reinit(const CSRMatrix<Number> &matrix, const AdditionalData &additional_data = AdditionalData());

    /** The two parts. */
    const SlicedEllpackMatrix<Number> &ellpack() const { return regular; }
    const CoordinateMatrix<Number>    &coordinate() const { return rest; }

    const Backend       &backend() const override { return regular.backend(); }
    const MatrixExtents &extents() const override { return sizes; }
    std::int64_t n_stored_elements() const override { return regular.n_stored_elements() + rest.n_stored_elements(); }
    std::size_t  memory_consumption() const override { return memory_consumption_of(regular, rest, sums_of_rest); }
    std::string  format() const override { return "hybrid"; }
    void         vmult(Vector<Number> &dst, const Vector<Number> &src) const override;
    void         vmult_add(Vector<Number> &dst, const Vector<Number> &src) const override;
    void         residual(Vector<Number> &r, const Vector<Number> &x, const Vector<Number> &b) const override;
    void         extract_block_diagonal(int block_size, Array<Number> &blocks) const override;
    HostCSR<Number> to_csr_host() const override;

  private:
    MatrixExtents               sizes;
    SlicedEllpackMatrix<Number> regular;
    CoordinateMatrix<Number>    rest;
    mutable Array<double>       sums_of_rest; ///< of a residual in single precision
  };

  namespace formats
  {
    extern const FormatKind &coordinate, &hybrid;
  }
} // namespace PatchFEM
