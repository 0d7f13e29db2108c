// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/rank_group.h>
#include <patchfem/lac/matrix/format_model.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/precondition/precondition_base.h>

#include <vector>

namespace PatchFEM
{
  /** Block rows in phases of independent ones, which begin at multiples of an alignment: some positions are empty. */
  struct PhaseOrder
  {
    Array<int>       phase, position; ///< [row]
    Array<int>       row_of_position; ///< [position], -1 where empty
    std::vector<int> first;           ///< [phase], first position; and the number of positions behind them

    /// Colours begin at multiples of so many positions: the slices of the tuned products.
    static constexpr int colour_alignment = 32;

    int n_phases() const { return static_cast<int>(first.size()) - 1; }
    int n_positions() const { return first.back(); }

    std::size_t memory_consumption() const { return memory_consumption_of(phase, position, row_of_position); }
  };

  /** R, R^T and D^-1, packed as in BlockDiagonalView, at positions of an order: see TriangularFactors. */
  template <typename Number, typename Value>
  struct Triangles
  {
    PhaseOrder                 order;
    SlicedEllpackMatrix<Value> lower, upper;
    Array<Number>              D_values;

    BlockDiagonalView<Number> D_inverse() const
    {
      return {order.n_positions(), lower.block_rows(), order.n_positions(), D_values.data()};
    }
    std::size_t memory_consumption() const { return memory_consumption_of(order, lower, upper, D_values); }
  };

  /**
   * M^-1 = (I + R)^-T D^-1 (I + R)^-1 with R strictly lower triangular in the order of phases and D block diagonal: the
   * form of SSOR and of incomplete Cholesky factorisations. It is applied in one of two ways:
   *
   * - by phases, exactly: y_p = r_p - (R y)_p from the first phase to the last, z_p = (D^-1 y)_p - (R^T z)_p back. Both
   *   triangles are read once, and each phase is a kernel: fast for few colours, slow for many levels.
   * - by s Jacobi sweeps y <- r - R y from y = 0 (P2, section 3.4), and as many for R^T: the inverse of I + R becomes
   *   the polynomial P = sum_{k < s} (-R)^k and that of its transpose P^T, so that P^T D^-1 P is symmetric and positive
   *   definite for every s. The triangles, of scalars, are read s - 1 times each, by kernels over all rows.
   *
   * Of what is kept R, which is most of it, is in @p Value, D^-1 and all vectors in @p Number.
   */
  template <typename Number, typename Value = Number>
  class TriangularFactors : public PreconditionBase<Number>
  {
    static_assert(are_precisions<Number, Value>, "values are of the type of vectors, or float under double");

  public:
    void        vmult(Vector<Number> &dst, const Vector<Number> &src) const override;
    std::size_t memory_consumption() const override { return memory_consumption_of(triangles, y, w); }

    /** Colours or levels; 1 for sweeps. */
    int n_phases() const { return triangles.order.n_phases(); }

    /** The phase of each block row, on the matrix's back end. */
    const Array<int> &phases() const { return triangles.order.phase; }

  protected:
    Triangles<Number, Value> triangles;
    int                      n_sweeps = 0; ///< 0: by phases

    /** Forgets everything; what is left if a matrix is refused. */
    void clear();

    /** Patterns of both triangles of @p A, zeros in them, and vectors to work with. Refuses unsymmetric patterns. */
    void reinit_triangles(const SlicedEllpackMatrix<Number> &A, int slice_height);

    /**
     * Most bytes while made: both triangles, order, vectors, columns of one, and a copy if A is not in such slices. Rows of
     * the triangles are grouped by colour or level and not by length, which pads bodies that are mostly surface by 5 %.
     */
    static double peak_bytes(const PatternStatistics &pattern, const MatrixFormat &format, const int block_size)
    {
      const MatrixFormat slices{block_size == 1 ? formats::sliced_scalar : formats::sliced_ellpack};
      const bool in_place = format.is_sliced() && (format.kind == slices.kind || pattern.block_rows == block_size);
      return 1.1 * FormatCase{slices, pattern, sizeof(Value)}.storage_bytes() +
             !in_place * FormatCase{slices, pattern, sizeof(Number)}.storage_bytes() +
             8. * double(pattern.n_entries()) / (block_size * block_size) +
             double(pattern.scalar_rows()) * (64. / block_size + 6. * sizeof(Number));
    }

  private:
    mutable Vector<Number> y, w;
    Array<double>          sweep_step; ///< coefficients of a PolynomialStep

    void solve_by_phases(Vector<Number> &dst, const Vector<Number> &src) const;
    void sweep(Vector<Number> &dst, const Vector<Number> &src) const;
    void solve_phase(const SlicedEllpackMatrix<Value> &R, int phase) const;
  };
} // namespace PatchFEM
