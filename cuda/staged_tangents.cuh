// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "cells_of_warps.cuh"
#include "matrix_instructions.cuh"

#include <patchfem/kernels/tangent_form.h>

namespace PatchFEM::kernels
{
  /** Whether @p Form is that of solids in 3D with symmetric tangents, A, 45 coefficients. */
  template <typename Form>
  constexpr bool is_solid_tangent = std::is_same_v<Form, TangentForm<3, 3, false, true>>;

  /**
   * Stages trilinear hexahedra with 8 points of a symmetric tangent, a warp a cell. With g = lane / 4 and t = lane % 4 a
   * lane has trial function g at points q = t and t + 4, and forms
   *
   *   T_iJ,k(g, q) = w_q sum_L A_iJ,kL(q) d_L phi_g(q),
   *
   * 81 multiply-adds a point, none of them twice. For the six (i, k), i <= k, of the block of components,
   *
   *   K_ik(b, g) = sum_J sum_q d_J phi_b(q) T_iJ,k(g, q)
   *
   * is nine products of a 16 x 8 matrix, T of two (i, k) by trial functions, and an 8 x 8 one, d_J phi by test functions;
   * K_ki(g, b) is the same number. Bytes of a cell: 2,880 of A and 4,608 of K.
   */
  struct StagedTangents
  {
    static constexpr int n_threads = 256, residency = 3;

    /** J^-1 by rows and the weight, of each point of a warp's cell. */
    using Geometry = double[8][10];

    const AssemblyArguments<double> &a;
    Geometry                        &geometry;

    __device__ const BatchView &batch() const { return a.batches.batch[a.computed_batch]; }

    /** Component of the pair @p p of (0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2). */
    static __device__ constexpr int first(const int p) { return p == 2 || p == 4 ? 1 : p == 5 ? 2 : 0; }
    static __device__ constexpr int second(const int p) { return p == 0 ? 0 : p < 3 ? 1 : 2; }

    /** All lanes of a warp. */
    __device__ void stage(const int slot, const double (&reference)[2][3]) const
    {
      const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
      const int local = a.staged[slot] - batch().first_cell;
      __syncwarp();
      if (lane < 8)
      {
        const auto at = point_geometry<3, double>(a.batches.points, batch(), local, lane);
        for (int e = 0; e < 9; ++e)
          geometry[lane][e] = at.inverse(e / 3, e % 3);
        geometry[lane][9] = at.weight;
      }
      __syncwarp();
      double        gradient[2][3], weight[2];
      const double *A[2];
#pragma unroll
      for (int h = 0; h < 2; ++h)
      {
        const int q = t + 4 * h;
        A[h]        = a.coefficients.at(a.batches, a.computed_batch, local, q);
        weight[h]   = geometry[q][9];
#pragma unroll
        for (int d = 0; d < 3; ++d)
          gradient[h][d] = geometry[q][d] * reference[h][0] + geometry[q][3 + d] * reference[h][1] +
                           geometry[q][6 + d] * reference[h][2];
      }
      double *const matrix = a.buffer_matrix + a.staged_matrix + std::int64_t(slot) * 576;
#pragma unroll
      for (int two = 0; two < 3; ++two)
      {
        double T[2][2][3], D[4] = {};
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int p = 0; p < 2; ++p)
#pragma unroll
            for (int J = 0; J < 3; ++J)
            {
              const int i = first(2 * two + p), k = second(2 * two + p);
              double    sum = 0.;
#pragma unroll
              for (int L = 0; L < 3; ++L)
                sum += A[h][packed_index(9, i * 3 + J, k * 3 + L)] * gradient[h][L];
              T[h][p][J] = weight[h] * sum;
            }
#pragma unroll
        for (int J = 0; J < 3; ++J)
          multiply_add(D, {T[0][0][J], T[0][1][J], T[1][0][J], T[1][1][J]}, {gradient[0][J], gradient[1][J]});
#pragma unroll
        for (int p = 0; p < 2; ++p)
        {
          const int i = first(2 * two + p), k = second(2 * two + p), b = 2 * t;
          matrix[(b * 9 + i * 3 + k) * 8 + g]       = D[2 * p];
          matrix[((b + 1) * 9 + i * 3 + k) * 8 + g] = D[2 * p + 1];
          if (i != k)
            *reinterpret_cast<double2 *>(matrix + (g * 9 + k * 3 + i) * 8 + b) = {D[2 * p], D[2 * p + 1]};
        }
      }
    }
  };

  namespace internal
  {
    template <typename Number>
    __global__ void __launch_bounds__(StagedTangents::n_threads, StagedTangents::residency)
        stage_tangents_kernel(const __grid_constant__ AssemblyArguments<Number> a)
    {
      constexpr int n_warps = StagedTangents::n_threads / 32;
      __shared__ StagedTangents::Geometry geometry[n_warps];
      const int                           warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
      const StagedTangents                cells{a, geometry[warp]};
      double                              reference[2][3];
      for (int h = 0; h < 2; ++h)
        for (int d = 0; d < 3; ++d)
          reference[h][d] = cells.batch().reference.shape_gradients[((t + 4 * h) * 8 + g) * 3 + d];
      for (int slot = blockIdx.x * n_warps + warp; slot < a.n_staged; slot += gridDim.x * n_warps)
        cells.stage(slot, reference);
    }
  } // namespace internal

  /** Where another kernel stages, or sums rows without the order of GatherRows, that of any cells steps in. */
  template <typename Form, typename Number, typename Others>
  struct StagedTangentsKernel : public AnyKernel
  {
    static constexpr bool        stages       = true;
    static constexpr bool        possible     = is_solid_tangent<Form> && std::is_same_v<Number, double>;
    static constexpr double      buffer_share = 0.25;
    static constexpr const char *name         = "tangents of trilinear hexahedra by matrix instructions, ";

    static bool serves(const KernelRequest &r)
    {
      return r.stages && r.isoparametric && r.reference.n_shape == 8 && r.reference.n_quadrature == 8 &&
             Others::serves(r);
    }

    static void launch(const Cuda where, const AssemblyArguments<Number> &a)
    {
      const bool loaded = a.rhs != nullptr && a.load.kind != CoefficientView<Number>::none;
      if (a.patches.staged_pairs == nullptr || loaded || a.matrix.format == MatrixTarget<Number>::none)
        return Others::launch(where, a);
      constexpr int n_warps = StagedTangents::n_threads / 32;
      const int     n_blocks =
          std::min((a.n_staged + n_warps - 1) / n_warps, internal::multiprocessor_count() * StagedTangents::residency);
      if (n_blocks > 0)
        internal::launch(where, internal::stage_tangents_kernel<Number>, n_blocks, StagedTangents::n_threads, 0, a);
      AssemblyArguments<Number> others = a;
      others.n_staged                  = 0;
      Others::launch(where, others);
    }
  };
} // namespace PatchFEM::kernels
