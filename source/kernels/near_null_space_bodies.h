// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/parallel_for.h>

/** @file Bodies (see parallel_for.h) that write the modes of no energy, [node][component][mode]. */
namespace PatchFEM::kernels
{
  /** Constants: mode m is component m. */
  struct ConstantModesBody
  {
    int     n_components;
    double *modes;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      modes[i] = i / n_components % n_components == i % n_components ? 1. : 0.;
    }
  };

  /** One coordinate of every node by itself, and one. */
  struct CoordinateBody
  {
    const double *points;
    int           dim, axis;
    double       *coordinate;
    double       *one;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      coordinate[i] = points[i * dim + axis];
      one[i]        = 1.;
    }
  };

  /**
   * Translations and rotations at node i: in 2D (1, 0), (0, 1), (-y, x), in 3D after three translations
   * (0, -z, y), (z, 0, -x), (-y, x, 0), coordinates relative to the centroid sum / n_nodes.
   */
  template <int dim>
  struct RigidBodyModesBody
  {
    const double *points; ///< [node][dim]
    const double *sum;    ///< [dim]
    std::int64_t  n_nodes;
    double       *modes;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      constexpr int n_modes = dim == 2 ? 3 : 6;
      double        x[dim];
      for (int d = 0; d < dim; ++d)
        x[d] = points[i * dim + d] - sum[d] / static_cast<double>(n_nodes);
      double *out = modes + i * dim * n_modes;
      for (int e = 0; e < dim * n_modes; ++e)
        out[e] = 0.;
      for (int d = 0; d < dim; ++d)
        out[d * n_modes + d] = 1.;
      if constexpr (dim == 2)
      {
        out[2]           = -x[1];
        out[n_modes + 2] = x[0];
      }
      else
        for (int r = 0; r < 3; ++r)
        {
          const int a = (r + 1) % 3, b = (r + 2) % 3; // the plane that turns
          out[a * n_modes + 3 + r] = -x[b];
          out[b * n_modes + 3 + r] = x[a];
        }
    }
  };

  /** values[i * n_modes + m] = vectors[m * n + i], for index i * n_modes + m. */
  struct InterleaveModesBody
  {
    const double *vectors;
    std::int64_t  n;
    int           n_modes;
    double       *modes;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const { modes[i] = vectors[i % n_modes * n + i / n_modes]; }
  };
} // namespace PatchFEM::kernels
