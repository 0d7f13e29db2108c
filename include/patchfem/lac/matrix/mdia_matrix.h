// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_lac_matrix_mdia_matrix_h
#define patchfem_lac_matrix_mdia_matrix_h

#include <patchfem/kernels/mdia.h>
#include <patchfem/lac/matrix/csr_matrix.h>

#include <memory>

namespace PatchFEM
{
  namespace internal
  {
    /** What copies of an mDIA matrix share; never changed once it is made. */
    struct MDIAPatternArrays
    {
      Array<std::int64_t> slice_offsets;
      Array<int>          columns;
    };
  } // namespace internal

  /**
   * Square matrices whose entries off the diagonal are one constant, such as -1 for the pressure equation on voxels
   * (mDIA, P2, section 3.3; see MDIAView for the layout).
   */
  template <typename Number>
  class MDIAMatrix : public StoredMatrix<MDIAMatrix<Number>, Number>
  {
  public:
    MDIAMatrix() = default;
    MDIAMatrix(const Backend &backend, const HostCSR<Number> &matrix) { reinit(backend, matrix); }

    /**
     * The pattern of scalars @p pattern, whose arrays are memory of @p backend, with @p constant in all its entries off the
     * diagonal and 0 on it; the diagonal is written through view().
     */
    void reinit(const Backend &backend, const SparsityView &pattern, Number constant);

    /**
     * Of @p n rows, made where @p slice_offsets and @p columns live, which are as in MDIAView and taken over. Of its
     * entries @p n_off_diagonal are off the diagonal; those on it have undefined content until written through view().
     */
    void reinit(
        int n, Number constant, Array<std::int64_t> &&slice_offsets, Array<int> &&columns, std::int64_t n_off_diagonal);

    /** A matrix from host memory. Refuses entries off the diagonal that differ; rows may lack their diagonal. */
    void reinit(const Backend &backend, const HostCSR<Number> &matrix);

    /**
     * The entries of @p matrix, on its back end. Those off the diagonal may be 0, and are left out then, and differ from
     * one constant by rounding, 1000 times the accuracy of the number type relative to the largest entry of their row; else
     * Error.
     */
    void reinit(const CSRMatrix<Number> &matrix);

    /** A copy of @p other, in this matrix's number type. The two share the pattern, of which there is one copy. */
    template <typename OtherNumber>
    void copy_from(const MDIAMatrix<OtherNumber> &other);

    /** The same matrix in compressed rows, made on its back end. */
    void copy_to(CSRMatrix<Number> &matrix) const;

    /** A = 0; any other number is refused. */
    MDIAMatrix &operator=(const Number zero)
    {
      this->set_to_zero(zero);
      return *this;
    }

    const Backend  &backend() const override { return diagonal.backend(); }
    int             n_rows() const override { return static_cast<int>(diagonal.size()); }
    int             n_columns() const override { return n_rows(); }
    int             block_rows() const override { return 1; }
    int             block_columns() const override { return 1; }
    std::int64_t    n_nonzero_elements() const override { return n_off_diagonal + n_rows(); }
    std::int64_t    n_stored_elements() const override { return n_rows(); }
    std::size_t     memory_consumption() const override;
    std::size_t     values_memory_consumption() const { return diagonal.memory_consumption(); }
    std::string     format() const override { return "mdia"; }
    void            extract_block_diagonal(int block_size, Array<Number> &blocks) const override;
    HostCSR<Number> to_csr_host() const override;

    /** What kernels see. The diagonal may be written through it. */
    MDIAView<Number> view() const;

  private:
    template <typename OtherNumber>
    friend class MDIAMatrix;

    typename MatrixBase<Number>::Values values_over_pattern() override { return {{&diagonal}, &constant}; }

    Number                constant       = Number(0);
    std::int64_t          n_off_diagonal = 0;
    mutable Array<Number> diagonal;

    std::shared_ptr<const internal::MDIAPatternArrays> pattern = std::make_shared<const internal::MDIAPatternArrays>();
  };
} // namespace PatchFEM

#endif
