// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_lac_matrix_symmetric_ellpack_matrix_h
#define patchfem_lac_matrix_symmetric_ellpack_matrix_h

#include <patchfem/kernels/symmetric_ellpack.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

#include <memory>

namespace PatchFEM
{
  namespace internal
  {
    /** What copies of a symmetric matrix share; never changed once it is made. */
    struct SymmetricPatternArrays
    {
      Array<std::uint32_t> rows;
      Array<std::int64_t>  offsets, halo_offsets, chunk_offsets, mirror_offsets;
      Array<std::uint16_t> columns, mirrors;
      Array<int>           halo;
    };
  } // namespace internal

  /**
   * A symmetric matrix of which most is stored once (see SymmetricEllpackView for the layout and the bytes moved). How
   * much that saves depends on the numbering: rows that are coupled should have numbers close to each other, as on a
   * space-filling curve. Blocks of 1, 2, 3 and 6 rows.
   */
  template <typename Number>
  class SymmetricEllpackMatrix : public StoredMatrix<SymmetricEllpackMatrix<Number>, Number>
  {
  public:
    SymmetricEllpackMatrix() = default;
    explicit SymmetricEllpackMatrix(const Backend &backend, const HostCSR<Number> &matrix, const int block_size = 1)
    {
      reinit(SlicedEllpackMatrix<Number>(backend, matrix, block_size));
    }

    /**
     * The entries of @p matrix, which must have square blocks, on its back end. Rows that lack their diagonal get a zero
     * there. Throws Error for a matrix that is not symmetric: an entry and its mirror image may differ by rounding, 1000
     * times the accuracy of the number type relative to the largest entries of their rows, and the one that is kept
     * stands for both. Also refuses one in which a patch couples to more rows of others than 16 bits can number, about
     * 64000. An Error leaves an empty matrix.
     */
    void reinit(const SlicedEllpackMatrix<Number> &matrix);

    /** The same for scalar rows, of which @p block_size make a block. */
    void reinit(const CSRMatrix<Number> &matrix, int block_size = 1);

    /** A copy of @p other, in this matrix's number type. The two share the pattern, of which there is one copy. */
    template <typename OtherNumber>
    void copy_from(const SymmetricEllpackMatrix<OtherNumber> &other);

    /** A = 0; any other number is refused. */
    SymmetricEllpackMatrix &operator=(const Number zero)
    {
      this->set_to_zero(zero);
      return *this;
    }

    const Backend  &backend() const override { return diagonal.backend(); }
    int             n_rows() const override { return n_row_blocks * size_of_blocks; }
    int             n_columns() const override { return n_rows(); }
    int             block_rows() const override { return size_of_blocks; }
    int             block_columns() const override { return size_of_blocks; }
    std::int64_t    n_nonzero_elements() const override { return n_nonzero; }
    std::int64_t    n_stored_elements() const override { return diagonal.size() + values.size(); }
    std::size_t     memory_consumption() const override;
    std::size_t     values_memory_consumption() const { return sizeof(Number) * n_stored_elements(); }
    std::string     format() const override;
    void            extract_block_diagonal(int block_size, Array<Number> &blocks) const override;
    HostCSR<Number> to_csr_host() const override;

    /** What kernels see. */
    SymmetricEllpackView<Number> view() const;

  private:
    template <typename OtherNumber>
    friend class SymmetricEllpackMatrix;

    typename MatrixBase<Number>::Values values_over_pattern() override { return {{&diagonal, &values}}; }

    int           n_row_blocks   = 0;
    int           size_of_blocks = 1;
    std::int64_t  n_nonzero      = 0;
    Array<Number> diagonal, values;

    std::shared_ptr<const internal::SymmetricPatternArrays> pattern =
        std::make_shared<const internal::SymmetricPatternArrays>();
  };
} // namespace PatchFEM

#endif
