// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_hexahedra.cuh"

namespace PatchFEM::kernels
{
  /**
   * Sixteen trilinear hexahedra of a form whose moments are inner products, in one warp. A cell's matrix is a product of
   * its 48 numbers M_bc(q) = k w (J^-1 J^-T)_bc, b <= c, with a constant matrix. Each lane computes M at points
   * 2 (lane % 4) and the next of cells lane / 4 and lane / 4 + 8, which is how the instruction wants its left side.
   */
  template <typename Form>
  struct HexahedraTile
  {
    const AssemblyArguments<double> &a;

    static __device__ int       lane() { return threadIdx.x % 32; }
    __device__ const BatchView &batch() const { return a.batches.batch[a.computed_batch]; }

    /** Gradients of shape function @p i at points 2 (l % 4) and the next, [point][direction]. */
    static __device__ void load_gradients(const ReferenceView &r, const int i, const int l, double (&g)[2][3])
    {
      for (int h = 0; h < 2; ++h)
        for (int b = 0; b < 3; ++b)
          g[h][b] = r.shape_gradients[((2 * (l % 4) + h) * 8 + i) * 3 + b];
    }

    /**
     * What M_bc, b <= c number @p bc of the six, contributes to entry (i, j) at two points where the functions have
     * these gradients: symmetric in i and j to the last bit.
     */
    static __device__ double2 product(const int bc, const double (&i)[2][3], const double (&j)[2][3])
    {
      const int b = bc < 3 ? 0 : (bc < 5 ? 1 : 2), c = bc < 3 ? bc : (bc < 5 ? bc - 2 : 2);
      double    result[2];
      for (int h = 0; h < 2; ++h)
      {
        const double p = __dmul_rn(i[h][b], j[h][c]);
        result[h]      = b == c ? p : __dadd_rn(p, __dmul_rn(i[h][c], j[h][b]));
      }
      return make_double2(result[0], result[1]);
    }

    /** Derivatives by direction @p b of corners l % 4 and l % 4 + 4 at point l / 4, for lane @p l. */
    static __device__ double2 gradient(const ReferenceView &r, const int b, const int l)
    {
      const double *from = r.geometry_gradients + (l / 4 * 8 + l % 4) * 3 + b;
      return make_double2(from[0], from[12]);
    }

    /** Where this lane's corners lane % 4 and lane % 4 + 4 of a cell are. */
    __device__ void load_corners(const int local, int (&corners)[2]) const
    {
      const int *geometry = batch().geometry + std::int64_t(local) * 8 + lane() % 4;
      corners[0]          = geometry[0];
      corners[1]          = geometry[4];
    }

    /** 1 / @p det to 2 units in the last place, for cells whose determinants are no subnormal numbers. */
    static __device__ double reciprocal(const double det)
    {
      double r;
      asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(det));
      for (int step = 0; step < 2; ++step)
        r = __fma_rn(__fma_rn(-det, r, 1.), r, r);
      return r;
    }

    /**
     * a b - c d, of which the second product is rounded. Left to itself, the compiler chooses another one for the second
     * cell of a lane than for the first, and a cell's bits depend on its slot.
     */
    static __device__ double minor(const double a, const double b, const double c, const double d)
    {
      return __fma_rn(a, b, -__dmul_rn(c, d));
    }
    static __device__ double dot(const double (&u)[3], const double (&v)[3])
    {
      return __fma_rn(u[2], v[2], __fma_rn(u[1], v[1], __dmul_rn(u[0], v[0])));
    }

    /**
     * M, [cell][bc][point], and the weights in real space, of cells with these corners. Of J each direction is three
     * products: two coordinates of one cell, two of the other, the third of both. @p gradients: gradient() of all lanes,
     * [direction][lane].
     */
    __device__ void map(const int (&corners)[2][2],
                        const int (&local)[2],
                        const double2 *gradients,
                        double (&M)[2][6][2],
                        double (&weight)[2][2]) const
    {
      double x[2][2][3]; // [cell][corner]
      for (int half = 0; half < 2; ++half)
        for (int h = 0; h < 2; ++h)
          for (int d = 0; d < 3; ++d)
            x[half][h][d] = a.batches.points[std::int64_t(corners[half][h]) * 3 + d];
      for (int half = 0; half < 2; ++half)
        for (int d = 0; d < 3; ++d)
        {
          // Relative to each cell's first corner.
          const double origin = __shfl_sync(0xffffffffu, x[half][0][d], lane() & 28);
          x[half][0][d] -= origin;
          x[half][1][d] -= origin;
        }
      double J[3][3][4] = {};
      for (int b = 0; b < 3; ++b)
      {
        const double2 two = gradients[b * 32 + lane()];
        for (int half = 0; half < 2; ++half)
          multiply_add(J[half][b], {x[half][0][0], x[half][0][1], x[half][1][0], x[half][1][1]}, {two.x, two.y});
        multiply_add(J[2][b], {x[0][0][2], x[1][0][2], x[0][1][2], x[1][1][2]}, {two.x, two.y});
      }
      const bool inside = a.coefficients.varies_inside_cells();
      for (int half = 0; half < 2; ++half)
        for (int t = 0; t < 2; ++t)
        {
          double row[3][3], adj[3][3]; // of J by directions; of its adjugate
          for (int b = 0; b < 3; ++b)
          {
            row[0][b] = J[half][b][t];
            row[1][b] = J[half][b][2 + t];
            row[2][b] = J[2][b][2 * half + t];
          }
          for (int b = 0; b < 3; ++b)
            for (int d = 0; d < 3; ++d)
              adj[b][d] = minor(row[(d + 1) % 3][(b + 1) % 3], row[(d + 2) % 3][(b + 2) % 3],
                                row[(d + 1) % 3][(b + 2) % 3], row[(d + 2) % 3][(b + 1) % 3]);
          const int     q         = 2 * (lane() % 4) + t;
          const double  column[3] = {row[0][0], row[1][0], row[2][0]};
          const double  w = batch().reference.weights[q], det = dot(column, adj[0]);
          const double *k = a.coefficients.at(a.batches, a.computed_batch, local[half], inside ? q : 0);
          // The form is linear in a moment.
          const double factor = Form::finish(k, SmallMatrix<1, 1, double>{{{__dmul_rn(w, reciprocal(det))}}})(0, 0);
          weight[half][t]     = __dmul_rn(w, det);
          int e               = 0;
          for (int b = 0; b < 3; ++b)
            for (int c = b; c < 3; ++c)
              M[half][e++][t] = __dmul_rn(factor, dot(adj[b], adj[c]));
        }
    }

    /** int f phi_i of the cells, [cell + 2 h], of the two functions of which @p shapes has values at this lane's points. */
    __device__ void
    integrate_loads(const double (&weight)[2][2], const int (&local)[2], const double2 shapes, double (&f)[4]) const
    {
      double left[4];
      for (int half = 0; half < 2; ++half)
        for (int h = 0; h < 2; ++h)
          left[half + 2 * h] =
              weight[half][h] * a.load.at(a.batches, a.computed_batch, local[half], 2 * (lane() % 4) + h)[0];
      for (int e = 0; e < 4; ++e)
        f[e] = 0.;
      multiply_add(f, left, {shapes.x, shapes.y});
    }
  };
} // namespace PatchFEM::kernels
