// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/precondition/triangular_factors.h>

namespace PatchFEM
{
  /** How a PreconditionSSOR is made. */
  struct SSORData
  {
    enum class Ordering
    {
      multicolour,
      natural
    };

    Ordering ordering = Ordering::multicolour;
    /// omega, above 0 and below 2.
    double relaxation = 1.;
  };

  /**
   * Symmetric successive over-relaxation by blocks of a node's unknowns,
   *
   *   M = (D + omega L) D^-1 (D + omega L)^T / (omega (2 - omega)),
   *
   * L the entries of rows with those that come before them, D the block diagonal. With the order of colours, rows of
   * one colour are relaxed together; with that of rows, those of one level of dependence are, of which there are many,
   * so that this order is for comparisons and for the host. Both are the same operator on every back end.
   *
   * Keeps both triangles, scaled, in the order of phases, and no reference to the matrix. An application moves the
   * matrix without its diagonal once, and 112 bytes of vectors an unknown in fp64.
   */
  template <typename Number, typename Value = Number>
  class PreconditionSSOR : public TriangularFactors<Number, Value>
  {
  public:
    using AdditionalData = SSORData;
    using Ordering       = SSORData::Ordering;

    /** Refuses a diagonal block that is not positive definite, and a pattern that is not symmetric. */
    void initialize(const MatrixBase<Number> &matrix, const AdditionalData &additional_data = AdditionalData())
    {
      on_owner(matrix.backend(),
               [&] { agree_on_errors(matrix.partitioner(), [&] { make(matrix, additional_data); }); });
    }

    std::string name() const override { return this->template with_precision<Value>("ssor"); }

    /** The most that initialize() takes, of a matrix in @p format. */
    static double peak_bytes(const PatternStatistics &pattern, const MatrixFormat &format)
    {
      return TriangularFactors<Number, Value>::peak_bytes(pattern, format, pattern.block_rows);
    }

  private:
    void make(const MatrixBase<Number> &matrix, const AdditionalData &additional_data);
  };
} // namespace PatchFEM
