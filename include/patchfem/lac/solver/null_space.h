// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/precondition/precondition_base.h>

#include <vector>

namespace PatchFEM
{
  /** The solution of A x = b, A [row][column]; by elimination with partial pivoting. */
  std::vector<double> solve_dense(std::vector<std::vector<double>> A, std::vector<double> b);

  /** b = b - W c with V^T b = 0 afterwards, W the @p loads and V the @p basis; c. Nothing without loads. */
  template <typename VectorType>
  std::vector<double>
  balance_load(VectorType &b, const std::vector<VectorType> &basis, const std::vector<VectorType> &loads)
  {
    std::vector<double>              products;
    std::vector<std::vector<double>> matrix(loads.size());
    for (std::size_t i = 0; i < loads.size(); ++i)
    {
      products.push_back(basis[i] * b);
      for (const VectorType &load : loads)
        matrix[i].push_back(basis[i] * load);
    }
    const std::vector<double> c = solve_dense(std::move(matrix), std::move(products));
    for (std::size_t i = 0; i < loads.size(); ++i)
      b.add(static_cast<typename VectorType::value_type>(-c[i]), loads[i]);
    return c;
  }

  /**
   * The null space of a singular symmetric matrix, such as that of a pure Neumann problem or of a body that nothing
   * holds, and the orthogonal projection P = I - V V^T that takes it away, V its orthonormal basis. A x = P b has
   * solutions; the one with x = P x is their shortest.
   *
   * P shares what is out of balance in b equally among unknowns. A solution that does not depend on the mesh has it taken
   * out by mass, see balance().
   */
  template <typename Number>
  class NullSpace
  {
  public:
    /** Empty: P = I. */
    NullSpace() = default;

    /** The span of @p basis, with entries for all unknowns. Throws Error if lengths differ or vectors are dependent. */
    NullSpace(const Backend &backend, const std::vector<std::vector<double>> &basis);

    /**
     * The span of @p basis, made where it lives; it is taken over. @p loads are those of the inertia of these modes, M R
     * with the mass matrix M, or none; they are kept as they are.
     */
    explicit NullSpace(std::vector<Vector<double>> &&basis, std::vector<Vector<double>> &&loads = {});

    unsigned int                       n_vectors() const { return static_cast<unsigned int>(basis.size()); }
    const std::vector<Vector<Number>> &vectors() const { return basis; }

    /** x = P x; only launches kernels. Moves 5 n values per vector. */
    void project(Vector<Number> &x) const;

    /**
     * b = P (b - W c) with W the loads that were given and c such that b - W c is in balance, V^T (b - W c) = 0: a body
     * that nothing holds is accelerated, a temperature rises evenly. P b without loads.
     * @return c; of the load in mode i the part that was out of balance is c_i W_i.
     */
    std::vector<double> balance(Vector<Number> &b) const;

    /** Error if some |A v| is not rounding beside A's diagonal, as where curved cells cannot represent a rotation. */
    void check(const Operator<Number> &A) const;

    std::size_t memory_consumption() const;

  private:
    std::vector<Vector<Number>> basis, loads;
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
