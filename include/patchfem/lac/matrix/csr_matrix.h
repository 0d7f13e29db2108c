// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_lac_matrix_csr_matrix_h
#define patchfem_lac_matrix_csr_matrix_h

#include <patchfem/kernels/csr.h>
#include <patchfem/lac/matrix/stored_matrix.h>

#include <memory>

namespace PatchFEM
{
  namespace internal
  {
    /** What copies of a matrix in compressed rows share; never changed once it is made. */
    struct CSRPatternArrays
    {
      Array<std::int64_t> row_offsets;
      Array<int>          columns;
    };
  } // namespace internal

  /**
   * Compressed sparse rows of scalars with 64-bit offsets and 32-bit columns. Made from a block pattern, it stores the
   * scalar rows of the blocks (see kernels::expand_pattern() for where an entry stands).
   */
  template <typename Number>
  class CSRMatrix : public StoredMatrix<CSRMatrix<Number>, Number>
  {
  public:
    CSRMatrix() = default;
    explicit CSRMatrix(const Backend &backend, const HostCSR<Number> &matrix, const int block_size = 1)
    {
      reinit(backend, matrix, block_size);
    }

    /** Zeros on the pattern of blocks @p pattern, whose arrays are memory of @p backend. */
    void reinit(const Backend &backend, const SparsityView &pattern, int block_rows = 1, int block_columns = 1);

    /** A matrix from host memory; @p block_size is only what preconditioners take as the node's unknowns. */
    void reinit(const Backend &backend, const HostCSR<Number> &matrix, int block_size = 1);

    /** A copy of @p other, in this matrix's number type. The two share the pattern, of which there is one copy. */
    template <typename OtherNumber>
    void copy_from(const CSRMatrix<OtherNumber> &other);

    /** The values of @p other, which must have the pattern of this matrix. */
    template <typename OtherNumber>
    void copy_values_from(const CSRMatrix<OtherNumber> &other);

    /** Which kernel products on `cuda` use; for comparisons, as the first is the fastest. */
    void use_kernel(const CSRKernel new_kernel) { kernel = new_kernel; }

    /** All values become @p value. */
    CSRMatrix &operator=(Number value);

    const Backend &backend() const override { return values.backend(); }
    int            n_rows() const override { return rows; }
    int            n_columns() const override { return cols; }
    int            block_rows() const override { return n_block_rows; }
    int            block_columns() const override { return n_block_columns; }
    std::int64_t   n_nonzero_elements() const override { return values.size(); }
    std::int64_t   n_stored_elements() const override { return values.size(); }
    std::size_t    memory_consumption() const override;
    /** Of the values alone: what a copy in another number type adds. */
    std::size_t     values_memory_consumption() const { return values.memory_consumption(); }
    std::string     format() const override { return "csr"; }
    void            extract_block_diagonal(int block_size, Array<Number> &blocks) const override;
    HostCSR<Number> to_csr_host() const override;

    /** What kernels see. The values may be written through it. */
    CSRView<Number> view() const;

  private:
    template <typename OtherNumber>
    friend class CSRMatrix;

    typename MatrixBase<Number>::Values values_over_pattern() override { return {{&values}}; }

    int                   rows            = 0;
    int                   cols            = 0;
    int                   n_block_rows    = 1;
    int                   n_block_columns = 1;
    CSRKernel             kernel          = CSRKernel::pieces;
    mutable Array<Number> values;

    std::shared_ptr<const internal::CSRPatternArrays> pattern = std::make_shared<const internal::CSRPatternArrays>();
  };
} // namespace PatchFEM

#endif
