// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/coarsening.h"
#include "kernels/instantiate.h"
#include <patchfem/base/threads.h>

#include <algorithm>
#include <vector>

namespace PatchFEM::kernels
{
  namespace
  {
    /** The row at hand of a product of matrices of blocks: where each column stands in it, and its sums. */
    template <int static_rows, int static_inner, int static_modes>
    struct RowSums
    {
      /** A left factor, row major. */
      struct Block
      {
        double values[(static_rows > 0 ? static_rows : max_block_size) *
                      (static_inner > 0 ? static_inner : max_block_size)];
      };

      const int           rows, inner, modes; ///< where they are not static
      std::vector<int>    position;           ///< [column]
      std::vector<double> sums;               ///< [position][row][mode]

      RowSums(const int n_columns, const int width, const int rows, const int inner, const int modes)
          : rows(rows), inner(inner), modes(modes), position(n_columns, -1), sums(std::size_t(width) * rows * modes)
      {}

      int n_rows() const { return static_rows > 0 ? static_rows : rows; }
      int n_inner() const { return static_inner > 0 ? static_inner : inner; }
      int n_modes() const { return static_modes > 0 ? static_modes : modes; }

      double *at(const int p) { return sums.data() + p * n_rows() * n_modes(); }

      /** Begins with a row of these columns, of which those from @p start on are wanted. */
      void begin(const int *columns, const int start, const int length)
      {
        for (int p = start; p < length; ++p)
          position[columns[p]] = p;
        std::fill(at(start), at(length), 0.);
      }

      /** Block @p k of row @p i of A. */
      template <typename Number>
      Block read(const SlicedEllpackView<Number> &A, const int i, const int k) const
      {
        Block         left;
        const Number *from = A.values + A.value_index(i, k, 0, 0);
        for (int e = 0; e < n_rows() * n_inner(); ++e)
          left.values[e] = static_cast<double>(from[std::int64_t(e) * A.slice_height]);
        return left;
      }

      /** Adds @p left times the block in @p column whose rows are @p pitch values apart. */
      template <typename Number>
      void add(const Block &left, const int column, const Number *right, const std::ptrdiff_t pitch)
      {
        double *sum = at(position[column]);
        for (int a = 0; a < n_rows(); ++a)
          for (int m = 0; m < n_modes(); ++m)
          {
            double value = sum[a * n_modes() + m];
            for (int b = 0; b < n_inner(); ++b)
              value += left.values[a * n_inner() + b] * static_cast<double>(right[b * pitch + m]);
            sum[a * n_modes() + m] = value;
          }
      }
    };
  } // namespace

  template <typename Number, typename Where>
  void prolongator(Where, const CoarseningView<Number> &view, const TentativeView<Number> &Q)
  {
    const auto                      &A     = view.A;
    const auto                      &P     = view.P;
    const BlockDiagonalView<Number> &D     = Q.D;
    const double                     omega = Q.omega[0];
    with_prolongator_sizes(view.n_c, view.n_m, [&](auto static_nc, auto static_nm) {
      for_shares(P.n_rows, [&](const std::int64_t begin_row, const std::int64_t end_row) {
        RowSums<static_nc, static_nc, static_nm> work(P.n_columns, view.P_width, view.n_c, view.n_c, view.n_m);
        const int                                nc = work.n_rows(), nm = work.n_modes();
        for (int i = int(begin_row); i < int(end_row); ++i)
        {
          const std::int64_t begin   = P.row_offsets[i];
          const int         *columns = P.columns + begin;
          const int          length  = static_cast<int>(P.row_offsets[i + 1] - begin);
          work.begin(columns, 0, length);
          for (int k = 0; k < view.A_lengths[i]; ++k)
          {
            const int j = A.columns[A.block_index(i, k)];
            if (Q.aggregate_of_node[j] < 0)
              continue;
            work.add(work.read(A, i, k), Q.aggregate_of_node[j], Q.values + std::int64_t(j) * nc * nm, nm);
          }
          const Number *Q_i = Q.values + std::int64_t(i) * nc * nm;
          const int     own = Q.aggregate_of_node[i];
          for (int p = 0; p < length; ++p)
          {
            const double *sum = work.at(p);
            Number       *out = view.P_values + begin * (nc * nm) + p * nm;
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
                    (columns[p] == own ? static_cast<double>(Q_i[a * nm + m]) : 0.) - omega * scaled);
              }
          }
        }
      });
    });
  }

  template <typename Number, typename Where>
  void matrix_prolongator(Where, const CoarseningView<Number> &view, const ProductStretch<Number> &rows)
  {
    const auto &A  = view.A;
    const auto &P  = view.P;
    const auto &AP = view.AP;
    with_prolongator_sizes(view.n_c, view.n_m, [&](auto static_nc, auto static_nm) {
      for_shares(rows.last - rows.first, [&](const std::int64_t begin, const std::int64_t end) {
        RowSums<static_nc, static_nc, static_nm> work(P.n_columns, view.AP_width, view.n_c, view.n_c, view.n_m);
        const int                                nc = work.n_rows(), nm = work.n_modes();
        for (int i = rows.first + int(begin); i < rows.first + int(end); ++i)
        {
          if (P.row_offsets[i] == P.row_offsets[i + 1])
            continue;
          const int *columns = AP.columns + AP.row_offsets[i];
          const int  length  = static_cast<int>(AP.row_offsets[i + 1] - AP.row_offsets[i]);
          const int  lowest  = P.columns[P.row_offsets[i]];
          const int  start   = static_cast<int>(std::lower_bound(columns, columns + length, lowest) - columns);
          work.begin(columns, start, length);
          for (int k = 0; k < view.A_lengths[i]; ++k)
          {
            const int          j       = A.columns[A.block_index(i, k)];
            const std::int64_t P_begin = P.row_offsets[j], P_end = P.row_offsets[j + 1];
            const auto         left = work.read(A, i, k);
            for (std::int64_t e = P_begin; e < P_end; ++e)
              if (P.columns[e] >= lowest)
                work.add(left, P.columns[e], view.P_values + P_begin * (nc * nm) + (e - P_begin) * nm,
                         (P_end - P_begin) * nm);
          }
          Number *out = rows.values + (AP.row_offsets[i] - AP.row_offsets[rows.first]) * nc * nm;
          for (int p = start; p < length; ++p)
            for (int a = 0; a < nc; ++a)
              for (int m = 0; m < nm; ++m)
                out[(a * length + p) * nm + m] = static_cast<Number>(work.at(p)[a * nm + m]);
        }
      });
    });
  }

  template <typename Number, typename Where>
  void coarse_matrix(Where, const CoarseningView<Number> &view, const ProductStretch<Number> &rows)
  {
    const auto &C  = view.C;
    const auto &AP = view.AP;
    const auto &P  = view.P;
    with_prolongator_sizes(view.n_c, view.n_m, [&](auto static_nc, auto static_nm) {
      for_pieces(C.n_rows, 16, [&](const auto &next) {
        RowSums<static_nm, static_nc, static_nm> work(C.n_columns, view.C_width, view.n_m, view.n_c, view.n_m);
        const int                                nc = work.n_inner(), nm = work.n_modes();
        next([&](const std::int64_t row) {
          const int i = static_cast<int>(row), n_rows = view.R.length(i);
          int       k = view.R.lower_bound(i, rows.first);
          if (k == n_rows || view.R.column(i, k) >= rows.last)
            return;
          const int *columns = view.C_pattern.columns + view.C_pattern.row_offsets[i];
          const int  length  = static_cast<int>(view.C_pattern.row_offsets[i + 1] - view.C_pattern.row_offsets[i]);
          const int  start   = static_cast<int>(std::lower_bound(columns, columns + length, i) - columns);
          work.begin(columns, start, length);
          for (; k < n_rows && view.R.column(i, k) < rows.last; ++k)
          {
            const int            j       = view.R.column(i, k);
            const int *const     P_begin = P.columns + P.row_offsets[j], *P_end = P.columns + P.row_offsets[j + 1];
            const int *const     AP_begin = AP.columns + AP.row_offsets[j], *end = AP.columns + AP.row_offsets[j + 1];
            const std::ptrdiff_t P_pitch = (P_end - P_begin) * nm, AP_pitch = (end - AP_begin) * nm;
            const Number *const  P_ji =
                view.P_values + P.row_offsets[j] * (nc * nm) + (std::lower_bound(P_begin, P_end, i) - P_begin) * nm;
            typename decltype(work)::Block left{};
            for (int m = 0; m < nm; ++m)
              for (int b = 0; b < nc; ++b)
                left.values[m * nc + b] = static_cast<double>(P_ji[b * P_pitch + m]);
            const int    *column = std::lower_bound(AP_begin, end, i);
            const Number *block =
                rows.values + (AP.row_offsets[j] - AP.row_offsets[rows.first]) * (nc * nm) + (column - AP_begin) * nm;
            for (; column != end; ++column, block += nm)
              work.add(left, *column, block, AP_pitch);
          }
          for (int p = start; p < length; ++p)
          {
            Number *const out = C.values + C.value_index(i, p, 0, 0);
            for (int e = 0; e < nm * nm; ++e)
            {
              Number &entry = out[std::int64_t(e) * C.slice_height];
              entry         = static_cast<Number>(static_cast<double>(entry) + work.at(p)[e]);
            }
          }
        });
      });
    });
  }

  PATCHFEM_INSTANTIATE_COARSENING(Host)
} // namespace PatchFEM::kernels
