// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

#include <vector>

namespace PatchFEM
{
  /**
   * The inverse of a small sparse symmetric positive definite matrix, dense, from a Cholesky factorisation in double on
   * the matrix's back end (kernels/dense_spd.h). Needs 8 n^2 bytes more while it is computed, and n^3 operations.
   *
   * Not a library's: the order of its sums is fixed, so that results repeat bit by bit and do not depend on the number
   * of threads; all back ends run the same bodies; null vectors are added on the way, and the first bad row has a name
   * in the errors of a hierarchy. The 800 rows of a coarsest level take 0.9 ms of the 78 ms of a set-up for 10 M
   * unknowns on an H200.
   */
  template <typename Number>
  class DenseInverse
  {
  public:
    /**
     * Throws Error that names the row of the first pivot that is not positive, and one if A is singular to rounding.
     * @param null_vectors Orthonormal basis V of the matrix's null space, if it has one, on its back end. What is
     * inverted then is A + s V V^T, whose inverse is the pseudo-inverse of A plus V V^T / s.
     * @param scale s, of the size of matrix entries before anything cancelled: A may be nothing but rounding.
     */
    void compute(const SlicedEllpackMatrix<Number> &matrix,
                 const std::vector<Array<double>>  &null_vectors = {},
                 double                             scale        = 0.);

    /** The same by one side (multigrid_steps.h). */
    template <typename Where>
    void compute_on(Where,
                    const SlicedEllpackMatrix<Number> &matrix,
                    const std::vector<Array<double>>  &null_vectors,
                    double                             scale);

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
