// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/product.h>
#include <patchfem/lac/matrix/compressed_pattern.h>
#include <patchfem/lac/matrix/matrix_base.h>

#include <memory>
#include <type_traits>

namespace PatchFEM
{
  /**
   * The product of @p A (see StoredMatrix::product()) with the ghosts of @p x brought up to date: while they travel, rows
   * that read none are formed.
   */
  template <typename Matrix, typename Number, typename Target>
  void product_with_ghosts(const Matrix &A, const Vector<Number> &x, const Target &target)
  {
    // Long messages are announced, answered and sent: three steps of MPI, which short ones do not need, and for which
    // a device that works on its own would have to be waited for.
    const bool is_long    = A.n_stored_elements() >= 1000000 && A.backend().kind() != BackendKind::cuda;
    const int  n_interior = A.extents().n_interior, n_pieces = is_long ? 4 : 1;
    if (n_interior == 0)
    {
      x.update_ghosts();
      return A.product(x.data(), target);
    }
    x.start_ghosts();
    for (int begin = 0, k = 1; k <= n_pieces; ++k)
    {
      const int end = static_cast<int>(std::int64_t(n_interior) * k / n_pieces);
      A.product(x.data(), target, RowRange{begin, end});
      if (k < n_pieces)
        x.progress_ghosts();
      begin = end;
    }
    x.finish_ghosts();
    A.product(x.data(), target, RowRange{n_interior});
  }

  /** All products of a format, which gives storage, kernel and Derived::view(). @p Value is the type of the entries. */
  template <typename Derived, typename Number, typename Value = Number>
  class StoredMatrix : public MatrixBase<Number>
  {
  public:
    /**
     * Each row of A x, or of @p rows, goes to @p target (kernels/product.h); x, of any type with such products, is not
     * checked, and its ghosts are as they are.
     */
    template <typename Other, typename Target>
    void product(const Other *x, const Target &target, const RowRange &rows = RowRange()) const
    {
      auto A = derived().view();
      if constexpr (std::is_base_of_v<SlicedPatternView, decltype(A)>)
        A.rows = rows;
      else if (rows.last != RowRange::end) // which forms all rows
        return;
      launch(this->backend(), [&](auto where) { kernels::product(where, A, x, target); });
    }

    /** The same with the ghosts of @p x brought up to date. */
    template <typename Target>
    void product_with_ghosts(const Vector<Number> &x, const Target &target) const
    {
      PatchFEM::product_with_ghosts(derived(), x, target);
    }

    void vmult(Vector<Number> &dst, const Vector<Number> &src) const override
    {
      this->check_product(dst, src);
      product_with_ghosts(src, kernels::Overwrite<Number>{dst.data()});
    }

    void vmult_add(Vector<Number> &dst, const Vector<Number> &src) const override
    {
      this->check_product(dst, src);
      product_with_ghosts(src, kernels::Add<Number>{dst.data()});
    }

    void residual(Vector<Number> &r, const Vector<Number> &x, const Vector<Number> &b) const override
    {
      this->check_residual(r, x, b);
      product_with_ghosts(x, kernels::Residual<Number>{b.data(), r.data()});
    }

    void cg_product(Vector<Number> &q, const Vector<Number> &p, const CGView &cg) const override
    {
      if constexpr (std::is_same_v<Value, Number>)
      {
        this->check_product(q, p);
        product_with_ghosts(p, kernels::ConjugateGradients<Number>{p.data(), q.data(), cg});
        this->finish_cg_product(cg);
      }
      else
        MatrixBase<Number>::cg_product(q, p, cg);
    }

    bool fuses_polynomial_steps() const override { return true; }

    void polynomial_step(const kernels::PolynomialStep<Number> &step,
                         const Vector<Number>                  &y,
                         Vector<Number> &) const override
    {
      product_with_ghosts(y, step);
    }

    /** dst = A src on `host`, for vectors with begin() and end() whose entries lie side by side, such as deal.II's. */
    template <typename VectorType>
    void vmult(VectorType &dst, const VectorType &src) const
    {
      static_assert(std::is_same_v<std::decay_t<decltype(*dst.begin())>, Number>,
                    "matrix and vector have different number types");
      require(this->backend().kind() == BackendKind::host,
              "A product with a host vector needs the matrix on the back end host, but it is on ",
              this->backend().name(), ".");
      require(dst.end() - dst.begin() == this->n_rows() && src.end() - src.begin() == this->n_columns(),
              "A vector does not have the size of the matrix.");
      const auto is_array = [](const auto &v) {
        return v.begin() == v.end() || &*(v.end() - 1) - &*v.begin() == v.end() - v.begin() - 1;
      };
      require(is_array(dst) && is_array(src), "Entries of a vector do not lie side by side, as in a BlockVector.");
      if (this->n_rows() > 0)
        derived().product(this->n_columns() > 0 ? &*src.begin() : nullptr, kernels::Overwrite<Number>{&*dst.begin()});
    }

  private:
    const Derived &derived() const { return static_cast<const Derived &>(*this); }
  };

  /** Values on a @p SharedPattern, MatrixExtents and arrays, never changed: copies in any number type share it. */
  template <template <typename> class Matrix, typename Number, typename SharedPattern>
  class PatternMatrix : public StoredMatrix<Matrix<Number>, Number>
  {
  public:
    /** A copy of @p other, in this matrix's number type. The two share the pattern, of which there is one copy. */
    template <typename OtherNumber>
    void copy_from(const PatternMatrix<Matrix, OtherNumber, SharedPattern> &other)
    {
      if (static_cast<const void *>(this) == &other)
        return;
      release();
      values.reinit(other.backend(), other.values.size());
      pattern = other.pattern;
      copy_values_from(other);
    }

    /** Zeros, or no values yet, on the pattern of @p other, of which there is one copy. That needs no values. */
    template <typename OtherNumber>
    void share_pattern(const PatternMatrix<Matrix, OtherNumber, SharedPattern> &other, const bool with_values = true)
    {
      release();
      values.reinit(other.backend(), with_values ? other.pattern->n_values() : 0);
      pattern = other.pattern;
      this->set_zero();
    }

    /** Gives the memory of values back; only the pattern is there then. */
    void release_values() { values.release(); }

    /** The values of @p other, which must have the pattern of this matrix. */
    template <typename OtherNumber>
    void copy_values_from(const PatternMatrix<Matrix, OtherNumber, SharedPattern> &other)
    {
      require(other.values.size() == values.size() && other.backend() == backend(),
              "The values of a matrix can only be copied to one of the same pattern on the same back end.");
      launch(backend(),
             [&](auto where) { kernels::convert(where, values.size(), other.values.data(), values.data()); });
    }

    /** A = 0; any other number is refused. */
    Matrix<Number> &operator=(const Number zero)
    {
      require(zero == Number(0), [&] { return "A matrix of the format " + this->format() + " can only be set to 0."; });
      this->set_zero();
      return static_cast<Matrix<Number> &>(*this);
    }

    const Backend       &backend() const override { return values.backend(); }
    const MatrixExtents &extents() const override { return *pattern; }
    void                 set_partitioner(const std::shared_ptr<const Partitioner> &partitioner) override
    {
      require(partitioner == nullptr || pattern->column_blocks == partitioner->n_local(),
              "A matrix does not have columns of all that this rank has.");
      std::const_pointer_cast<SharedPattern>(pattern)->partitioner = partitioner; // part of the pattern from now on
    }
    std::int64_t n_stored_elements() const override { return values.size(); }
    std::size_t  memory_consumption() const override { return memory_consumption_of(*pattern, values); }
    /** Of the values alone: what a copy in another number type adds. */
    std::size_t values_memory_consumption() const { return values.memory_consumption(); }

  protected:
    template <template <typename> class, typename, typename>
    friend class PatternMatrix;

    /** Gives memory back before there is a new pattern, so that a failure leaves a matrix without rows. */
    void release()
    {
      pattern = std::make_shared<const SharedPattern>();
      values.release();
    }

    /** A pattern to complete, after release(). */
    std::shared_ptr<SharedPattern>
    new_pattern(const int row_blocks, const int column_blocks, const int block_rows = 1, const int block_columns = 1)
    {
      release();
      const auto made                     = std::make_shared<SharedPattern>();
      static_cast<MatrixExtents &>(*made) = {row_blocks, column_blocks, block_rows, block_columns};
      return made;
    }

    typename MatrixBase<Number>::Values values_over_pattern() override { return {&values}; }

    std::shared_ptr<const SharedPattern> pattern = std::make_shared<const SharedPattern>();
    mutable Array<Number>                values; ///< all but those that the pattern implies
  };

  namespace internal
  {
    struct CSRPattern : MatrixExtents
    {
      Array<std::int64_t> row_offsets;
      Array<int>          columns;

      std::size_t memory_consumption() const { return memory_consumption_of(row_offsets, columns); }
    };
  } // namespace internal

  /** Compressed rows of scalars, 64-bit offsets, 32-bit columns; of blocks as in internal::ExpandPatternBody. */
  template <typename Number>
  class CSRMatrix : public PatternMatrix<CSRMatrix, Number, internal::CSRPattern>
  {
    using Base = PatternMatrix<CSRMatrix, Number, internal::CSRPattern>;
    using Base::pattern, Base::values;

  public:
    using Base::backend, Base::n_rows, Base::n_columns;

    CSRMatrix() = default;
    explicit CSRMatrix(const Backend &backend, const HostCSR<Number> &matrix, const int block_size = 1)
    {
      reinit(backend, matrix, block_size);
    }

    /** Zeros on the pattern of blocks @p pattern, whose arrays are memory of @p backend. */
    void reinit(const Backend &backend, const SparsityView &pattern, int block_rows = 1, int block_columns = 1);

    /** A matrix from host memory; @p block_size is only what preconditioners take as the node's unknowns. */
    void reinit(const Backend &backend, const HostCSR<Number> &matrix, int block_size = 1);

    /** Takes over @p rows of scalars, which belong to blocks of these sizes, and the @p entries in them. */
    void reinit(CompressedPattern &&rows, Array<Number> &&entries, int block_rows, int block_columns);

    template <typename OtherNumber>
    void copy_from(const CSRMatrix<OtherNumber> &other)
    {
      Base::copy_from(other);
      kernel = other.view().kernel;
    }

    /** Which kernel products on `cuda` use; for comparisons, as the first is the fastest. */
    void use_kernel(const CSRKernel new_kernel) { kernel = new_kernel; }

    /** All values become @p value. */
    CSRMatrix &operator=(const Number value)
    {
      launch(backend(), [&](auto where) { kernels::set<Number>(where, values.size(), value, values.data()); });
      return *this;
    }

    std::string     format() const override { return "csr"; }
    void            extract_block_diagonal(int block_size, Array<Number> &blocks) const override;
    HostCSR<Number> to_csr_host() const override;

    /** What kernels see. The values may be written through it. */
    CSRView<Number> view() const
    {
      return {n_rows(), n_columns(), pattern->row_offsets.data(), pattern->columns.data(), values.data(), kernel};
    }

  private:
    CSRKernel kernel = CSRKernel::pieces;
  };
} // namespace PatchFEM
