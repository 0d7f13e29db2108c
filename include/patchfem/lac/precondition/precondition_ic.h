// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/precondition/triangular_factors.h>

namespace PatchFEM
{
  /** How a PreconditionIC is made. */
  struct ICData
  {
    /// Jacobi sweeps for each triangle; 0: exact solutions, level by level.
    unsigned int n_sweeps = 4;
    /// Part of the diagonal that is added to it before the first attempt.
    double shift = 0.;
  };

  /**
   * Incomplete Cholesky factorisation without fill, A = (I + R) D (I + R)^T on the pattern of A's scalar entries (P2,
   * section 3.4), made on the back end row by row in levels of dependence and in double. It is applied by a fixed
   * number of Jacobi sweeps for each triangle, or exactly by the levels, for comparison (see TriangularFactors).
   *
   * Where a pivot is not positive the factorisation starts again with A + shift diag(A), from a shift of 1e-3 on and
   * twice as much each time; shift() says what it took.
   */
  template <typename Number, typename Value = Number>
  class PreconditionIC : public TriangularFactors<Number, Value>
  {
  public:
    using AdditionalData = ICData;

    /** Refuses a diagonal entry that is not positive, and a pattern that is not symmetric. */
    void initialize(const MatrixBase<Number> &matrix, const AdditionalData &additional_data = AdditionalData())
    {
      on_owner(matrix.backend(),
               [&] { agree_on_errors(matrix.partitioner(), [&] { make(matrix, additional_data); }); });
    }

    std::string name() const override { return this->template with_precision<Value>("ic"); }

    /** The same with the lower triangles of A and R in double, and their columns. */
    static double peak_bytes(const PatternStatistics &pattern, const MatrixFormat &format)
    {
      return TriangularFactors<Number, Value>::peak_bytes(pattern, format, 1) + 12. * double(pattern.n_entries());
    }

    /** Part of the diagonal that was added to it. */
    double shift() const { return used_shift; }

    /** How often a pivot that was not positive made the factorisation start again. */
    unsigned int n_breakdowns() const { return breakdowns; }

  private:
    double       used_shift = 0.;
    unsigned int breakdowns = 0;

    void make(const MatrixBase<Number> &matrix, const AdditionalData &additional_data);
  };
} // namespace PatchFEM
