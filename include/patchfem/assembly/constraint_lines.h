// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/element_batches.h>
#include <patchfem/lac/matrix/matrix_base.h>

namespace PatchFEM
{
  /**
   * The constraints x_i = sum_j w_j x_j + k_i of a problem, in the numbering of its ElementBatches and on their back
   * end: what they do to vectors. In terms of C, x = C x_free + k. Instantiated for float and double.
   */
  class ConstraintLines
  {
  public:
    void reinit(const ElementBatches &batches, const ConstraintTable &table);

    std::size_t          n_lines() const { return constrained.size(); }
    const Array<int>    &constrained_unknowns() const { return constrained; } ///< [line]
    const Array<double> &inhomogeneities() const { return inhomogeneity; }    ///< [line]

    /** New k, [line of the table]; weights and masters stay. */
    void set_inhomogeneities(const std::vector<double> &values);

    /**
     * The k of corrections du that bring @p u to the constraints, [line]: k_i + sum_j w_j u_j - u_i. Where all of these are
     * rounding they become 0. Returns whether one is not, on any rank.
     */
    bool motion(const Vector<double> &u, Array<double> &k_of_corrections) const;

    /** x_i = sum_j w_j x_j + k_i at the constrained unknowns, as AffineConstraints::distribute(). */
    template <typename Number>
    void distribute(Vector<Number> &x) const
    {
      distribute(x, inhomogeneity);
    }

    /** distribute() with other @p k, [line]. */
    template <typename Number>
    void distribute(Vector<Number> &x, const Array<double> &k) const;

    /** x_i = 0 at the constrained unknowns, as AffineConstraints::set_zero(). */
    template <typename Number>
    void set_zero(Vector<Number> &x) const;

    /** b = C^T b, 0 at the constrained unknowns, as AffineConstraints::condense(). */
    template <typename Number>
    void condense(Vector<Number> &b) const;

    /** b = C^T (b - A k), 0 at the constrained unknowns, of @p A and @p b assembled without constraints. */
    template <typename Number>
    void condense(const Operator<Number> &A, Vector<Number> &b) const;

    std::size_t memory_consumption() const;

  private:
    ConstraintLinesView view() const;
    template <typename Number>
    void check(const Vector<Number> &x) const;

    Backend                            place      = Backend(BackendKind::host);
    std::size_t                        n_unknowns = 0;
    std::shared_ptr<const Partitioner> ranks;
    Array<int>                         constrained, masters, receivers, feeding;
    Array<std::int64_t>                offsets, feeding_offsets;
    Array<double>                      weights, inhomogeneity, feeding_weights;
  };
} // namespace PatchFEM
