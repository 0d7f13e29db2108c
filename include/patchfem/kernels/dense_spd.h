// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_dense_spd_h
#define patchfem_kernels_dense_spd_h

#include <patchfem/kernels/parallel_for.h>

#include <cmath>

/**
 * @file
 * The inverse of a dense symmetric positive definite matrix of some hundred rows, row major, lower half read: Cholesky
 * factorisation by tiles, A = L L^T, then W = L^-1 and A^-1 = W^T W. The last step of a multigrid cycle then is one
 * product with n^2 values in place of two triangular solves, each of which would be a chain of n dependent steps.
 * Bodies (see parallel_for.h) that handle pieces of @p rows x @p strip entries: one entry on the device, where
 * neighbouring threads take neighbouring columns; on the host strips fill vector registers, and what is read serves all
 * rows. Sums do not depend on it.
 */
namespace PatchFEM
{
  namespace kernels
  {
    namespace dense
    {
      constexpr int tile = 16;

      /**
       * W in panels of @p width columns, row by row in each; the last panel is padded. Of strips on the host, so that sums
       * over rows read memory in one stretch and not a page a row; of all columns on the device, where neighbouring
       * threads take neighbouring columns.
       */
      struct Panels
      {
        int     n, width;
        double *values;

        PATCHFEM_INLINE double *at(const int row, const int column) const
        {
          return values + (std::int64_t(column / width) * n + row) * width + column % width;
        }
      };

      /** L_kk of the tile that starts at row @p begin, in place. Notes the first row whose pivot is not positive. */
      struct FactorTileBody
      {
        int     n, begin;
        double *A;
        int    *failure; ///< starts at INT_MAX

        PATCHFEM_INLINE void operator()(std::int64_t) const
        {
          const int size = n - begin < tile ? n - begin : tile;
          double    L[tile * tile];
          for (int a = 0; a < size; ++a)
            for (int c = 0; c <= a; ++c)
              L[a * tile + c] = A[std::int64_t(begin + a) * n + begin + c];
          for (int a = 0; a < size; ++a)
            for (int c = 0; c <= a; ++c)
            {
              double sum = L[a * tile + c];
              for (int k = 0; k < c; ++k)
                sum -= L[a * tile + k] * L[c * tile + k];
              if (a == c)
              {
                if (!(sum > 0.) || !(sum < HUGE_VAL))
                  atomic_min(failure, begin + a);
                L[a * tile + a] = std::sqrt(sum);
              }
              else
                L[a * tile + c] = sum / L[c * tile + c];
            }
          for (int a = 0; a < size; ++a)
            for (int c = 0; c <= a; ++c)
              A[std::int64_t(begin + a) * n + begin + c] = L[a * tile + c];
        }
      };

      /** Rows below the tile: L_ik = A_ik L_kk^-T; row begin + tile + index. */
      struct PanelBody
      {
        int     n, begin;
        double *A;
        double *transposed; ///< [tile][n]: the same, which TrailingBody reads along rows

        PATCHFEM_INLINE void operator()(const std::int64_t index) const
        {
          double       *row = A + (begin + tile + index) * n + begin;
          const double *L   = A + std::int64_t(begin) * n + begin;
          double        x[tile];
          for (int c = 0; c < tile; ++c)
          {
            double sum = row[c];
            for (int k = 0; k < c; ++k)
              sum -= x[k] * L[std::int64_t(c) * n + k];
            x[c] = sum / L[std::int64_t(c) * n + c];
          }
          for (int c = 0; c < tile; ++c)
          {
            row[c]                                                 = x[c];
            transposed[std::int64_t(c) * n + begin + tile + index] = x[c];
          }
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

      /** A_ij -= L_ik L_jk^T for the lower half behind the tile; index runs over pieces of what is behind it. */
      template <int rows, int strip>
      struct TrailingBody
      {
        int           n, begin;
        double       *A;
        const double *transposed; ///< see PanelBody

        PATCHFEM_INLINE void operator()(const std::int64_t index) const
        {
          const int                rest = begin + tile;
          const Piece<rows, strip> piece(index, n - rest, n - rest);
          if (piece.j >= piece.i + rows)
            return;
          double *a                = A + std::int64_t(rest + piece.i) * n;
          double  sum[rows][strip] = {};
          add_products<rows, strip>(piece.n_i, piece.n_j, tile, a + begin, n, 1, transposed + rest + piece.j, n, sum);
          for (int r = 0; r < piece.n_i; ++r)
            for (int s = 0; s < piece.n_j && piece.j + s <= piece.i + r; ++s)
              a[std::int64_t(r) * n + rest + piece.j + s] -= sum[r][s];
        }
      };

      /** W_kj = delta_kj - sum_m L_km W_mj over the tiles m before the tile of rows that starts at @p begin. */
      template <int rows, int strip>
      struct EliminateBody
      {
        int           n, begin;
        const double *L;
        Panels        W;

        PATCHFEM_INLINE void operator()(const std::int64_t index) const
        {
          const Piece<rows, strip> piece(index, n - begin < tile ? n - begin : tile, n);
          const double            *l                = L + std::int64_t(begin + piece.i) * n;
          const int                first            = piece.j / tile * tile; // W is lower triangular: above, it is 0
          double                   sum[rows][strip] = {};
          add_products<rows, strip>(piece.n_i, piece.n_j, begin - first, l + first, n, 1, W.at(first, piece.j), W.width,
                                    sum);
          for (int r = 0; r < piece.n_i; ++r)
          {
            const int i = begin + piece.i + r;
            for (int s = 0; s < piece.n_j; ++s)
              W.at(i, piece.j)[s] = (i == piece.j + s ? 1. : 0.) - sum[r][s];
          }
        }
      };

      /** W_kj = L_kk^-1 W_kj; index runs over strips of columns. */
      template <int strip>
      struct SolveTileBody
      {
        int           n, begin;
        const double *L;
        Panels        W;

        PATCHFEM_INLINE void operator()(const std::int64_t index) const
        {
          const int size  = n - begin < tile ? n - begin : tile;
          const int j     = static_cast<int>(index) * strip;
          const int n_j   = n - j < strip ? n - j : strip;
          double   *piece = W.at(begin, j);
          double    x[tile][strip];
          for (int a = 0; a < size; ++a)
          {
            const double *l          = L + std::int64_t(begin + a) * n + begin;
            double        sum[strip] = {};
            for (int k = 0; k < a; ++k)
              for (int s = 0; s < strip; ++s)
                sum[s] += l[k] * x[k][s];
            for (int s = 0; s < strip; ++s)
              x[a][s] = s < n_j ? (piece[std::int64_t(a) * W.width + s] - sum[s]) / l[a] : 0.;
          }
          for (int a = 0; a < size; ++a)
            for (int s = 0; s < n_j; ++s)
              piece[std::int64_t(a) * W.width + s] = x[a][s];
        }
      };

      /** W^T W, whose two halves are the same sums; index runs over pieces. */
      template <int rows, int strip, typename Number>
      struct InverseBody
      {
        int     n;
        Panels  W;
        Number *inverse;

        PATCHFEM_INLINE void operator()(const std::int64_t index) const
        {
          const Piece<rows, strip> piece(index, n, n);
          // Below the larger of both indices the factors are exact zeros, so where a piece starts changes no sum.
          const int first            = piece.i > piece.j ? piece.i : piece.j;
          double    sum[rows][strip] = {};
          add_products<rows, strip>(piece.n_i, piece.n_j, n - first, W.at(first, piece.i), 1, W.width,
                                    W.at(first, piece.j), W.width, sum);
          for (int r = 0; r < piece.n_i; ++r)
            for (int s = 0; s < piece.n_j; ++s)
              inverse[std::int64_t(piece.i + r) * n + piece.j + s] = static_cast<Number>(sum[r][s]);
        }
      };
    } // namespace dense

    /**
     * The inverse of the n x n matrix @p A, which is overwritten, as is @p W, n times n rounded up to whole strips. See FactorTileBody for
     * failure.
     */
    template <int rows, int strip, typename Where, typename Number>
    void invert_dense_spd(const Where where, const int n, double *A, double *W, Number *inverse, int *failure)
    {
      using namespace dense;
      static_assert(rows <= strip && strip % rows == 0, "the rows of a piece of the inverse must lie in one panel");
      const Panels panels{n, strip > 1 ? strip : n, W};
      for (int begin = 0; begin < n; begin += tile)
      {
        parallel_for(where, 1, FactorTileBody{n, begin, A, failure});
        const int n_rest = n - begin - tile;
        if (n_rest <= 0)
          continue;
        parallel_for(where, n_rest, PanelBody{n, begin, A, W}); // n >= tile, so W has room for a panel
        parallel_for(where, Piece<rows, strip>::number(n_rest, n_rest), TrailingBody<rows, strip>{n, begin, A, W});
      }
      for (int begin = 0; begin < n; begin += tile)
      {
        const int size = n - begin < tile ? n - begin : tile;
        parallel_for(where, Piece<rows, strip>::number(size, n), EliminateBody<rows, strip>{n, begin, A, panels});
        parallel_for(where, (n + strip - 1) / strip, SolveTileBody<strip>{n, begin, A, panels});
      }
      parallel_for(where, Piece<rows, strip>::number(n, n), InverseBody<rows, strip, Number>{n, panels, inverse});
    }

    /** y = M x for a dense symmetric matrix; reads n^2 values. */
    template <typename Number>
    void dense_symmetric_vmult(Host, int n, const Number *M, const Number *x, Number *y);
    template <typename Number>
    void dense_symmetric_vmult(Cuda, int n, const Number *M, const Number *x, Number *y);
  } // namespace kernels
} // namespace PatchFEM

#endif
