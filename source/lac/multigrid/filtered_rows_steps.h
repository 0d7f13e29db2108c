// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "multigrid_tools.h"

#include "kernels/coarsening.h"
#include "kernels/launch.h"

#include <cmath>
#include <type_traits>

/** @file The step (see launch.h) of multigrid_tools.h that keeps the modes of a prolongator whose rows leave blocks out. */
namespace PatchFEM::multigrid
{
  namespace
  {
    /// A mode whose part that others do not have is shorter than this, squared, over all blocks of a row depends on them: far from the
    /// origin the turn of a few nodes is a small part of what they move by.
    template <typename Number>
    constexpr double least_pivot = std::is_same_v<Number, double> ? 1e-10 : 1e-6;

    /// The most that a row of a scalar may change for a mode, as it is behind others: a single node's row takes omega at most, below 2
    /// as lambda_max >= 1. More is what rounding makes of aggregates that hardly move so, as nodes on a line about it.
    constexpr double most_taken = 2.;

    /** A row of project_rows(), by a team (see team.h). */
    template <typename Number>
    struct ProjectRowBody
    {
      static constexpr int team_size = 32, most = kernels::max_block_size;

      struct Scratch
      {
        double sums[most * most], lost[most * most]; ///< [component][mode], the second X
        double L[most * (most + 1) / 2], scale[most];
        int    left_out[team_size]; ///< nodes, or -1
      };

      SlicedEllpackView<Number>      A;
      kernels::TentativeView<Number> Q;
      SparsityView                   P;
      Number                        *values;     ///< of P, by scalar rows
      const double                  *modes;      ///< R, upper triangles, [aggregate][mode][mode]
      const Number                  *fine_modes; ///< B, [node][component][mode]
      int                            n_m;

      template <typename Team>
      PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t row, Scratch &scratch) const
      {
        const int          i      = static_cast<int>(row);
        const std::int64_t begin  = P.row_offsets[i];
        const int          n_kept = static_cast<int>(P.row_offsets[i + 1] - begin);
        if (n_kept == 0 || !find_lost(team, i, P.columns + begin, n_kept, scratch))
          return;
        factorize(team, P.columns + begin, n_kept, scratch);
        const int n_c = A.block_rows;
        for (int a = team.rank(); a < n_c; a += Team::size)
          solve(scratch, scratch.lost + a * n_m);
        team.sync();
        for (int item = team.rank(); item < n_c * n_kept * n_m; item += Team::size)
        {
          const int           a = item / (n_kept * n_m), p = item / n_m % n_kept, l = item % n_m;
          const double *const R     = R_of(P.columns[begin + p]);
          Number             &value = values[begin * n_c * n_m + item];
          double              sum   = static_cast<double>(value);
          for (int m = l; m < n_m; ++m)
            sum += R[l * n_m + m] * scratch.lost[a * n_m + m];
          value = static_cast<Number>(sum);
        }
      }

    private:
      PATCHFEM_INLINE const double *R_of(const int aggregate) const
      {
        return modes + std::int64_t(aggregate) * n_m * n_m;
      }

      /** X = -omega D^-1 sum A_ij B_j over nodes j of aggregates without a block; whether there are any. */
      template <typename Team>
      PATCHFEM_INLINE bool
      find_lost(const Team &team, const int i, const int *const kept, const int n_kept, Scratch &scratch) const
      {
        const int n_c = A.block_rows, size = n_c * n_m, length = A.row_lengths[i];
        for (int e = team.rank(); e < size; e += Team::size)
          scratch.sums[e] = 0.;
        bool any = false;
        for (int first = 0; first < length; first += team_size)
        {
          const int n = length - first < team_size ? length - first : team_size;
          team.sync();
          for (int s = team.rank(); s < n; s += Team::size)
          {
            const int j = A.column(i, first + s), J = Q.aggregate_of_node[j],
                      p         = kernels::coarsening::search(kept, 0, n_kept, J);
            scratch.left_out[s] = J < 0 || (p < n_kept && kept[p] == J) ? -1 : j;
          }
          team.sync();
          for (int s = 0; s < n; ++s)
          {
            if (scratch.left_out[s] < 0)
              continue;
            any                   = true;
            const Number *const B = fine_modes + std::int64_t(scratch.left_out[s]) * size;
            for (int e = team.rank(); e < size; e += Team::size)
              for (int c = 0; c < n_c; ++c)
                scratch.sums[e] += static_cast<double>(A.values[A.value_index(i, first + s, e / n_m, c)]) *
                                   static_cast<double>(B[c * n_m + e % n_m]);
          }
        }
        team.sync();
        for (int e = team.rank(); e < size && any; e += Team::size)
        {
          double sum = 0.;
          for (int c = 0; c < n_c; ++c)
          {
            const int a = e / n_m, high = a > c ? a : c, low = a > c ? c : a;
            sum += static_cast<double>(Q.D.values[(high * (high + 1) / 2 + low) * Q.D.stride + i]) *
                   scratch.sums[c * n_m + e % n_m];
          }
          scratch.lost[e] = -Q.omega[0] * sum;
        }
        return any;
      }

      /** Cholesky's factor of C^T C, scaled to unit diagonal, with inverse pivots, or 0 where a mode depends on those before. */
      template <typename Team>
      PATCHFEM_INLINE void factorize(const Team &team, const int *const kept, const int n_kept, Scratch &scratch) const
      {
        team.sync();
        for (int e = team.rank(); e < n_m * n_m; e += Team::size)
        {
          const int m = e / n_m, c = e % n_m;
          if (c > m)
            continue;
          double sum = 0.;
          for (int p = 0; p < n_kept; ++p)
            for (int l = 0; l <= c; ++l)
              sum += R_of(kept[p])[l * n_m + m] * R_of(kept[p])[l * n_m + c];
          scratch.L[m * (m + 1) / 2 + c] = sum;
        }
        team.sync();
        if (team.rank() == 0)
        {
          for (int m = 0; m < n_m; ++m)
          {
            const double square = scratch.L[m * (m + 1) / 2 + m];
            scratch.scale[m]    = square > 0. ? 1. / std::sqrt(square) : 0.;
          }
          for (int m = 0; m < n_m; ++m)
          {
            double *const L_m = scratch.L + m * (m + 1) / 2;
            for (int c = 0; c <= m; ++c)
            {
              const double *const L_c = scratch.L + c * (c + 1) / 2;
              double              sum = L_m[c] * scratch.scale[m] * scratch.scale[c];
              for (int l = 0; l < c; ++l)
                sum -= L_m[l] * L_c[l];
              L_m[c] = c < m ? sum * L_c[c] : sum > least_pivot<Number> ? 1. / std::sqrt(sum) : 0.;
            }
          }
        }
        team.sync();
      }

      /** x = (C^T C)^- x, without modes that would change the row by more than most_taken. */
      PATCHFEM_INLINE void solve(const Scratch &scratch, double *const x) const
      {
        const double *const L = scratch.L;
        for (int m = 0; m < n_m; ++m)
        {
          double sum = x[m] * scratch.scale[m];
          for (int c = 0; c < m; ++c)
            sum -= L[m * (m + 1) / 2 + c] * x[c];
          x[m] = sum * L[m * (m + 1) / 2 + m];
          x[m] = x[m] <= most_taken && x[m] >= -most_taken ? x[m] : 0.;
        }
        for (int m = n_m - 1; m >= 0; --m)
        {
          double sum = x[m];
          for (int c = m + 1; c < n_m; ++c)
            sum -= L[c * (c + 1) / 2 + m] * x[c];
          x[m] = sum * L[m * (m + 1) / 2 + m];
        }
        for (int m = 0; m < n_m; ++m)
          x[m] *= scratch.scale[m];
      }
    };
  } // namespace

  template <typename Number, typename Where>
  void project_rows(Where,
                    const SlicedEllpackMatrix<Number>    &A,
                    const kernels::TentativeView<Number> &Q,
                    const CompressedPattern              &P,
                    const Array<double>                  &coarse_modes,
                    const int                             n_m,
                    Array<Number>                        &values)
  {
    const int     size    = A.block_rows() * n_m;
    const int     n_nodes = A.partitioner() != nullptr ? A.partitioner()->n_local() : A.n_rows() / A.block_rows();
    Array<Number> modes(A.backend(), std::size_t(n_nodes) * size); // B = Q R
    launch(A.backend(), modes.size(),
           [=, R = coarse_modes.data(), modes = modes.data()] PATCHFEM_DEVICE(const std::int64_t e) {
             const int J = Q.aggregate_of_node[e / size], m = static_cast<int>(e % n_m);
             double    sum = 0.;
             for (int l = 0; l <= m && J >= 0; ++l)
               sum += static_cast<double>(Q.values[e - m + l]) * R[(std::int64_t(J) * n_m + l) * n_m + m];
             modes[e] = static_cast<Number>(sum);
           });
    launch(A.backend(), [&](const Here where) {
      kernels::team_for(
          where, A.n_rows() / A.block_rows(),
          ProjectRowBody<Number>{A.view(), Q, P.view(), values.data(), coarse_modes.data(), modes.data(), n_m});
    });
  }

#define INSTANTIATE(Number)                                                                                     \
  template void project_rows(Here, const SlicedEllpackMatrix<Number> &, const kernels::TentativeView<Number> &, \
                             const CompressedPattern &, const Array<double> &, int, Array<Number> &);
  INSTANTIATE(float)
  INSTANTIATE(double)
#undef INSTANTIATE
} // namespace PatchFEM::multigrid
