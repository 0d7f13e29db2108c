// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_lac_dense_inverse_h
#define patchfem_lac_dense_inverse_h

#include <patchfem/lac/sliced_ellpack_matrix.h>

namespace PatchFEM
{
  /**
   * The inverse of a small sparse symmetric positive definite matrix, dense, from a Cholesky factorisation in double on
   * the matrix's back end (kernels/dense_spd.h). Needs 2 * 8 n^2 bytes while it is computed.
   */
  template <typename Number>
  class DenseInverse
  {
  public:
    /** Throws Error that names the row of the first pivot that is not positive. */
    void compute(const SlicedEllpackMatrix<Number> &matrix);

    /** dst = A^-1 src; one kernel. */
    void vmult(Vector<Number> &dst, const Vector<Number> &src) const;

    int                  size() const { return n; }
    const Array<Number> &array() const { return inverse; }
    std::size_t          memory_consumption() const { return inverse.memory_consumption(); }

  private:
    int           n = 0;
    Array<Number> inverse; ///< [n][n]
  };
} // namespace PatchFEM

#endif
