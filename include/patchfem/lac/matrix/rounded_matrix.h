// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>

#include <variant>

namespace PatchFEM
{
  /**
   * The values of a matrix rounded to fp32, whose products are formed in fp64 with vectors in fp64. A product moves
   * half of the bytes of values, and rounds no more than one in fp64: where the matrix is symmetric bit by bit this one
   * is, too. For preconditioners in mixed precision (P0, section 4).
   */
  class RoundedMatrix : public StoredMatrix<RoundedMatrix, double, float>
  {
  public:
    /** Copies the values of @p matrix and shares its pattern. Throws Error for the formats coo and hybrid. */
    explicit RoundedMatrix(const MatrixBase<double> &matrix);

    const Backend       &backend() const override { return base().backend(); }
    const MatrixExtents &extents() const override { return base().extents(); }
    std::int64_t         n_stored_elements() const override { return base().n_stored_elements(); }
    std::size_t          memory_consumption() const override { return base().memory_consumption(); }
    std::size_t          values_memory_consumption() const { return n_stored_elements() * sizeof(float); }
    std::string          format() const override { return base().format() + " with values in single precision"; }
    void                 extract_block_diagonal(int block_size, Array<double> &blocks) const override;
    HostCSR<double>      to_csr_host() const override;

    template <typename Target>
    void product(const double *x, const Target &target, const RowRange &rows = RowRange()) const
    {
      std::visit([&](const auto &matrix) { matrix.product(x, target, rows); }, copy);
    }

  private:
    std::variant<CSRMatrix<float>, MDIAMatrix<float>, SlicedEllpackMatrix<float>, SymmetricEllpackMatrix<float>> copy;

    const MatrixBase<float> &base() const;
  };

  /** Throws Error with the row unless positive diagonal entries, which bound the others, stay normal in fp32. */
  void require_single_range(const MatrixBase<double> &matrix);

  /** The same for @p n numbers, which the sentence calls @p what; number i belongs to row i * @p rows. */
  void
  require_single_range(const Backend &place, std::int64_t n, const double *values, int rows, const std::string &what);
} // namespace PatchFEM
