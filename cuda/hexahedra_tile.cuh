// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_cuda_hexahedra_tile_cuh
#define patchfem_cuda_hexahedra_tile_cuh

#include "assembly_hexahedra.cuh"

namespace PatchFEM
{
  namespace kernels
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

      /**
       * What M_bc contributes to entry (@p i, @p j), b <= c number @p bc of the six, at the two points of lane @p l:
       * symmetric in i and j to the last bit.
       */
      static __device__ double2 product(const ReferenceView &r, const int bc, const int i, const int j, const int l)
      {
        const int b = bc < 3 ? 0 : (bc < 5 ? 1 : 2), c = bc < 3 ? bc : (bc < 5 ? bc - 2 : 2);
        double    result[2];
        for (int h = 0; h < 2; ++h)
        {
          const double *g = r.shape_gradients + (2 * (l % 4) + h) * 24;
          const double  p = __dmul_rn(g[i * 3 + b], g[j * 3 + c]);
          result[h]       = b == c ? p : __dadd_rn(p, __dmul_rn(g[i * 3 + c], g[j * 3 + b]));
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

      /** To 2 units in the last place; |det| is no subnormal number. */
      static __device__ double reciprocal(const double det)
      {
        double r;
        asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(det));
        PATCHFEM_UNROLL
        for (int step = 0; step < 2; ++step)
          r = __fma_rn(__fma_rn(-det, r, 1.), r, r);
        return r;
      }

      /**
       * M, [cell][bc][point], and the weights in real space, of cells with these corners, of which J is three products
       * for each direction: two coordinates of one cell, two of the other, the third of both. @p gradients: gradient() of
       * all lanes, [direction][lane].
       */
      __device__ void map(const int (&corners)[2][2],
                          const int (&local)[2],
                          const double2 *gradients,
                          double (&M)[2][6][2],
                          double (&weight)[2][2]) const
      {
        double x[2][2][3];
        PATCHFEM_UNROLL
        for (int half = 0; half < 2; ++half)
          PATCHFEM_UNROLL
        for (int h = 0; h < 2; ++h)
        {
          const double *from = a.batches.points + std::int64_t(corners[half][h]) * 3;
          PATCHFEM_UNROLL
          for (int d = 0; d < 3; ++d)
            x[half][h][d] = from[d];
        }
        PATCHFEM_UNROLL
        for (int half = 0; half < 2; ++half)
          PATCHFEM_UNROLL
        for (int d = 0; d < 3; ++d)
        {
          const double origin = __shfl_sync(0xffffffffu, x[half][0][d], lane() & 28);
          x[half][0][d] -= origin;
          x[half][1][d] -= origin;
        }
        double J[3][3][4] = {};
        PATCHFEM_UNROLL
        for (int b = 0; b < 3; ++b)
        {
          const double2 two = gradients[b * 32 + lane()];
          PATCHFEM_UNROLL
          for (int half = 0; half < 2; ++half)
            multiply_add(J[half][b], {x[half][0][0], x[half][0][1], x[half][1][0], x[half][1][1]}, {two.x, two.y});
          multiply_add(J[2][b], {x[0][0][2], x[1][0][2], x[0][1][2], x[1][1][2]}, {two.x, two.y});
        }
        const bool inside = a.coefficients.varies_inside_cells();
        PATCHFEM_UNROLL
        for (int half = 0; half < 2; ++half)
          PATCHFEM_UNROLL
        for (int t = 0; t < 2; ++t)
        {
          SmallMatrix<3, 3, double> jacobian;
          PATCHFEM_UNROLL
          for (int b = 0; b < 3; ++b)
          {
            jacobian(0, b) = J[half][b][t];
            jacobian(1, b) = J[half][b][2 + t];
            jacobian(2, b) = J[2][b][2 * half + t];
          }
          const int     q = 2 * (lane() % 4) + t;
          const double  w = batch().reference.weights[q], det = determinant(jacobian);
          const double *k       = a.coefficients.at(a.batches, a.computed_batch, local[half], inside ? q : 0);
          const double  factor  = Form::finish(k, SmallMatrix<1, 1, double>{{{w * reciprocal(det)}}})(0, 0);
          const auto    adj     = adjugate(jacobian);
          weight[half][t]       = w * det;
          int e                 = 0;
          PATCHFEM_UNROLL
          for (int b = 0; b < 3; ++b)
            PATCHFEM_UNROLL
          for (int c = b; c < 3; ++c)
            M[half][e++][t] = factor * (adj(b, 0) * adj(c, 0) + adj(b, 1) * adj(c, 1) + adj(b, 2) * adj(c, 2));
        }
      }

      /** int f phi_i of the cells, [cell + 2 h], of the two functions of which @p shapes has values at this lane's points. */
      __device__ void integrate_loads(const double (&weight)[2][2],
                                      const int (&local)[2],
                                      const double2 shapes,
                                      double (&f)[4]) const
      {
        double left[4];
        PATCHFEM_UNROLL
        for (int half = 0; half < 2; ++half)
          PATCHFEM_UNROLL
        for (int h = 0; h < 2; ++h)
          left[half + 2 * h] =
              weight[half][h] * a.load.at(a.batches, a.computed_batch, local[half], 2 * (lane() % 4) + h)[0];
        PATCHFEM_UNROLL
        for (int e = 0; e < 4; ++e)
          f[e] = 0.;
        multiply_add(f, left, {shapes.x, shapes.y});
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
