// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/launch.h"

#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/jacobi.h>
#include <patchfem/lac/matrix/rounded_matrix.h>

namespace PatchFEM
{
  RoundedMatrix::RoundedMatrix(const MatrixBase<double> &matrix)
  {
    const auto take = [&](const auto *given, auto rounded) {
      if (given == nullptr)
        return false;
      rounded.copy_from(*given);
      copy = std::move(rounded);
      return true;
    };
    require(take(dynamic_cast<const CSRMatrix<double> *>(&matrix), CSRMatrix<float>()) ||
                take(dynamic_cast<const MDIAMatrix<double> *>(&matrix), MDIAMatrix<float>()) ||
                take(dynamic_cast<const SlicedEllpackMatrix<double> *>(&matrix), SlicedEllpackMatrix<float>()) ||
                take(dynamic_cast<const SymmetricEllpackMatrix<double> *>(&matrix), SymmetricEllpackMatrix<float>()),
            "A copy in single precision is not available of matrices of the format ", matrix.format(), ".");
  }

  const MatrixBase<float> &RoundedMatrix::base() const
  {
    return std::visit([](const auto &matrix) -> const MatrixBase<float> & { return matrix; }, copy);
  }

  void RoundedMatrix::extract_block_diagonal(const int block_size, Array<double> &blocks) const
  {
    Array<float> rounded;
    base().extract_block_diagonal(block_size, rounded);
    blocks.reinit(backend(), rounded.size());
    launch(backend(), [&](auto where) {
      kernels::convert(where, static_cast<std::int64_t>(rounded.size()), rounded.data(), blocks.data());
    });
  }

  HostCSR<double> RoundedMatrix::to_csr_host() const
  {
    const HostCSR<float> rounded = base().to_csr_host();
    return {rounded.n_rows, rounded.n_columns, rounded.row_offsets, rounded.columns,
            std::vector<double>(rounded.values.begin(), rounded.values.end())};
  }

  void require_single_range(
      const Backend &place, const std::int64_t n, const double *values, const int rows, const std::string &what)
  {
    Array<int> failure(place, std::vector<int>{kernels::no_failure});
    launch(place, [&](auto where) { kernels::find_outside_of_single(where, n, values, failure.data()); });
    const int i = failure.read(0);
    require(i == kernels::no_failure, what, " in row ", std::int64_t(i) * rows,
            " leaves the range of single precision; choose Precision = double, or other units.");
  }

  void require_single_range(const MatrixBase<double> &matrix)
  {
    Array<double> diagonal;
    matrix.extract_block_diagonal(1, diagonal);
    require_single_range(matrix.backend(), static_cast<std::int64_t>(diagonal.size()), diagonal.data(), 1,
                         "The matrix's diagonal entry");
  }
} // namespace PatchFEM
