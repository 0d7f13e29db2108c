// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/coordinate.h>

namespace PatchFEM
{
  namespace kernels
  {
    template <typename Number>
    void
    add_pieces(Host, const CoordinateView<Number> &A, const double factor, const Number *x, Number *y, double *carries)
    {
      const std::int64_t n_pieces = A.n_pieces();
#pragma omp parallel for schedule(static)
      for (std::int64_t p = 0; p < n_pieces; ++p)
      {
        const std::int64_t begin = p * A.piece, end = A.end_of_piece(p);
        for (std::int64_t e = begin; e < end;)
        {
          const int          row   = A.rows[e];
          const std::int64_t first = e;
          double             sum   = 0.;
          for (; e < end && A.rows[e] == row; ++e)
            sum += static_cast<double>(A.values[e]) * static_cast<double>(x[A.columns[e]]);
          if (first == begin && A.joined(begin))
            carries[2 * p] = sum;
          else if (e == end && A.joined(end))
            carries[2 * p + 1] = sum;
          else
            y[row] = static_cast<Number>(static_cast<double>(y[row]) + factor * sum);
        }
      }
    }

    template void add_pieces(Host, const CoordinateView<float> &, double, const float *, float *, double *);
    template void add_pieces(Host, const CoordinateView<double> &, double, const double *, double *, double *);
  } // namespace kernels
} // namespace PatchFEM
