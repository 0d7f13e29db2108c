// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "lac/multigrid/multigrid_pattern.h"

#include "kernels/triangular_bodies.h"
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/mdia_matrix.h>

namespace PatchFEM
{
  /** @p matrix in scalar compressed rows. */
  template <typename Number>
  void expand(const SlicedEllpackMatrix<Number> &matrix, CSRMatrix<Number> &scalar)
  {
    const Backend               &place = matrix.backend();
    const kernels::SlicedPattern A     = sliced_pattern(matrix);
    Array<std::int64_t>          offsets(place, std::size_t(A.n_rows) + 1);
    dispatch(place, [&](auto where) { kernels::exclusive_scan(where, A.n_rows, A.lengths, offsets.data()); });
    Array<int> columns(place, offsets.read(A.n_rows));
    run(place, A.n_rows, kernels::CompressColumnsBody{A, offsets.data(), columns.data()});
    scalar.reinit(place, {A.n_rows, matrix.n_columns() / matrix.block_columns(), offsets.data(), columns.data()},
                  matrix.block_rows(), matrix.block_columns());
    run(place, matrix.n_rows(), kernels::CompressValuesBody<Number>{matrix.view(), scalar.view()});
  }

  /**
   * @p matrix in blocks of @p block_size: itself if it is a SlicedEllpackMatrix of these blocks, else @p copy, which is
   * made of it on its back end.
   */
  template <typename Number>
  const SlicedEllpackMatrix<Number> &
  in_blocks(const MatrixBase<Number> &matrix, const int block_size, SlicedEllpackMatrix<Number> &copy)
  {
    const auto *sliced = dynamic_cast<const SlicedEllpackMatrix<Number> *>(&matrix);
    if (sliced != nullptr && sliced->block_rows() == block_size && sliced->block_columns() == block_size)
      return *sliced;
    CSRMatrix<Number> scalar;
    const auto       *csr = dynamic_cast<const CSRMatrix<Number> *>(&matrix);
    if (sliced != nullptr)
      expand(*sliced, scalar);
    else if (const auto *mdia = dynamic_cast<const MDIAMatrix<Number> *>(&matrix))
      mdia->copy_to(scalar);
    else
      require(csr != nullptr,
              "This preconditioner is not available for matrices of the format " + matrix.format() + ".");
    copy.reinit(csr != nullptr ? *csr : scalar, block_size, block_size);
    return copy;
  }
} // namespace PatchFEM
