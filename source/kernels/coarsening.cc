// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/coarsening.h"
#include <patchfem/base/threads.h>

#include <algorithm>
#include <vector>

namespace PatchFEM
{
  namespace kernels
  {
    namespace
    {
      /** What a thread works with: where each column stands in the row at hand, and the sums of that row. */
      struct Workspace
      {
        std::vector<int>    position; ///< [column]
        std::vector<double> sums;     ///< [position][entry]

        Workspace(const int n_columns, const int width, const int entries)
            : position(n_columns, -1), sums(std::size_t(width) * entries)
        {}
      };

      /** The block (a, b) at block @p k of row @p i, row major. */
      template <int static_rows, int static_columns, typename Number>
      struct Block
      {
        static constexpr int storage = static_rows > 0 ? static_rows *static_columns : max_block_size *max_block_size;

        double values[storage];

        Block(const SlicedEllpackView<Number> &A, const int i, const int k, const int rows, const int columns)
        {
          const Number *from = A.values + A.value_index(i, k, 0, 0);
          for (int e = 0; e < rows * columns; ++e)
            values[e] = static_cast<double>(from[std::int64_t(e) * A.slice_height]);
        }
      };

      template <int static_nc, int static_nm, typename Number>
      void prolongator(const CoarseningView<Number>    &view,
                       const int                       *aggregate_of_node,
                       const Number                    *tentative,
                       const BlockDiagonalView<Number> &D,
                       const double                     omega,
                       Number                          *P_values)
      {
        const auto &A  = view.A;
        const auto &P  = view.P;
        const int   nc = static_nc > 0 ? static_nc : view.n_c, nm = static_nm > 0 ? static_nm : view.n_m;
        for_shares(P.n_rows, [&](const std::int64_t begin_row, const std::int64_t end_row) {
          Workspace work(P.n_columns, view.P_width, nc * nm);
          for (int i = int(begin_row); i < int(end_row); ++i)
          {
            const std::int64_t begin   = P.row_offsets[i];
            const int         *columns = P.columns + begin;
            const int          length  = static_cast<int>(P.row_offsets[i + 1] - begin);
            for (int p = 0; p < length; ++p)
              work.position[columns[p]] = p;
            std::fill_n(work.sums.begin(), length * nc * nm, 0.);
            for (int k = 0; k < view.A_lengths[i]; ++k)
            {
              const int j         = A.columns[A.block_index(i, k)];
              const int aggregate = aggregate_of_node[j];
              if (aggregate < 0)
                continue;
              double                                   *sum = work.sums.data() + work.position[aggregate] * nc * nm;
              const Number                             *Q   = tentative + std::int64_t(j) * nc * nm;
              const Block<static_nc, static_nc, Number> A_ij(A, i, k, nc, nc);
              for (int a = 0; a < nc; ++a)
                for (int m = 0; m < nm; ++m)
                {
                  double value = sum[a * nm + m];
                  for (int b = 0; b < nc; ++b)
                    value += A_ij.values[a * nc + b] * static_cast<double>(Q[b * nm + m]);
                  sum[a * nm + m] = value;
                }
            }
            const Number *Q   = tentative + std::int64_t(i) * nc * nm;
            const int     own = aggregate_of_node[i];
            for (int p = 0; p < length; ++p)
            {
              const double *sum = work.sums.data() + p * nc * nm;
              Number       *out = P_values + begin * (nc * nm) + p * nm;
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
                  out[a * length * nm + m] = static_cast<Number>(
                      (columns[p] == own ? static_cast<double>(Q[a * nm + m]) : 0.) - omega * scaled);
                }
            }
          }
        });
      }

      template <int static_nc, int static_nm, typename Number>
      void matrix_prolongator(
          const CoarseningView<Number> &view, const Number *P_values, const int first, const int last, Number *values)
      {
        const auto &A  = view.A;
        const auto &P  = view.P;
        const int   nc = static_nc > 0 ? static_nc : view.n_c, nm = static_nm > 0 ? static_nm : view.n_m;
        for_shares(last - first, [&](const std::int64_t begin, const std::int64_t end) {
          Workspace work(P.n_columns, view.AP_width, nc * nm);
          for (int i = first + int(begin); i < first + int(end); ++i)
          {
            if (P.row_offsets[i] == P.row_offsets[i + 1])
              continue;
            const int    *columns = view.AP.columns + view.AP.row_offsets[i];
            const int     length  = static_cast<int>(view.AP.row_offsets[i + 1] - view.AP.row_offsets[i]);
            const int     lowest  = P.columns[P.row_offsets[i]];
            const int     start   = static_cast<int>(std::lower_bound(columns, columns + length, lowest) - columns);
            double *const sums    = work.sums.data();
            for (int p = start; p < length; ++p)
              work.position[columns[p]] = p;
            std::fill(sums + start * nc * nm, sums + length * nc * nm, 0.);
            for (int k = 0; k < view.A_lengths[i]; ++k)
            {
              const int                                 j = A.columns[A.block_index(i, k)];
              const Block<static_nc, static_nc, Number> A_ij(A, i, k, nc, nc);
              const std::int64_t                        P_begin = P.row_offsets[j], P_end = P.row_offsets[j + 1];
              for (std::int64_t e = P_begin; e < P_end; ++e)
              {
                if (P.columns[e] < lowest)
                  continue;
                double       *sum   = sums + work.position[P.columns[e]] * nc * nm;
                const Number *block = P_values + P_begin * (nc * nm) + (e - P_begin) * nm;
                for (int a = 0; a < nc; ++a)
                  for (int m = 0; m < nm; ++m)
                  {
                    double value = sum[a * nm + m];
                    for (int b = 0; b < nc; ++b)
                      value += A_ij.values[a * nc + b] * static_cast<double>(block[b * (P_end - P_begin) * nm + m]);
                    sum[a * nm + m] = value;
                  }
              }
            }
            Number *out = values + (view.AP.row_offsets[i] - view.AP.row_offsets[first]) * nc * nm;
            for (int p = start; p < length; ++p)
              for (int a = 0; a < nc; ++a)
                for (int m = 0; m < nm; ++m)
                  out[(a * length + p) * nm + m] = static_cast<Number>(sums[(p * nc + a) * nm + m]);
          }
        });
      }

      template <int static_nc, int static_nm, typename Number>
      void coarse_matrix(const CoarseningView<Number> &view,
                         const Number                 *P_values,
                         const int                     first,
                         const int                     last,
                         const Number                 *values)
      {
        const auto &C  = view.C;
        const auto &AP = view.AP;
        const auto &P  = view.P;
        const int   nc = static_nc > 0 ? static_nc : view.n_c, nm = static_nm > 0 ? static_nm : view.n_m;
        for_pieces(C.n_rows, 16, [&](const auto &next) {
          Workspace work(C.n_columns, view.C_width, nm * nm);
          next([&](const std::int64_t row) {
            const int i = static_cast<int>(row), n_rows = view.R.length(i);
            int       k = 0;
            while (k < n_rows && view.R.column(i, k) < first)
              ++k;
            if (k == n_rows || view.R.column(i, k) >= last)
              return;
            const int *columns = view.C_pattern.columns + view.C_pattern.row_offsets[i];
            const int  length  = static_cast<int>(view.C_pattern.row_offsets[i + 1] - view.C_pattern.row_offsets[i]);
            const int  start   = static_cast<int>(std::lower_bound(columns, columns + length, i) - columns);
            for (int p = start; p < length; ++p)
              work.position[columns[p]] = p;
            std::fill(work.sums.begin() + start * nm * nm, work.sums.begin() + length * nm * nm, 0.);
            for (; k < n_rows; ++k)
            {
              const int j = view.R.column(i, k);
              if (j >= last)
                break;
              const int *const     P_begin = P.columns + P.row_offsets[j], *P_end = P.columns + P.row_offsets[j + 1];
              const int *const     AP_begin = AP.columns + AP.row_offsets[j], *end = AP.columns + AP.row_offsets[j + 1];
              const std::ptrdiff_t P_pitch = (P_end - P_begin) * nm, AP_pitch = (end - AP_begin) * nm;
              const Number *const  P_ji =
                  P_values + P.row_offsets[j] * (nc * nm) + (std::lower_bound(P_begin, P_end, i) - P_begin) * nm;
              const int    *column = std::lower_bound(AP_begin, end, i);
              const Number *block =
                  values + (AP.row_offsets[j] - AP.row_offsets[first]) * (nc * nm) + (column - AP_begin) * nm;
              for (; column != end; ++column, block += nm)
              {
                double *sum = work.sums.data() + work.position[*column] * nm * nm;
                for (int m = 0; m < nm; ++m)
                  for (int c = 0; c < nm; ++c)
                  {
                    double value = sum[m * nm + c];
                    for (int b = 0; b < nc; ++b)
                      value +=
                          static_cast<double>(P_ji[b * P_pitch + m]) * static_cast<double>(block[b * AP_pitch + c]);
                    sum[m * nm + c] = value;
                  }
              }
            }
            for (int p = start; p < length; ++p)
            {
              Number *const out = C.values + C.value_index(i, p, 0, 0);
              for (int e = 0; e < nm * nm; ++e)
              {
                Number &entry = out[std::int64_t(e) * C.slice_height];
                entry         = static_cast<Number>(static_cast<double>(entry) + work.sums[p * nm * nm + e]);
              }
            }
          });
        });
      }
    } // namespace

    template <typename Number>
    void prolongator(Host,
                     const CoarseningView<Number>    &view,
                     const int                       *aggregate_of_node,
                     const Number                    *tentative,
                     const BlockDiagonalView<Number> &D,
                     const double                    *omega,
                     Number                          *P_values)
    {
      with_prolongator_sizes(view.n_c, view.n_m, [&](auto nc, auto nm) {
        prolongator<decltype(nc)::value, decltype(nm)::value>(view, aggregate_of_node, tentative, D, omega[0],
                                                              P_values);
      });
    }

    template <typename Number>
    void matrix_prolongator(Host,
                            const CoarseningView<Number> &view,
                            const Number                 *P_values,
                            const int                     first,
                            const int                     last,
                            Number                       *values)
    {
      with_prolongator_sizes(view.n_c, view.n_m, [&](auto nc, auto nm) {
        matrix_prolongator<decltype(nc)::value, decltype(nm)::value>(view, P_values, first, last, values);
      });
    }

    template <typename Number>
    void coarse_matrix(Host,
                       const CoarseningView<Number> &view,
                       const Number                 *P_values,
                       const int                     first,
                       const int                     last,
                       const Number                 *values,
                       int,
                       double *)
    {
      with_prolongator_sizes(view.n_c, view.n_m, [&](auto nc, auto nm) {
        coarse_matrix<decltype(nc)::value, decltype(nm)::value>(view, P_values, first, last, values);
      });
    }

#define INSTANTIATE(Number)                                                                                        \
  template void prolongator(Host, const CoarseningView<Number> &, const int *, const Number *,                     \
                            const BlockDiagonalView<Number> &, const double *, Number *);                          \
  template void matrix_prolongator(Host, const CoarseningView<Number> &, const Number *, int, int, Number *);      \
  template void coarse_matrix(Host, const CoarseningView<Number> &, const Number *, int, int, const Number *, int, \
                              double *);
    INSTANTIATE(float)
    INSTANTIATE(double)
#undef INSTANTIATE
  } // namespace kernels
} // namespace PatchFEM
