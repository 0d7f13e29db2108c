// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "lac/multigrid/multigrid_pattern.h"

#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/mdia_matrix.h>

namespace PatchFEM
{
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
      sliced->copy_to(scalar);
    else if (const auto *mdia = dynamic_cast<const MDIAMatrix<Number> *>(&matrix))
      mdia->copy_to(scalar);
    else
      require(csr != nullptr,
              "This preconditioner is not available for matrices of the format " + matrix.format() + ".");
    copy.reinit(csr != nullptr ? *csr : scalar, block_size, block_size);
    return copy;
  }
} // namespace PatchFEM
