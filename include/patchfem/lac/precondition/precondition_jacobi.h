// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/rank_group.h>
#include <patchfem/lac/precondition/precondition_base.h>

namespace PatchFEM
{
  /** M = I. */
  template <typename Number>
  class PreconditionIdentity : public PreconditionBase<Number>
  {
  public:
    void vmult(Vector<Number> &dst, const Vector<Number> &src) const override { dst.equ(Number(1), src); }
    const BlockDiagonalView<Number> *block_diagonal() const override { return &identity; }
    std::string                      name() const override { return "identity"; }
    std::size_t                      memory_consumption() const override { return 0; }

    template <typename VectorType>
    void vmult(VectorType &dst, const VectorType &src) const
    {
      dst = src;
    }

  private:
    BlockDiagonalView<Number> identity{0, 0, 0, nullptr};
  };

  /**
   * M = D / relaxation, D the block diagonal with the unknowns of one node in each block. Refuses a block that is not
   * positive definite and names the row of the pivot. The inverses are made on the matrix's back end by Cholesky
   * factorisations in double and kept as packed lower halves of @p Value.
   */
  template <typename Number, typename Value = Number>
  class PreconditionBlockJacobi : public PreconditionBase<Number>
  {
    static_assert(are_precisions<Number, Value>, "values are of the type of vectors, or float under double");

  public:
    struct AdditionalData
    {
      /// Factor on D^-1; conjugate gradients do not depend on it.
      double relaxation = 1.;
      /// Unknowns in a block; 0 takes the matrix's own blocks.
      int block_size = 0;
    };

    PreconditionBlockJacobi() = default;

    template <typename MatrixNumber>
    explicit PreconditionBlockJacobi(const MatrixBase<MatrixNumber> &matrix,
                                     const AdditionalData           &additional_data = AdditionalData())
    {
      initialize(matrix, additional_data);
    }

    template <typename MatrixNumber>
    void initialize(const MatrixBase<MatrixNumber> &matrix, const AdditionalData &additional_data = AdditionalData())
    {
      compute(matrix, additional_data.block_size > 0 ? additional_data.block_size : matrix.block_rows(),
              additional_data.relaxation);
    }

    std::string name() const override { return this->template with_precision<Value>("block jacobi"); }
    void        vmult(Vector<Number> &dst, const Vector<Number> &src) const override;
    std::size_t memory_consumption() const override { return values.memory_consumption(); }

    const BlockDiagonalView<Number> *block_diagonal() const override
    {
      if constexpr (std::is_same_v<Number, Value>)
        return &inverse;
      else
        return nullptr;
    }

    const BlockDiagonalView<float> *single_block_diagonal() const override
    {
      if constexpr (std::is_same_v<Number, Value>)
        return nullptr;
      else
        return &inverse;
    }

    /** For any host vector with begin() and end(), such as deal.II's; the matrix must have been on `host`. */
    template <typename VectorType>
    void vmult(VectorType &dst, const VectorType &src) const
    {
      require(values.backend().kind() == BackendKind::host,
              "A preconditioner can only be applied to a host vector on the back end host, but it is on ",
              values.backend().name(), ".");
      const auto size = std::int64_t(inverse.n_blocks) * inverse.block_size;
      require(dst.end() - dst.begin() == size && src.end() - src.begin() == size,
              "A vector does not have the size of the preconditioner.");
      if (size > 0)
        kernels::vmult(Host(), inverse, static_cast<const Number *>(&*src.begin()), &*dst.begin());
    }

  protected:
    /** Inverts in the matrix's number type; of several ranks collective. */
    template <typename MatrixNumber>
    void compute(const Operator<MatrixNumber> &matrix, const int block_size, const double relaxation)
    {
      on_owner_then_members(matrix.backend(), [&] {
        defer_errors(matrix.partitioner(), [&] { invert(matrix, block_size, relaxation); });
      });
    }

  private:
    template <typename MatrixNumber>
    void invert(const Operator<MatrixNumber> &matrix, int block_size, double relaxation);

    Array<Value>             values;
    BlockDiagonalView<Value> inverse{0, 1, 0, nullptr};
  };

  /** M = D / relaxation, D the diagonal of any operator that knows it. Error with the row where it is not positive. */
  template <typename Number, typename Value = Number>
  class PreconditionJacobi : public PreconditionBlockJacobi<Number, Value>
  {
  public:
    struct AdditionalData
    {
      /// Factor on D^-1; conjugate gradients do not depend on it.
      double relaxation = 1.;
    };

    PreconditionJacobi() = default;

    template <typename MatrixNumber>
    explicit PreconditionJacobi(const Operator<MatrixNumber> &matrix,
                                const AdditionalData         &additional_data = AdditionalData())
    {
      initialize(matrix, additional_data);
    }

    template <typename MatrixNumber>
    void initialize(const Operator<MatrixNumber> &matrix, const AdditionalData &additional_data = AdditionalData())
    {
      this->compute(matrix, 1, additional_data.relaxation);
    }

    std::string name() const override { return this->template with_precision<Value>("jacobi"); }
  };
} // namespace PatchFEM
