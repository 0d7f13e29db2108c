// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/cg.h>
#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/polynomial.h>
#include <patchfem/kernels/symmetric_ellpack.h>

/**
 * @file
 * Products of matrices, written once for each format and back end: product(where, A, x, target) sums each row of A x in
 * Target::Sum, in a fixed order, and gives it to target.use(row, sum), which does with it what the product is for and
 * returns what the row adds to a sum over all rows, 0 where the target forms none. Targets are PolynomialStep and those
 * below; source/kernels/instantiate_products.h lists the types there are.
 */
namespace PatchFEM::kernels
{
  /** dst = A x */
  template <typename Number>
  struct Overwrite
  {
    using Sum = Number;
    Number *dst;

    PATCHFEM_INLINE double use(const std::int64_t row, const Sum sum) const
    {
      dst[row] = sum;
      return 0.;
    }
  };

  /** dst += A x */
  template <typename Number>
  struct Add
  {
    using Sum = Number;
    Number *dst;

    PATCHFEM_INLINE double use(const std::int64_t row, const Sum sum) const
    {
      dst[row] += sum;
      return 0.;
    }
  };

  /** r = b - A x, each row summed in double whatever the number type; r may be b. */
  template <typename Number>
  struct Residual
  {
    using Sum = double;
    const Number *b;
    Number       *r;

    PATCHFEM_INLINE double use(const std::int64_t row, const Sum sum) const
    {
      r[row] = static_cast<Number>(static_cast<double>(b[row]) - sum);
      return 0.;
    }
  };

  /**
   * to = from - s A x, with a factor for each row; to may be from, and from nullptr, which is 0. For a matrix in whole
   * numbers, see ByteMatrix.
   */
  template <typename Number>
  struct ScaledDifference
  {
    using Sum = Number;
    const Number *from, *factors;
    Number       *to;

    PATCHFEM_INLINE double use(const std::int64_t row, const Sum sum) const
    {
      to[row] = (from != nullptr ? from[row] : Number(0)) - factors[row] * sum;
      return 0.;
    }
  };

  /** q = A p and alpha: the first kernel of an iteration of conjugate gradients (cg.h), with p.q taken in passing. */
  template <typename Number>
  struct ConjugateGradients
  {
    using Sum = Number;
    const Number *p;
    Number       *q;
    CGView        cg;

    PATCHFEM_INLINE double use(const std::int64_t row, const Sum sum) const
    {
      q[row] = sum;
      return static_cast<double>(p[row]) * static_cast<double>(sum);
    }
  };

  /** with_block_size() for sizes that products in sliced ELLPACK know at compile time. */
  template <typename Run>
  bool with_tuned_block_size(const int rows, const int columns, const Run &run)
  {
    return with_block_size<0x11, 0x22, 0x33, 0x66, 0x23, 0x32, 0x36, 0x63>(rows, columns, run);
  }

  template <typename Value, typename Number, typename Target, typename Where>
  void product(Where, const CSRView<Value> &A, const Number *x, const Target &target);
  template <typename Value, typename Number, typename Target, typename Where>
  void product(Where, const SlicedEllpackView<Value> &A, const Number *x, const Target &target);
  template <typename Value, typename Number, typename Target, typename Where>
  void product(Where, const SymmetricEllpackView<Value> &A, const Number *x, const Target &target);
  template <typename Value, typename Number, typename Target, typename Where>
  void product(Where, const MDIAView<Value> &A, const Number *x, const Target &target);
} // namespace PatchFEM::kernels
