// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/parallel_for.h>

#include <cmath>
#include <cstring>

/** @file How well a linear system is solved: its residual in twice the precision, and the componentwise backward error, row
 * by row (see parallel_for.h). */
namespace PatchFEM::kernels
{
  /** visit(column, value) for the entries of scalar row @p row. */
  template <typename Number, typename Visitor>
  PATCHFEM_INLINE void
  for_each_entry(const CSRView<Number> &A, const int *, const std::int64_t row, const Visitor &visit)
  {
    for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
      visit(A.columns[e], A.values[e]);
  }

  template <typename Number, typename Visitor>
  PATCHFEM_INLINE void
  for_each_entry(const SlicedEllpackView<Number> &A, const int *lengths, const std::int64_t row, const Visitor &visit)
  {
    const int i = static_cast<int>(row / A.block_rows), a = static_cast<int>(row % A.block_rows);
    for (int k = 0; k < lengths[i]; ++k)
      for (int c = 0; c < A.block_columns; ++c)
        visit(A.columns[A.block_index(i, k)] * A.block_columns + c, A.values[A.value_index(i, k, a, c)]);
  }

  /**
   * *largest = max_i |b - A x|_i / (|A| |x| + |b|)_i over rows whose denominator is not 0 (Oettli and Prager 1964), as
   * the bits of a double: those of numbers that are not negative are in the order of the numbers, and those of one that is
   * not a number come after them. 0 before.
   */
  template <typename View, typename Number>
  struct ComponentwiseErrorBody
  {
    View           A;
    const int     *lengths; ///< [block row], of a sliced matrix
    const Number  *x, *b;
    std::uint64_t *largest;

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      double residual = static_cast<double>(b[row]), size = residual < 0. ? -residual : residual;
      for_each_entry(A, lengths, row, [&](const int column, const Number value) {
        const double term = static_cast<double>(value) * static_cast<double>(x[column]);
        residual -= term;
        size += term < 0. ? -term : term;
      });
      if (size == 0.)
        return;
      const double  error = (residual < 0. ? -residual : residual) / size;
      std::uint64_t bits  = 0;
      memcpy(&bits, &error, sizeof(bits));
      atomic_max(largest, bits);
    }
  };

  /**
   * r = b - A x, summed as if in twice the precision of double and rounded once: rounding is kept of products by fused
   * multiply-adds, of sums by Knuth's TwoSum (Ogita, Rump, Oishi 2005, Dot2). The product is a fused one too, of which
   * compilers make no further ones that would count its rounding twice.
   */
  template <typename View>
  struct CompensatedResidualBody
  {
    View          A;
    const int    *lengths; ///< [block row], of a sliced matrix
    const double *x, *b;
    double       *r;

    PATCHFEM_INLINE void operator()(const std::int64_t row) const
    {
      double sum = b[row], rest = 0.;
      for_each_entry(A, lengths, row, [&](const int column, const double value) {
        const double product = fma(-value, x[column], 0.), product_rest = fma(-value, x[column], -product);
        const double before = sum, added = (sum = before + product) - before;
        rest += ((before - (sum - added)) + (product - added)) + product_rest;
      });
      r[row] = sum + rest;
    }
  };
} // namespace PatchFEM::kernels
