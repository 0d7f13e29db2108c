// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>
#include <patchfem/lac/matrix/host_csr.h>

#include <algorithm>
#include <string>

namespace PatchFEM
{
  template <typename Number>
  void check_host_csr(const HostCSR<Number> &matrix)
  {
    const auto &offsets = matrix.row_offsets;
    require(matrix.n_rows >= 0 && matrix.n_columns >= 0, "A matrix has a negative number of rows or columns.");
    require(offsets.size() == static_cast<std::size_t>(matrix.n_rows) + 1,
            "A matrix needs one row offset more than it has rows.");
    require(offsets.front() == 0, "The row offsets of a matrix must begin with 0.");
    int bad_row = matrix.n_rows;
    for (int row = 0; row < matrix.n_rows; ++row)
      require(offsets[row] <= offsets[row + 1],
              [=] { return "The row offsets of a matrix decrease at row " + std::to_string(row) + "."; });
    require(matrix.columns.size() == static_cast<std::size_t>(offsets.back()) &&
                matrix.values.size() == matrix.columns.size(),
            "The last row offset of a matrix must be the number of its columns and values.");
#pragma omp parallel for schedule(static) reduction(min : bad_row)
    for (int row = 0; row < matrix.n_rows; ++row)
      for (std::int64_t e = offsets[row]; e < offsets[row + 1]; ++e)
        if (matrix.columns[e] < 0 || matrix.columns[e] >= matrix.n_columns ||
            (e > offsets[row] && matrix.columns[e] <= matrix.columns[e - 1]))
          bad_row = std::min(bad_row, row);
    require(bad_row == matrix.n_rows,
            "The columns of row " + std::to_string(bad_row) + " of a matrix are not sorted, unique and in range.");
  }

  template void check_host_csr<float>(const HostCSR<float> &);
  template void check_host_csr<double>(const HostCSR<double> &);
} // namespace PatchFEM
