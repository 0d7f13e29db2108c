// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/team.h>

#include <cmath>

namespace PatchFEM::kernels
{
  /**
   * Rows of the factor G of a FactorizedInverse, see block_for(). For each, A_JJ = U^T U, J the columns with the row's own one last,
   * and U Y = (0, I)^T, whose transpose is the row of blocks. Rows of A_JJ that depend on others to rounding, as A's do in a
   * part of a mesh that nothing holds, count as their diagonal alone. In double, whatever the type of A.
   */
  template <typename Number>
  struct FactorizedInverseBody
  {
    SlicedEllpackView<Number> A, G;  ///< rows of G have their own node among the columns
    const int                *nodes; ///< [row of G]; nullptr where it is the row
    double tolerance;                ///< a pivot that is not above this part of its diagonal entry depends on others

    /** Numbers that a row with @p n blocks of n_c unknowns works on: the upper triangle U, row by row, and the diagonal. */
    static std::int64_t size(const std::int64_t n, const int n_c) { return n * n_c * (n * n_c + 3) / 2; }

    /** The element of row @p r and column 0, which is not stored but for r = 0, of a triangle of @p m rows. */
    PATCHFEM_INLINE static double *row_of(double *const U, const int r, const int m)
    {
      return U + (std::int64_t(r) * m - std::int64_t(r) * (r + 1) / 2);
    }

    template <typename Team>
    PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t item, double *const U) const
    {
      const int     row = static_cast<int>(item), n_c = A.block_rows, n = G.row_lengths[row], m = n * n_c;
      const int     own   = G.find_block(row, nodes != nullptr ? nodes[row] : row);
      const auto    place = [=](const int p) { return (p < own ? p : p > own ? p - 1 : n - 1) * n_c; };
      double *const D     = U + std::int64_t(m) * (m + 1) / 2;
      load(team, row, place, U, D);
      factorize(team, m, U, D);
      invert_last(team, m, n_c, U);
      for (int e = team.rank(); e < n * n_c * n_c; e += team.size())
      {
        const int           p = e / (n_c * n_c), a = e / n_c % n_c, c = e % n_c, r = place(p) + c, last = m - n_c + a;
        const double *const u                 = row_of(U, r, m);
        const double        y                 = r == last ? 1. : r < last ? u[last] : 0.;
        G.values[G.value_index(row, p, a, c)] = static_cast<Number>(y / u[r]);
      }
    }

  private:
    /** A_JJ in @p U, and its diagonal in @p D. */
    template <typename Team, typename Place>
    PATCHFEM_INLINE void
    load(const Team &team, const int row, const Place &place, double *const U, double *const D) const
    {
      const int n_c = A.block_rows, n = G.row_lengths[row], m = n * n_c;
      for (int e = team.rank(); e < m * (m + 1) / 2; e += team.size())
        U[e] = 0.;
      team.sync();
      for (int p = 0; p < n; ++p)
      {
        const int node = G.column(row, p);
        for (int k = team.rank(); k < A.row_lengths[node]; k += team.size())
        {
          const int q = G.find_block(row, A.column(node, k));
          if (q < 0 || place(q) < place(p))
            continue;
          for (int a = 0; a < n_c; ++a)
            for (int c = p == q ? a : 0; c < n_c; ++c)
              row_of(U, place(p) + a, m)[place(q) + c] = static_cast<double>(A.values[A.value_index(node, k, a, c)]);
        }
      }
      team.sync();
      for (int r = team.rank(); r < m; r += team.size())
        D[r] = row_of(U, r, m)[r];
      team.sync();
    }

    /** U^T U = U, of symmetric matrices by their upper triangles. */
    template <typename Team>
    PATCHFEM_INLINE void factorize(const Team &team, const int m, double *const U, const double *const D) const
    {
      const int lane = team.rank() % 32, group = team.rank() / 32, n_lanes = team.size() < 32 ? team.size() : 32,
                n_groups = (team.size() + 31) / 32;
      for (int k = 0; k < m; ++k)
      {
        double *const u      = row_of(U, k, m);
        const double  pivot  = u[k];
        const bool    usable = pivot > tolerance * D[k];
        const double  root = std::sqrt(usable ? pivot : D[k]), factor = usable ? 1. / root : 0.;
        team.sync();
        for (int c = k + team.rank(); c < m; c += team.size())
          u[c] = c == k ? root : factor * u[c];
        team.sync();
        for (int r = k + 1 + group; r < m && usable; r += n_groups)
        {
          double *const v = row_of(U, r, m);
          const double  f = u[r];
          for (int c = r + lane; c < m; c += n_lanes)
            v[c] -= f * u[c];
        }
        team.sync();
      }
    }

    /**
     * u_rr y_ra in place of u_(r, m - n_c + a), but on the diagonal where it is 1: from the last row up a row of Y, once it is
     * known, is taken out of those above, where its column of U is not needed any more.
     */
    template <typename Team>
    PATCHFEM_INLINE void invert_last(const Team &team, const int m, const int n_c, double *const U) const
    {
      const int first = m - n_c;
      for (int c = m - 1; c > 0; --c)
      {
        const double *const y        = row_of(U, c, m);
        const double        diagonal = y[c];
        for (int r = team.rank(); r < c; r += team.size())
        {
          double *const t = row_of(U, r, m);
          const double  f = t[c] / diagonal;
          if (c >= first)
            t[c] = -f;
          for (int a = c >= first ? c + 1 : first; a < m; ++a)
            t[a] -= f * y[a];
        }
        team.sync();
      }
    }
  };
} // namespace PatchFEM::kernels
