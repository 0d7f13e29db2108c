// SPDX-License-Identifier: LGPL-2.1-or-later
#include "triangular_tools.h"

#include <patchfem/base/rank_group.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/precondition/precondition_ic.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/precondition/precondition_ssor.h>

#include <algorithm>
#include <utility>

namespace PatchFEM
{
  namespace
  {
    /** Beyond this shift the diagonal dominates any matrix but those far from positive definite. */
    constexpr double largest_shift = 1e3;

    /**
     * @p matrix if it is a SlicedEllpackMatrix of blocks of @p block_size, else @p copy, made of it where it is; of
     * several ranks each has its own rows and columns alone, so that what is made of them is a block of block Jacobi.
     */
    template <typename Number>
    const SlicedEllpackMatrix<Number> &
    in_blocks(const MatrixBase<Number> &matrix, const int block_size, SlicedEllpackMatrix<Number> &copy)
    {
      if (matrix.partitioner() != nullptr)
      {
        copy.reinit(matrix.backend(), square_block(matrix.to_csr_host()), block_size, block_size);
        return copy;
      }
      const auto *sliced = dynamic_cast<const SlicedEllpackMatrix<Number> *>(&matrix);
      if (sliced != nullptr && sliced->block_rows() == block_size && sliced->block_columns() == block_size)
        return *sliced;
      CSRMatrix<Number> scalar;
      const auto       *csr = dynamic_cast<const CSRMatrix<Number> *>(&matrix);
      if (sliced != nullptr)
        sliced->copy_to(scalar);
      else if (const auto *mdia = dynamic_cast<const MDIAMatrix<Number> *>(&matrix))
        mdia->copy_to(scalar);
      else
        require(csr != nullptr, "This preconditioner is not available for matrices of the format ", matrix.format(),
                ".");
      copy.reinit(csr != nullptr ? *csr : scalar, block_size, block_size);
      return copy;
    }
  } // namespace

  template <typename Number, typename Value>
  void TriangularFactors<Number, Value>::clear()
  {
    triangles = Triangles<Number, Value>();
    y         = Vector<Number>();
    w         = Vector<Number>();
  }

  template <typename Number, typename Value>
  void TriangularFactors<Number, Value>::reinit_triangles(const SlicedEllpackMatrix<Number> &A, const int slice_height)
  {
    const Backend    &place = A.backend();
    const PhaseOrder &order = triangles.order;
    const int         n = order.n_positions(), b = A.block_rows();
    for (const bool later : {false, true})
    {
      CompressedPattern triangle;
      const int         row = dispatch(
                  place, [&](auto where) { return triangular::find_triangle(where, A.view(), order, later, triangle); });
      if (row != kernels::no_failure)
        clear();
      require(row == kernels::no_failure, "The pattern of the matrix is not symmetric: row ", row * b,
              " has an entry whose transpose is missing.");
      launch(place, [&](auto where) {
        kernels::sort_segments(where, triangle.columns.size(), n, triangle.offsets.data(), triangle.columns.data());
      });
      (later ? triangles.upper : triangles.lower).reinit(place, triangle.view(), b, b, {slice_height});
    }
    y.reinit(place, std::size_t(n) * b, true);
    if (n_sweeps > 1)
    {
      require(b == 1, "Jacobi sweeps are for triangles of scalars.");
      w.reinit(place, n, true);
      sweep_step.copy_from(place, std::vector<double>{-1., 1.});
    }
  }

  /** y = y - R y for the rows of one phase. */
  template <typename Number, typename Value>
  void TriangularFactors<Number, Value>::solve_phase(const SlicedEllpackMatrix<Value> &R, const int phase) const
  {
    SlicedEllpackView<Value> rows  = R.view();
    const int                first = triangles.order.first[phase];
    rows.n_rows                    = triangles.order.first[phase + 1] - first;
    rows.slice_offsets += first / rows.slice_height;
    Number *const                   y_phase = y.data() + std::int64_t(first) * rows.block_rows;
    const kernels::Residual<Number> target{y_phase, y_phase};
    launch(R.backend(), [&](auto where) { kernels::product(where, rows, y.data(), target); });
  }

  template <typename Number, typename Value>
  void TriangularFactors<Number, Value>::solve_by_phases(Vector<Number> &dst, const Vector<Number> &src) const
  {
    const Backend                  &place = src.backend();
    const PhaseOrder               &order = triangles.order;
    const BlockDiagonalView<Number> D     = triangles.D_inverse();
    const int                       b     = D.block_size;
    dispatch(place, [&](auto where) { triangular::permute(where, order.row_of_position, b, src, y); });
    for (int phase = 1; phase < order.n_phases(); ++phase)
      solve_phase(triangles.lower, phase);
    launch(place, [&](auto where) { kernels::vmult(where, D, y.data(), y.data()); });
    for (int phase = order.n_phases() - 2; phase >= 0; --phase)
      solve_phase(triangles.upper, phase);
    dispatch(place, [&](auto where) { triangular::permute(where, order.position, b, y, dst); });
  }

  template <typename Number, typename Value>
  void TriangularFactors<Number, Value>::sweep(Vector<Number> &dst, const Vector<Number> &src) const
  {
    const BlockDiagonalView<Number> D = triangles.D_inverse();
    if (n_sweeps == 1)
      return launch(src.backend(), [&](auto where) { kernels::vmult(where, D, src.data(), dst.data()); });
    // to = r - R from, n times and each time the other of two vectors; returns where the last one is.
    const auto walk = [&](const SlicedEllpackMatrix<Value> &R, const int n, const Number *r, Number *one,
                          Number *other) {
      const Number *from = r;
      for (int k = 0; k < n; ++k, std::swap(one, other))
      {
        R.product(from, kernels::Residual<Number>{r, one});
        from = one;
      }
      return from;
    };
    // The last sweep forward and D^-1 in one kernel: the PolynomialStep D^-1 (r - R y) of c_0 = -1, c_1 = 1, y_{k-1} =
    // 0.
    const Number *forward = walk(triangles.lower, n_sweeps - 2, src.data(), dst.data(), w.data());
    triangles.lower.product(
        forward, kernels::PolynomialStep<Number>{sweep_step.data(), D.values, src.data(), forward, y.data(), true});
    const bool even = n_sweeps % 2 == 0;
    walk(triangles.upper, n_sweeps - 1, y.data(), even ? dst.data() : w.data(), even ? w.data() : dst.data());
  }

  template <typename Number, typename Value>
  void TriangularFactors<Number, Value>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    on_owner(src.backend(), [&] {
      require(!triangles.order.first.empty(), "A preconditioner was applied before it was initialized.");
      const std::size_t size = triangles.order.position.size() * triangles.lower.block_rows();
      require(dst.size() == size && src.size() == size, "A vector does not have the size of the preconditioner.");
      require(dst.backend() == y.backend() && src.backend() == y.backend(), "A preconditioner on ", y.backend().name(),
              " was applied to a vector on another back end.");
      if (size == 0)
        return;
      if (n_sweeps > 0)
        sweep(dst, src);
      else
        solve_by_phases(dst, src);
    });
  }

  template <typename Number, typename Value>
  void PreconditionSSOR<Number, Value>::make(const MatrixBase<Number> &matrix, const AdditionalData &additional_data)
  {
    const double omega = additional_data.relaxation;
    require(omega > 0. && omega < 2., "The relaxation of SSOR must be above 0 and below 2.");
    require((matrix.partitioner() != nullptr || matrix.n_rows() == matrix.n_columns()) &&
                matrix.block_rows() == matrix.block_columns(),
            "SSOR needs a square matrix of square blocks.");
    this->clear();
    const Backend                     &place = matrix.backend();
    SlicedEllpackMatrix<Number>        copy;
    const SlicedEllpackMatrix<Number> &A = in_blocks(matrix, matrix.block_rows(), copy);
    PreconditionBlockJacobi<Number>    D;
    D.initialize(A);

    const bool by_colours = additional_data.ordering == Ordering::multicolour;
    dispatch(place, [&](auto where) {
      if (by_colours)
        triangular::find_colours(where, place, A.view(), this->triangles.order);
      else
        triangular::find_levels(where, place, A.view(), this->triangles.order);
    });
    this->n_sweeps = 0;
    this->reinit_triangles(A, by_colours ? PhaseOrder::colour_alignment : 1);

    dispatch(place, [&](auto where) { triangular::fill_ssor(where, A, *D.block_diagonal(), omega, this->triangles); });
  }

  template <typename Number, typename Value>
  void PreconditionIC<Number, Value>::make(const MatrixBase<Number> &matrix, const AdditionalData &additional_data)
  {
    require(additional_data.shift >= 0. && additional_data.shift <= largest_shift,
            "The shift of an incomplete Cholesky factorisation must not be negative or above 1000.");
    require(additional_data.n_sweeps <= 100, "More than 100 Jacobi sweeps are not a preconditioner.");
    require(matrix.partitioner() != nullptr || matrix.n_rows() == matrix.n_columns(),
            "An incomplete Cholesky factorisation needs a square matrix.");
    this->clear();
    const Backend                     &place = matrix.backend();
    SlicedEllpackMatrix<Number>        copy;
    const SlicedEllpackMatrix<Number> &A = in_blocks(matrix, 1, copy);

    PhaseOrder natural, levels;
    dispatch(place, [&](auto where) {
      triangular::find_natural(where, place, A.n_rows(), natural);
      triangular::find_levels(where, place, A.view(), levels);
    });
    triangular::IncompleteCholesky factors;
    int row = dispatch(place, [&](auto where) { return triangular::load(where, A, natural, factors); });
    if (row != kernels::no_failure)
      throw NotPositiveDefinite("The matrix's diagonal entry in row ", row, " is not positive and finite.");

    used_shift = additional_data.shift;
    breakdowns = 0;
    while (true)
    {
      row = dispatch(place, [&](auto where) { return triangular::factorise(where, levels, used_shift, factors); });
      if (row == kernels::no_failure)
        break;
      ++breakdowns;
      used_shift = std::max(1e-3, 2. * used_shift);
      if (used_shift > largest_shift)
        throw NotPositiveDefinite(
            "The incomplete Cholesky factorisation breaks down in row ", row,
            " whatever is added to the diagonal: the matrix is far from positive definite, or not "
            "finite.");
    }

    this->n_sweeps        = static_cast<int>(additional_data.n_sweeps);
    this->triangles.order = this->n_sweeps > 0 ? std::move(natural) : std::move(levels);
    this->reinit_triangles(A, this->n_sweeps > 0 ? 32 : 1);
    dispatch(place, [&](auto where) { triangular::fill_factors(where, factors, this->triangles); });
  }

  template class TriangularFactors<float>;
  template class TriangularFactors<double>;
  template class TriangularFactors<double, float>;
  template class PreconditionSSOR<float>;
  template class PreconditionSSOR<double>;
  template class PreconditionSSOR<double, float>;
  template class PreconditionIC<float>;
  template class PreconditionIC<double>;
  template class PreconditionIC<double, float>;
} // namespace PatchFEM
