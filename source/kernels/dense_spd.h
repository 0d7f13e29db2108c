// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/parallel_for.h>

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
 * The body (see parallel_for.h) of the sums handles pieces of @p rows x @p strip entries: columns of four on the device, where
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
    void invert_tile(Host, int n, int begin, const double *A, double *factor, int *failure);
    void invert_tile(Cuda, int n, int begin, const double *A, double *factor, int *failure);

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

    /** T in two layouts; index runs over n times the rows of the tile. */
    struct PanelBody
    {
      int           n, begin;
      const double *A;
      const double *factor;     ///< see invert_tile()
      double       *T;          ///< [n][tile]
      Panels        transposed; ///< tile rows of n

      PATCHFEM_INLINE void operator()(const std::int64_t index) const
      {
        const int     size = n - begin < tile ? n - begin : tile;
        const int     i    = static_cast<int>(index / size);
        const int     c    = static_cast<int>(index % size);
        const double *L    = factor + c * tile; // row c of L_KK^-1
        double        sum  = 0;
        if (i >= begin && i < begin + size)
          sum = L[i - begin];
        else
          for (int m = 0; m <= c; ++m)
            sum += L[m] * A[i > begin ? std::int64_t(i) * n + begin + m : std::int64_t(begin + m) * n + i];
        T[std::int64_t(i) * tile + c] = sum;
        *transposed.at(c, i)          = sum;
      }
    };

    /**
     * sum[a][s] += sum over first <= k < end of x_k[a * x_row] y_k[s], where x_k and y_k start x_step and y_step after
     * x_(k-1) and y_(k-1). Full pieces have extents that the compiler knows, and then stay in registers.
     */
    template <int rows, int strip>
    PATCHFEM_INLINE void add_products(const int          size_a,
                                      const int          size_s,
                                      const int          n_steps,
                                      const double      *x,
                                      const std::int64_t x_row,
                                      const std::int64_t x_step,
                                      const double      *y,
                                      const std::int64_t y_step,
                                      double (&sum)[rows][strip])
    {
      if (size_a == rows && size_s == strip)
        for (int k = 0; k < n_steps; ++k, x += x_step, y += y_step)
          for (int a = 0; a < rows; ++a)
            for (int s = 0; s < strip; ++s)
              sum[a][s] += x[a * x_row] * y[s];
      else
        for (int k = 0; k < n_steps; ++k, x += x_step, y += y_step)
          for (int a = 0; a < size_a; ++a)
            for (int s = 0; s < size_s; ++s)
              sum[a][s] += x[a * x_row] * y[s];
    }

    /** The piece of @p rows x @p strip entries that is number @p index of a matrix of n_rows x n_columns. */
    template <int rows, int strip>
    struct Piece
    {
      int i, j, n_i, n_j;

      PATCHFEM_INLINE Piece(const std::int64_t index, const int n_rows, const int n_columns)
      {
        const int n_strips = (n_columns + strip - 1) / strip;
        i                  = static_cast<int>(index / n_strips) * rows;
        j                  = static_cast<int>(index % n_strips) * strip;
        n_i                = n_rows - i < rows ? n_rows - i : rows;
        n_j                = n_columns - j < strip ? n_columns - j : strip;
      }

      static std::int64_t number(const int n_rows, const int n_columns)
      {
        return std::int64_t((n_rows + rows - 1) / rows) * ((n_columns + strip - 1) / strip);
      }
    };

    /** The sums of a tile; index runs over pieces, of which tiles consist and the lower half counts. */
    template <int rows, int strip>
    struct UpdateBody
    {
      int           n, begin;
      const double *T; ///< see PanelBody
      Panels        transposed;
      double       *A;

      PATCHFEM_INLINE void operator()(const std::int64_t index) const
      {
        static_assert(tile % rows == 0 && tile % strip == 0, "tiles must consist of whole pieces");
        const Piece<rows, strip> piece(index, n, n);
        if (piece.j >= piece.i + rows)
          return;
        const int    end              = begin + tile;
        const bool   old              = (piece.i < begin || piece.i >= end) && (piece.j < begin || piece.j >= end);
        const double sign             = piece.i < end ? 1. : -1.;
        double      *a                = A + std::int64_t(piece.i) * n + piece.j;
        double       sum[rows][strip] = {};
        add_products<rows, strip>(piece.n_i, piece.n_j, n - begin < tile ? n - begin : tile,
                                  T + std::int64_t(piece.i) * tile, tile, 1, transposed.at(0, piece.j),
                                  transposed.width, sum);
        for (int r = 0; r < piece.n_i; ++r)
          for (int s = 0; s < piece.n_j; ++s)
            a[std::int64_t(r) * n + s] = (old ? a[std::int64_t(r) * n + s] : 0.) + sign * sum[r][s];
      }
    };

    /** Both halves of the inverse from the lower one; index runs over entries. */
    template <typename Number>
    struct BothHalvesBody
    {
      int           n;
      const double *A;
      Number       *inverse;

      PATCHFEM_INLINE void operator()(const std::int64_t index) const
      {
        const std::int64_t i = index / n, j = index % n;
        inverse[index] = static_cast<Number>(i > j ? A[i * n + j] : A[j * n + i]);
      }
    };
  } // namespace dense

  /** Numbers that invert_dense_spd() works on beside the matrix. */
  inline std::size_t inverse_workspace(const int n, const int strip)
  {
    return std::size_t(dense::tile) * (dense::tile + n + (n + strip - 1) / strip * strip);
  }

  /**
   * The inverse of the n x n matrix @p A, which is overwritten. @p workspace: see inverse_workspace(), failure: see
   * invert_tile().
   */
  template <int rows, int strip, typename Where, typename Number>
  void invert_dense_spd(const Where where, const int n, double *A, double *workspace, Number *inverse, int *failure)
  {
    using namespace dense;
    double *const factor = workspace, *const T = factor + tile * tile;
    const Panels transposed{tile, strip > 1 ? strip : n, T + std::int64_t(n) * tile};
    for (int begin = 0; begin < n; begin += tile)
    {
      invert_tile(where, n, begin, A, factor, failure);
      parallel_for(where, std::int64_t(n) * (n - begin < tile ? n - begin : tile),
                   PanelBody{n, begin, A, factor, T, transposed});
      parallel_for(where, Piece<rows, strip>::number(n, n), UpdateBody<rows, strip>{n, begin, T, transposed, A});
    }
    parallel_for(where, std::int64_t(n) * n, BothHalvesBody<Number>{n, A, inverse});
  }

  /** y = M x for a dense symmetric matrix; reads n^2 values. */
  template <typename Number, typename Where>
  void dense_symmetric_vmult(Where, int n, const Number *M, const Number *x, Number *y);
} // namespace PatchFEM::kernels
