// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/team.h>

#include <cmath>

namespace PatchFEM::kernels
{
  /**
   * Rows of the factor G of a FactorizedInverse. For each, A_JJ = U^T U, J the columns, and U Y = (0, I)^T, whose transpose
   * are the blocks of the row. What A_JJ has, like A, of rows that depend on others to rounding (a part of a mesh that nothing holds)
   * counts as its diagonal alone. In double, whatever the type of A.
   */
  template <typename Number>
  struct FactorizedInverseBody
  {
    static constexpr int team_size = 32;

    struct Scratch
    {};

    SlicedEllpackView<Number> A, G;  ///< rows of G have their own node among the columns
    const int                *nodes; ///< [row of G]; nullptr where it is the row
    int                       first; ///< row of item 0
    double                   *workspace;
    std::int64_t              stride; ///< numbers for an item, see size()
    double tolerance;                 ///< a pivot that is not above this part of its diagonal entry depends on others

    /** Numbers that a row with @p n blocks of n_c unknowns works on: U, Y and the diagonal. */
    static std::int64_t size(const std::int64_t n, const int n_c) { return n * n_c * (n * n_c + n_c + 1); }

    template <typename Team>
    PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t item, Scratch &) const
    {
      const int     row = first + static_cast<int>(item), n_c = A.block_rows, n = G.row_lengths[row], m = n * n_c;
      double *const U = workspace + item * stride, *const Y = U + std::int64_t(m) * m, *const D = Y + m * n_c;
      const int  own   = G.find_block(row, nodes != nullptr ? nodes[row] : row);
      const auto place = [=](const int p) { return (p < own ? p : p > own ? p - 1 : n - 1) * n_c; };
      for (int e = team.rank(); e < m * (m + n_c); e += Team::size)
        U[e] = 0.;
      team.sync();
      for (int p = team.rank(); p < n; p += Team::size)
      {
        const int node = G.column(row, p);
        for (int k = 0, q = 0; k < A.row_lengths[node] && q < n; ++k)
        {
          const int column = A.column(node, k);
          while (q < n && G.column(row, q) < column)
            ++q;
          if (q < n && G.column(row, q) == column)
            for (int a = 0; a < n_c; ++a)
              for (int c = 0; c < n_c; ++c)
                U[(place(p) + a) * m + place(q) + c] = static_cast<double>(A.values[A.value_index(node, k, a, c)]);
        }
        for (int a = 0; a < n_c; ++a)
          D[place(p) + a] = U[(place(p) + a) * m + place(p) + a];
      }
      for (int a = team.rank(); a < n_c; a += Team::size)
        Y[(m - n_c + a) * n_c + a] = 1.;
      team.sync();
      for (int k = 0; k < m; ++k)
      {
        double *const u      = U + std::int64_t(k) * m;
        const double  pivot  = u[k];
        const bool    usable = pivot > tolerance * D[k];
        const double  root = std::sqrt(usable ? pivot : D[k]), factor = usable ? 1. / root : 0.;
        team.sync();
        for (int c = k + team.rank(); c < m; c += Team::size)
          u[c] = c == k ? root : factor * u[c];
        team.sync();
        for (int r = k + 1; r < m && usable; ++r)
        {
          double *const v = U + std::int64_t(r) * m;
          const double  f = u[r];
          for (int c = r + team.rank(); c < m; c += Team::size)
            v[c] -= f * u[c];
        }
        team.sync();
      }
      for (int r = m - 1; r >= 0; --r)
      {
        const double *const u = U + std::int64_t(r) * m;
        for (int a = 0; a < n_c; ++a)
        {
          double sum = 0.;
          for (int c = r + 1 + team.rank(); c < m; c += Team::size)
            sum += u[c] * Y[c * n_c + a];
          sum = team.sum(sum);
          if (team.rank() == 0)
            Y[r * n_c + a] = (Y[r * n_c + a] - sum) / u[r];
        }
        team.sync();
      }
      for (int p = team.rank(); p < n; p += Team::size)
        for (int a = 0; a < n_c; ++a)
          for (int c = 0; c < n_c; ++c)
            G.values[G.value_index(row, p, a, c)] = static_cast<Number>(Y[(place(p) + c) * n_c + a]);
    }
  };
} // namespace PatchFEM::kernels
