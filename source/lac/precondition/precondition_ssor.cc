// SPDX-License-Identifier: LGPL-2.1-or-later
#include "triangular_tools.h"
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/precondition/precondition_ssor.h>

namespace PatchFEM
{
  template <typename Number, typename Value>
  void PreconditionSSOR<Number, Value>::initialize(const MatrixBase<Number> &matrix,
                                                   const AdditionalData     &additional_data)
  {
    const double omega = additional_data.relaxation;
    require(omega > 0. && omega < 2., "The relaxation of SSOR must be above 0 and below 2.");
    require(matrix.n_rows() == matrix.n_columns() && matrix.block_rows() == matrix.block_columns(),
            "SSOR needs a square matrix of square blocks.");
    this->clear();
    const Backend                     &place = matrix.backend();
    SlicedEllpackMatrix<Number>        copy;
    const SlicedEllpackMatrix<Number> &A = in_blocks(matrix, matrix.block_rows(), copy);
    PreconditionBlockJacobi<Number>    D;
    D.initialize(A);

    const bool by_colours = additional_data.ordering == Ordering::multicolour;
    choose(place, [&](auto where) {
      if (by_colours)
        triangular::find_colours(where, place, sliced_pattern(A), this->triangles.order);
      else
        triangular::find_levels(where, place, sliced_pattern(A), this->triangles.order);
    });
    this->n_sweeps = 0;
    this->reinit_triangles(A, by_colours ? PhaseOrder::colour_alignment : 1);

    choose(place, [&](auto where) { triangular::fill_ssor(where, A, *D.block_diagonal(), omega, this->triangles); });
  }

  template class PreconditionSSOR<float>;
  template class PreconditionSSOR<double>;
  template class PreconditionSSOR<double, float>;
} // namespace PatchFEM
