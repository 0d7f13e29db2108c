// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/coarsening.h"
#include "kernels/instantiate.h"
#include <patchfem/base/threads.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace PatchFEM::kernels
{
  namespace
  {
    /** The row at hand of a product of matrices of blocks: where each column stands in it, and its sums. */
    struct RowSums
    {
      std::vector<int>    position; ///< [column], -1 where there is none
      std::vector<double> sums;     ///< [position][row][mode]

      RowSums(const int n_columns, const std::size_t n_sums) : position(n_columns, -1), sums(n_sums) {}

      template <int static_rows, int static_inner, int static_nm, typename Row>
      void compute(const Row &row)
      {
        using coarsening::BlockPosition;
        using coarsening::BlockRow;
        constexpr int rows   = static_rows > 0 ? static_rows : max_block_size;
        constexpr int inner  = static_inner > 0 ? static_inner : max_block_size;
        const int     n_rows = row.n_rows(), n_inner = row.n_inner(), nm = row.n_m(), size = n_rows * nm;
        const int    *columns = row.result.columns;
        if (row.begin >= row.result.n_blocks)
          return;
        for (int p = row.begin; p < row.result.n_blocks; ++p)
          position[columns[p]] = p;
        std::fill(sums.data() + row.begin * size, sums.data() + row.result.n_blocks * size, 0.);
        for (int k = row.k_first; k < row.k_last; ++k)
        {
          BlockPosition  at{};
          const BlockRow right = row.right(k, at);
          int            q     = coarsening::search(right.columns, 0, right.n_blocks, columns[row.begin]);
          if (q == right.n_blocks)
            continue;
          double left[rows * inner];
          row.read_left(k, at, left);
          const auto *block = row.values + right.first + q * nm;
          for (; q < right.n_blocks; ++q, block += nm)
          {
            if (position[right.columns[q]] < 0)
              continue; // a block that is left out
            double *sum = sums.data() + position[right.columns[q]] * size;
            for (int a = 0; a < n_rows; ++a)
              for (int m = 0; m < nm; ++m)
              {
                double value = sum[a * nm + m];
                for (int b = 0; b < n_inner; ++b)
                  value += left[a * n_inner + b] * static_cast<double>(block[std::ptrdiff_t(b) * right.pitch + m]);
                sum[a * nm + m] = value;
              }
          }
        }
        for (int p = row.begin; p < row.result.n_blocks; ++p)
          position[columns[p]] = -1;
      }
    };
  } // namespace

  namespace
  {
    /** prolongator() of scalars: the same sums, each in a place of its column. */
    template <typename Number>
    void scalar_prolongator(const CoarseningView<Number> &view, const TentativeView<Number> &Q)
    {
      for_shares(view.A.n_rows, [&](const std::int64_t begin, const std::int64_t end) {
        std::vector<double> sums(std::size_t(view.P.n_columns) + 1);
        double *const       sum   = sums.data() + 1; // [-1]: of nodes without an aggregate
        const double        omega = Q.omega[0];
        for (int i = int(begin); i < int(end); ++i)
        {
          view.A.for_each_block(i, [&](const std::int64_t at, const int j) {
            sum[Q.aggregate_of_node[j]] += static_cast<double>(view.A.values[at]) * static_cast<double>(Q.values[j]);
          });
          const double D = static_cast<double>(Q.D.values[i]), own = static_cast<double>(Q.values[i]);
          for (std::int64_t e = view.P.row_offsets[i]; e < view.P.row_offsets[i + 1]; ++e)
          {
            const int    column = view.P.columns[e];
            const double scaled = D * std::exchange(sum[column], 0.);
            view.P_values[e]    = static_cast<Number>((column == Q.aggregate_of_node[i] ? own : 0.) - omega * scaled);
          }
          view.A.for_each_block(i, [&](std::int64_t, const int j) { sum[Q.aggregate_of_node[j]] = 0.; });
        }
      });
    }
  } // namespace

  template <typename Number, typename Where>
  void prolongator(Where, const CoarseningView<Number> &view, const TentativeView<Number> &Q)
  {
    if (view.n_c == 1 && view.n_m == 1)
      return scalar_prolongator(view, Q);
    const BlockDiagonalView<Number> &D     = Q.D;
    const double                     omega = Q.omega[0];
    with_prolongator_sizes(view.n_c, view.n_m, [&](auto static_nc, auto static_nm) {
      for_shares(view.A.n_rows, [&](const std::int64_t begin, const std::int64_t end) {
        RowSums work(view.P.n_columns, std::size_t(view.P_width) * view.n_c * view.n_m);
        for (int i = int(begin); i < int(end); ++i)
        {
          const coarsening::ProlongatorRow<static_nc, static_nm, Number> row(view, Q, i);
          work.compute<static_nc, static_nc, static_nm>(row);
          const int     nc = row.n_c(), nm = row.n_m();
          const Number *Q_i = Q.values + std::int64_t(i) * nc * nm;
          for (int p = 0; p < row.result.n_blocks; ++p)
          {
            const double *sum = work.sums.data() + p * nc * nm;
            Number       *out = view.P_values + row.result.first + p * nm;
            for (int a = 0; a < nc; ++a)
              for (int m = 0; m < nm; ++m)
              {
                double scaled = 0.;
                for (int c = 0; c < nc; ++c)
                {
                  const int high = a > c ? a : c, low = a > c ? c : a;
                  scaled +=
                      static_cast<double>(D.values[(high * (high + 1) / 2 + low) * D.stride + i]) * sum[c * nm + m];
                }
                const bool own = row.result.columns[p] == Q.aggregate_of_node[i];
                out[a * row.result.pitch + m] =
                    static_cast<Number>((own ? static_cast<double>(Q_i[a * nm + m]) : 0.) - omega * scaled);
              }
          }
        }
      });
    });
  }

  template <typename Number, typename Where>
  void matrix_prolongator(Where, const CoarseningView<Number> &view, const ProductStretch<Number> &rows)
  {
    with_prolongator_sizes(view.n_c, view.n_m, [&](auto static_nc, auto static_nm) {
      for_shares(rows.last - rows.first, [&](const std::int64_t begin, const std::int64_t end) {
        RowSums work(view.AP.n_columns, std::size_t(view.AP_width) * view.n_c * view.n_m);
        for (int i = rows.first + int(begin); i < rows.first + int(end); ++i)
        {
          const coarsening::MatrixProlongatorRow<static_nc, static_nm, Number> row(view, rows, i);
          work.compute<static_nc, static_nc, static_nm>(row);
          const int nc = row.n_c(), nm = row.n_m();
          for (int p = row.begin; p < row.result.n_blocks; ++p)
            for (int a = 0; a < nc; ++a)
              for (int m = 0; m < nm; ++m)
                rows.values[row.result.first + a * row.result.pitch + p * nm + m] =
                    static_cast<Number>(work.sums[(p * nc + a) * nm + m]);
        }
      });
    });
  }

  template <typename Number, typename Where>
  void coarse_matrix(Where, const CoarseningView<Number> &view, const ProductStretch<Number> &rows)
  {
    const SlicedEllpackView<Number> &C = view.C;
    with_prolongator_sizes(view.n_c, view.n_m, [&](auto static_nc, auto static_nm) {
      for_pieces(C.n_rows, 16, [&](const auto &next) {
        RowSums work(view.C_pattern.n_columns, std::size_t(view.C_width) * view.n_m * view.n_m);
        next([&](const std::int64_t i) {
          const coarsening::CoarseRow<static_nc, static_nm, Number> row(view, rows, static_cast<int>(i), 0);
          work.compute<static_nm, static_nc, static_nm>(row);
          const int size = row.n_m() * row.n_m();
          for (int p = row.begin; p < row.result.n_blocks; ++p)
          {
            Number *const out = C.values + C.value_index(static_cast<int>(i), p, 0, 0);
            for (int e = 0; e < size; ++e)
            {
              Number &entry = out[std::int64_t(e) * C.slice_height];
              entry         = static_cast<Number>(static_cast<double>(entry) + work.sums[p * size + e]);
            }
          }
        });
      });
    });
  }

  PATCHFEM_INSTANTIATE_COARSENING(Host)
} // namespace PatchFEM::kernels
