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
 * Bodies (see parallel_for.h) that handle @p strip neighbouring columns at once: 1 on the device, where neighbouring
 * threads take neighbouring columns, more on the host, where they fill a vector register. Sums do not depend on it.
 */
namespace PatchFEM
{
  namespace kernels
  {
    namespace dense
    {
      constexpr int tile = 16;

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
            row[c] = x[c];
        }
      };

      /** A_ij -= L_ik L_jk^T for the lower half behind the tile; index runs over rows and strips of columns. */
      template <int strip>
      struct TrailingBody
      {
        int     n, begin;
        int     n_strips;
        double *A;

        PATCHFEM_INLINE void operator()(const std::int64_t index) const
        {
          const int     rest = begin + tile;
          const int     i    = rest + static_cast<int>(index / n_strips);
          const int     j    = rest + static_cast<int>(index % n_strips) * strip;
          const double *a    = A + std::int64_t(i) * n + begin;
          for (int s = 0; s < strip && j + s <= i; ++s)
          {
            const double *b   = A + std::int64_t(j + s) * n + begin;
            double        sum = 0.;
            for (int k = 0; k < tile; ++k)
              sum += a[k] * b[k];
            A[std::int64_t(i) * n + j + s] -= sum;
          }
        }
      };

      /** W_kj = delta_kj - sum_m L_km W_mj over the tiles m before the tile of rows that starts at @p begin. */
      template <int strip>
      struct EliminateBody
      {
        int           n, begin;
        int           n_strips;
        const double *L;
        double       *W;

        PATCHFEM_INLINE void operator()(const std::int64_t index) const
        {
          const int i = begin + static_cast<int>(index / n_strips), j = static_cast<int>(index % n_strips) * strip;
          if (i >= n)
            return;
          double sum[strip];
          for (int s = 0; s < strip; ++s)
            sum[s] = i == j + s ? 1. : 0.;
          const double *l = L + std::int64_t(i) * n;
          const int     m = j / tile * tile; // W is lower triangular: above, it is 0
          if (j + strip <= n)
            for (int k = m; k < begin; ++k)
              for (int s = 0; s < strip; ++s)
                sum[s] -= l[k] * W[std::int64_t(k) * n + j + s];
          else
            for (int k = m; k < begin; ++k)
              for (int s = 0; s < n - j; ++s)
                sum[s] -= l[k] * W[std::int64_t(k) * n + j + s];
          for (int s = 0; s < strip && j + s < n; ++s)
            W[std::int64_t(i) * n + j + s] = sum[s];
        }
      };

      /** W_kj = L_kk^-1 W_kj for column j = index. */
      struct SolveTileBody
      {
        int           n, begin;
        const double *L;
        double       *W;

        PATCHFEM_INLINE void operator()(const std::int64_t j) const
        {
          const int size = n - begin < tile ? n - begin : tile;
          double    x[tile];
          for (int a = 0; a < size; ++a)
          {
            const double *l   = L + std::int64_t(begin + a) * n + begin;
            double        sum = W[std::int64_t(begin + a) * n + j];
            for (int k = 0; k < a; ++k)
              sum -= l[k] * x[k];
            x[a] = sum / l[a];
          }
          for (int a = 0; a < size; ++a)
            W[std::int64_t(begin + a) * n + j] = x[a];
        }
      };

      /** Row index / n_strips of W^T W, whose two halves are the same sums. */
      template <int strip, typename Number>
      struct InverseBody
      {
        int           n;
        int           n_strips;
        const double *W;
        Number       *inverse;

        PATCHFEM_INLINE void operator()(const std::int64_t index) const
        {
          const int i = static_cast<int>(index / n_strips), j = static_cast<int>(index % n_strips) * strip;
          double    sum[strip];
          for (int s = 0; s < strip; ++s)
            sum[s] = 0.;
          // Below the larger of both indices the factors are exact zeros, so where a strip starts changes no sum.
          if (j + strip <= n)
            for (int k = i > j ? i : j; k < n; ++k)
              for (int s = 0; s < strip; ++s)
                sum[s] += W[std::int64_t(k) * n + i] * W[std::int64_t(k) * n + j + s];
          else
            for (int k = i > j ? i : j; k < n; ++k)
              for (int s = 0; s < n - j; ++s)
                sum[s] += W[std::int64_t(k) * n + i] * W[std::int64_t(k) * n + j + s];
          for (int s = 0; s < strip && j + s < n; ++s)
            inverse[std::int64_t(i) * n + j + s] = static_cast<Number>(sum[s]);
        }
      };
    } // namespace dense

    /** The inverse of the n x n matrix @p A, which is overwritten, as is @p W, [n][n]. See FactorTileBody for failure. */
    template <int strip, typename Where, typename Number>
    void invert_dense_spd(const Where where, const int n, double *A, double *W, Number *inverse, int *failure)
    {
      using namespace dense;
      const int n_strips = (n + strip - 1) / strip;
      for (int begin = 0; begin < n; begin += tile)
      {
        parallel_for(where, 1, FactorTileBody{n, begin, A, failure});
        const int n_rest = n - begin - tile;
        if (n_rest <= 0)
          continue;
        parallel_for(where, n_rest, PanelBody{n, begin, A});
        const int rest_strips = (n_rest + strip - 1) / strip;
        parallel_for(where, std::int64_t(n_rest) * rest_strips, TrailingBody<strip>{n, begin, rest_strips, A});
      }
      for (int begin = 0; begin < n; begin += tile)
      {
        const int size = n - begin < tile ? n - begin : tile;
        parallel_for(where, std::int64_t(size) * n_strips, EliminateBody<strip>{n, begin, n_strips, A, W});
        parallel_for(where, n, SolveTileBody{n, begin, A, W});
      }
      parallel_for(where, std::int64_t(n) * n_strips, InverseBody<strip, Number>{n, n_strips, W, inverse});
    }

    /** y = M x for a dense symmetric matrix; reads n^2 values. */
    template <typename Number>
    void dense_symmetric_vmult(Host, int n, const Number *M, const Number *x, Number *y);
    template <typename Number>
    void dense_symmetric_vmult(Cuda, int n, const Number *M, const Number *x, Number *y);
  } // namespace kernels
} // namespace PatchFEM

#endif
