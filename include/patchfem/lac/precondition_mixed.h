// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_lac_precondition_mixed_h
#define patchfem_lac_precondition_mixed_h

#include <patchfem/lac/mdia_matrix.h>
#include <patchfem/lac/precondition_base.h>
#include <patchfem/lac/sliced_ellpack_matrix.h>
#include <patchfem/lac/symmetric_ellpack_matrix.h>

namespace PatchFEM
{
  /**
   * What preconditioners in fp32 under an iteration in fp64 share (P0, section 4): a copy of the matrix in fp32, which
   * has the pattern in common with the original, and the way of vectors there and back. M^-1 is applied to r / |r|, so
   * that nothing leaves fp32's range. Diagonals need no copy. Per unknown r is read twice, and 4 bytes each of r and z are written and read
   * again: 32 bytes beside the preconditioner.
   */
  class SinglePrecision : public PreconditionBase<double>
  {
  public:
    void        vmult(Vector<double> &dst, const Vector<double> &src) const override;
    std::size_t memory_consumption() const override;

  protected:
    /** Vectors for @p matrix. */
    void reinit(const MatrixBase<double> &matrix);

    /** The copy of @p matrix, which must be of one of the library's formats. */
    const MatrixBase<float> &copy(const MatrixBase<double> &matrix);

    /** For preconditioners that do not need the matrix once they are made. */
    void release_copy();

    virtual const PreconditionBase<float> &single() const = 0;

  private:
    CSRMatrix<float>              csr;
    MDIAMatrix<float>             mdia;
    SlicedEllpackMatrix<float>    sliced;
    SymmetricEllpackMatrix<float> symmetric;
    mutable Vector<float>         single_src, single_dst;
    mutable Array<double>         norm; ///< partial sums and, behind them, |src|^2
  };

  /** The preconditioner of a class such as PreconditionPolynomial in fp32, for an iteration in fp64. */
  template <template <typename> class Preconditioner>
  class PreconditionMixed : public SinglePrecision
  {
  public:
    using AdditionalData = typename Preconditioner<float>::AdditionalData;

    /** Keeps no reference to @p matrix. */
    void initialize(const MatrixBase<double> &matrix, const AdditionalData &additional_data = AdditionalData())
    {
      reinit(matrix);
      if constexpr (!Preconditioner<float>::needs_matrix)
        preconditioner.initialize(matrix, additional_data);
      else
        preconditioner.initialize(copy(matrix), additional_data);
      if constexpr (!Preconditioner<float>::keeps_matrix)
        release_copy();
    }

    unsigned int look_interval() const override { return preconditioner.look_interval(); }
    std::string  name() const override { return preconditioner.name() + " in single precision"; }
    std::size_t  memory_consumption() const override
    {
      return SinglePrecision::memory_consumption() + preconditioner.memory_consumption();
    }

    /** What is applied in fp32. */
    const Preconditioner<float> &inner() const { return preconditioner; }

  protected:
    const PreconditionBase<float> &single() const override { return preconditioner; }

  private:
    Preconditioner<float> preconditioner;
  };
} // namespace PatchFEM

#endif
