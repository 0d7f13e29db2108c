// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/patch_views.h>
#include <patchfem/kernels/small_tensor.h>

// On the host too: indices of loops choose what is done, and must be known when compiling.
#if defined(__CUDACC__)
#define PATCHFEM_UNROLL_ALWAYS PATCHFEM_UNROLL
#else
#define PATCHFEM_UNROLL_ALWAYS _Pragma("GCC unroll 8")
#endif

namespace PatchFEM::kernels
{
  /**
   * Matrices and loads of one cell with multilinear shape functions and two Gauss points in each direction, for forms
   * whose moments are inner products of gradients. Corner v has the coordinates v_d, bit d of v, and point q likewise
   * xi_{q_d}. With M = k w det J^-1 J^-T,
   *   K(i, j) = sum_q sum_bc M_bc(q) dN_i/dxi_b(q) dN_j/dxi_c(q).
   * A derivative is +-1 times a function of the other coordinates, and N_i N_j in one direction is one of three
   * functions, so that sums over points factor: a hexahedron takes some 1,100 operations, where each pair at each point
   * takes 2,600. Sums over the points of a layer, of equal xi_3, are those of a quadrilateral.
   */
  template <int dim, typename Number>
  struct CubePairs
  {
    static constexpr int n = 1 << dim, n_pairs = n * (n - 1) / 2;

    Number pair[n_pairs]; ///< (0, 1), (0, 2), ..., (n - 2, n - 1); rows add up to zero
    Number load[n];

    /**
     * Of the cell with corners @p x, relative to any origin; @p k(q) and @p f(q) are coefficient and load at point q.
     */
    template <typename Coefficient, typename Load>
    PATCHFEM_INLINE void integrate(const Number (&x)[n][dim], const Coefficient &k, const Load &f)
    {
      integrate_layer(x, 1., k, f);
      if constexpr (dim == 3)
      {
        Number turned[n][dim];
        for (int v = 0; v < n; ++v)
          for (int d = 0; d < dim; ++d)
            turned[v][d] = x[v ^ 4][d];
        CubePairs other;
        other.integrate_layer(
            turned, -1., [&](const int q) { return k(q + 4); }, [&](const int q) { return f(q + 4); });
        PATCHFEM_UNROLL_ALWAYS
        for (int i = 0; i < n; ++i)
        {
          load[i] = load[i] + other.load[i ^ 4];
          PATCHFEM_UNROLL_ALWAYS
          for (int j = i + 1; j < n; ++j)
          {
            Number &sum = pair[number(i, j)];
            sum         = sum + other.pair[(i ^ 4) < (j ^ 4) ? number(i ^ 4, j ^ 4) : number(j ^ 4, i ^ 4)];
          }
        }
      }
    }

    /**
     * What the first four points bring, of equal xi_3, or all points of a quadrilateral. Of a hexahedron that is turned
     * over, so that corner v is corner v ^ 4, these are the last four, and @p orientation is -1 in place of 1.
     */
    template <typename Coefficient, typename Load>
    PATCHFEM_INLINE void
    integrate_layer(const Number (&x)[n][dim], const double orientation, const Coefficient &k, const Load &f)
    {
      const Number weight = Number(orientation / n);
      Layer        layer;
      if constexpr (dim == 2)
      {
        layer.integrate(x, nullptr, weight, k, f);
        PATCHFEM_UNROLL_ALWAYS
        for (int i = 0; i < n; ++i)
        {
          load[i] = layer.F[i & 1][i >> 1];
          PATCHFEM_UNROLL_ALWAYS
          for (int j = i + 1; j < n; ++j)
            pair[number(i, j)] = layer.flat(i, j);
        }
      }
      else
      {
        Number corners[4][3], along[4][3], up[4][3]; // of the layer; edges from it; J_3 at its points
        PATCHFEM_UNROLL_ALWAYS
        for (int d = 0; d < 3; ++d)
        {
          PATCHFEM_UNROLL_ALWAYS
          for (int v = 0; v < 4; ++v)
          {
            along[v][d]   = x[v + 4][d] - x[v][d];
            corners[v][d] = x[v][d] + Number(value(1, 0)) * along[v][d];
          }
          PATCHFEM_UNROLL_ALWAYS
          for (int q = 0; q < 2; ++q)
          {
            const Number front = between(q, along[0][d], along[1][d]), back = between(q, along[2][d], along[3][d]);
            up[q][d]     = between(0, front, back);
            up[q + 2][d] = between(1, front, back);
          }
        }
        layer.integrate(corners, up, weight, k, f);
        PATCHFEM_UNROLL_ALWAYS
        for (int i = 0; i < n; ++i)
        {
          const int i3 = i >> 2, i12 = i & 3;
          load[i] = Number(value(i3, 0)) * layer.F[i & 1][i >> 1 & 1];
          PATCHFEM_UNROLL_ALWAYS
          for (int j = i + 1; j < n; ++j)
          {
            const int j3 = j >> 2, j12 = j & 3;
            Number    sum      = Number(product(i3 + j3, 0)) * layer.flat(i12, j12);
            sum                = plus(sum, i3, j3, layer.U3[(i12 & 1) + (j12 & 1)][(i12 >> 1) + (j12 >> 1)]);
            sum                = plus(sum, 1, j3, Number(value(i3, 0)) * layer.steep(i12, j12));
            pair[number(i, j)] = plus(sum, 1, i3, Number(value(j3, 0)) * layer.steep(j12, i12));
          }
        }
      }
    }

  private:
    static PATCHFEM_INLINE int number(const int i, const int j) { return PlacesView::pair_number(n, i, j); }

    /** N_i at point @p q of one direction. */
    static PATCHFEM_INLINE constexpr double value(const int i, const int q)
    {
      return i == q ? 0.78867513459481288225 : 0.21132486540518711775;
    }

    /** N_i N_j at point @p q of one direction, by @p k = i + j. */
    static PATCHFEM_INLINE constexpr double product(const int k, const int q)
    {
      return k == 1 ? 1. / 6. : (k == 2 * q ? 0.62200846792814621559 : 0.04465819873852045108);
    }

    static PATCHFEM_INLINE Number between(const int q, const Number a, const Number b)
    {
      return a + Number(value(1, q)) * (b - a);
    }

    /** Begins or goes on with a sum. */
    static PATCHFEM_INLINE void put(Number &sum, const bool begins, const double factor, const Number term)
    {
      const Number scaled = Number(factor) * term;
      sum                 = begins ? scaled : sum + scaled;
    }

    /** @p sum + N_i' N_j' @p term, for derivatives in one direction: i, j are 0 or 1. */
    static PATCHFEM_INLINE Number plus(const Number sum, const int i, const int j, const Number term)
    {
      return i == j ? sum + term : sum - term;
    }

    /** Sums over the four points of equal xi_3, or of a quadrilateral; indices as in value() and product(). */
    struct Layer
    {
      Number U1[3];     ///< sum M_11 N N(xi_2)
      Number U2[3];     ///< sum M_22 N N(xi_1)
      Number V12[2][2]; ///< sum M_12 N(xi_1) N(xi_2)
      Number U3[3][3];  ///< sum M_33 N N(xi_1) N N(xi_2)
      Number V13[2][3]; ///< sum M_13 N(xi_1) N N(xi_2)
      Number V23[2][3]; ///< sum M_23 N(xi_2) N N(xi_1)
      Number F[2][2];   ///< sum w f det N(xi_1) N(xi_2)

      /** @p up is J_3 at the points; @p weight that of each. */
      template <typename Coefficient, typename Load>
      PATCHFEM_INLINE void integrate(const Number (&x)[4][dim],
                                     const Number (*const up)[dim],
                                     const Number       weight,
                                     const Coefficient &k,
                                     const Load        &f)
      {
        Number J1[2][dim], J2[2][dim]; // by the point of the other direction
        PATCHFEM_UNROLL_ALWAYS
        for (int d = 0; d < dim; ++d)
          PATCHFEM_UNROLL_ALWAYS
        for (int q = 0; q < 2; ++q)
        {
          J1[q][d] = between(q, x[1][d] - x[0][d], x[3][d] - x[2][d]);
          J2[q][d] = between(q, x[2][d] - x[0][d], x[3][d] - x[1][d]);
        }
        PATCHFEM_UNROLL_ALWAYS
        for (int q2 = 0; q2 < 2; ++q2)
        {
          Number M11[2], M22[2], M12[2], M33[2], M13[2], M23[2], W[2];
          PATCHFEM_UNROLL_ALWAYS
          for (int q1 = 0; q1 < 2; ++q1)
          {
            const int q = q1 + 2 * q2;
            if constexpr (dim == 2)
            {
              const Number(&a)[2] = J1[q2], (&b)[2] = J2[q1];
              const Number det    = a[0] * b[1] - a[1] * b[0];
              const Number factor = quotient(k(q) * weight, det);
              M11[q1]             = factor * (b[0] * b[0] + b[1] * b[1]);
              M22[q1]             = factor * (a[0] * a[0] + a[1] * a[1]);
              M12[q1]             = -(factor * (a[0] * b[0] + a[1] * b[1]));
              W[q1]               = f(q) * weight * det;
            }
            else
            {
              const Number(&a)[3] = J1[q2], (&b)[3] = J2[q1], (&c)[3] = up[q1 + 2 * q2];
              Number A[3], B[3], C[3]; // rows of det J^-1
              cross(b, c, A);
              cross(c, a, B);
              cross(a, b, C);
              const Number det    = dot(a, A);
              const Number factor = quotient(k(q) * weight, det);
              M11[q1]             = factor * dot(A, A);
              M22[q1]             = factor * dot(B, B);
              M33[q1]             = factor * dot(C, C);
              M12[q1]             = factor * dot(A, B);
              M13[q1]             = factor * dot(A, C);
              M23[q1]             = factor * dot(B, C);
              W[q1]               = f(q) * weight * det;
            }
          }
          const bool begins = q2 == 0;
          PATCHFEM_UNROLL_ALWAYS
          for (int i = 0; i < 3; ++i)
          {
            put(U1[i], begins, product(i, q2), M11[0] + M11[1]);
            put(U2[i], begins, 1., by_products(i, M22));
            if constexpr (dim == 3)
            {
              const Number along3 = by_products(i, M33), along23 = by_products(i, M23);
              PATCHFEM_UNROLL_ALWAYS
              for (int j = 0; j < 3; ++j)
                put(U3[i][j], begins, product(j, q2), along3);
              PATCHFEM_UNROLL_ALWAYS
              for (int b = 0; b < 2; ++b)
                put(V23[b][i], begins, value(b, q2), along23);
            }
          }
          PATCHFEM_UNROLL_ALWAYS
          for (int a = 0; a < 2; ++a)
          {
            const Number along12 = by_values(a, M12), loads = by_values(a, W);
            PATCHFEM_UNROLL_ALWAYS
            for (int b = 0; b < 2; ++b)
            {
              put(V12[a][b], begins, value(b, q2), along12);
              put(F[a][b], begins, value(b, q2), loads);
            }
            if constexpr (dim == 3)
            {
              const Number along13 = by_values(a, M13);
              PATCHFEM_UNROLL_ALWAYS
              for (int j = 0; j < 3; ++j)
                put(V13[a][j], begins, product(j, q2), along13);
            }
          }
        }
      }

      /** What M_11, M_22 and M_12 bring to corners @p i and @p j of a layer. */
      PATCHFEM_INLINE Number flat(const int i, const int j) const
      {
        // The same terms in the same order for (j, i).
        const int a = i < j ? i : j, b = i < j ? j : i, a1 = a & 1, a2 = a >> 1, b1 = b & 1, b2 = b >> 1;
        Number    sum = a1 == b1 ? U1[a2 + b2] : -U1[a2 + b2];
        sum           = plus(sum, a2, b2, U2[a1 + b1]);
        sum           = plus(sum, a1, b2, V12[b1][a2]);
        return plus(sum, a2, b1, V12[a1][b2]);
      }

      /** What M_13 and M_23 bring to them, with the derivative of N_j in the third direction. */
      PATCHFEM_INLINE Number steep(const int i, const int j) const
      {
        const int    i1 = i & 1, i2 = i >> 1, j1 = j & 1, j2 = j >> 1;
        const Number sum = i1 == 1 ? V13[j1][i2 + j2] : -V13[j1][i2 + j2];
        return plus(sum, i2, 1, V23[j2][i1 + j1]);
      }

    private:
      static PATCHFEM_INLINE Number by_values(const int i, const Number (&M)[2])
      {
        return Number(value(i, 0)) * M[0] + Number(value(i, 1)) * M[1];
      }
      static PATCHFEM_INLINE Number by_products(const int k, const Number (&M)[2])
      {
        return Number(product(k, 0)) * M[0] + Number(product(k, 1)) * M[1];
      }
      static PATCHFEM_INLINE void cross(const Number (&a)[3], const Number (&b)[3], Number (&c)[3])
      {
        PATCHFEM_UNROLL_ALWAYS
        for (int d = 0; d < 3; ++d)
          c[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
      }
      static PATCHFEM_INLINE Number dot(const Number (&a)[3], const Number (&b)[3])
      {
        return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
      }
    };
  };
} // namespace PatchFEM::kernels

#undef PATCHFEM_UNROLL_ALWAYS
