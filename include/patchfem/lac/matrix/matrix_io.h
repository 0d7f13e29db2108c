// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/host_csr.h>

#include <string>

namespace PatchFEM
{
  /** A linear system for other solvers to be run on. */
  struct LinearSystem
  {
    HostCSR<double>     matrix;
    std::vector<double> rhs;             ///< [n_rows]
    int                 block_size  = 1; ///< unknowns per node
    int                 n_near_null = 0;
    std::vector<double> near_null; ///< [n_rows][n_near_null]: near-null space of the operator
  };

  /**
   * Writes @p system as one raw little-endian file: int64 n_rows, int64 nnz, int32 block_size, int32 n_near_null,
   * int64 row_offsets[n_rows + 1], int32 columns[nnz], double values[nnz], double rhs[n_rows],
   * double near_null[n_rows * n_near_null]. Rows are scalar and sorted by column. See write_file().
   */
  void write_linear_system(const LinearSystem &system, const std::string &file_name);

  /** Whether there is such a file, by its header and its length. */
  bool is_linear_system(const std::string &file_name);

  /** Reads such a file; Error if it is missing, too short or too long for its header, or not a valid matrix. */
  LinearSystem read_linear_system(const std::string &file_name);

  /** Writes `matrix coordinate real general` in Matrix Market's format, with 17 digits and indices from 1. */
  void write_matrix_market(const HostCSR<double> &matrix, const std::string &file_name);
} // namespace PatchFEM
