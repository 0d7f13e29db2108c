// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/launch.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

/**
 * @file
 * The inverse of a dense symmetric positive definite matrix of some hundred rows, row major, in place of its lower half. The
 * last step of a multigrid cycle then is one product with n^2 values in place of two triangular solves, each of which would
 * be a chain of n dependent steps.
 *
 * A = L L^T, W = L^-1 and A^-1 = W^T W in one sweep over tiles of rows (Bientinesi, Gunter, van de Geijn, Families of
 * algorithms related to the inversion of a symmetric positive definite matrix, 2008). With K the rows of a tile,
 *
 *     T_K = L_KK^-T,   T_i = A_iK L_KK^-T otherwise,
 *     A_ij = (0 if i or j is in K, else A_ij) + (1 if i is in K or before it, -1 behind it) T_i T_j^T,
 *
 * for j <= i, with A_Ki^T for A_iK before K, so that the lower half holds A^-1 as far as it is summed in rows of tiles that
 * were, and W and what is still to be factorised behind them. n^3 operations, in three dependent steps for each tile.
 *
 * The loop (see launch.h) of the sums handles pieces of @p rows x @p strip entries: columns of four on the device, where
 * neighbouring threads take neighbouring columns; on the host strips fill vector registers, and what is read serves all
 * rows. Sums do not depend on it.
 */
namespace PatchFEM::kernels
{
  namespace dense
  {
    constexpr int tile = 32;

    /**
     * Entry (i, j), j <= i, of a tile in step @p p of the same sweep, without the sums of A^-1: after all steps L^-1.
     * @p pivot has the entries (p, k) for k <= p and (k, p) behind.
     */
    PATCHFEM_INLINE double factor_step(const double a, const int i, const int j, const int p, const double *pivot)
    {
      const double root = std::sqrt(pivot[p]);
      const double t_j  = (j == p ? 1. : pivot[j]) / root;
      return i < p ? a : i == p ? t_j : (j == p ? 0. : a) - pivot[i] / root * t_j;
    }

    /**
     * @p factor [tile][tile] = L_KK^-1, upper half 0, for the tile that starts at row @p begin. Notes in @p failure, which
     * starts at INT_MAX, the first row whose pivot is not positive. One block of threads: its steps depend on each other.
     */
    template <typename Where>
    void invert_tile(Where, int n, int begin, const double *A, double *factor, int *failure);

    /**
     * A matrix of @p n_rows rows in panels of @p width columns, row by row in each; the last panel is padded. Of strips
     * on the host, so that sums over rows read memory in one stretch and not a page a row; of all columns on the device,
     * where neighbouring threads take neighbouring columns.
     */
    struct Panels
    {
      int     n_rows, width;
      double *values;

      PATCHFEM_INLINE double *at(const int row, const int column) const
      {
        return values + (std::int64_t(column / width) * n_rows + row) * width + column % width;
      }
    };
  } // namespace dense

  /** Numbers that invert_dense_spd() works on beside the matrix. */
  inline std::size_t inverse_workspace(const int n, const int strip)
  {
    return std::size_t(dense::tile) * (dense::tile + n + (n + strip - 1) / strip * strip);
  }

  /** A^-1 of the n x n matrix @p A, overwritten. @p workspace: see inverse_workspace(), @p failure: invert_tile(). */
  template <int rows, int strip, typename Number>
  void invert_dense_spd(const Here where, const int n, double *A, double *workspace, Number *inverse, int *failure)
  {
    using dense::tile;
    static_assert(tile % rows == 0 && tile % strip == 0, "tiles must consist of whole pieces");
    double *const factor = workspace, *const T = factor + tile * tile; // T is [n][tile], and transposed in panels
    const dense::Panels transposed{tile, strip > 1 ? strip : n, T + std::int64_t(n) * tile};
    const int           n_strips = (n + strip - 1) / strip;
    for (int begin = 0; begin < n; begin += tile)
    {
      const int end = begin + tile, size = std::min(n - begin, tile);
      dense::invert_tile(where, n, begin, A, factor, failure);
      parallel_for(where, std::int64_t(n) * size, [=] PATCHFEM_DEVICE(const std::int64_t index) {
        const int     i   = static_cast<int>(index / size);
        const int     c   = static_cast<int>(index % size);
        const double *L   = factor + c * tile; // row c of L_KK^-1
        double        sum = 0;
        if (i >= begin && i < begin + size)
          sum = L[i - begin];
        else
          for (int m = 0; m <= c; ++m)
            sum += L[m] * A[i > begin ? std::int64_t(i) * n + begin + m : std::int64_t(begin + m) * n + i];
        T[std::int64_t(i) * tile + c] = sum;
        *transposed.at(c, i)          = sum;
      });
      // Pieces of A, of which tiles consist and the lower half counts.
      const std::int64_t n_pieces = std::int64_t((n + rows - 1) / rows) * n_strips;
      parallel_for(where, n_pieces, [=] PATCHFEM_DEVICE(const std::int64_t index) {
        const int i = static_cast<int>(index / n_strips) * rows, j = static_cast<int>(index % n_strips) * strip;
        if (j >= i + rows)
          return;
        const int     n_i = n - i < rows ? n - i : rows, n_j = n - j < strip ? n - j : strip;
        const double *x = T + std::int64_t(i) * tile, *y = transposed.at(0, j);
        double        sum[rows][strip] = {};
        if (n_i == rows && n_j == strip) // sums stay in registers where the compiler knows the extents
          for (int k = 0; k < size; ++k, ++x, y += transposed.width)
            for (int a = 0; a < rows; ++a)
              for (int s = 0; s < strip; ++s)
                sum[a][s] += x[a * tile] * y[s];
        else
          for (int k = 0; k < size; ++k, ++x, y += transposed.width)
            for (int a = 0; a < n_i; ++a)
              for (int s = 0; s < n_j; ++s)
                sum[a][s] += x[a * tile] * y[s];
        const bool   old  = (i < begin || i >= end) && (j < begin || j >= end);
        const double sign = i < end ? 1. : -1.;
        double      *a    = A + std::int64_t(i) * n + j;
        for (int r = 0; r < n_i; ++r)
          for (int s = 0; s < n_j; ++s)
            a[std::int64_t(r) * n + s] = (old ? a[std::int64_t(r) * n + s] : 0.) + sign * sum[r][s];
      });
    }
    parallel_for(where, std::int64_t(n) * n, [=] PATCHFEM_DEVICE(const std::int64_t index) {
      const std::int64_t i = index / n, j = index % n;
      inverse[index] = static_cast<Number>(i > j ? A[i * n + j] : A[j * n + i]);
    });
  }

  /** y = M x for a dense symmetric matrix; reads n^2 values. */
  template <typename Number, typename Where>
  void dense_symmetric_vmult(Where, int n, const Number *M, const Number *x, Number *y);
} // namespace PatchFEM::kernels
