// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

#include <cstdint>

namespace PatchFEM
{
  /**
   * A symmetric positive definite matrix in whole numbers of 8 bits: a_ij is about s_i s_j h_ij with s_i = sqrt(a_ii /
   * 127), so that |h_ij| <= 127. A product in 3 x 3 blocks reads 13 bytes for each of them where fp32 takes 40. Where A is
   * symmetric bit by bit this is, too.
   *
   * It is for the steps inside of a smoother, z = p(D^-1 A) D^-1 r: with this for A there, z is that of a matrix near A,
   * still symmetric, and damps as well. It is not for residuals of what a smoother is given: A of
   * smooth functions is a small difference, which 8 bits do not have.
   */
  class ByteMatrix
  {
  public:
    /** Memory, before each compute(), for @p A, whose pattern is shared and which must outlive this. */
    void reinit(const SlicedEllpackMatrix<float> &A);

    /** The values of A; of several ranks collective. */
    void compute();

    /** s, a factor for each row. */
    const Vector<float> &scale() const { return scales; }

    /** to = from - A d, of which @p scaled_d has s_j d_j; its ghosts are brought up to date. @p to may be @p from. */
    void subtract_product(Vector<float> &to, const Vector<float> &from, const Vector<float> &scaled_d) const;

    /** dst = A src, by way of @p room, a vector with ghosts that is not kept. */
    void vmult(Vector<float> &dst, const Vector<float> &src, Vector<float> &room) const;

    /** What kernels see; see StoredMatrix::product(). */
    template <typename Target>
    void product(const float *x, const Target &target, const RowRange &rows = RowRange()) const
    {
      SlicedEllpackView<std::int8_t> A = view();
      A.rows                           = rows;
      launch(backend(), [&](auto where) { kernels::product(where, A, x, target); });
    }
    SlicedEllpackView<std::int8_t> view() const;

    const Backend       &backend() const { return values.backend(); }
    const MatrixExtents &extents() const { return matrix->extents(); }
    std::int64_t         n_stored_elements() const { return values.size(); }
    std::size_t          memory_consumption() const { return memory_consumption_of(values, scales); }

  private:
    const SlicedEllpackMatrix<float> *matrix = nullptr;
    Array<std::int8_t>                values; ///< h, as those of the matrix
    Vector<float>                     scales;
    Vector<float>                     inverses; ///< of these, while values are made
  };
} // namespace PatchFEM
