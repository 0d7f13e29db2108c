// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/format_model.h>
#include <patchfem/lac/matrix/matrix_base.h>

#include <memory>
#include <string>
#include <vector>

/** @file Matrices in a MatrixFormat. Assemblers write CSRMatrix and SlicedEllpackMatrix, of which others are made. */
namespace PatchFEM
{
  /** A format by its name in parameter files. A new one is a class, its FormatKind and a row in matrix_factory.cc. */
  struct FormatRow
  {
    enum Trait : unsigned int
    {
      slices = 1,  ///< in slices of a height to choose, and of scalars with columns of 16 bits
      sorted = 2,  ///< pads less where rows of like length stand side by side
      rows   = 4,  ///< keeps the rows that some preconditioners read
      blocks = 8,  ///< keeps the blocks of a node's unknowns that some preconditioners read
      copy   = 16, ///< RoundedMatrix has it

      // As their kinds say:
      assembled         = 32, ///< assemblers write it
      assembled_scalars = 64  ///< of problems of one unknown a node
    };

    std::string  name;
    std::string  words; ///< for a user: what it is
    unsigned int traits;
    MatrixFormat format;

    /** Whether it has all of @p wanted. */
    bool is(const unsigned int wanted) const { return (traits & wanted) == wanted; }
  };

  /** The table, in the order in which users see it. */
  const std::vector<FormatRow> &matrix_formats();

  /** The names of formats that have all of @p traits and none of @p others, for sentences: `a, b and c`. */
  std::string format_names(unsigned int traits, unsigned int others = 0, const std::string &conjunction = "or");

  /** The row of that name, which is not `auto`, and the one that comes closest to @p format. */
  const FormatRow &format_row(const std::string &name);
  const FormatRow &format_row(const MatrixFormat &format);

  /** What to assemble for @p format with blocks of @p block_size: the same, or that of which convert() makes it. */
  MatrixFormat assembled_format(const MatrixFormat &format, int block_size);

  /** Whether matrices in @p format with blocks of @p block_size, rows or entries, are made of others, by convert(). */
  bool is_converted(const MatrixFormat &format, int block_size);

  /** Zeros in a format that is assembled into, on blocks of @p pattern, whose arrays are memory of @p backend. */
  template <typename Number>
  std::unique_ptr<MatrixBase<Number>> make_matrix(const Backend      &backend,
                                                  const SparsityView &pattern,
                                                  int                 block_rows,
                                                  int                 block_columns,
                                                  const MatrixFormat &format);

  /** A CSRMatrix, or for symmetric a SlicedEllpackMatrix, in @p format on its back end; Error if it does not fit. */
  template <typename Number>
  std::unique_ptr<MatrixBase<Number>> convert(const MatrixBase<Number> &matrix, const MatrixFormat &format);
} // namespace PatchFEM
