// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/coarsening.h>

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

      template <int static_nc, int static_nm, typename Number>
      void prolongator(const CoarseningView<Number>    &view,
                       const int                       *aggregate_of_node,
                       const double                    *tentative,
                       const BlockDiagonalView<Number> &D,
                       const double                     omega)
      {
        const auto &A  = view.A;
        const auto &P  = view.P;
        const int   nc = static_nc > 0 ? static_nc : P.block_rows, nm = static_nm > 0 ? static_nm : P.block_columns;
#pragma omp parallel
        {
          Workspace work(P.n_columns, view.P_width, nc * nm);
#pragma omp for schedule(static)
          for (int i = 0; i < P.n_rows; ++i)
          {
            const int length = view.P_lengths[i];
            for (int p = 0; p < length; ++p)
              work.position[P.columns[P.block_index(i, p)]] = p;
            std::fill_n(work.sums.begin(), length * nc * nm, 0.);
            for (int k = 0; k < view.A_lengths[i]; ++k)
            {
              const int j         = A.columns[A.block_index(i, k)];
              const int aggregate = aggregate_of_node[j];
              if (aggregate < 0)
                continue;
              double       *sum = work.sums.data() + work.position[aggregate] * nc * nm;
              const double *Q   = tentative + std::int64_t(j) * nc * nm;
              for (int a = 0; a < nc; ++a)
                for (int b = 0; b < nc; ++b)
                {
                  const double value = static_cast<double>(A.values[A.value_index(i, k, a, b)]);
                  for (int m = 0; m < nm; ++m)
                    sum[a * nm + m] += value * Q[b * nm + m];
                }
            }
            const double *Q = tentative + std::int64_t(i) * nc * nm;
            for (int p = 0; p < length; ++p)
            {
              const bool    own = aggregate_of_node[i] == P.columns[P.block_index(i, p)];
              const double *sum = work.sums.data() + p * nc * nm;
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
                  P.values[P.value_index(i, p, a, m)] =
                      static_cast<Number>((own ? Q[a * nm + m] : 0.) - omega * scaled);
                }
            }
          }
        }
      }

      template <int static_nc, int static_nm, typename Number>
      void matrix_prolongator(const CoarseningView<Number> &view, const int first, const int last, Number *values)
      {
        const auto &A  = view.A;
        const auto &P  = view.P;
        const int   nc = static_nc > 0 ? static_nc : P.block_rows, nm = static_nm > 0 ? static_nm : P.block_columns;
#pragma omp parallel
        {
          Workspace           work(P.n_columns, view.AP_width, nc * nm);
          std::vector<double> block(nc * nm);
#pragma omp for schedule(static)
          for (int i = first; i < last; ++i)
          {
            const int *columns = view.AP.columns + view.AP.row_offsets[i];
            const int  length  = static_cast<int>(view.AP.row_offsets[i + 1] - view.AP.row_offsets[i]);
            for (int p = 0; p < length; ++p)
              work.position[columns[p]] = p;
            std::fill_n(work.sums.begin(), length * nc * nm, 0.);
            for (int k = 0; k < view.A_lengths[i]; ++k)
            {
              const int j = A.columns[A.block_index(i, k)];
              double A_ik[(static_nc > 0 ? static_nc : max_block_size) * (static_nc > 0 ? static_nc : max_block_size)];
              for (int a = 0; a < nc; ++a)
                for (int b = 0; b < nc; ++b)
                  A_ik[a * nc + b] = static_cast<double>(A.values[A.value_index(i, k, a, b)]);
              for (int q = 0; q < view.P_lengths[j]; ++q)
              {
                double *sum = work.sums.data() + work.position[P.columns[P.block_index(j, q)]] * nc * nm;
                for (int b = 0; b < nc; ++b)
                  for (int m = 0; m < nm; ++m)
                  {
                    const double value = static_cast<double>(P.values[P.value_index(j, q, b, m)]);
                    for (int a = 0; a < nc; ++a)
                      sum[a * nm + m] += A_ik[a * nc + b] * value;
                  }
              }
            }
            Number *out = values + std::int64_t(i - first) * view.AP_width * nc * nm;
            for (int e = 0; e < length * nc * nm; ++e)
              out[e] = static_cast<Number>(work.sums[e]);
          }
        }
      }

      template <int static_nc, int static_nm, typename Number>
      void coarse_matrix(const CoarseningView<Number> &view, const int first, const int last, const Number *values)
      {
        const auto &R  = view.R;
        const auto &C  = view.C;
        const int   nc = static_nc > 0 ? static_nc : R.block_columns, nm = static_nm > 0 ? static_nm : R.block_rows;
#pragma omp parallel
        {
          Workspace work(C.n_columns, view.C_width, nm * nm);
#pragma omp for schedule(dynamic, 16)
          for (int i = 0; i < C.n_rows; ++i)
          {
            int k = 0;
            while (k < view.R_lengths[i] && R.columns[R.block_index(i, k)] < first)
              ++k;
            if (k == view.R_lengths[i] || R.columns[R.block_index(i, k)] >= last)
              continue;
            const int length = view.C_lengths[i];
            for (int p = 0; p < length; ++p)
            {
              work.position[C.columns[C.block_index(i, p)]] = p;
              for (int m = 0; m < nm; ++m)
                for (int c = 0; c < nm; ++c)
                  work.sums[(p * nm + m) * nm + c] = static_cast<double>(C.values[C.value_index(i, p, m, c)]);
            }
            for (; k < view.R_lengths[i]; ++k)
            {
              const int j = R.columns[R.block_index(i, k)];
              if (j >= last)
                break;
              double R_ik[(static_nc > 0 ? static_nc * static_nm : max_block_size * max_block_size)];
              for (int m = 0; m < nm; ++m)
                for (int b = 0; b < nc; ++b)
                  R_ik[m * nc + b] = static_cast<double>(R.values[R.value_index(i, k, m, b)]);
              const std::int64_t begin  = view.AP.row_offsets[j];
              const int          n      = static_cast<int>(view.AP.row_offsets[j + 1] - begin);
              const int *const   column = view.AP.columns + begin;
              for (int q = static_cast<int>(std::lower_bound(column, column + n, i) - column); q < n; ++q)
              {
                const Number *block = values + (std::int64_t(j - first) * view.AP_width + q) * nc * nm;
                double       *sum   = work.sums.data() + work.position[column[q]] * nm * nm;
                for (int m = 0; m < nm; ++m)
                  for (int b = 0; b < nc; ++b)
                    for (int c = 0; c < nm; ++c)
                      sum[m * nm + c] += R_ik[m * nc + b] * static_cast<double>(block[b * nm + c]);
              }
            }
            for (int p = 0; p < length; ++p)
              for (int m = 0; m < nm && C.columns[C.block_index(i, p)] >= i; ++m)
                for (int c = 0; c < nm; ++c)
                  C.values[C.value_index(i, p, m, c)] = static_cast<Number>(work.sums[(p * nm + m) * nm + c]);
          }
        }
      }
    } // namespace

    template <typename Number>
    void prolongator(Host,
                     const CoarseningView<Number>    &view,
                     const int                       *aggregate_of_node,
                     const double                    *tentative,
                     const BlockDiagonalView<Number> &D,
                     const double                    *omega)
    {
      with_prolongator_sizes(view.P.block_rows, view.P.block_columns, [&](auto nc, auto nm) {
        prolongator<decltype(nc)::value, decltype(nm)::value>(view, aggregate_of_node, tentative, D, omega[0]);
      });
    }

    template <typename Number>
    void matrix_prolongator(Host, const CoarseningView<Number> &view, const int first, const int last, Number *values)
    {
      with_prolongator_sizes(view.P.block_rows, view.P.block_columns, [&](auto nc, auto nm) {
        matrix_prolongator<decltype(nc)::value, decltype(nm)::value>(view, first, last, values);
      });
    }

    template <typename Number>
    void coarse_matrix(Host, const CoarseningView<Number> &view, const int first, const int last, const Number *values)
    {
      with_prolongator_sizes(view.P.block_rows, view.P.block_columns, [&](auto nc, auto nm) {
        coarse_matrix<decltype(nc)::value, decltype(nm)::value>(view, first, last, values);
      });
    }

#define INSTANTIATE(Number)                                                                    \
  template void prolongator(Host, const CoarseningView<Number> &, const int *, const double *, \
                            const BlockDiagonalView<Number> &, const double *);                \
  template void matrix_prolongator(Host, const CoarseningView<Number> &, int, int, Number *);  \
  template void coarse_matrix(Host, const CoarseningView<Number> &, int, int, const Number *);
    INSTANTIATE(float)
    INSTANTIATE(double)
#undef INSTANTIATE
  } // namespace kernels
} // namespace PatchFEM
