// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/precondition/precondition_base.h>

#include <vector>

namespace PatchFEM
{
  /**
   * The null space of a singular symmetric matrix, such as that of a pure Neumann problem or of a body that nothing
   * holds, and the orthogonal projection P = I - V V^T that takes it away, V its orthonormal basis. A x = P b has
   * solutions; the one with x = P x is their shortest.
   */
  template <typename Number>
  class NullSpace
  {
  public:
    /** Empty: P = I. */
    NullSpace() = default;

    /** The span of @p basis, with entries for all unknowns. Throws Error if lengths differ or vectors are dependent. */
    NullSpace(const Backend &backend, const std::vector<std::vector<double>> &basis);

    /** The span of @p basis, made where it lives; it is taken over. */
    explicit NullSpace(std::vector<Vector<double>> &&basis);

    unsigned int                       n_vectors() const { return static_cast<unsigned int>(basis.size()); }
    const std::vector<Vector<Number>> &vectors() const { return basis; }

    /** x = P x; only launches kernels. Moves 5 n values per vector. */
    void project(Vector<Number> &x) const;

    /** Error if some |A v| is not rounding beside A's diagonal, as where curved cells cannot represent a rotation. */
    void check(const Operator<Number> &A) const;

    std::size_t memory_consumption() const;

  private:
    std::vector<Vector<Number>> basis;
    mutable Array<double>       sums; ///< partial sums and, behind them, the inner product
  };

  /** P M^-1 P: a preconditioner between projections, so that iterates do not drift along the null space. */
  template <typename Number>
  class PreconditionProjected : public PreconditionBase<Number>
  {
  public:
    /** Both must outlive this object; @p null_space is not empty. */
    PreconditionProjected(const PreconditionBase<Number> &preconditioner, const NullSpace<Number> &null_space);

    void         vmult(Vector<Number> &dst, const Vector<Number> &src) const override;
    unsigned int look_interval() const override { return preconditioner.look_interval(); }
    std::string  name() const override { return preconditioner.name(); }
    std::size_t  memory_consumption() const override { return projected.memory_consumption(); }

  private:
    const PreconditionBase<Number> &preconditioner;
    const NullSpace<Number>        &null_space;
    mutable Vector<Number>          projected;
  };
} // namespace PatchFEM
