// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_lac_matrix_matrix_factory_h
#define patchfem_lac_matrix_matrix_factory_h

#include <patchfem/lac/matrix/format_model.h>
#include <patchfem/lac/matrix/matrix_base.h>

#include <memory>

/** @file From a MatrixFormat to a matrix in it. Assemblers write CSRMatrix and SlicedEllpackMatrix; others are made of those. */
namespace PatchFEM
{
  /**
   * The format to assemble into for a matrix in @p format with blocks of @p block_size: the same one, or that of which
   * convert() makes it.
   */
  MatrixFormat assembled_format(const MatrixFormat &format, int block_size);

  /** Whether matrices in @p format with blocks of @p block_size are made of others, by convert(). */
  bool is_converted(const MatrixFormat &format, int block_size);

  /** Zeros in a format that is assembled into, on blocks of @p pattern, whose arrays are memory of @p backend. */
  template <typename Number>
  std::unique_ptr<MatrixBase<Number>> make_matrix(const Backend      &backend,
                                                  const SparsityView &pattern,
                                                  int                 block_rows,
                                                  int                 block_columns,
                                                  const MatrixFormat &format);

  /**
   * @p matrix, a CSRMatrix, or for Kind::symmetric a SlicedEllpackMatrix as well, in another format with its blocks, made on
   * its back end. Throws Error for a matrix that @p format cannot hold.
   */
  template <typename Number>
  std::unique_ptr<MatrixBase<Number>> convert(const MatrixBase<Number> &matrix, const MatrixFormat &format);
} // namespace PatchFEM

#endif
