// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lac/matrix/sliced_copy.h"

#include "kernels/ordering.h"
#include "kernels/triangular_bodies.h"
#include <patchfem/kernels/blas1.h>
#include <patchfem/lac/precondition/precondition_ic.h>

#include <algorithm>

namespace PatchFEM
{
  namespace
  {
    /** Beyond this shift a matrix is dominated by its diagonal unless its entries are far from those of a positive one. */
    constexpr double largest_shift = 1e3;

    /** The strict lower triangle in the order of rows. */
    CompressedPattern lower_triangle(const Backend &place, const kernels::SlicedPattern &A, const PhaseOrder &natural)
    {
      CompressedPattern result;
      result.n_rows = result.n_columns = A.n_rows;
      Array<int> counts(place, A.n_rows), conflict(place, 1);
      result.offsets.reinit(place, std::size_t(A.n_rows) + 1);
      run(place, 1, kernels::FillBody{conflict.data(), kernels::no_failure});
      run(place, A.n_rows,
          kernels::TriangleBody{A, natural.phase.data(), natural.position.data(), false, counts.data(), nullptr,
                                nullptr, conflict.data()});
      dispatch(place,
               [&](auto where) { kernels::exclusive_scan(where, A.n_rows, counts.data(), result.offsets.data()); });
      result.columns.reinit(place, result.offsets.read(A.n_rows));
      run(place, A.n_rows,
          kernels::TriangleBody{A, natural.phase.data(), natural.position.data(), false, nullptr, result.offsets.data(),
                                result.columns.data(), conflict.data()});
      return result;
    }
  } // namespace

  template <typename Number, typename Value>
  void PreconditionIC<Number, Value>::initialize(const MatrixBase<Number> &matrix,
                                                 const AdditionalData     &additional_data)
  {
    require(additional_data.shift >= 0. && additional_data.shift <= largest_shift,
            "The shift of an incomplete Cholesky factorisation must not be negative or above 1000.");
    require(additional_data.n_sweeps <= 100, "More than 100 Jacobi sweeps are not a preconditioner.");
    require(matrix.n_rows() == matrix.n_columns(), "An incomplete Cholesky factorisation needs a square matrix.");
    this->clear();
    const Backend                     &place = matrix.backend();
    const int                          n     = matrix.n_rows();
    SlicedEllpackMatrix<Number>        copy;
    const SlicedEllpackMatrix<Number> &A = in_blocks(matrix, 1, copy);

    PhaseOrder natural, levels;
    natural.reinit_natural(place, n);
    levels.reinit_levels(A);
    const CompressedPattern pattern = lower_triangle(place, sliced_pattern(A), natural);

    Array<double> values(place, pattern.columns.size()), R(place, pattern.columns.size()), diagonal(place, n),
        pivots(place, n);
    Array<int> failure(place, 1);
    run(place, n,
        kernels::LoadLowerBody<Number>{A.view(), A.row_lengths(), pattern.offsets.data(), values.data(),
                                       diagonal.data()});
    run(place, 1, kernels::FillBody{failure.data(), kernels::no_failure});
    run(place, n, kernels::PositiveDiagonalBody{diagonal.data(), failure.data()});
    int row = failure.read(0);
    require(row == kernels::no_failure,
            "The matrix's diagonal entry in row " + std::to_string(row) + " is not positive and finite.");

    used_shift = additional_data.shift;
    breakdowns = 0;
    while (true)
    {
      dispatch(place, [&](auto where) { kernels::convert(where, values.size(), values.data(), R.data()); });
      for (int level = 0; level < levels.n_phases(); ++level)
        run(place, levels.first[level + 1] - levels.first[level],
            kernels::IncompleteCholeskyBody{pattern.view(), levels.row_of_position.data() + levels.first[level],
                                            diagonal.data(), used_shift, R.data(), pivots.data(), failure.data()});
      row = failure.read(0);
      if (row == kernels::no_failure)
        break;
      ++breakdowns;
      used_shift = std::max(1e-3, 2. * used_shift);
      require(used_shift <= largest_shift,
              "The incomplete Cholesky factorisation breaks down in row " + std::to_string(row) +
                  " whatever is added to the diagonal: the matrix is far from positive definite, or not finite.");
      run(place, 1, kernels::FillBody{failure.data(), kernels::no_failure});
    }

    this->n_sweeps = static_cast<int>(additional_data.n_sweeps);
    this->order    = this->n_sweeps > 0 ? std::move(natural) : std::move(levels);
    this->reinit_triangles(A, this->n_sweeps > 0 ? 32 : 1);
    run(place, n,
        kernels::FactorValuesBody<Value>{pattern.view(), R.data(), this->order.position.data(), this->lower.view(),
                                         this->upper.view(), this->lower.row_lengths(), this->upper.row_lengths()});
    this->D_values.reinit(place, n);
    run(place, n,
        kernels::InversePivotBody<Number>{pivots.data(), this->order.row_of_position.data(), this->D_values.data()});
    this->D_inverse = {n, 1, n, this->D_values.data()};
  }

  template class PreconditionIC<float>;
  template class PreconditionIC<double>;
  template class PreconditionIC<double, float>;
} // namespace PatchFEM
