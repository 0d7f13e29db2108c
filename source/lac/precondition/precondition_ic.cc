// SPDX-License-Identifier: LGPL-2.1-or-later
#include "triangular_tools.h"
#include <patchfem/lac/precondition/precondition_ic.h>

#include <algorithm>

namespace PatchFEM
{
  namespace
  {
    /** Beyond this shift a matrix is dominated by its diagonal unless its entries are far from those of a positive one. */
    constexpr double largest_shift = 1e3;
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
    SlicedEllpackMatrix<Number>        copy;
    const SlicedEllpackMatrix<Number> &A = in_blocks(matrix, 1, copy);

    PhaseOrder natural, levels;
    choose(place, [&](auto where) {
      triangular::find_natural(where, place, A.n_rows(), natural);
      triangular::find_levels(where, place, sliced_pattern(A), levels);
    });
    triangular::IncompleteCholesky factors;
    int row = choose(place, [&](auto where) { return triangular::load(where, A, natural, factors); });
    require(row == kernels::no_failure,
            "The matrix's diagonal entry in row " + std::to_string(row) + " is not positive and finite.");

    used_shift = additional_data.shift;
    breakdowns = 0;
    while (true)
    {
      row = choose(place, [&](auto where) { return triangular::factorise(where, levels, used_shift, factors); });
      if (row == kernels::no_failure)
        break;
      ++breakdowns;
      used_shift = std::max(1e-3, 2. * used_shift);
      require(used_shift <= largest_shift,
              "The incomplete Cholesky factorisation breaks down in row " + std::to_string(row) +
                  " whatever is added to the diagonal: the matrix is far from positive definite, or not finite.");
    }

    this->n_sweeps        = static_cast<int>(additional_data.n_sweeps);
    this->triangles.order = this->n_sweeps > 0 ? std::move(natural) : std::move(levels);
    this->reinit_triangles(A, this->n_sweeps > 0 ? 32 : 1);
    choose(place, [&](auto where) { triangular::fill_factors(where, factors, this->triangles); });
  }

  template class PreconditionIC<float>;
  template class PreconditionIC<double>;
  template class PreconditionIC<double, float>;
} // namespace PatchFEM
