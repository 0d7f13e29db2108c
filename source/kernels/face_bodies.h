// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/geometry.h>

namespace PatchFEM::kernels
{
  /** Item k is component k % n_comp of node nodes[k / n_comp]: r -= int t phi over its faces, in their order. */
  template <int dim>
  struct SubtractTractionBody
  {
    BatchesView         batches;
    int                 n_comp;
    const int          *nodes;
    const std::int64_t *offsets; ///< [position in nodes]
    const int          *cells;   ///< [entry], global numbers
    const int          *faces, *shapes;
    const std::int64_t *points;   ///< [entry]
    const double       *traction; ///< [point][component]
    double             *r;        ///< [node][component]

    PATCHFEM_INLINE void operator()(const std::int64_t k) const
    {
      const std::int64_t i   = k / n_comp;
      const int          c   = static_cast<int>(k % n_comp);
      double             sum = 0.;
      for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
      {
        const BatchView     &batch = batches.batch[batches.batch_of(cells[e])];
        const ReferenceView &ref   = batch.reference;
        for (int q = 0; q < ref.n_face_quadrature; ++q)
        {
          const double phi =
              ref.face_shape_values[(std::int64_t(faces[e]) * ref.n_face_quadrature + q) * ref.n_shape + shapes[e]];
          sum +=
              face_point_geometry<dim, double>(batches.points, batch, cells[e] - batch.first_cell, faces[e], q).weight *
              phi * traction[(points[e] + q) * n_comp + c];
        }
      }
      r[std::int64_t(nodes[i]) * n_comp + c] -= sum;
    }
  };
} // namespace PatchFEM::kernels
