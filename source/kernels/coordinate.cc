// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/coordinate.h>
#include <patchfem/kernels/parallel_for.h>

namespace PatchFEM::kernels
{
  template <typename Number, typename Result, typename Where>
  void add_product(
      Where where, const CoordinateView<Number> &A, const double factor, const Number *x, Result *y, double *carries)
  {
    constexpr int      lanes = 8, entries_ahead = 512; // see csr.cc
    const std::int64_t n_pieces = A.n_pieces();
    const auto         request  = [&](const std::int64_t e) {
      __builtin_prefetch(A.values + e + entries_ahead);
      __builtin_prefetch(A.columns + e + entries_ahead);
      __builtin_prefetch(A.rows + e + entries_ahead);
    };
#pragma omp parallel for schedule(static)
    for (std::int64_t p = 0; p < n_pieces; ++p)
    {
      const std::int64_t begin = p * A.piece, end = A.end_of_piece(p);
      for (std::int64_t e = begin; e < end;)
      {
        const int          row         = A.rows[e];
        const std::int64_t first       = e;
        double             sums[lanes] = {}, sum = 0.;
        // Rows ascend: if the last of a few entries belongs to the row, all do.
        for (; e + lanes <= end && A.rows[e + lanes - 1] == row; e += lanes)
        {
          request(e);
#pragma omp simd
          for (int j = 0; j < lanes; ++j)
            sums[j] += static_cast<double>(A.values[e + j]) * static_cast<double>(x[A.columns[e + j]]);
        }
        request(e);
        for (; e < end && A.rows[e] == row; ++e)
          sum += static_cast<double>(A.values[e]) * static_cast<double>(x[A.columns[e]]);
        if (e - first >= lanes)
        {
          for (int n = lanes / 2; n > 0; n /= 2)
            for (int j = 0; j < n; ++j)
              sums[j] += sums[j + n];
          sum += sums[0];
        }
        if (first == begin && A.joined(begin))
          carries[2 * p] = sum;
        else if (e == end && A.joined(end))
          carries[2 * p + 1] = sum;
        else
          y[row] = static_cast<Result>(static_cast<double>(y[row]) + factor * sum);
      }
    }
    parallel_for(where, n_pieces, [=](const std::int64_t p) { A.add_carried(p, factor, carries, y); });
  }

  template void add_product(Host, const CoordinateView<float> &, double, const float *, float *, double *);
  template void add_product(Host, const CoordinateView<float> &, double, const float *, double *, double *);
  template void add_product(Host, const CoordinateView<double> &, double, const double *, double *, double *);
} // namespace PatchFEM::kernels
